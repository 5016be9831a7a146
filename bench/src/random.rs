//! Randomness from a seed that is written down, so that a measurement can be repeated with the same arrivals, and a backend that draws the same
//! delays, one after the other in the order in which requests reach it: it begins anew when a measured run does.
//!
//! Our own few lines, since a library's sequence may change with its version: SplitMix64, which passes the usual tests and has no bad seeds.

/// A sequence of numbers that its seed determines.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Evenly in (0, 1]: never 0, so that its logarithm and its powers are finite.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Times between arrivals that know nothing of each other (a Poisson process).
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// A heavy tail: Pareto with shape 1.5, whose variance is infinite, cut off at a hundred times the mean so that a run ends.
    pub(crate) fn heavy_tailed(&mut self, mean: f64) -> f64 {
        const SHAPE: f64 = 1.5;
        let least = mean * (SHAPE - 1.0) / SHAPE;
        (least * self.uniform().powf(-1.0 / SHAPE)).min(100.0 * mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn mean(draw: impl FnMut() -> f64) -> f64 {
        std::iter::repeat_with(draw).take(DRAWS).sum::<f64>() / DRAWS as f64
    }

    #[test]
    fn a_seed_determines_the_sequence() {
        let draw = |seed| Random::new(seed).next();
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        // The reference sequence of SplitMix64.
        assert_eq!(draw(1_234_567), 6_457_827_717_110_365_317);
    }

    #[test]
    fn means_are_what_was_asked_for() {
        let mut random = Random::new(1);
        assert!((mean(|| random.uniform()) - 0.5).abs() < 0.01);
        assert!((mean(|| random.exponential(20.0)) - 20.0).abs() < 0.3);
        // The cut takes a little away: 1/15 of the mean lies beyond a hundred of it.
        let heavy = mean(|| random.heavy_tailed(20.0));
        assert!((17.0..20.0).contains(&heavy), "{heavy}");
    }

    #[test]
    fn the_tail_is_heavy_and_ends() {
        let mut random = Random::new(2);
        let mut delays: Vec<f64> = (0..DRAWS).map(|_| random.heavy_tailed(10.0)).collect();
        delays.sort_by(f64::total_cmp);
        assert!(delays[DRAWS / 2] < 6.0, "most are short");
        assert!(delays[DRAWS - DRAWS / 1000] > 200.0, "one of a thousand is very long");
        assert!(delays[DRAWS - 1] <= 1000.0, "none is endless");
    }
}
