//! How sure a median is: the interval in which the true one lies.
//!
//! It is that of the sign test: the k-th lowest to the k-th highest value. It is exact whatever the distribution, and needs no
//! random numbers, so that the same data give the same verdict. With five pairs it is the whole range, at a level of 93.75 %: if two
//! contestants are alike, one verdict of sixteen says by chance that they are not.

/// Where the true median is, with a probability of `level`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// From 0 to 1.
    pub(crate) level: f64,
}

/// No interval from fewer.
pub(crate) const FEWEST: usize = 5;

/// What five values can just reach.
const LEVEL: f64 = 0.93;

/// The narrowest interval between a value and its mirror image in the order that still has the level; `None` from fewer than [`FEWEST`].
pub(crate) fn interval(values: &[f64]) -> Option<Interval> {
    let n = values.len();
    if n < FEWEST {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at =
        |left_out: usize| Interval { low: sorted[left_out], high: sorted[n - 1 - left_out], level: level(n, left_out) };
    (0..n / 2).rev().map(at).find(|interval| interval.level >= LEVEL)
}

/// The probability that the median of `n` lies within, when `left_out` values stand on each side: neither that few nor that many of them
/// are below it, each being so with probability one half.
fn level(n: usize, left_out: usize) -> f64 {
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut tail = term;
    for k in 1..=left_out {
        term *= (n + 1 - k) as f64 / k as f64;
        tail += term;
    }
    1.0 - 2.0 * tail
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of every table of the sign test.
    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        let table = [
            (5, 0, 0.937_5),
            (6, 0, 0.968_75),
            (7, 0, 0.984_375),
            (8, 0, 0.992_187_5),
            (9, 1, 0.960_937_5),
            (10, 1, 0.978_515_625),
            (12, 2, 0.961_425_781_25),
            (20, 5, 0.958_610_534_667_968_8),
        ];
        for (n, left_out, level) in table {
            // Backwards, since the order must not matter.
            let values: Vec<f64> = (0..n).rev().map(|value| value as f64).collect();
            let expected = Interval { low: left_out as f64, high: (n - 1 - left_out) as f64, level };
            assert_eq!(interval(&values), Some(expected), "{n}");
        }
    }

    #[test]
    fn four_values_have_no_interval() {
        assert_eq!(interval(&[1.0, 1.1, 1.2, 1.3]), None);
        assert_eq!(interval(&[]), None);
    }
}
