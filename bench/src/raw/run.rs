//! One run as a row: what was asked, what became of each request, how long it took and what it cost.
//!
//! A run is one contestant under one load in one round. What a tool does not tell is empty, never zero: wrk has no schedule, and a closed
//! loop has no intended send times. Counts are of the measured time alone, without the warm-up, unless the field says otherwise.

use super::tally::Tally;
use serde::{Deserialize, Serialize};

/// A row of `runs.csv`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Unique within one directory of results; rows of `latencies.csv` and `windows.csv` name it.
    pub(crate) id: u32,
    /// The scenario's name: `seed0`, `sweep`.
    pub(crate) scenario: String,
    /// The cell within the scenario: `static c200`, `rate 500 delay 100`.
    pub(crate) cell: String,
    /// Who was measured; `direct` is the backend without a proxy.
    pub(crate) contestant: String,
    /// With which limits.
    pub(crate) configuration: Configuration,
    /// From 1.
    pub(crate) round: u32,
    /// When its turn came within the round, from 1; even rounds go backwards (ABBA).
    pub(crate) position: u32,
    /// When the measured time began, UTC, RFC 3339.
    pub(crate) started: String,
    /// How long was measured, without the warm-up.
    pub(crate) seconds: f64,
    /// How long the loads lasted of which processor time and switches are told: longer than [`Run::seconds`] where another load of the cell
    /// began earlier. Those of an open loop are counted until its last answer came or was given up, so that a share of this time errs upwards.
    pub(crate) accounted_seconds: f64,
    /// The cell's other load, which ran at the same time; empty when there is none. What processes used and what backend and gateway counted
    /// is of both together, and stands in the row of the cell's own load alone.
    pub(crate) beside: String,
    /// How long the warm-up took; windows of it stand in `windows.csv`.
    pub(crate) warm_up_seconds: f64,
    /// Whether the warm-up's last three windows brought nothing new; empty when there was no warm-up.
    pub(crate) warmed_up: Option<bool>,
    /// How requests were brought.
    pub(crate) kind: Kind,
    /// Who brought them: `wrk`, `ab`, `bench`.
    pub(crate) tool: String,
    /// Connections: of the closed loop, or the most that an open loop may open, or those that are parked.
    pub(crate) connections: u64,
    /// Requests a second that were scheduled; empty for a closed loop.
    pub(crate) offered_per_second: Option<f64>,
    /// What the backend waits before it answers, in milliseconds: the mean where it varies.
    pub(crate) delay_ms: f64,
    /// Octets of each answer's body.
    pub(crate) body_octets: u64,
    /// Octets of each request's body.
    pub(crate) upload_octets: u64,

    /// Requests that the schedule held; empty for a closed loop. The sum of the eight counts from `ok` to `unsent`.
    pub(crate) scheduled: Option<u64>,
    /// Requests that were written to a connection; empty where the tool does not tell.
    pub(crate) sent: Option<u64>,
    /// 2xx with the whole body.
    pub(crate) ok: u64,
    /// Those of them that ended in time: no later than the delay and [`Run::objective_ms`] after they were due, and before the schedule ended
    /// (a delay later, since none can come sooner). Empty for a closed loop, whose requests are all sent in time.
    pub(crate) in_time: Option<u64>,
    /// What a right answer may take beyond the backend's delay to be in time.
    pub(crate) objective_ms: Option<f64>,
    /// Answers with `X-Gateway-Reason`, by that word.
    pub(crate) refused: Tally,
    /// Other answers that are not 2xx.
    pub(crate) non_2xx: u64,
    /// Answers whose body was not what was asked for.
    pub(crate) wrong_body: u64,
    /// Connections that could not be opened.
    pub(crate) connect_errors: u64,
    /// Connections that ended before the answer did; reads and writes that failed.
    pub(crate) socket_errors: u64,
    /// Requests without an answer in time.
    pub(crate) timeouts: u64,
    /// Requests that were due and never written, since no connection was free or time was up.
    pub(crate) unsent: u64,

    /// Answers a second, of any status.
    pub(crate) requests_per_second: f64,
    /// [`Run::in_time`] a second; of a closed loop [`Run::ok`].
    pub(crate) goodput: f64,
    /// Median latency in milliseconds; in an open loop from the intended send time, timeouts included at their value.
    pub(crate) p50_ms: Option<f64>,
    /// The same at 90 %.
    pub(crate) p90_ms: Option<f64>,
    /// The same at 99 %.
    pub(crate) p99_ms: Option<f64>,
    /// The same at 99.9 %.
    pub(crate) p999_ms: Option<f64>,
    /// The longest.
    pub(crate) max_ms: Option<f64>,
    /// Median from the actual send time: the service time, which says nothing of waiting before it.
    pub(crate) service_p50_ms: Option<f64>,
    /// The same at 99 %.
    pub(crate) service_p99_ms: Option<f64>,
    /// How late the client itself woke for a request, at 99 %: waiting for a connection is not its lateness.
    pub(crate) lateness_p99_ms: Option<f64>,

    /// The contestant's processor time in user mode, in seconds; its sum with the kernel's is exact, each of them to 10 ms.
    pub(crate) user_seconds: Option<f64>,
    /// The same in the kernel.
    pub(crate) system_seconds: Option<f64>,
    /// Both, for a thousand answers.
    pub(crate) cpu_per_thousand: Option<f64>,
    /// The load generator's processor time, user and kernel.
    pub(crate) client_cpu_seconds: Option<f64>,
    /// The backend's.
    pub(crate) backend_cpu_seconds: Option<f64>,
    /// Share of all processors that was busy, from 0 to 1, with whatever.
    pub(crate) machine_busy: Option<f64>,
    /// Context switches of the contestant that it asked for, by waiting.
    pub(crate) voluntary_switches: Option<u64>,
    /// Those that the kernel forced on it.
    pub(crate) involuntary_switches: Option<u64>,
    /// The most memory that was resident, in KiB, since the process started; pages that several processes share count for each.
    pub(crate) peak_rss_kb: Option<u64>,
    /// Memory at the end of the run, parked connections still open, in KiB; pages that several processes share are divided between them (PSS).
    pub(crate) pss_kb: Option<u64>,
    /// The most threads that were seen.
    pub(crate) threads: Option<u64>,
    /// The most open files that were seen.
    pub(crate) open_files: Option<u64>,

    /// Requests that the backend counted, warm-up left out.
    pub(crate) backend_requests: Option<u64>,
    /// Connections that the backend accepted meanwhile.
    pub(crate) backend_connections: Option<u64>,
    /// Requests that the gateway counted, for those that tell.
    pub(crate) gateway_requests: Option<u64>,
    /// Those of them that it refused or failed, by its own counters.
    pub(crate) gateway_refused: Option<Tally>,
    /// What follows from comparing the three: empty when they agree or nobody tells.
    pub(crate) reconciliation: String,
    /// The worst window of the overload: so much of what was due in it was answered rightly and within the objective, from 0 to 1; only
    /// `overload` has it.
    pub(crate) fell_to: Option<f64>,
    /// Time from the end of the overload until goodput was back, in milliseconds; empty where it never fell, or never came back.
    pub(crate) recovery_ms: Option<f64>,
    /// Why the run counts for nothing; empty when it counts.
    pub(crate) void: String,
}

impl Run {
    /// Whether verdicts may use it.
    pub(crate) fn counts(&self) -> bool {
        self.void.is_empty()
    }

    /// Requests that got an answer of whatever kind.
    pub(crate) fn answered(&self) -> u64 {
        self.ok + self.refused.total() + self.non_2xx + self.wrong_body
    }

    /// Right answers that are goodput.
    pub(crate) fn good(&self) -> u64 {
        self.in_time.unwrap_or(self.ok)
    }

    /// The part of what was asked that was answered rightly and in time; `None` when nothing was asked.
    pub(crate) fn served(&self) -> Option<f64> {
        // Of what was really scheduled, where it was: random arrivals are a little more or fewer than their rate says.
        let asked = self.scheduled.unwrap_or(self.ok + self.failed());
        (asked > 0).then(|| self.good() as f64 / asked as f64)
    }

    /// Whether ten of its latencies at least are in the slowest `part` of them, from 0 to 1: with fewer, a percentile there is the length of a
    /// few requests and another one in each run.
    pub(crate) fn reaches(&self, part: f64) -> bool {
        const BEYOND: f64 = 10.0;
        let latencies = (self.answered() + self.timeouts) as f64;
        // A little less, since 10,000 times 0.001 may be.
        latencies * part > BEYOND - 1e-6
    }

    /// Latency at 99 %, where the run had answers enough to tell it.
    pub(crate) fn p99(&self) -> Option<f64> {
        self.p99_ms.filter(|_| self.reaches(0.01))
    }

    /// A part of the time that was accounted for, as of one processor.
    pub(crate) fn share(&self, cpu_seconds: Option<f64>) -> Option<f64> {
        let seconds = Some(self.accounted_seconds).filter(|seconds| *seconds > 0.0);
        Some(cpu_seconds? / seconds.or(Some(self.seconds).filter(|seconds| *seconds > 0.0))?)
    }

    /// The same row without what it shares with another one.
    pub(crate) fn without_account(self) -> Self {
        Self {
            user_seconds: None,
            system_seconds: None,
            cpu_per_thousand: None,
            client_cpu_seconds: None,
            backend_cpu_seconds: None,
            voluntary_switches: None,
            involuntary_switches: None,
            peak_rss_kb: None,
            pss_kb: None,
            threads: None,
            open_files: None,
            backend_requests: None,
            backend_connections: None,
            gateway_requests: None,
            gateway_refused: None,
            ..self
        }
    }

    /// Requests that a closed loop may have left behind, each on a connection of its own: wrk at its end, and whoever warmed up before it. ab
    /// ends when all are answered. Counts of client, gateway and backend agree within these.
    pub(crate) fn cut_off(&self) -> u64 {
        match (self.kind, self.tool.as_str()) {
            (Kind::Closed, "ab") => self.connections,
            (Kind::Closed, _) => 2 * self.connections,
            _ => 0,
        }
    }

    /// Requests that did not end as their client hoped, those that were never sent included.
    pub(crate) fn failed(&self) -> u64 {
        self.refused.total()
            + self.non_2xx
            + self.wrong_body
            + self.connect_errors
            + self.socket_errors
            + self.timeouts
            + self.unsent
    }

    /// The contestant's processor seconds, user and kernel.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        Some(self.user_seconds? + self.system_seconds?)
    }
}

/// The scenarios of the runs, in the order in which they were first run.
pub(crate) fn scenarios<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        if !names.contains(&run.scenario.as_str()) {
            names.push(&run.scenario);
        }
    }
    names
}

/// With which limits a contestant runs.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Configuration {
    /// As it comes.
    Stock,
    /// Every limit in its path raised to the same values as the others'.
    #[default]
    Equalised,
}

impl Configuration {
    /// How it is called in tables, facts and options.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Equalised => "equalised",
        }
    }
}

/// How requests are brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Each connection sends its next request when the last was answered: a capacity probe.
    #[default]
    Closed,
    /// At a constant rate, whatever becomes of the requests.
    Open,
    /// At random times with a constant mean rate, whatever becomes of the requests.
    Poisson,
    /// No load: connections stand idle, and memory and threads are looked at.
    Parked,
}
