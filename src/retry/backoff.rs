//! How long to wait before another attempt: exponential, with what is known as equal jitter.
//!
//! The pause before retry n is `base` x 2^(n-1), `max` at most, less a random share of its half: those who failed together do not come
//! back together, and none of them at once, as full jitter would have it. Ribbon does not wait at all, which is the default here too.

use crate::config::model::BackoffConfig;
use std::time::Duration;

/// The pauses of one service.
#[derive(Clone, Copy, Debug)]
pub struct Backoff(BackoffConfig);

impl Backoff {
    /// By these bounds.
    pub fn new(config: BackoffConfig) -> Self {
        Self(config)
    }

    /// The pause before the retry of this number, from 1; `chance` is any number, evenly spread.
    pub fn pause(self, number: u32, chance: u64) -> Duration {
        let doubled = 1_u32.checked_shl(number.saturating_sub(1)).unwrap_or(u32::MAX);
        let longest = self.0.base.saturating_mul(doubled).min(self.0.max);
        let nanos = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        let share = ((u128::from(nanos / 2) * u128::from(chance)) >> 64) as u64;
        Duration::from_nanos(nanos - share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: u32, chance: u64, expected: f64) {
        let (base, max) = (Duration::from_millis(100), Duration::from_millis(1000));
        let pause = Backoff::new(BackoffConfig { base, max }).pause(number, chance);
        let millis = pause.as_secs_f64() * 1e3;
        assert!((millis - expected).abs() < 0.001, "retry {number}, chance {chance}: {pause:?}, not {expected} ms");
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_chance_takes_up_to_half() {
        for (number, longest) in
            [(1, 100.), (2, 200.), (3, 400.), (4, 800.), (5, 1000.), (33, 1000.), (u32::MAX, 1000.)]
        {
            check(number, 0, longest);
            check(number, u64::MAX / 2, longest * 0.75);
            check(number, u64::MAX, longest * 0.5);
        }
    }
}
