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
        in_time: Some(3),
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
fn a_percentile_needs_ten_latencies_beyond_it() {
    let table = [(10_000, 0, 0.001, true), (9999, 0, 0.001, false), (999, 1, 0.01, true), (999, 0, 0.01, false)];
    for (ok, timeouts, part, expected) in table {
        let run = Run { ok, timeouts, p99_ms: Some(1.0), ..Run::default() };
        assert_eq!(run.reaches(part), expected, "{ok}");
        if part == 0.01 {
            assert_eq!(run.p99(), expected.then_some(1.0), "{ok}");
        }
    }
}

#[test]
fn what_came_too_late_is_right_but_not_served() {
    let run = Run { in_time: Some(3), scheduled: Some(10), ok: 4, ..Run::default() };
    assert_eq!((run.good(), run.served()), (3, Some(0.3)));
    let closed = Run { ok: 4, timeouts: 1, ..Run::default() };
    assert_eq!((closed.good(), closed.served()), (4, Some(0.8)));
    assert_eq!(Run::default().served(), None);
}

#[test]
fn processor_time_is_a_share_of_the_time_in_which_it_was_counted() {
    let run = Run { seconds: 6.0, accounted_seconds: 9.0, ..Run::default() };
    assert_eq!(run.share(Some(4.5)), Some(0.5));
    assert_eq!(Run { seconds: 6.0, ..Run::default() }.share(Some(3.0)), Some(0.5));
    assert_eq!([run.share(None), Run::default().share(Some(1.0))], [None, None]);
}

#[test]
fn every_request_is_counted_once() {
    let run = open();
    assert_eq!(run.answered(), 8);
    assert_eq!(run.failed(), 6);
    assert_eq!(run.ok + run.failed(), run.scheduled.expect("a schedule"));
    assert!(closed().counts() && !run.counts());
}
