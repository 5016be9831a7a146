//! Whole cells on a tiny scale, against the backend itself.

use super::run::{Measured, Site, measure};
use super::warm_up::Patience;
use crate::backend::serving::Serving;
use crate::raw::Kind;
use crate::scenario::{Beside, Cell, Load, Open, Target};
use crate::stop::Stop;
use std::time::Duration;

const SMALL: Open = Open { rate: 100.0, poisson: true, connections: 20 };

/// Measures a cell with the backend as its own contestant, and this process as the one that is looked at.
fn run(target: Target, load: Load, windows: u32) -> Vec<Measured> {
    let backend = Serving::start();
    let stop = Stop::default();
    let own = vec![std::process::id()];
    let pids = || own.clone();
    let site = Site {
        address: backend.address,
        pids: &pids,
        tells: false,
        backend: backend.address,
        backend_pids: own.clone(),
        seed: 1,
        stop: &stop,
    };
    let cell = Cell { name: "tiny".into(), target, load, seconds: 0.3 };
    let patience = Patience { window: Duration::from_millis(100), most: windows };
    measure(&site, &cell, patience).expect("measured")
}

#[test]
fn an_open_loop_leaves_a_row_a_distribution_and_windows() {
    let rows = run(Target { bytes: Some(100), ..Target::after(5) }, Load::Open(SMALL), 2);
    let [Measured { run, latencies, windows }] = rows.as_slice() else { panic!("one row") };
    assert_eq!((run.cell.as_str(), run.kind, run.tool.as_str()), ("tiny", Kind::Poisson, "bench"));
    assert_eq!(run.reconciliation, "");
    assert_eq!((run.scheduled, run.failed()), (Some(run.ok), 0));
    assert_eq!(run.backend_requests, Some(run.ok), "the warm-up is not counted");
    assert_eq!((run.body_octets, run.delay_ms, run.offered_per_second), (100, 5.0, Some(100.0)));
    assert!(run.p50_ms.is_some_and(|ms| ms >= 4.99) && run.p99_ms >= run.p50_ms);
    assert!(run.threads.is_some_and(|threads| threads > 1) && run.peak_rss_kb >= run.pss_kb && run.pss_kb > Some(0));
    assert!(run.warmed_up.is_some() && !run.started.is_empty());
    assert!(latencies.iter().any(|latency| latency.percentile == 99.9));
    let phases: Vec<&str> = windows.iter().map(|window| window.phase.as_str()).collect();
    assert_eq!(phases, ["warm-up", "warm-up", "measured"]);
}

#[test]
fn two_loads_at_once_are_two_rows_and_one_account() {
    let beside = Beside {
        own: SMALL,
        other: Open { poisson: false, ..SMALL },
        other_name: "the other".into(),
        other_target: Target { service: "slow", ..Target::after(50) },
    };
    let rows = run(Target::LIST, Load::Beside(Box::new(beside)), 0);
    let [own, other] = rows.as_slice() else { panic!("two rows") };
    assert_eq!((own.run.cell.as_str(), other.run.cell.as_str()), ("tiny", "the other"));
    assert_eq!((own.run.kind, other.run.delay_ms), (Kind::Poisson, 50.0));
    assert_eq!(other.run.scheduled, Some(30));
    let both = own.run.ok + other.run.ok;
    assert_eq!((own.run.backend_requests, other.run.backend_requests), (Some(both), Some(both)));
    assert_eq!(own.run.reconciliation, "");
    assert_eq!(own.run.warmed_up, None);
}

#[test]
fn parked_connections_are_open_while_others_are_served() {
    let rows = run(Target::LIST, Load::Parked { connections: 30, probe: SMALL }, 0);
    let run = &rows[0].run;
    assert_eq!((run.kind, run.connections, run.void.as_str()), (Kind::Parked, 30, ""));
    // Both ends of each are in this process.
    assert!(run.open_files.is_some_and(|files| files >= 60), "{:?}", run.open_files);
    assert_eq!(run.scheduled, Some(run.ok));
}

#[test]
fn an_overload_has_three_phases_and_a_time_of_recovery() {
    let rows = run(Target::LIST, Load::Overload { knee: 200.0, connections: 50 }, 0);
    let Measured { run, windows, .. } = &rows[0];
    // A tenth of a second at 100, at 300 and at 100 a second.
    assert_eq!((run.scheduled, run.ok), (Some(50), 50));
    assert!(!windows.is_empty());
    assert_eq!(run.recovery_ms, None, "windows of half a second do not tell a tenth of one");
}
