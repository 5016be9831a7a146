//! What an open-loop run leaves: counts that add up to the schedule, and distributions.

use super::Plan;
use crate::load::answer::Verdict;
use crate::load::{Bucket, Counts, Outcome};
use hdrhistogram::Histogram;
use std::io;
use std::time::Duration;

/// The percentiles that a distribution is kept as.
const CURVE: &[f64] = &[0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0];

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Answered(Verdict),
    ConnectError,
    SocketError,
    /// It was sent, and its time was up.
    Timeout,
    /// Its time was up before it could be sent.
    Unsent,
}

/// What of a plan decides how its requests are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    lasting: Duration,
    delay: Duration,
    objective: Duration,
    window: Duration,
}

impl Terms {
    pub(super) fn of(plan: &Plan) -> Self {
        let lasting = plan.phases.iter().map(|phase| phase.lasting).sum();
        Self { lasting, delay: plan.delay, objective: plan.objective, window: plan.window }
    }

    /// Whether the answer is as early as somebody hopes who asked at `due`.
    fn within_objective(&self, due: Duration, now: Duration) -> bool {
        now.saturating_sub(due) <= self.delay + self.objective
    }

    /// Whether it ended while the schedule lasted: from the first moment at which an answer can come, so long.
    fn within_schedule(&self, now: Duration) -> bool {
        now <= self.lasting + self.delay
    }
}

/// Everything that is noted during a run; times in microseconds.
pub(super) struct Record {
    terms: Terms,
    scheduled: u64,
    sent: u64,
    counts: Counts,
    in_time: u64,
    from_due: Histogram<u64>,
    from_sent: Histogram<u64>,
    lateness: Histogram<u64>,
    windows: Vec<Bucket>,
}

impl Record {
    /// For so many requests.
    pub(super) fn new(terms: Terms, scheduled: u64) -> io::Result<Self> {
        // An hour, to three digits.
        let histogram = || Histogram::new_with_max(3_600_000_000, 3).map_err(io::Error::other);
        Ok(Self {
            terms,
            scheduled,
            sent: 0,
            counts: Counts::default(),
            in_time: 0,
            from_due: histogram()?,
            from_sent: histogram()?,
            lateness: histogram()?,
            windows: Vec::new(),
        })
    }

    /// So late did the client itself look at a request that was due.
    pub(super) fn late(&mut self, by: Duration) {
        note(&mut self.lateness, by);
    }

    /// A request that was due then and sent then ended now. Times are from the begin of the run.
    pub(super) fn end(&mut self, due: Duration, sent: Option<Duration>, now: Duration, end: End) {
        note(&mut self.from_due, now.saturating_sub(due));
        if let Some(sent) = sent {
            self.sent += 1;
            note(&mut self.from_sent, now.saturating_sub(sent));
        }
        let ok = end == End::Answered(Verdict::Ok);
        let good = ok && self.terms.within_objective(due, now);
        self.in_time += u64::from(good && self.terms.within_schedule(now));
        let window = self.window(due);
        window.scheduled += 1;
        window.ok += u64::from(good);
        window.failed += u64::from(!ok);
        match end {
            End::Answered(Verdict::Ok) => self.counts.ok += 1,
            End::Answered(Verdict::Refused(reason)) => self.counts.refused.add(&reason, 1),
            End::Answered(Verdict::Status(_)) => self.counts.non_2xx += 1,
            End::Answered(Verdict::WrongBody(_)) => self.counts.wrong_body += 1,
            End::ConnectError => self.counts.connect_errors += 1,
            End::SocketError => self.counts.socket_errors += 1,
            End::Timeout => self.counts.timeouts += 1,
            End::Unsent => self.counts.unsent += 1,
        }
    }

    /// The window in which a request was due: what became of it belongs there, not to when it became known.
    fn window(&mut self, due: Duration) -> &mut Bucket {
        let Terms { lasting: whole, window, .. } = self.terms;
        // A request that is due at the very end belongs to the last window.
        let last = whole.saturating_sub(Duration::from_micros(1));
        let index = (due.min(last).as_nanos() / window.as_nanos().max(1)) as usize;
        while self.windows.len() <= index {
            let at = window * self.windows.len() as u32;
            let lasting = window.min(whole.saturating_sub(at));
            self.windows.push(Bucket { at, lasting, ..Bucket::default() });
        }
        &mut self.windows[index]
    }

    pub(super) fn into_outcome(self) -> Outcome {
        let service = |percentile| (!self.from_sent.is_empty()).then(|| ms(&self.from_sent, percentile));
        let latencies = CURVE.iter().map(|percentile| (*percentile, ms(&self.from_due, *percentile)));
        Outcome {
            seconds: self.terms.lasting.as_secs_f64(),
            scheduled: Some(self.scheduled),
            sent: Some(self.sent),
            latencies: if self.from_due.is_empty() { Vec::new() } else { latencies.collect() },
            service_p50_ms: service(50.0),
            service_p99_ms: service(99.0),
            lateness_p99_ms: (!self.lateness.is_empty()).then(|| ms(&self.lateness, 99.0)),
            counts: self.counts,
            in_time: Some(self.in_time),
            windows: self.windows,
        }
    }
}

fn note(histogram: &mut Histogram<u64>, time: Duration) {
    histogram.saturating_record(time.as_micros() as u64);
}

fn ms(histogram: &Histogram<u64>, percentile: f64) -> f64 {
    histogram.value_at_percentile(percentile) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(lasting: u64) -> Terms {
        let ms = Duration::from_millis;
        Terms { lasting: ms(lasting), delay: ms(100), objective: ms(1000), window: ms(500) }
    }

    #[test]
    fn a_right_answer_counts_when_it_is_neither_late_nor_of_a_backlog() {
        let ms = Duration::from_millis;
        // Due, ended, whether it counts, whether its window is good: an answer takes 1100 ms at most, and has ended at 2100.
        let table = [
            (0, 100, 1, 1),
            (0, 1100, 1, 1),
            (0, 1101, 0, 0),
            (2000, 2100, 1, 1),
            (2000, 2101, 0, 1),
            (1500, 2600, 0, 1),
            (1500, 2601, 0, 0),
        ];
        for (due, ended, in_time, good) in table {
            let mut record = Record::new(terms(2000), 1).expect("a record");
            record.end(ms(due), Some(ms(due)), ms(ended), End::Answered(Verdict::Ok));
            let outcome = record.into_outcome();
            let windows = outcome.windows.iter().map(|window| window.ok).sum::<u64>();
            assert_eq!((outcome.in_time, windows), (Some(in_time), good), "{due} to {ended}");
            // Late ones are answered rightly nevertheless.
            assert_eq!((outcome.counts.ok, outcome.counts.failed()), (1, 0));
            assert_eq!(outcome.windows.iter().map(|window| window.failed).sum::<u64>(), 0);
            assert_eq!(outcome.goodput(), in_time as f64 / 2.0);
        }
    }

    #[test]
    fn a_wrong_answer_in_time_is_no_goodput() {
        let mut record = Record::new(terms(1000), 1).expect("a record");
        record.end(Duration::ZERO, None, Duration::ZERO, End::Answered(Verdict::WrongBody(1)));
        let outcome = record.into_outcome();
        assert_eq!((outcome.in_time, outcome.windows[0].ok, outcome.windows[0].failed), (Some(0), 0, 1));
    }

    #[test]
    fn each_request_is_counted_once_and_where_it_was_due() {
        let at = Duration::from_millis;
        let mut record = Record::new(Terms { objective: at(3000), ..terms(1200) }, 8).expect("a record");
        let ends = [
            End::Answered(Verdict::Ok),
            End::Answered(Verdict::Refused("queue_full".into())),
            End::Answered(Verdict::Status(502)),
            End::Answered(Verdict::WrongBody(1)),
            End::ConnectError,
            End::SocketError,
            End::Timeout,
            End::Unsent,
        ];
        for (n, end) in ends.into_iter().enumerate() {
            record.end(at(150 * (n as u64 + 1)), Some(at(2000)), at(3000), end);
        }
        let outcome = record.into_outcome();
        assert_eq!((outcome.counts.total(), outcome.scheduled), (8, Some(8)));
        assert_eq!((outcome.counts.answered(), outcome.counts.failed()), (4, 7));
        let windows: Vec<_> =
            outcome.windows.iter().map(|window| (window.scheduled, window.ok, window.failed)).collect();
        assert_eq!(windows, [(3, 1, 2), (3, 0, 3), (2, 0, 2)]);
        assert_eq!(outcome.windows[2].lasting, at(200));
    }

    #[test]
    fn latency_counts_from_when_a_request_was_due_and_service_time_from_when_it_was_sent() {
        let at = Duration::from_millis;
        let mut record = Record::new(terms(1000), 1).expect("a record");
        record.late(at(2));
        record.end(at(100), Some(at(600)), at(700), End::Answered(Verdict::Ok));
        let outcome = record.into_outcome();
        let close =
            |value: Option<f64>, expected: f64| value.is_some_and(|value| (value / expected - 1.0).abs() < 0.01);
        assert!(close(outcome.latency(50.0), 600.0) && close(outcome.latency(100.0), 600.0));
        assert!(close(outcome.service_p50_ms, 100.0) && close(outcome.lateness_p99_ms, 2.0));
    }
}
