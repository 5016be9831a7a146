//! How much is put into a measurement: a glance, or something to found a verdict on.

use crate::measure::warm_up::Patience;
use std::time::Duration;

/// Of a whole measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// One round of short cells, one process for all cells of a contestant: no verdict.
    pub(crate) quick: bool,
    /// The length of each cell, instead of its own; where a shorter one would show nothing, the cell keeps its least length.
    pub(crate) seconds: Option<f64>,
    /// The rounds, instead of one or five.
    pub(crate) rounds: Option<u32>,
    /// The most windows of a warm-up of a process's first cell, instead of its own; 0 for none. Later cells have five at most.
    pub(crate) warm_up: Option<u32>,
    /// The whole seconds of each window of a warm-up, instead of one or two.
    pub(crate) window: Option<u32>,
    /// Everybody in `core` alone; in the other scenarios those that a glance has, and no proxy.
    pub(crate) narrow: bool,
    /// One process for the cells of a group that a contestant plays in one round, instead of one for each cell: a JVM is warmed once.
    pub(crate) shared: bool,
    /// Of arrivals and of heavy-tailed delays; each round has its own, see [`Effort::seed_of`].
    pub(crate) seed: u64,
}

impl Effort {
    /// A glance.
    pub(crate) const QUICK: Self = Self {
        quick: true,
        seconds: None,
        rounds: None,
        warm_up: None,
        window: None,
        narrow: false,
        shared: false,
        seed: 1,
    };
    /// For a verdict.
    pub(crate) const ALL: Self = Self { quick: false, ..Self::QUICK };

    /// The length of a cell that takes so long in `quick` and so long in `all`, unless it is told otherwise.
    pub(crate) fn lasting(&self, quick: f64, all: f64) -> f64 {
        self.seconds.unwrap_or(self.choose(quick, all))
    }

    /// The length of an open loop at this rate, which for a verdict is not told to be so short that it has too few answers for a latency
    /// at 99 %: see [`crate::raw::Run::reaches`].
    pub(crate) fn lasting_at(&self, rate: f64, (quick, all): (f64, f64)) -> f64 {
        const ANSWERS: f64 = 1200.0;
        self.lasting(quick, all).max(self.choose(0.0, ANSWERS / rate))
    }

    /// One of two, by effort.
    pub(crate) fn choose<T>(&self, quick: T, all: T) -> T {
        if self.quick { quick } else { all }
    }

    /// The seed of a round: arrivals differ from round to round, so that the spread of the rounds holds what they do to a figure.
    pub(crate) fn seed_of(&self, round: u32) -> u64 {
        self.seed.wrapping_add(round.into())
    }

    /// How often each cell is measured.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(self.choose(1, 5)).max(1)
    }

    /// How a process is warmed up for its first cell, and for each later one. wrk knows whole seconds only.
    pub(crate) fn patience(&self, first: bool) -> Patience {
        // A JVM takes half a minute until its rate stays, and less for a load that is like the one before.
        const LATER: u32 = 5;
        let (window, most) = match (self.quick, first) {
            (true, true) => (1, 4),
            (true, false) => (1, 1),
            (false, true) => (2, 15),
            (false, false) => (2, LATER),
        };
        let window = self.window.map_or(window, u64::from);
        let chosen = self.warm_up.map(|most| if first { most } else { most.min(LATER) });
        Patience { window: Duration::from_secs(window), most: chosen.unwrap_or(most) }
    }

    /// Whether the Java originals, and variants of ours, take part in `core` alone.
    pub(crate) fn is_narrow(&self) -> bool {
        self.quick || self.narrow
    }

    /// Whether a process serves all cells of a group.
    pub(crate) fn is_shared(&self) -> bool {
        self.quick || self.shared
    }

    /// What was chosen, as facts beside the results.
    pub(crate) fn facts(&self) -> [(&'static str, String); 7] {
        let (first, later) = (self.patience(true), self.patience(false));
        let warm_up = format!(
            "windows of {} s, until three bring nothing new: at most {} for the first cell of a process, {} for each later one",
            first.window.as_secs(),
            first.most,
            later.most
        );
        let who = if self.is_narrow() {
            "few: the Java originals are in core alone, unless named"
        } else {
            "Java originals too"
        };
        let processes = match (self.quick, self.shared) {
            (true, _) => "one for all cells of a contestant with the same setup",
            (false, true) => "a fresh one for each contestant, group of cells and round",
            (false, false) => "a fresh one for each run",
        };
        [
            ("processes", processes.into()),
            ("seed", self.seed.to_string()),
            (
                "arrivals and heavy-tailed delays",
                "of each round from a seed of its own, the same for all contestants".into(),
            ),
            ("rounds", self.rounds().to_string()),
            ("seconds of a cell", self.seconds.map_or("each its own".into(), |seconds| seconds.to_string())),
            ("warm-up", warm_up),
            ("contestants besides core's", who.into()),
        ]
    }
}
