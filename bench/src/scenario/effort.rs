//! How much is put into a measurement: a glance, or something to found a verdict on.

use crate::measure::warm_up::Patience;
use std::time::Duration;

/// Of a whole measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// One round of short cells, one process for all cells of a contestant: no verdict.
    pub(crate) quick: bool,
    /// The length of each cell, instead of its own.
    pub(crate) seconds: Option<f64>,
    /// The rounds, instead of one or five.
    pub(crate) rounds: Option<u32>,
    /// The most windows of a warm-up, instead of its own; 0 for none.
    pub(crate) warm_up: Option<u32>,
    /// Of arrivals and of heavy-tailed delays.
    pub(crate) seed: u64,
}

impl Effort {
    /// A glance.
    pub(crate) const QUICK: Self = Self { quick: true, seconds: None, rounds: None, warm_up: None, seed: 1 };
    /// For a verdict.
    pub(crate) const ALL: Self = Self { quick: false, ..Self::QUICK };

    /// The length of a cell that takes so long in `quick` and so long in `all`.
    pub(crate) fn lasting(&self, quick: f64, all: f64) -> f64 {
        self.seconds.unwrap_or(if self.quick { quick } else { all })
    }

    /// One of two, by effort.
    pub(crate) fn choose<T>(&self, quick: T, all: T) -> T {
        if self.quick { quick } else { all }
    }

    /// How often each cell is measured.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(self.choose(1, 5)).max(1)
    }

    /// How a process is warmed up for its first cell, and for each later one. wrk knows whole seconds only.
    pub(crate) fn patience(&self, first: bool) -> Patience {
        let (window, most) = match (self.quick, first) {
            (true, true) => (1, 4),
            (true, false) => (1, 1),
            (false, true) => (2, 8),
            (false, false) => (2, 3),
        };
        Patience { window: Duration::from_secs(window), most: self.warm_up.unwrap_or(most) }
    }
}
