//! When a run counts for nothing.
//!
//! An open-loop run, also one beside parked connections, is void when the client or the backend may have been what was measured: when either
//! had no time to spare, or the client was late with its own sending. A closed loop takes whatever the processors give, and on shared ones
//! all are always busy: its rows are capacity probes, called so, and not void for that. Counts that do not add up void every run.

use crate::raw::{Kind, Run};

/// The most of one processor that the client's or the backend's single thread may use.
const CPU_SHARE: f64 = 0.7;

/// The client may look at one of a hundred requests so late, and no later than half of what the slowest of a hundred answers took: else the
/// figure is more of the client than of the contestant.
const LATENESS_MS: f64 = 10.0;
const LATENESS_PART: f64 = 0.5;

/// So much of what client and backend reach together without a gateway an open loop may ask for: a wire between them that is nearly full is
/// measured too.
const CEILING_PART: f64 = 0.5;

/// Why the run is void by what client and backend reach without a gateway; nothing of a closed loop, which has no rate of its own.
fn near_ceiling(run: &Run, ceiling: Option<f64>) -> Option<String> {
    let (offered, ceiling) = (run.offered_per_second?, ceiling?);
    let reach =
        || format!("{offered:.0}/s is more than half of what client and backend reach without it ({ceiling:.0}/s)");
    (offered > CEILING_PART * ceiling).then(reach)
}

/// Why the run is void; empty when it counts. `ceiling` is what client and backend reach without a gateway, in answers a second, where that
/// is known.
pub(crate) fn reasons(run: &Run, ceiling: Option<f64>) -> String {
    let mut reasons = Vec::new();
    if !run.reconciliation.is_empty() {
        reasons.push(run.reconciliation.clone());
    }
    if run.kind != Kind::Closed {
        for (who, cpu) in [("client", run.client_cpu_seconds), ("backend", run.backend_cpu_seconds)] {
            if let Some(share) = run.share(cpu).filter(|share| *share > CPU_SHARE) {
                reasons.push(format!("the {who} used {:.0} % of a processor", share * 100.0));
            }
        }
        let bound = run.p99_ms.map_or(LATENESS_MS, |p99| LATENESS_MS.min(LATENESS_PART * p99));
        if let Some(late) = run.lateness_p99_ms.filter(|late| *late > bound) {
            reasons.push(format!("the client was late by {late:.1} ms at 99 %"));
        }
    }
    reasons.extend(near_ceiling(run, ceiling));
    reasons.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(kind: Kind, client: f64, backend: f64, late: f64) -> Run {
        Run {
            kind,
            seconds: 10.0,
            client_cpu_seconds: Some(client),
            backend_cpu_seconds: Some(backend),
            lateness_p99_ms: Some(late),
            ..Run::default()
        }
    }

    #[test]
    fn a_rate_near_the_ceiling_voids() {
        let offered = |rate| Run { offered_per_second: rate, ..Run::default() };
        let table = [
            (Some(50.0), Some(100.0), false),
            (Some(51.0), Some(100.0), true),
            (Some(51.0), None, false),
            (None, Some(1.0), false),
        ];
        for (rate, ceiling, is_void) in table {
            assert_eq!(!reasons(&offered(rate), ceiling).is_empty(), is_void, "{rate:?} {ceiling:?}");
        }
    }

    #[test]
    fn busy_helpers_void_open_loops_only() {
        let table = [
            (run(Kind::Open, 6.9, 6.9, 9.9), ""),
            (run(Kind::Open, 7.1, 0.0, 0.0), "the client used 71 % of a processor"),
            (run(Kind::Poisson, 0.0, 8.0, 0.0), "the backend used 80 % of a processor"),
            (run(Kind::Poisson, 0.0, 0.0, 10.5), "the client was late by 10.5 ms at 99 %"),
            (Run { p99_ms: Some(1.4), ..run(Kind::Open, 0.0, 0.0, 0.7) }, ""),
            (Run { p99_ms: Some(1.4), ..run(Kind::Open, 0.0, 0.0, 0.8) }, "the client was late by 0.8 ms at 99 %"),
            (Run { p99_ms: Some(500.0), ..run(Kind::Open, 0.0, 0.0, 10.5) }, "the client was late by 10.5 ms at 99 %"),
            (run(Kind::Closed, 9.0, 9.0, 20.0), ""),
            (run(Kind::Parked, 6.9, 6.9, 9.9), ""),
            (
                run(Kind::Parked, 8.0, 9.0, 20.0),
                "the client used 80 % of a processor; the backend used 90 % of a processor; the client was late by 20.0 ms at 99 %",
            ),
            // The same time of processors, in twice the time.
            (Run { accounted_seconds: 20.0, ..run(Kind::Poisson, 9.0, 9.0, 0.0) }, ""),
            (Run { kind: Kind::Open, ..Run::default() }, ""),
            (Run { reconciliation: "2 ended".into(), ..Run::default() }, "2 ended"),
            (
                Run { reconciliation: "2 ended".into(), ..run(Kind::Open, 7.1, 0.0, 0.0) },
                "2 ended; the client used 71 % of a processor",
            ),
        ];
        for (run, expected) in table {
            assert_eq!(reasons(&run, None), expected);
        }
    }
}
