//! Runs side by side: what was measured in the same cell, under the same limits and in the same round is compared, and nothing else.
//!
//! A ratio is taken inside a round, where both met the same machine in the same state, and the median over the rounds is of ratios; a ratio
//! of medians would mix rounds. A pair with a void run is no pair.

use crate::contestant;
use crate::measure::statistics::Summary;
use crate::raw::{Configuration, Kind, Run};

/// The name of the row without a proxy.
pub(crate) const DIRECT: &str = "direct";

/// What was asked of everyone alike: one cell of a scenario under one configuration.
#[derive(Clone, Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) name: &'a str,
    pub(crate) configuration: Configuration,
    pub(crate) runs: Vec<&'a Run>,
}

/// The cells of a scenario, in the order in which they were first run. The backend without a proxy has no limits, so its runs stand in for
/// a configuration in which it was not run again.
pub(crate) fn cells<'a>(runs: &'a [Run], scenario: &str) -> Vec<Cell<'a>> {
    let mut cells: Vec<Cell<'a>> = Vec::new();
    for run in runs.iter().filter(|run| run.scenario == scenario) {
        match cells.iter_mut().find(|cell| cell.name == run.cell && cell.configuration == run.configuration) {
            Some(cell) => cell.runs.push(run),
            None => cells.push(Cell { name: &run.cell, configuration: run.configuration, runs: vec![run] }),
        }
    }
    lend_direct(&mut cells);
    cells
}

fn lend_direct(cells: &mut Vec<Cell<'_>>) {
    let direct: Vec<Cell<'_>> = cells
        .iter()
        .map(|cell| Cell { runs: cell.of(DIRECT), ..cell.clone() })
        .filter(|cell| !cell.runs.is_empty())
        .collect();
    for cell in cells.iter_mut().filter(|cell| cell.of(DIRECT).is_empty()) {
        if let Some(lender) = direct.iter().find(|lender| lender.name == cell.name) {
            cell.runs.extend(&lender.runs);
        }
    }
    let is_proxied = |cell: &Cell<'_>| cell.runs.iter().any(|run| run.contestant != DIRECT);
    let proxied: Vec<&str> = cells.iter().filter(|cell| is_proxied(cell)).map(|cell| cell.name).collect();
    cells.retain(|cell| is_proxied(cell) || !proxied.contains(&cell.name));
}

impl<'a> Cell<'a> {
    /// Everyone with a run here, in the order of [`contestant::all`], those that it does not know last.
    pub(crate) fn contestants(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.runs.iter().map(|run| run.contestant.as_str()).collect();
        names.sort_by_key(|name| (place(name), *name));
        names.dedup();
        names
    }

    /// The runs of one contestant, in order.
    pub(crate) fn of(&self, contestant: &str) -> Vec<&'a Run> {
        self.runs.iter().copied().filter(|run| run.contestant == contestant).collect()
    }

    /// Those of them that count.
    pub(crate) fn valid(&self, contestant: &str) -> Vec<&'a Run> {
        self.of(contestant).into_iter().filter(|run| run.counts()).collect()
    }

    /// How requests were brought; all runs of a cell have the same.
    pub(crate) fn kind(&self) -> Kind {
        self.runs.first().map_or(Kind::default(), |run| run.kind)
    }

    /// The ratios of `subject` to `reference`, round by round.
    pub(crate) fn pairs(&self, subject: &str, reference: &str, measure: Measure) -> Pairs {
        let mut pairs = Pairs::default();
        let partners = self.of(reference);
        let mut taken = vec![false; partners.len()];
        for run in self.of(subject) {
            let partner = (0..partners.len()).find(|at| !taken[*at] && partners[*at].round == run.round);
            match partner {
                Some(at) => {
                    taken[at] = true;
                    pairs.add(run, partners[at], measure);
                }
                None => pairs.lost.push(format!("round {}: {} has no run", run.round, label(reference))),
            }
        }
        pairs
    }

    /// What two are compared by here: memory and threads while connections stand idle; how late answers came where the offered rate was
    /// served by both; else how many right answers there were.
    pub(crate) fn measure(&self, subject: &str, reference: &str) -> Measure {
        match self.kind() {
            Kind::Parked => Measure::Memory,
            Kind::Closed => Measure::Goodput,
            Kind::Open | Kind::Poisson => {
                let served = [subject, reference].iter().all(|who| self.is_served(who));
                if served { Measure::P99 } else { Measure::Goodput }
            }
        }
    }

    /// Whether nearly all that was asked was answered rightly and in time; else latencies are those of refusals too, or grow with the length
    /// of the run, and say nothing beside others'.
    pub(crate) fn is_served(&self, contestant: &str) -> bool {
        const NEARLY_ALL: f64 = 0.99;
        let parts = Summary::of(self.valid(contestant).iter().filter_map(|run| run.served()));
        parts.is_some_and(|parts| parts.median >= NEARLY_ALL)
    }
}

/// Where the contestant stands in reports, and which style its lines have.
pub(crate) fn place(name: &str) -> usize {
    contestant::all().position(|contestant| contestant.name == name).unwrap_or(usize::MAX)
}

/// What a report calls it: the name of its row where there is no contestant of this name.
pub(crate) fn label(name: &str) -> &str {
    contestant::named(name).map_or(name, |contestant| contestant.label)
}

/// What two are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Right answers a second; of an open loop those in time.
    Goodput,
    /// Latency at 99 %, in an open loop from the intended send time.
    P99,
    /// Processor seconds for a thousand answers.
    Processor,
    /// Memory at the end, shared pages divided (PSS).
    Memory,
    /// The most threads.
    Threads,
}

impl Measure {
    pub(crate) fn of(self, run: &Run) -> Option<f64> {
        match self {
            Self::Goodput => Some(run.goodput),
            Self::P99 => run.p99(),
            Self::Processor => run.cpu_per_thousand,
            Self::Memory => run.pss_kb.map(|kb| kb as f64),
            Self::Threads => run.threads.map(|threads| threads as f64),
        }
    }
}

/// Ratios, and why there are not more.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pairs {
    /// In the order of the rounds.
    pub(crate) ratios: Vec<f64>,
    /// A sentence for each pair that does not count.
    pub(crate) lost: Vec<String>,
}

impl Pairs {
    fn add(&mut self, run: &Run, partner: &Run, measure: Measure) {
        for side in [run, partner] {
            if !side.counts() {
                return self.lost.push(format!(
                    "round {}: {} is void: {}",
                    side.round,
                    label(&side.contestant),
                    side.void
                ));
            }
        }
        match (measure.of(run), measure.of(partner)) {
            (Some(above), Some(below)) if below > 0.0 => self.ratios.push(above / below),
            (Some(_), Some(_)) => {
                let none = if measure == Measure::Goodput {
                    "gave no right answer in time"
                } else {
                    "used none that could be told"
                };
                self.lost.push(format!("round {}: {} {none}", run.round, label(&partner.contestant)));
            }
            _ => {
                let few = [run, partner].iter().any(|side| measure == Measure::P99 && side.p99_ms.is_some());
                let why = if few { "too few answers for a latency at 99 %" } else { "not told" };
                self.lost.push(format!("round {}: {why}", run.round));
            }
        }
    }
}

#[cfg(test)]
mod tests;
