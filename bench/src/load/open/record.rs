//! What an open-loop run leaves: counts that add up to the schedule, and distributions.

use crate::load::answer::Verdict;
use crate::load::{Bucket, Counts, Outcome};
use hdrhistogram::Histogram;
use std::io;
use std::time::Duration;

/// The percentiles that a distribution is kept as.
const CURVE: &[f64] = &[0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0];

/// How finely time is looked at.
const WINDOW: Duration = Duration::from_millis(500);

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

/// Everything that is noted during a run; times in microseconds.
pub(super) struct Record {
    lasting: Duration,
    scheduled: u64,
    sent: u64,
    counts: Counts,
    from_due: Histogram<u64>,
    from_sent: Histogram<u64>,
    lateness: Histogram<u64>,
    windows: Vec<Bucket>,
}

impl Record {
    /// For so many requests in that time.
    pub(super) fn new(lasting: Duration, scheduled: u64) -> io::Result<Self> {
        // An hour, to three digits.
        let histogram = || Histogram::new_with_max(3_600_000_000, 3).map_err(io::Error::other);
        Ok(Self {
            lasting,
            scheduled,
            sent: 0,
            counts: Counts::default(),
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
        let window = self.window(due);
        window.scheduled += 1;
        *(if ok { &mut window.ok } else { &mut window.failed }) += 1;
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
        // A request that is due at the very end belongs to the last window.
        let last = self.lasting.saturating_sub(Duration::from_micros(1));
        let index = (due.min(last).as_micros() / WINDOW.as_micros()) as usize;
        while self.windows.len() <= index {
            let at = WINDOW * self.windows.len() as u32;
            let lasting = WINDOW.min(self.lasting.saturating_sub(at));
            self.windows.push(Bucket { at, lasting, ..Bucket::default() });
        }
        &mut self.windows[index]
    }

    pub(super) fn into_outcome(self) -> Outcome {
        let service = |percentile| (!self.from_sent.is_empty()).then(|| ms(&self.from_sent, percentile));
        let latencies = CURVE.iter().map(|percentile| (*percentile, ms(&self.from_due, *percentile)));
        Outcome {
            seconds: self.lasting.as_secs_f64(),
            scheduled: Some(self.scheduled),
            sent: Some(self.sent),
            latencies: if self.from_due.is_empty() { Vec::new() } else { latencies.collect() },
            service_p50_ms: service(50.0),
            service_p99_ms: service(99.0),
            lateness_p99_ms: (!self.lateness.is_empty()).then(|| ms(&self.lateness, 99.0)),
            counts: self.counts,
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

    #[test]
    fn each_request_is_counted_once_and_where_it_was_due() {
        let at = Duration::from_millis;
        let mut record = Record::new(at(1200), 8).expect("a record");
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
        let mut record = Record::new(at(1000), 1).expect("a record");
        record.late(at(2));
        record.end(at(100), Some(at(600)), at(700), End::Answered(Verdict::Ok));
        let outcome = record.into_outcome();
        let close =
            |value: Option<f64>, expected: f64| value.is_some_and(|value| (value / expected - 1.0).abs() < 0.01);
        assert!(close(outcome.latency(50.0), 600.0) && close(outcome.latency(100.0), 600.0));
        assert!(close(outcome.service_p50_ms, 100.0) && close(outcome.lateness_p99_ms, 2.0));
    }
}
