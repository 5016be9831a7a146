//! Where limits bind: threads, connections, memory, and what happens past them. All of these are open loops, but for `bodies`.

use super::{BOTH, Beside, Cell, Effort, Group, Load, OVERLOAD, Open, STOCK, Scenario, Target, parties};

/// Threads of blocking contestants, so that rate x delay can cross them on one machine.
const THREADS: usize = 200;

/// Connections that an open loop may open: more than any rate x delay here.
const CONNECTIONS: usize = 4000;

/// Rate x delay as parts of the number of threads: below, about, and past it.
const PARTS: &[f64] = &[0.5, 0.8, 0.95, 1.1, 1.5];
const FEW_PARTS: &[f64] = &[0.5, 0.9, 1.1, 1.5];

/// What binds ours and Zuul 1 as they come, before their permits (100) and threads do: `ribbon.MaxConnectionsPerHost`.
const PER_HOST: usize = 50;

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
            seconds: effort.lasting_at(rate, (2.0, 10.0)),
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
    let parked: &[usize] = effort.choose(&[0, 10_000], &[0, 100, 1000, 5000, 10_000]);
    let cell = |connections: &usize| Cell {
        name: format!("{connections} parked"),
        target: Target::LIST,
        load: Load::Parked { connections: *connections, probe: Open { rate: 200.0, poisson: true, connections: 100 } },
        seconds: effort.lasting(1.0, 10.0),
    };
    Scenario {
        name: "idle",
        about: "0 to 10,000 parked connections: threads, memory, and the latency of 200 requests a second beside them",
        contestants: parties(effort),
        groups: vec![Group { fresh: true, ..Group::new(THREADS, parked.iter().map(cell).collect()) }],
    }
}

/// A service of 2 s that wants twice as many threads as there are, beside one that answers in 5 ms. The slow one begins so early that it has
/// all that it can get when the fast one begins.
pub(super) fn isolation(effort: &Effort) -> Scenario {
    const SLOW_MS: u32 = 2000;
    let fast = poisson(600.0);
    let beside = Beside {
        own: fast,
        other: poisson(rate(THREADS, 2.0, SLOW_MS)),
        ahead: f64::from(SLOW_MS) / 1000.0 + 1.0,
        other_name: "the slow one".into(),
        other_target: Target { service: "slow", ..Target::after(SLOW_MS) },
    };
    let seconds = |quick, all| effort.lasting(quick, all).max(effort.choose(quick, 6.0));
    let cell = |name: &str, load, seconds| Cell { name: name.into(), target: Target::after(5), load, seconds };
    let cells = vec![
        cell("fast alone", Load::Open(fast), seconds(2.0, 10.0)),
        cell("fast beside slow", Load::Beside(Box::new(beside)), seconds(3.0, 15.0)),
    ];
    Scenario {
        name: "isolation",
        about: "one slow service beside a fast one: whether the slow one's requests take the fast one's threads",
        contestants: parties(effort),
        groups: vec![Group {
            configurations: BOTH.into(),
            services: &["product", "slow"],
            ..Group::new(THREADS, cells)
        }],
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
            seconds: effort.lasting_at(rate, (2.0, 15.0)),
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
    let rate = 200.0;
    cells.push(Cell {
        name: format!("100 kB up, {rate:.0}/s"),
        target: Target { upload: 100_000, ..Target::LIST },
        load: Load::Open(Open { rate, poisson: false, connections: 200 }),
        seconds: effort.lasting_at(rate, (1.0, 10.0)),
    });
    Scenario {
        name: "bodies",
        about: "bodies of 0.1, 10 and 100 kB down (capacity probes), 100 kB up at a constant rate",
        contestants: parties(effort),
        groups: vec![Group::new(THREADS, cells)],
    }
}

/// Far past the knee and back. The knee is where all of what binds first is held: threads, or, as ours and Zuul 1 come,
/// connections to the service.
pub(super) fn overload(effort: &Effort) -> Scenario {
    const DELAY_MS: u32 = 100;
    let cell = |places: usize| {
        let knee = rate(places, 1.0, DELAY_MS);
        let parts = OVERLOAD.map(|(part, _)| format!("{:.0} %", part * 100.0)).join(", ");
        Cell {
            name: format!("{parts} of {knee:.0}/s"),
            target: Target::after(DELAY_MS),
            load: Load::Overload { knee, connections: CONNECTIONS },
            // The shortest phases are a quarter of it, and must leave a backlog of more than the objective.
            seconds: effort.lasting(12.0, 30.0).max(effort.choose(12.0, 20.0)),
        }
    };
    let mut groups = vec![Group::new(THREADS, vec![cell(THREADS)])];
    if !effort.quick {
        groups.insert(0, Group { configurations: STOCK.into(), ..Group::new(THREADS, vec![cell(PER_HOST)]) });
    }
    Scenario {
        name: "overload",
        about: "past the knee of 200 threads (stock: of 50 connections to the service) and back: goodput, refusals, and how long \
                until goodput is back",
        contestants: parties(effort),
        groups,
    }
}
