//! Where limits bind: threads, connections, memory, and what happens past them. All of these are open loops, but for `bodies`.

use super::{BOTH, Beside, Cell, EQUALISED, Effort, Group, Load, Open, Scenario, Target, parties};

/// Threads of blocking contestants, so that rate x delay can cross them on one machine.
const THREADS: usize = 200;

/// Connections that an open loop may open: more than any rate x delay here.
const CONNECTIONS: usize = 4000;

/// Rate x delay as parts of the number of threads: below, about, and past it.
const PARTS: &[f64] = &[0.5, 0.8, 0.95, 1.1, 1.5];
const FEW_PARTS: &[f64] = &[0.5, 0.9, 1.1, 1.5];

fn poisson(rate: f64) -> Open {
    Open { rate, poisson: true, connections: CONNECTIONS }
}

/// The rate at which so much of the threads is held: Little's law.
pub(crate) fn rate(threads: usize, part: f64, delay_ms: u32) -> f64 {
    threads as f64 * part / (f64::from(delay_ms) / 1000.0)
}

/// Offered rate against delay. Below the line a blocking gateway and an asynchronous one are told apart by their cost alone.
pub(super) fn sweep(effort: &Effort) -> Scenario {
    let delays: &[u32] = effort.choose(&[100], &[50, 500]);
    let parts = effort.choose(FEW_PARTS, PARTS);
    let cells = delays.iter().flat_map(|delay_ms| parts.iter().map(move |part| (*delay_ms, *part)));
    let cells = cells.map(|(delay_ms, part)| {
        let rate = rate(THREADS, part, delay_ms);
        Cell {
            name: format!("{delay_ms} ms x {rate:.0}/s = {:.0} threads", THREADS as f64 * part),
            target: Target::after(delay_ms),
            load: Load::Open(poisson(rate)),
            seconds: effort.lasting(2.0, 10.0),
        }
    });
    Scenario {
        name: "sweep",
        about: "offered rate x backend delay across the number of threads (200): where a thread for each request stops paying",
        contestants: parties(effort),
        groups: vec![Group::new(THREADS, cells.collect())],
    }
}

/// Parked connections, and what a few requests meet beside them.
pub(super) fn idle(effort: &Effort) -> Scenario {
    let parked: &[usize] = effort.choose(&[0, 1000, 10_000], &[0, 100, 1000, 5000, 10_000]);
    let cell = |connections: &usize| Cell {
        name: format!("{connections} parked"),
        target: Target::LIST,
        load: Load::Parked { connections: *connections, probe: Open { rate: 100.0, poisson: true, connections: 100 } },
        seconds: effort.lasting(1.0, 10.0),
    };
    Scenario {
        name: "idle",
        about: "0 to 10,000 parked connections: threads, memory, and the latency of 100 requests a second beside them",
        contestants: parties(effort),
        groups: vec![Group { fresh: true, ..Group::new(THREADS, parked.iter().map(cell).collect()) }],
    }
}

/// A service of 2 s that wants twice as many threads as there are, beside one that answers in 5 ms.
pub(super) fn isolation(effort: &Effort) -> Scenario {
    let fast = poisson(200.0);
    let slow_target = Target { service: "slow", ..Target::after(2000) };
    let beside = Beside {
        own: fast,
        other: poisson(rate(THREADS, 2.0, 2000)),
        other_name: "the slow one".into(),
        other_target: slow_target,
    };
    let cell = |name: &str, load, seconds| Cell { name: name.into(), target: Target::after(5), load, seconds };
    let cells = vec![
        cell("fast alone", Load::Open(fast), effort.lasting(2.0, 10.0)),
        cell("fast beside slow", Load::Beside(Box::new(beside)), effort.lasting(3.0, 15.0)),
    ];
    Scenario {
        name: "isolation",
        about: "one slow service beside a fast one: whether the slow one's requests take the fast one's threads",
        contestants: parties(effort),
        groups: vec![Group { configurations: BOTH, services: &["product", "slow"], ..Group::new(THREADS, cells) }],
    }
}

/// Most answers are quick, some take a hundred times the mean.
pub(super) fn tail(effort: &Effort) -> Scenario {
    let cell = |part: f64| {
        let rate = rate(THREADS, part, 20);
        Cell {
            name: format!("mean 20 ms, heavy tail, {rate:.0}/s"),
            target: Target { tail: true, ..Target::after(20) },
            load: Load::Open(poisson(rate)),
            seconds: effort.lasting(3.0, 15.0),
        }
    };
    let parts: &[f64] = effort.choose(&[0.2], &[0.1, 0.4]);
    Scenario {
        name: "tail",
        about: "a backend whose delays have a heavy tail (Pareto, shape 1.5, cut at a hundred times the mean)",
        contestants: parties(effort),
        groups: vec![Group::new(THREADS, parts.iter().map(|part| cell(*part)).collect())],
    }
}

/// Sizes of bodies, in both directions.
pub(super) fn bodies(effort: &Effort) -> Scenario {
    let seconds = effort.lasting(1.0, 10.0);
    let sizes = [(100, "0.1 kB"), (10_000, "10 kB"), (100_000, "100 kB")];
    let mut cells: Vec<Cell> = sizes
        .map(|(bytes, name)| Cell {
            name: format!("{name} down, c50"),
            target: Target { bytes: Some(bytes), ..Target::LIST },
            load: Load::Wrk { threads: 2, connections: 50 },
            seconds,
        })
        .into();
    cells.push(Cell {
        name: "100 kB up, 200/s".into(),
        target: Target { upload: 100_000, ..Target::LIST },
        load: Load::Open(Open { rate: 200.0, poisson: false, connections: 200 }),
        seconds,
    });
    Scenario {
        name: "bodies",
        about: "bodies of 0.1, 10 and 100 kB down (capacity probes), 100 kB up at a constant rate",
        contestants: parties(effort),
        groups: vec![Group::new(THREADS, cells)],
    }
}

/// A third of the time at half of the knee, a third at one and a half times, and back.
pub(super) fn overload(effort: &Effort) -> Scenario {
    let delay_ms = 100;
    let knee = rate(THREADS, 1.0, delay_ms);
    let cell = Cell {
        name: format!("50 %, 150 %, 50 % of {knee:.0}/s"),
        target: Target::after(delay_ms),
        load: Load::Overload { knee, connections: CONNECTIONS },
        seconds: effort.lasting(6.0, 30.0),
    };
    Scenario {
        name: "overload",
        about: "past the knee of 200 threads and back: goodput, refusals, and how long until goodput is back",
        contestants: parties(effort),
        groups: vec![Group { configurations: effort.choose(EQUALISED, BOTH), ..Group::new(THREADS, vec![cell]) }],
    }
}
