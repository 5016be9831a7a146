//! What was written is read back as it was.

use super::*;
use std::path::PathBuf;

/// A directory that is removed at the end.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("portcullis-raw-{name}-{}", std::process::id())))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn closed() -> Run {
    Run {
        scenario: "seed0".into(),
        cell: "static, \"c200\"".into(),
        contestant: "nginx".into(),
        configuration: Configuration::Stock,
        round: 1,
        position: 2,
        ok: 1000,
        requests_per_second: 333.25,
        p99_ms: Some(1.5),
        ..Run::default()
    }
}

fn open() -> Run {
    Run {
        kind: Kind::Poisson,
        offered_per_second: Some(500.0),
        scheduled: Some(10),
        ok: 4,
        refused: Tally::from_iter([("semaphore_full", 3), ("queue_full", 1)]),
        timeouts: 1,
        unsent: 1,
        gateway_refused: Some(Tally::default()),
        void: "the client was late:\n12 ms".into(),
        ..closed()
    }
}

#[test]
fn what_was_written_is_read_back() {
    let dir = Dir::new("round-trip");
    let mut results = Results::create(&dir.0).expect("created");
    let latency = Latency { percentile: 99.0, ms: 1.5, ..Latency::default() };
    let window = Window { phase: "warm-up".into(), seconds: 0.5, goodput: 10.0, ..Window::default() };
    assert_eq!(results.keep(closed(), vec![], vec![window.clone()]).expect("kept"), 1);
    assert_eq!(results.keep(open(), vec![latency.clone()], vec![]).expect("kept"), 2);
    let participant = Participant { contestant: "nginx".into(), limits: "a = 1\nb = 2".into(), ..Default::default() };
    results.participant(participant.clone()).expect("noted");
    results.fact("kernel", "6, \"1\"").expect("noted");

    let data = Data::read(&dir.0).expect("read");
    assert_eq!(data.runs, [Run { id: 1, ..closed() }, Run { id: 2, ..open() }]);
    assert_eq!(data.latencies, [Latency { run: 2, ..latency }]);
    assert_eq!(data.windows, [Window { run: 1, ..window }]);
    assert_eq!(data.participants, [participant]);
    assert_eq!((data.fact("kernel"), data.fact("none")), (Some("6, \"1\""), None));
}

#[test]
fn results_are_never_overwritten() {
    let dir = Dir::new("twice");
    let first = Results::create(&dir.0);
    assert!(first.is_ok());
    let again = Results::create(&dir.0).err().expect("refused");
    assert!(again.to_string().contains(RUNS), "{again}");
}

#[test]
fn a_measurement_that_was_interrupted_at_once_can_be_read() {
    let dir = Dir::new("empty");
    drop(Results::create(&dir.0).expect("created"));
    assert_eq!(Data::read(&dir.0).expect("read"), Data::default());
}

#[test]
fn a_percentile_needs_a_latency_beyond_it() {
    for (ok, timeouts, part, expected) in [(1000, 0, 0.001, true), (999, 0, 0.001, false), (99, 1, 0.01, true)] {
        assert_eq!(Run { ok, timeouts, ..Run::default() }.reaches(part), expected, "{ok}");
    }
}

#[test]
fn every_request_is_counted_once() {
    let run = open();
    assert_eq!(run.answered(), 8);
    assert_eq!(run.failed(), 6);
    assert_eq!(run.ok + run.failed(), run.scheduled.expect("a schedule"));
    assert!(closed().counts() && !run.counts());
}
