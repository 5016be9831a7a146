//! Limits as data: one row is what is printed and what the contestant is told.

use super::{Configuration, Setup};
use std::fmt;

/// Where in its path a request meets the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// The kernel's queue of connections that nobody accepted yet.
    Backlog,
    /// Open connections of clients.
    Connections,
    /// Requests a connection may carry.
    KeepAlive,
    /// Threads or processes.
    Workers,
    /// Requests that wait for a worker.
    Queue,
    /// Semaphores and pools of a service.
    Isolation,
    /// Connections to the backend.
    Upstream,
    /// How long is waited.
    Timeout,
    /// Sizes of bodies.
    Body,
    /// What is written down.
    Log,
    /// Heap and collector.
    Memory,
    /// What a scenario told besides.
    Told,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Backlog => "backlog",
            Self::Connections => "connections",
            Self::KeepAlive => "keep-alive",
            Self::Workers => "workers",
            Self::Queue => "queue",
            Self::Isolation => "isolation",
            Self::Upstream => "upstream",
            Self::Timeout => "timeout",
            Self::Body => "body",
            Self::Log => "log",
            Self::Memory => "memory",
            Self::Told => "told",
        })
    }
}

/// A limit of a contestant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knob {
    pub(crate) stage: Stage,
    /// As the contestant spells it; `<service>` stands for each route's name.
    pub(crate) key: &'static str,
    /// What it is when nobody says anything.
    pub(crate) stock: Told,
    /// What it is told when equalised.
    pub(crate) equalised: Told,
}

impl Knob {
    pub(super) const fn new(stage: Stage, key: &'static str, stock: Told, equalised: Told) -> Self {
        Self { stage, key, stock, equalised }
    }
}

/// A value of a [`Knob`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing is told; this is what it comes to.
    Default(&'static str),
    Value(&'static str),
    /// [`Setup::workers`].
    Workers,
    /// As many as the machine has.
    Processors,
}

/// A limit with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) stage: Stage,
    pub(crate) key: String,
    pub(crate) value: String,
    /// Whether the contestant is told, or has it by itself.
    pub(crate) told: bool,
}

impl Limit {
    /// `stage: key = value`, marked where the contestant has it by itself.
    pub(crate) fn line(&self) -> String {
        let own = if self.told { "" } else { " (its own)" };
        format!("{}: {} = {}{own}", self.stage, self.key, self.value)
    }
}

/// The rows under `setup`; overrides win, and those that no row has come last.
pub(super) fn limits(knobs: &[&[Knob]], setup: &Setup) -> Vec<Limit> {
    let mut limits: Vec<Limit> = knobs.iter().copied().flatten().flat_map(|knob| rows(knob, setup)).collect();
    limits.sort_by_key(|limit| limit.stage);
    for (key, value) in &setup.overrides {
        match limits.iter_mut().find(|limit| limit.key == *key) {
            Some(limit) => (limit.value, limit.told) = (value.clone(), true),
            None => limits.push(Limit { stage: Stage::Told, key: key.clone(), value: value.clone(), told: true }),
        }
    }
    limits
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// One row, or one for each service.
fn rows(knob: &Knob, setup: &Setup) -> Vec<Limit> {
    let told = match setup.configuration {
        Configuration::Stock => knob.stock,
        Configuration::Equalised => knob.equalised,
    };
    let (value, told) = match told {
        Told::Default(value) => (value.to_owned(), false),
        Told::Value(value) => (value.to_owned(), true),
        Told::Workers => (setup.workers.to_string(), true),
        Told::Processors => (processors().to_string(), true),
    };
    let row = |key: String| Limit { stage: knob.stage, key, value: value.clone(), told };
    if !knob.key.contains("<service>") {
        return vec![row(knob.key.to_owned())];
    }
    setup.routes.iter().map(|route| row(knob.key.replace("<service>", &route.name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestant::Route;

    const KNOBS: &[Knob] = &[
        Knob::new(Stage::Workers, "threads", Told::Default("200"), Told::Workers),
        Knob::new(Stage::Timeout, "<service>.wait", Told::Default("1 s"), Told::Value("30 s")),
    ];

    fn told(configuration: Configuration, overrides: &[(&str, &str)]) -> Vec<(String, String, bool)> {
        let mut setup = Setup::new(([127, 0, 0, 1], 1).into());
        setup.routes.push(Route { name: "slow".into(), servers: Vec::new() });
        setup.workers = 7;
        setup.configuration = configuration;
        setup.overrides = overrides.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        limits(&[KNOBS], &setup).into_iter().map(|limit| (limit.key, limit.value, limit.told)).collect()
    }

    fn row(key: &str, value: &str, told: bool) -> (String, String, bool) {
        (key.to_owned(), value.to_owned(), told)
    }

    #[test]
    fn stock_tells_nothing_and_says_what_it_comes_to() {
        let rows = told(Configuration::Stock, &[]);
        let wanted = [row("threads", "200", false), row("product.wait", "1 s", false), row("slow.wait", "1 s", false)];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn equalised_tells_each_service_and_the_number_of_threads() {
        let rows = told(Configuration::Equalised, &[]);
        assert_eq!(
            rows,
            [row("threads", "7", true), row("product.wait", "30 s", true), row("slow.wait", "30 s", true)]
        );
    }

    #[test]
    fn overrides_win_and_unknown_ones_come_last() {
        let rows = told(Configuration::Stock, &[("slow.wait", "2 s"), ("other", "x")]);
        assert_eq!(rows[2..], [row("slow.wait", "2 s", true), row("other", "x", true)]);
        assert_eq!(rows[1], row("product.wait", "1 s", false));
    }
}
