//! A measurement that never happened: its ratios are known, so what is said of them can be checked.

use crate::raw::{Configuration, Data, Fact, Kind, Latency, Participant, Run, Tally, Window};
use std::path::PathBuf;

/// A directory that is removed at the end.
pub(super) struct Dir(pub(super) PathBuf);

impl Dir {
    pub(super) fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("portcullis-report-{name}-{}", std::process::id())))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Five rounds of four scenarios.
pub(super) fn measurement() -> Data {
    let mut data = Data { participants: participants(), environment: environment(), ..Data::default() };
    for round in 1..=5 {
        closed(&mut data, round);
        sweep(&mut data, round);
        idle(&mut data, round);
        overload(&mut data, round);
    }
    for (run, id) in data.runs.iter_mut().zip(1..) {
        run.id = id;
    }
    data.latencies = data.runs.iter().flat_map(latencies).collect();
    data.windows = data.runs.iter().flat_map(windows).collect();
    data
}

fn run(scenario: &str, cell: &str, contestant: &str, round: u32) -> Run {
    Run {
        scenario: scenario.into(),
        cell: cell.into(),
        contestant: contestant.into(),
        round,
        seconds: 10.0,
        warmed_up: Some(true),
        ok: 1000,
        p50_ms: Some(1.0),
        user_seconds: Some(1.0),
        system_seconds: Some(1.0),
        threads: Some(20),
        pss_kb: Some(10_240),
        backend_requests: Some(1000),
        ..Run::default()
    }
}

/// portcullis serves 0.6 of nginx and as much as its twin; one run of HAProxy is void.
fn closed(data: &mut Data, round: u32) {
    let [ours, to_twin] =
        [[600.0, 610.0, 580.0, 620.0, 590.0], [1.01, 1.0, 0.98, 1.03, 1.02]].map(|it| it[round as usize - 1]);
    for (cell, connections) in [("30 s, first", 200), ("30 s, second", 400)] {
        let mut add = |contestant: &str, goodput: f64, cpu: Option<f64>| {
            let void = contestant == "haproxy" && round == 2 && connections == 200;
            data.runs.push(Run {
                connections,
                goodput,
                requests_per_second: goodput,
                cpu_per_thousand: cpu,
                p99_ms: Some(5.0),
                void: if void { "the client was late".into() } else { String::new() },
                ..run("seed0", cell, contestant, round)
            });
        };
        add("direct", 2000.0, None);
        add("portcullis", ours, Some(0.03));
        add("twin", ours / to_twin, Some(0.02));
        add("nginx", 1000.0, Some(0.02));
        add("haproxy", 1000.0, Some(0.02));
    }
}

/// Below the line the blocking one is twice as late; past it, it serves four fifths.
fn sweep(data: &mut Data, round: u32) {
    for (delay_ms, rate) in [(50.0, 2000.0), (100.0, 1000.0), (100.0, 3000.0)] {
        let cell = format!("{delay_ms} ms x {rate}/s");
        let past = rate * delay_ms / 1000.0 > 200.0;
        for (contestant, p99, part) in [("portcullis", 120.0, if past { 0.8 } else { 1.0 }), ("twin", 60.0, 1.0)] {
            let scheduled = 1000;
            let ok = (scheduled as f64 * part) as u64;
            data.runs.push(Run {
                kind: Kind::Poisson,
                offered_per_second: Some(rate),
                delay_ms,
                scheduled: Some(scheduled),
                ok,
                refused: Tally::from_iter([("queue_timeout", scheduled - ok)]),
                goodput: rate * part,
                p99_ms: Some(p99),
                ..run("sweep", &cell, contestant, round)
            });
        }
    }
}

fn idle(data: &mut Data, round: u32) {
    for connections in [0, 10_000] {
        for (contestant, threads, pss_kb) in [("portcullis", 20, 10_240), ("twin", 5, 20_480)] {
            data.runs.push(Run {
                kind: Kind::Parked,
                connections,
                threads: Some(threads),
                pss_kb: Some(pss_kb),
                ..run("idle", &format!("{connections} parked"), contestant, round)
            });
        }
    }
}

fn overload(data: &mut Data, round: u32) {
    for contestant in ["portcullis", "twin"] {
        data.runs.push(Run {
            kind: Kind::Open,
            offered_per_second: Some(1000.0),
            scheduled: Some(1250),
            unsent: 250,
            in_time: Some(900),
            fell_to: Some(0.4),
            goodput: 900.0,
            recovery_ms: Some(250.0),
            ..run("overload", "50 %, 200 %, 50 %", contestant, round)
        });
    }
}

fn latencies(run: &Run) -> Vec<Latency> {
    let points = [(50.0, 1.0), (90.0, 2.0), (99.0, 5.0), (100.0, 20.0)];
    points.map(|(percentile, ms)| Latency { run: run.id, percentile, ms }).into()
}

fn windows(run: &Run) -> Vec<Window> {
    let phases: &[&str] =
        if run.scenario == "overload" { &["measured", "overload", "recovery"] } else { &["measured"] };
    let window = |(phase, at): (&&str, u32)| Window {
        run: run.id,
        phase: (*phase).into(),
        at_seconds: at.into(),
        seconds: 1.0,
        goodput: 900.0,
        failed_per_second: if *phase == "overload" { 500.0 } else { 0.0 },
        ..Window::default()
    };
    phases.iter().zip(0..).map(window).collect()
}

fn participants() -> Vec<Participant> {
    let one = |contestant: &str, configuration, limits: &str| Participant {
        contestant: contestant.into(),
        configuration,
        version: "1.0".into(),
        limits: limits.into(),
        ..Participant::default()
    };
    let stock =
        "workers: server.tomcat.threads.max = 200 (its own)\nisolation: zuul.semaphore.max-semaphores = 100 (its own)";
    let equalised = "workers: server.tomcat.threads.max = 200\nisolation: zuul.semaphore.max-semaphores = 20000";
    vec![
        one("portcullis", Configuration::Stock, stock),
        one("portcullis", Configuration::Equalised, equalised),
        one("twin", Configuration::Equalised, equalised),
        one("nginx", Configuration::Equalised, "workers: worker_processes = 2"),
        Participant {
            missing: "mvn was not found; Debian: apt-get install maven".into(),
            ..one("zuul1", Configuration::Equalised, "")
        },
    ]
}

fn environment() -> Vec<Fact> {
    let facts = [
        ("kernel", "6.1"),
        ("cpu", "some <model>"),
        ("processors", "2"),
        ("memory", "4 kB"),
        ("build", "release"),
        ("seed", "1"),
        ("rounds", "5"),
        ("verdict", "as the data allow"),
    ];
    facts.map(|(key, value)| Fact { key: key.into(), value: value.into() }).into()
}
