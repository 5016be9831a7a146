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

/// Whether the last three of `windows` lie within this part of the largest of them, or within `slack`; not before there are three. Two agree
/// by chance on their way up.
pub(crate) fn agree(windows: &[f64], tolerance: f64, slack: f64) -> bool {
    let [.., first, second, third] = windows else { return false };
    let (low, high) = (first.min(*second).min(*third), first.max(*second).max(*third));
    high > 0.0 && high - low <= (tolerance * high).max(slack)
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
    fn three_windows_agree_when_they_are_close() {
        let table: [(&[f64], f64, bool); 10] = [
            (&[], 0.0, false),
            (&[100.0, 100.0], 0.0, false),
            (&[100.0, 103.0, 101.0], 0.0, true),
            (&[100.0, 103.0, 104.0], 0.0, false),
            (&[104.0, 102.0, 100.0], 0.0, false),
            (&[10.0, 100.0, 100.0], 0.0, false),
            (&[10.0, 100.0, 100.0, 101.0], 0.0, true),
            (&[0.0, 0.0, 0.0], 0.2, false),
            (&[1.0, 1.2, 1.1], 0.0, false),
            (&[1.0, 1.2, 1.1], 0.25, true),
        ];
        for (windows, slack, expected) in table {
            assert_eq!(agree(windows, 0.03, slack), expected, "{windows:?}");
        }
    }
}
