//! In which order what is measured, and how long that will take: known before anything starts.

use crate::measure::order::turns;
use crate::raw::Configuration;
use crate::scenario::{Cell, Effort, Group, Scenario};
use std::time::Duration;

/// How long a native program and a JVM take until they answer, and what a run costs besides its load.
const NATIVE_START: Duration = Duration::from_millis(500);
const JVM_START: Duration = Duration::from_secs(7);
const AROUND: Duration = Duration::from_millis(300);

/// How long a JVM that was just started takes to be held against portcullis; others take no more than part of their start.
const PROBED: Duration = Duration::from_secs(2);

/// How long portcullis and its twin are compared before each scenario, or once in a glance.
const PARITY: Duration = Duration::from_secs(4);

/// Cells of a group on one contestant in one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) group: &'a Group,
    /// All of the group's, or one of them.
    pub(crate) cells: &'a [Cell],
    pub(crate) contestant: &'static str,
    pub(crate) configuration: Configuration,
    pub(crate) round: u32,
    /// From 1, within the round.
    pub(crate) position: u32,
}

impl<'a> Task<'a> {
    /// Its cells in the order of their turns: those of one process backwards in even rounds, so that a cell is not always the one for which a
    /// JVM has compiled the least. A sequence has its own order.
    pub(crate) fn turns(&self) -> Vec<&'a Cell> {
        let round = if self.group.sequence { 1 } else { self.round };
        turns(self.cells.len(), round).into_iter().map(|turn| &self.cells[turn]).collect()
    }

    /// Whether one process can serve both.
    pub(crate) fn shares_process_with(&self, other: &Task<'_>) -> bool {
        let key = |task: &Task<'_>| {
            let Group { workers, services, fresh, .. } = task.group;
            let own = fresh.then_some(task.scenario.name);
            (task.contestant, task.configuration, task.round, *workers, *services, own)
        };
        key(self) == key(other) && self.group.overrides == other.group.overrides
    }
}

/// Every task in its order: scenario by scenario, round by round; or, where time is short, by contestants, so that one process serves as
/// much as it can.
pub(crate) fn tasks<'a>(
    scenarios: &'a [Scenario],
    contestants: &[&'static str],
    configuration: Option<Configuration>,
    effort: &Effort,
) -> Vec<Task<'a>> {
    let of = |scenario: &'a Scenario| of_scenario(scenario, contestants, configuration, effort);
    let tasks = scenarios.iter().flat_map(of).collect();
    if effort.quick { gathered(tasks, scenarios, contestants) } else { tasks }
}

/// Cells that a process plays, and with which limits.
type Part<'a> = (&'a Group, Configuration, &'a [Cell]);

/// Each round has all parts, backwards in even ones, with its contestants in ABBA turns: also those who are compared across groups (nginx's
/// numbers of workers, no proxy beside stock limits) meet in the same round.
fn of_scenario<'a>(
    scenario: &'a Scenario,
    contestants: &[&'static str],
    configuration: Option<Configuration>,
    effort: &Effort,
) -> Vec<Task<'a>> {
    let parts = parts(scenario, configuration, effort);
    let takes_part = |name: &&'static str| scenario.contestants.is_empty() || scenario.contestants.contains(name);
    let most = parts.iter().map(|(group, ..)| rounds(group, effort)).max().unwrap_or(0);
    let mut tasks = Vec::new();
    for round in 1..=most {
        for (group, wanted, cells) in turns(parts.len(), round).into_iter().map(|turn| parts[turn]) {
            let is_party = |name: &&'static str| takes_part(name) && group.has(name);
            let parties: Vec<&'static str> = contestants.iter().copied().filter(is_party).collect();
            let task = |(contestant, position)| Task {
                scenario,
                group,
                cells,
                contestant,
                configuration: wanted,
                round,
                position,
            };
            if round <= rounds(group, effort) {
                tasks.extend(in_turns(&parties, wanted, round).into_iter().zip(1..).map(task));
            }
        }
    }
    tasks
}

/// In the scenario's own order.
fn parts<'a>(scenario: &'a Scenario, configuration: Option<Configuration>, effort: &Effort) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for group in &scenario.groups {
        for wanted in group.configurations.iter().filter(|it| configuration.is_none_or(|only| only == **it)) {
            parts.extend(together(group, effort).into_iter().map(|cells| (group, *wanted, cells)));
        }
    }
    parts
}

/// The group's cells, in parts that have a process of their own.
fn together<'a>(group: &'a Group, effort: &Effort) -> Vec<&'a [Cell]> {
    // Memory that a process got for one cell stays with it in the next; a glance has no time for that.
    let own = group.fresh && !effort.quick;
    let one = (effort.is_shared() && !own) || group.sequence;
    if one { vec![&group.cells] } else { group.cells.iter().map(std::slice::from_ref).collect() }
}

fn rounds(group: &Group, effort: &Effort) -> u32 {
    let own = group.rounds.filter(|_| effort.rounds.is_none() && !effort.quick);
    own.unwrap_or(effort.rounds())
}

fn in_turns(parties: &[&'static str], configuration: Configuration, round: u32) -> Vec<&'static str> {
    let order = turns(parties.len(), round).into_iter().map(|turn| parties[turn]);
    // Without a proxy there are no limits to choose.
    order.filter(|name| *name != "direct" || configuration == Configuration::Equalised).collect()
}

/// The same tasks, those that can share a process behind each other; in even rounds contestants and scenarios too go backwards.
fn gathered<'a>(tasks: Vec<Task<'a>>, scenarios: &[Scenario], contestants: &[&'static str]) -> Vec<Task<'a>> {
    let backwards = |round: u32, at: usize, of: usize| if round % 2 == 1 { at } else { of - at };
    let rank = |(n, task): &(usize, Task<'_>)| {
        let contestant = contestants.iter().position(|name| *name == task.contestant).unwrap_or_default();
        let scenario = scenarios.iter().position(|it| it.name == task.scenario.name).unwrap_or_default();
        (
            task.round,
            backwards(task.round, contestant, contestants.len()),
            task.configuration,
            task.group.workers,
            task.group.services.len(),
            task.group.fresh,
            task.group.overrides.clone(),
            backwards(task.round, scenario, scenarios.len()),
            *n,
        )
    };
    let mut numbered: Vec<(usize, Task<'a>)> = tasks.into_iter().enumerate().collect();
    numbered.sort_by_cached_key(rank);
    numbered.into_iter().map(|(_, task)| task).collect()
}

/// How long the task takes at most, as far as its warm-up goes; `first` says whether its process is new.
pub(crate) fn lasts(task: &Task<'_>, effort: &Effort, first: bool) -> Duration {
    let start = if is_java(task) { JVM_START } else { NATIVE_START };
    let cell = |(n, cell): (usize, &Cell)| {
        let patience = effort.patience(first && n == 0);
        cell.lasts() + patience.window * patience.most + AROUND
    };
    let cells: Duration = task.cells.iter().enumerate().map(cell).sum();
    if first { start + cells } else { cells }
}

fn is_java(task: &Task<'_>) -> bool {
    ["zuul", "gateway-"].iter().any(|prefix| task.contestant.starts_with(prefix))
}

/// How long each of the tasks takes.
pub(crate) fn durations(tasks: &[Task<'_>], effort: &Effort) -> Vec<Duration> {
    let first = |n: usize| n == 0 || !effort.quick || !tasks[n].shares_process_with(&tasks[n - 1]);
    let of_twin = |task: &Task<'_>| task.contestant == "twin";
    let same = |a: &Task<'_>, b: &Task<'_>| effort.quick || a.scenario.name == b.scenario.name;
    let compares = |n: usize| of_twin(&tasks[n]) && !tasks[..n].iter().any(|it| of_twin(it) && same(it, &tasks[n]));
    let who = |task: &Task<'_>| (task.contestant, task.configuration);
    let is_new = |n: usize| !effort.quick || !tasks[..n].iter().any(|it| who(it) == who(&tasks[n]));
    let probed = |n: usize| is_java(&tasks[n]) && first(n) && is_new(n);
    let if_so = |so: bool, time| if so { time } else { Duration::ZERO };
    let lasts = |n: usize| lasts(&tasks[n], effort, first(n)) + if_so(compares(n), PARITY) + if_so(probed(n), PROBED);
    (0..tasks.len()).map(lasts).collect()
}

/// `1 h 5 min`, `3 min 20 s`, `20 s`.
pub(crate) fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

#[cfg(test)]
mod tests;
