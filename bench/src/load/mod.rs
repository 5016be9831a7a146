//! How requests are brought to a contestant.
//!
//! | | who | when the next request is sent | what it is good for |
//! |---|---|---|---|
//! | closed loop | [`wrk`], [`ab`] | when the connection's last one was answered | capacity probes, and repeating others' measurements |
//! | open loop | [`open`] | when the [`schedule`] says so | latencies, overload, whatever a verdict is made of |
//!
//! A closed loop waits with the server: a pause of a second costs one sample a connection and hides all requests that would have come
//! meanwhile. The open loop therefore measures from the time when a request was due, not from when it could be sent.

pub(crate) mod ab;
pub(crate) mod answer;
pub(crate) mod open;
pub(crate) mod schedule;
pub(crate) mod wrk;

use crate::raw::Tally;
use crate::stop::Stop;
use std::io;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What a right answer may take beyond the backend's own delay to count as goodput: one second, which is about as long as somebody waits
/// without a thought. Later ones are right, and late; a service that gives only those is of no use to whoever asks.
pub(crate) const OBJECTIVE: Duration = Duration::from_secs(1);

/// How often it is looked whether a tool has ended.
const LOOK: Duration = Duration::from_millis(20);

/// How much longer than planned a tool may take.
const GRACE: Duration = Duration::from_secs(30);

/// What became of the requests of one run, whoever brought them; the names are those of [`crate::raw::Run`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    pub(crate) scheduled: Option<u64>,
    pub(crate) sent: Option<u64>,
    pub(crate) counts: Counts,
    /// Those of `counts.ok` that came in time, for loads that have times; see [`open::Plan::objective`].
    pub(crate) in_time: Option<u64>,
    /// From the intended send time, where there is one; percentile and milliseconds.
    pub(crate) latencies: Vec<(f64, f64)>,
    pub(crate) service_p50_ms: Option<f64>,
    pub(crate) service_p99_ms: Option<f64>,
    pub(crate) lateness_p99_ms: Option<f64>,
    /// Right answers in time and failures by time, for loads that know.
    pub(crate) windows: Vec<Bucket>,
}

/// What became of each request: one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) ok: u64,
    pub(crate) refused: Tally,
    pub(crate) non_2xx: u64,
    pub(crate) wrong_body: u64,
    pub(crate) connect_errors: u64,
    pub(crate) socket_errors: u64,
    pub(crate) timeouts: u64,
    pub(crate) unsent: u64,
}

impl Counts {
    /// All of them.
    pub(crate) fn total(&self) -> u64 {
        self.ok + self.failed()
    }

    /// Those of another load that ran at the same time come to these.
    pub(crate) fn add(&mut self, other: &Self) {
        self.ok += other.ok;
        other.refused.iter().for_each(|(reason, count)| self.refused.add(reason, count));
        self.non_2xx += other.non_2xx;
        self.wrong_body += other.wrong_body;
        self.connect_errors += other.connect_errors;
        self.socket_errors += other.socket_errors;
        self.timeouts += other.timeouts;
        self.unsent += other.unsent;
    }

    /// All but the right answers.
    pub(crate) fn failed(&self) -> u64 {
        self.answered() - self.ok + self.connect_errors + self.socket_errors + self.timeouts + self.unsent
    }

    /// Those that got an answer, of whatever kind.
    pub(crate) fn answered(&self) -> u64 {
        self.ok + self.refused.total() + self.non_2xx + self.wrong_body
    }
}

/// A part of a run's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bucket {
    /// From the begin of the run.
    pub(crate) at: Duration,
    pub(crate) lasting: Duration,
    pub(crate) scheduled: u64,
    /// Right answers; of an open loop those within the objective.
    pub(crate) ok: u64,
    /// What was not answered rightly. A right answer that is late is neither.
    pub(crate) failed: u64,
}

impl Bucket {
    /// A moment that is surely within it, however its ends were rounded.
    pub(crate) fn middle(&self) -> Duration {
        self.at + self.lasting / 2
    }
}

impl Outcome {
    /// The latency at `percentile`, if the tool told it.
    pub(crate) fn latency(&self, percentile: f64) -> Option<f64> {
        self.latencies.iter().find(|(at, _)| (at - percentile).abs() < 1e-9).map(|(_, ms)| *ms)
    }

    /// Answers a second.
    pub(crate) fn requests_per_second(&self) -> f64 {
        per_second(self.counts.answered(), self.seconds)
    }

    /// Right answers a second: those in time, where that is known.
    pub(crate) fn goodput(&self) -> f64 {
        per_second(self.in_time.unwrap_or(self.counts.ok), self.seconds)
    }
}

/// 0 when no time passed.
pub(crate) fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Runs a tool to its end, or ends it when it is time to stop, or when it takes longer than `most`.
///
/// # Errors
/// It does not start, takes too long, or is to stop.
fn output(command: &mut Command, most: Duration, stop: &Stop) -> io::Result<Output> {
    // What these tools print fits into a pipe, so it can be read when they have ended.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let late = Instant::now() + most;
    while child.try_wait()?.is_none() {
        let on_time = || if Instant::now() < late { Ok(()) } else { Err(too_late(most)) };
        if let Err(over) = stop.check().and_then(|()| on_time()) {
            child.kill()?;
            child.wait()?;
            return Err(over);
        }
        std::thread::sleep(LOOK);
    }
    child.wait_with_output()
}

fn too_late(most: Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("the load's tool did not end within {} s", most.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::installed;

    #[test]
    fn a_tool_is_run_to_its_end_or_to_the_stop() {
        let stop = Stop::default();
        let said = output(Command::new("echo").arg("x"), GRACE, &stop).expect("echo");
        assert_eq!(said.stdout, b"x\n");
        let error = installed("no-such-tool", "tools").expect_err("missing").to_string();
        assert!(error.contains("apt-get install tools"), "{error}");
        let error = output(Command::new("sleep").arg("600"), LOOK, &stop).expect_err("too late");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        stop.now();
        assert!(
            output(Command::new("sleep").arg("600"), 2 * GRACE, &stop)
                .is_err_and(|it| it.kind() == io::ErrorKind::Other)
        );
    }
}
