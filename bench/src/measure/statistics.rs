//! What several runs come to: the median and the spread, never the best and never a mean of percentiles.

/// The same figure of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) runs: usize,
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Summary {
    /// Of these; `None` without any.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median =
            if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) };
        Some(Self { runs: values.len(), median, low, high })
    }

    /// From the lowest to the highest, as a part of the median; 0 for one run, which says nothing of it.
    pub(crate) fn spread(&self) -> f64 {
        if self.median > 0.0 { (self.high - self.low) / self.median } else { 0.0 }
    }
}

/// Whether a cost that falls has come to its end: the last three values lie within this part of the largest of them, or none of them is
/// lower by more than this part than the lowest before them. Where `slack` is more than that part, it stands for it. Two would not do:
/// they agree by chance on their way. And on a machine whose rate sways by more than the tolerance, three never agree, though all is said.
pub(crate) fn has_settled(costs: &[f64], tolerance: f64, slack: f64) -> bool {
    let Some((before, last)) = costs.split_last_chunk::<3>() else { return false };
    let lowest = |costs: &[f64]| costs.iter().copied().fold(f64::INFINITY, f64::min);
    let (low, high) = (lowest(last), last.iter().copied().fold(0.0, f64::max));
    let within = |difference: f64, of: f64| difference.is_finite() && difference <= (tolerance * of).max(slack);
    low.is_finite() && (within(high - low, high) || !before.is_empty() && within(lowest(before) - low, lowest(before)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_the_spread_goes_from_end_to_end() {
        #[track_caller]
        fn check(values: &[f64], runs: usize, median: f64, spread: f64) {
            let summary = Summary::of(values.iter().copied()).expect("values");
            assert_eq!((summary.runs, summary.median, summary.spread()), (runs, median, spread), "{values:?}");
        }
        check(&[5.0], 1, 5.0, 0.0);
        check(&[3.0, 1.0, 2.0], 3, 2.0, 1.0);
        check(&[4.0, 1.0, 2.0, 8.0], 4, 3.0, 7.0 / 3.0);
        assert_eq!(Summary::of([]), None);
        assert_eq!(Summary::of([0.0, 0.0]).map(|summary| summary.spread()), Some(0.0));
    }

    #[test]
    fn a_cost_has_settled_when_three_agree_or_bring_nothing_better() {
        const NEVER: f64 = f64::INFINITY;
        let table: [(&[f64], f64, bool); 14] = [
            (&[], 0.0, false),
            (&[100.0, 100.0], 0.0, false),
            (&[100.0, 97.5, 99.0], 0.0, true),
            (&[100.0, 98.0, 96.0], 0.0, false),
            // Two that agree on their way are no end of it.
            (&[200.0, 100.0, 99.0, 80.0], 0.0, false),
            (&[200.0, 100.0, 99.0, 98.0], 0.0, true),
            // It sways, and gets no better.
            (&[100.0, 120.0, 98.0, 115.0], 0.0, true),
            (&[100.0, 120.0, 96.0, 115.0], 0.0, false),
            (&[100.0, 96.0, 115.0, 120.0, 94.0], 0.0, true),
            (&[1.2, 1.1, 1.0], 0.0, false),
            (&[1.2, 1.1, 1.0], 0.25, true),
            (&[NEVER, NEVER, NEVER], 0.0, false),
            (&[NEVER, NEVER, NEVER, NEVER], 0.0, false),
            (&[NEVER, NEVER, NEVER, 1.0], 0.0, false),
        ];
        for (costs, slack, expected) in table {
            assert_eq!(has_settled(costs, 0.03, slack), expected, "{costs:?}");
        }
    }
}
