//! Random numbers that all workers draw from one source without a lock: SplitMix64, whose state only counts up.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The step of the state (the golden ratio, odd).
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A source of random numbers; not for secrets. Every draw writes it, so it has a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Dice(AtomicU64);

impl Dice {
    /// Numbers that follow from `seed`.
    pub(super) fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Numbers that nobody foresees.
    pub(super) fn new() -> Self {
        Self::seeded(RandomState::new().hash_one(STEP))
    }

    /// A number below `count`, which must not be 0.
    pub(super) fn below(&self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }

    /// A number from 0 up to 1, which never comes.
    pub(super) fn share(&self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn next(&self) -> u64 {
        let mut mixed = self.0.fetch_add(STEP, Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference implementation's first numbers for the seed 1234567.
    #[test]
    fn numbers_are_those_of_splitmix64() {
        let dice = Dice::seeded(1_234_567);
        assert_eq!([dice.next(), dice.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let dice = Dice::seeded(1);
        let mut seen = [0; 3];
        for _ in 0..3000 {
            seen[dice.below(3)] += 1;
            assert!((0.0..1.0).contains(&dice.share()));
        }
        assert!(seen.iter().all(|count| (900..1100).contains(count)), "{seen:?}");
        assert_eq!(dice.below(1), 0);
    }
}
