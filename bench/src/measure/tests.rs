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
    run_for(target, load, (0.3, Duration::from_secs(1)), windows)
}

/// The same, for so many seconds and with this objective.
fn run_for(target: Target, load: Load, (seconds, objective): (f64, Duration), windows: u32) -> Vec<Measured> {
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
        objective,
        ceiling: None,
        stop: &stop,
    };
    let cell = Cell { name: "tiny".into(), target, load, seconds };
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
        ahead: 0.2,
        other_name: "the other".into(),
        other_target: Target { service: "slow", ..Target::after(50) },
    };
    let rows = run(Target::LIST, Load::Beside(Box::new(beside)), 0);
    let [own, other] = rows.as_slice() else { panic!("two rows") };
    assert_eq!((own.run.cell.as_str(), other.run.cell.as_str()), ("tiny", "the other"));
    assert_eq!((own.run.kind, other.run.delay_ms), (Kind::Poisson, 50.0));
    // It began a fifth of a second earlier, and ended with the cell's own.
    assert_eq!((own.run.seconds, other.run.seconds, other.run.scheduled), (0.3, 0.5, Some(50)));
    assert_eq!((own.run.accounted_seconds, other.run.accounted_seconds), (0.5, 0.5));
    let both = own.run.ok + other.run.ok;
    assert_eq!((own.run.backend_requests, other.run.backend_requests), (Some(both), None));
    assert_eq!((own.run.beside.as_str(), other.run.beside.as_str()), ("the other", "tiny"));
    assert!(own.run.cpu_per_thousand.is_some() && own.run.threads.is_some());
    assert_eq!(other.run, other.run.clone().without_account());
    assert_eq!(own.run.reconciliation, "");
    assert_eq!(own.run.warmed_up, None);
}

#[test]
fn parked_connections_are_open_while_others_are_served() {
    let rows = run(Target::LIST, Load::Parked { connections: 30, probe: SMALL }, 0);
    let run = &rows[0].run;
    assert_eq!((run.kind, run.connections), (Kind::Parked, 30));
    // Busy machines may void it for another reason.
    assert!(!run.void.contains("parked"), "{}", run.void);
    // Both ends of each are in this process.
    assert!(run.open_files.is_some_and(|files| files >= 60), "{:?}", run.open_files);
    assert_eq!(run.scheduled, Some(run.ok));
}

#[test]
fn an_overload_has_three_phases_and_is_fallen_when_answers_come_late() {
    // Two connections and 20 ms serve a hundred a second at most. Of two seconds one quarter is at fifty a second, the next at two hundred.
    let load = Load::Overload { knee: 100.0, connections: 2 };
    let rows = run_for(Target::after(20), load, (2.0, Duration::from_millis(50)), 0);
    let Measured { run, windows, .. } = &rows[0];
    assert_eq!((run.scheduled, run.ok, run.failed()), (Some(175), 175, 0), "late is not lost");
    // A hundred and twenty-five are due in the first second, and the last of them has to wait a quarter of a second at least.
    assert_eq!(run.fell_to, Some(0.0));
    assert!(run.in_time.is_some_and(|in_time| in_time < 175 - 30), "{:?}", run.in_time);
    assert_eq!((run.objective_ms, run.kind), (Some(50.0), Kind::Open));
    let phases: Vec<&str> = windows.iter().map(|window| window.phase.as_str()).collect();
    assert_eq!(phases, [["measured"; 20], ["overload"; 20], ["recovery"; 20], ["recovery"; 20]].concat());
    assert!(windows.iter().all(|window| (window.seconds - 0.025).abs() < 1e-6));
}

#[test]
fn an_overload_that_nobody_notices_has_no_recovery() {
    let rows =
        run_for(Target::LIST, Load::Overload { knee: 200.0, connections: 50 }, (0.4, Duration::from_secs(60)), 0);
    let run = &rows[0].run;
    assert_eq!((run.scheduled, run.ok), (Some(70), 70));
    assert_eq!((run.fell_to, run.recovery_ms), (Some(1.0), None));
}
