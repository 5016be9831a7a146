//! Numbers as a reader wants them: three digits that mean something, and a dash for what nobody told.

use crate::measure::statistics::Summary;

/// For what the tool or the system does not tell.
pub(crate) const NOT_TOLD: &str = "–";

/// About three digits; thousands as `k`, millions as `M`.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{:.2}M", value / 1e6),
        size if size >= 1e4 => format!("{:.1}k", value / 1e3),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.000_5 => format!("{value:.3}"),
        0.0 => "0".into(),
        _ => format!("{value:.1e}"),
    }
}

/// The median, and from the lowest to the highest where there are several.
pub(crate) fn spread(summary: Option<Summary>) -> String {
    match summary {
        None => NOT_TOLD.into(),
        Some(Summary { runs: 1, median, .. }) => short(median),
        Some(Summary { median, low, high, .. }) => format!("{} ({}..{})", short(median), short(low), short(high)),
    }
}

/// The median alone.
pub(crate) fn middle(summary: Option<Summary>) -> String {
    summary.map_or(NOT_TOLD.into(), |summary| short(summary.median))
}

/// A ratio, always with two decimals: 0.98 and 1.02 must be told apart; what rounds to 0.00 gets the digits it needs.
pub(crate) fn times(ratio: f64) -> String {
    if (0.1..100.0).contains(&ratio) { format!("{ratio:.2}") } else { short(ratio) }
}

/// A part of one, in percent.
pub(crate) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent > 0.0 && percent < 0.05 { "under 0.1 %".into() } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_left() {
        let table = [
            (0.0, "0"),
            (0.000_012_3, "1.2e-5"),
            (0.012_34, "0.012"),
            (1.234, "1.23"),
            (12.34, "12.3"),
            (123.4, "123"),
            (1234.0, "1234"),
            (54_876.0, "54.9k"),
            (1_234_567.0, "1.23M"),
            (-12.34, "-12.3"),
        ];
        for (value, expected) in table {
            assert_eq!(short(value), expected);
        }
    }

    #[test]
    fn one_run_has_no_spread() {
        assert_eq!(spread(Summary::of([12.0])), "12.0");
        assert_eq!(spread(Summary::of([10.0, 12.0, 20.0])), "12.0 (10.0..20.0)");
        assert_eq!(spread(None), NOT_TOLD);
    }

    #[test]
    fn ratios_and_parts() {
        assert_eq!([1.0, 0.984, 0.012, 250.0].map(times), ["1.00", "0.98", "0.012", "250"]);
        assert_eq!([0.0, 0.000_1, 0.123, 1.0].map(percent), ["0.0 %", "under 0.1 %", "12.3 %", "100.0 %"]);
    }
}
