//! What is measured, by name. A scenario is groups of cells. Cells of a group have the same setup, so that in `quick` they share a process.
//!
//! | name | question |
//! |---|---|
//! | `core` | throughput of everybody: empty and 50 ms, few and many connections |
//! | `scheduling` | what the kernel's policy for threads is worth to portcullis |
//! | `seed0` to `seed3` | four published comparisons, repeated as far as was told how, with their own figures beside ours |
//! | `sweep` | offered rate against delay, across the number of threads |
//! | `idle` | what parked connections cost |
//! | `isolation` | one slow service beside a fast one: who starves |
//! | `tail` | a backend whose delays have a heavy tail |
//! | `bodies` | 0.1, 10 and 100 kB down, 100 kB up |
//! | `overload` | past the knee, and back |

pub(crate) mod cell;
mod core;
mod effort;
mod limits;
pub(crate) mod published;
mod seeds;

pub(crate) use cell::{Beside, Cell, Load, OVERLOAD, Open, Target, overload_turns, overload_window};
pub(crate) use effort::Effort;

use crate::raw::Configuration;

/// A question, as what has to be measured for its answer.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Who takes part; everybody when empty.
    pub(crate) contestants: Vec<&'static str>,
    pub(crate) groups: Vec<Group>,
}

impl Scenario {
    /// Whoever was named takes part where nothing particular is told to the scenario's own, and a configuration that was chosen is played by
    /// all groups where none has it: what somebody asks for by name is measured.
    pub(crate) fn invite(&mut self, named: &[&'static str], configuration: Option<Configuration>) {
        if !self.contestants.is_empty() {
            let guests: Vec<&str> = named.iter().copied().filter(|name| !self.contestants.contains(name)).collect();
            self.contestants.extend(&guests);
            let for_some = |group: &&mut Group| !group.only.is_empty() && group.overrides.is_empty();
            self.groups.iter_mut().filter(for_some).for_each(|group| group.only.extend(&guests));
        }
        let Some(chosen) = configuration else { return };
        if !self.groups.iter().any(|group| group.configurations.contains(&chosen)) {
            self.groups.iter_mut().for_each(|group| group.configurations = vec![chosen]);
        }
    }

    /// How many threads blocking contestants have when equalised: one number, or several where groups differ.
    pub(crate) fn workers(&self) -> String {
        let mut workers: Vec<usize> = self.groups.iter().map(|group| group.workers).collect();
        workers.sort_unstable();
        workers.dedup();
        workers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// Cells with the same setup.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Threads of blocking contestants, when equalised.
    pub(crate) workers: usize,
    pub(crate) configurations: Vec<Configuration>,
    /// Only these of the scenario's contestants; all when empty.
    pub(crate) only: Vec<&'static str>,
    /// Keys that these contestants are told besides.
    pub(crate) overrides: Vec<(String, String)>,
    /// Services that the contestants lead to, all served by the one backend.
    pub(crate) services: &'static [&'static str],
    /// Whether the cells are one measurement, each finding the process as the one before left it. Else, for a verdict, each has its own.
    pub(crate) sequence: bool,
    /// The rounds for a verdict, instead of the usual ones.
    pub(crate) rounds: Option<u32>,
    /// Whether a process that served other scenarios will not do: memory and threads are what it is about.
    pub(crate) fresh: bool,
    pub(crate) cells: Vec<Cell>,
}

impl Group {
    /// Of all contestants, equalised, with so many threads.
    fn new(workers: usize, cells: Vec<Cell>) -> Self {
        Self {
            workers,
            configurations: EQUALISED.into(),
            only: Vec::new(),
            overrides: Vec::new(),
            services: &["product"],
            sequence: false,
            rounds: None,
            fresh: false,
            cells,
        }
    }

    /// Whether the contestant takes part.
    pub(crate) fn has(&self, contestant: &str) -> bool {
        self.only.is_empty() || self.only.contains(&contestant)
    }
}

const EQUALISED: &[Configuration] = &[Configuration::Equalised];
const BOTH: &[Configuration] = &[Configuration::Stock, Configuration::Equalised];
const STOCK: &[Configuration] = BOTH.split_at(1).0;

/// Who takes part in all but `core` for a verdict: those below, and the Java originals that the published comparisons were about.
const ORIGINALS: &[&str] = &["direct", "nginx", "portcullis", "twin", "zuul1", "gateway-webflux"];

/// When the measurement is a narrow one: those below, and no proxy as the base line.
const NARROW: &[&str] = ORIGINALS.split_at(4).0;

/// In a glance: a thread for each request, the same gateway without, and a well-known one.
const QUICK: &[&str] = NARROW.split_at(1).1;

/// Who takes part in all but `core`; `seed3` adds to them.
fn parties(effort: &Effort) -> Vec<&'static str> {
    let parties = match effort.is_narrow() {
        true => effort.choose(QUICK, NARROW),
        false => ORIGINALS,
    };
    parties.into()
}

type Maker = fn(&Effort) -> Scenario;

const MAKERS: &[Maker] = &[
    core::core,
    core::scheduling,
    seeds::seed0,
    seeds::seed1,
    seeds::seed2,
    seeds::seed3,
    limits::sweep,
    limits::idle,
    limits::isolation,
    limits::tail,
    limits::bodies,
    limits::overload,
];

/// All of them, for this effort, in their order.
pub(crate) fn all(effort: &Effort) -> Vec<Scenario> {
    MAKERS.iter().map(|make| make(effort)).collect()
}

#[cfg(test)]
mod tests;
