//! Scales: where a value stands between the two ends of an axis, and which values are marked on it.

use crate::report::numbers::short;

/// An axis, with its unit in the label.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
}

/// How values are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From zero, evenly.
    Linear,
    /// Equal ratios at equal distances.
    Log,
    /// Percentiles: each further nine of 90, 99, 99.9 at the same distance. It is the logarithm of the part that is slower.
    Tail,
}

/// The two ends of an axis, on its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ends {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Axis {
    pub(crate) fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale }
    }

    /// The label, with the scale where it is not the usual one.
    pub(super) fn titled(&self) -> String {
        if self.scale == Scale::Log { format!("{} (log scale)", self.label) } else { self.label.clone() }
    }

    pub(super) fn can_show(&self, value: f64) -> bool {
        match self.scale {
            Scale::Linear => value.is_finite(),
            Scale::Log => value.is_finite() && value > 0.0,
            Scale::Tail => (0.0..100.0).contains(&value),
        }
    }

    /// A value in words.
    pub(super) fn named(&self, value: f64) -> String {
        match self.scale {
            Scale::Tail => format!("{} %", trimmed(value)),
            _ => short(value),
        }
    }

    /// Ends that hold all of `values`, those that can't be shown left out.
    pub(super) fn ends(&self, values: impl Iterator<Item = f64>) -> Ends {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| self.can_show(*value)) {
            let at = self.scale.transformed(value);
            (low, high) = (low.min(at), high.max(at));
        }
        let (low, high) = match self.scale {
            Scale::Linear | Scale::Tail => (low.min(0.0), high.max(0.0)),
            Scale::Log => (low, high),
        };
        let (low, high) = if low.is_finite() && high > low { (low, high) } else { self.scale.around(low) };
        match self.scale {
            Scale::Log => Ends { scale: self.scale, low: low - 0.04 * (high - low), high: high + 0.04 * (high - low) },
            Scale::Linear => Ends { scale: self.scale, low, high: high + 0.05 * (high - low) },
            Scale::Tail => Ends { scale: self.scale, low, high },
        }
    }
}

/// `99.90` as `99.9`, `50.0` as `50`.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Scale {
    /// One value has no extent of its own.
    fn around(self, value: f64) -> (f64, f64) {
        match self {
            Self::Log if value.is_finite() => (value - 0.5, value + 0.5),
            Self::Log | Self::Linear | Self::Tail => (0.0, 1.0),
        }
    }

    fn transformed(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log => value.log10(),
            Self::Tail => -(1.0 - value / 100.0).log10(),
        }
    }
}

impl Ends {
    /// From 0 at the low end to 1 at the high one; what lies beyond is drawn at the edge.
    pub(super) fn position(&self, value: f64) -> f64 {
        let at = self.scale.transformed(value);
        let at = if value == f64::NEG_INFINITY || at.is_nan() { self.low } else { at };
        ((at - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Whether it lies between the ends.
    pub(super) fn holds(&self, value: f64) -> bool {
        let at = self.scale.transformed(value);
        (self.low - 1e-9..=self.high + 1e-9).contains(&at)
    }

    /// The values to mark, with their words.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let values = match self.scale {
            Scale::Linear => self.even(),
            Scale::Log => self.ratios(),
            Scale::Tail => vec![0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999],
        };
        let word = |value: f64| match self.scale {
            Scale::Tail => format!("{} %", trimmed(value)),
            _ => tick(value),
        };
        values.into_iter().filter(|value| self.holds(*value)).map(|value| (value, word(value))).collect()
    }

    /// At about five round distances.
    fn even(&self) -> Vec<f64> {
        round_values(self.low, self.high)
    }

    /// Round values at equal ratios; where the ends are too near for three of them, at equal distances.
    fn ratios(&self) -> Vec<f64> {
        let decades = self.decades();
        if decades.iter().filter(|value| self.holds(**value)).count() >= 3 {
            return decades;
        }
        round_values(10_f64.powf(self.low), 10_f64.powf(self.high))
    }

    /// 1, 2, 5 of each power of ten, or the powers alone where there are many.
    fn decades(&self) -> Vec<f64> {
        let within: &[f64] = if self.high - self.low > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = (self.low.floor() as i32)..=(self.high.ceil() as i32);
        powers.flat_map(|power| within.iter().map(move |step| step * 10_f64.powi(power))).collect()
    }
}

/// About five values at a round distance.
fn round_values(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let decade = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    (first..first + 12).map(|n| n as f64 * step).collect()
}

/// A round value without digits that say nothing.
fn tick(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{}M", trimmed(value / 1e6)),
        size if size >= 1e4 => format!("{}k", trimmed(value / 1e3)),
        _ => trimmed(value),
    }
}
