//! What is known of a measurement whenever a pair of its contestants is judged.

use super::doubt::doubt;
use super::pairs::{Cell, Measure};
use super::section::is_quick;
use super::verdict::{Standing, Verdict, judge, standing};
use super::warmth::Warmth;
use crate::raw::Data;

/// Judges pairs of one measurement.
pub(crate) struct Court {
    pub(crate) quick: bool,
    pub(crate) warmth: Warmth,
}

impl Court {
    pub(crate) fn of(data: &Data) -> Self {
        let quick = is_quick(data);
        Self { quick, warmth: Warmth::of(data, quick) }
    }

    /// What may be said of the pair in the cell, by this measure.
    pub(crate) fn verdict(&self, cell: &Cell<'_>, (subject, reference): (&str, &str), measure: Measure) -> Verdict {
        let doubt = doubt(cell, [subject, reference], measure, &self.warmth);
        judge(&cell.pairs(subject, reference, measure), self.quick, doubt)
    }

    /// Whom the verdict favours on the measure that fits the load.
    pub(crate) fn stands(&self, cell: &Cell<'_>, (subject, reference): (&str, &str)) -> Standing {
        let measure = cell.measure(subject, reference);
        standing(measure, &self.verdict(cell, (subject, reference), measure))
    }
}
