//! Four published comparisons, repeated as far as their authors told how. What they measured, and what is otherwise here, is in
//! [`super::published`].

use super::{BOTH, Cell, EQUALISED, Effort, Group, Load, Scenario, Target, parties};
use crate::load::wrk;
use std::time::Duration;

/// Tomcat's default, and the first comparison's explicit choice.
const TOMCAT: usize = 200;

/// wrk -t8 -c200, three times 30 s and once 300 s: the later ones find a warm process, which was the author's aim. Of other lengths, each
/// cell's name says its own, and is none of which the author published figures.
pub(super) fn seed0(effort: &Effort) -> Scenario {
    let cell = |seconds: f64, turn: &str| Cell {
        name: format!("{} s{turn}", wrk::whole_seconds(Duration::from_secs_f64(seconds))),
        target: Target::LIST,
        load: Load::Wrk { threads: 8, connections: 200 },
        seconds,
    };
    let (short, long) = (effort.lasting(1.0, 30.0), effort.lasting(1.0, 300.0));
    let mut cells: Vec<Cell> = [", first", ", second", ", third"].map(|turn| cell(short, turn)).into();
    cells.push(cell(long, if long > short { "" } else { ", fourth" }));
    Scenario {
        name: "seed0",
        about: "wrk -t8 -c200 three times and once more, for 30 s and 300 s where the cells' names say so; no proxy, and Spring Cloud Gateway, \
                whose figures its author published; others besides",
        contestants: parties(effort),
        // Its repetition is its own: four runs of one process.
        groups: vec![Group { sequence: true, rounds: Some(1), ..Group::new(TOMCAT, cells) }],
    }
}

/// 100 to 1000 connections, empty and 50 ms, default and optimised: stock and equalised here.
pub(super) fn seed1(effort: &Effort) -> Scenario {
    let cell = |name: &str, target: Target, connections| Cell {
        name: format!("{name} c{connections}"),
        target,
        load: Load::Wrk { threads: 2, connections },
        seconds: effort.lasting(1.0, 10.0),
    };
    const CONNECTIONS: &[u64] = &[100, 250, 500, 1000];
    // In a glance `core` has those between, equalised.
    let connections: &[u64] = effort.choose(&[100, 1000], CONNECTIONS);
    let mut cells: Vec<Cell> =
        connections.iter().map(|connections| cell("empty", Target::LIST, *connections)).collect();
    cells.extend(connections.iter().map(|connections| cell("50 ms", Target::after(50), *connections)));
    Scenario {
        name: "seed1",
        about: "100 to 1000 connections, empty and 50 ms; stock is the author's default, equalised the optimised one",
        contestants: parties(effort),
        groups: vec![Group { configurations: BOTH.into(), ..Group::new(1200, cells) }],
    }
}

/// ab -c 10 and -c 50, -n 1000, before an upstream of 200 ms; the author's was somewhere on the internet.
pub(super) fn seed2(effort: &Effort) -> Scenario {
    let requests = effort.choose(150, 1000);
    let cell = |concurrency| Cell {
        name: format!("ab -c {concurrency} -n {requests}"),
        target: Target::after(200),
        load: Load::Ab { concurrency, requests },
        seconds: 0.0,
    };
    Scenario {
        name: "seed2",
        about: "ab -c 10 and -c 50: HTTP/1.0, a connection for each request, 200 ms upstream",
        contestants: parties(effort),
        groups: vec![Group {
            configurations: effort.choose(EQUALISED, BOTH).into(),
            ..Group::new(TOMCAT, vec![cell(10), cell(50)])
        }],
    }
}

/// nginx with one worker and more beside the gateway, processor time told; then the gateway's own limits, one at a time. Its author's tool was
/// JMeter; here it is wrk.
pub(super) fn seed3(effort: &Effort) -> Scenario {
    let seconds = effort.lasting(1.0, 10.0);
    let load = Load::Wrk { threads: 2, connections: 200 };
    let cell = |name: String, target| Cell { name, target, load: load.clone(), seconds };
    let mut groups = Vec::new();
    for workers in workers() {
        let group = Group::new(TOMCAT, vec![cell(format!("nginx, {workers} workers"), Target::LIST)]);
        groups.push(Group {
            only: vec!["nginx"],
            overrides: told(&[("worker_processes", &workers.to_string())]),
            ..group
        });
    }
    groups.push(Group { only: GATEWAYS.into(), ..Group::new(TOMCAT, vec![cell("gateway".into(), Target::LIST)]) });
    for permits in ["100", "5000"] {
        let group = Group::new(TOMCAT, vec![cell(format!("semaphore {permits}"), Target::after(50))]);
        let overrides = told(&[("zuul.semaphore.max-semaphores", permits)]);
        groups.push(Group { only: GATEWAYS.into(), overrides, ..group });
    }
    for (core_size, most, queue) in effort.choose(&POOLS[2..], POOLS).iter().copied() {
        let grows = if most == core_size { String::new() } else { format!(", maximumSize {most}") };
        let name = format!("THREAD, coreSize {core_size}{grows}, maxQueueSize {queue}");
        let overrides = told(&[
            ("hystrix.threadpool.product.coreSize", core_size),
            ("hystrix.threadpool.product.maximumSize", most),
            ("hystrix.threadpool.product.allowMaximumSizeToDivergeFromCoreSize", "true"),
            ("hystrix.threadpool.product.maxQueueSize", queue),
            ("hystrix.threadpool.product.queueSizeRejectionThreshold", "5000"),
        ]);
        let group = Group::new(TOMCAT, vec![cell(name, Target::after(50))]);
        groups.push(Group { only: vec!["portcullis-thread", "zuul1-thread"], overrides, ..group });
    }
    Scenario {
        name: "seed3",
        about: "nginx with 1 to n workers against the gateway, and what its semaphore and its pool let through at c200; wrk instead of its author's JMeter",
        contestants: if effort.is_narrow() { OURS_AND_NGINX } else { AND_ZUUL }.into(),
        groups,
    }
}

/// `coreSize`, `maximumSize` and `maxQueueSize`; the last is the one that was recommended.
const POOLS: &[(&str, &str, &str)] =
    &[("10", "10", "-1"), ("100", "100", "-1"), ("100", "100", "5000"), ("100", "5000", "-1")];

/// Who takes part in the fourth, in a glance or a narrow measurement, and else.
const OURS_AND_NGINX: &[&str] = AND_ZUUL.split_at(4).0;
const AND_ZUUL: &[&str] = &["nginx", "portcullis", "portcullis-thread", "twin", "zuul1", "zuul1-thread"];

/// Those of them with a semaphore.
const GATEWAYS: &[&str] = &["portcullis", "twin", "zuul1"];

/// 1, 2, 4 and so on, up to the number of processors.
fn workers() -> Vec<usize> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut workers: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < processors).collect();
    workers.push(processors);
    workers
}

fn told(keys: &[(&str, &str)]) -> Vec<(String, String)> {
    keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
