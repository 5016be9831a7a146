//! How long to wait before another attempt: exponential, with full jitter, as Envoy does it.
//!
//! The pause before retry n is a random share of `base` x 2^(n-1), of `max` at most: those who failed together do not come back together.
//! Ribbon does not wait at all, which is the default here too.

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
        Duration::from_nanos(((u128::from(nanos) * u128::from(chance)) >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: u32, chance: u64, expected_millis: u64) {
        let (base, max) = (Duration::from_millis(100), Duration::from_millis(1000));
        let pause = Backoff::new(BackoffConfig { base, max }).pause(number, chance);
        let nearly = pause + Duration::from_nanos(1);
        assert_eq!(nearly.as_millis() as u64, expected_millis, "retry {number}, chance {chance}: {pause:?}");
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_chance_takes_its_share() {
        for (number, longest) in [(1, 100), (2, 200), (3, 400), (4, 800), (5, 1000), (33, 1000), (u32::MAX, 1000)] {
            check(number, u64::MAX, longest);
            check(number, u64::MAX / 2, longest / 2);
            check(number, 0, 0);
        }
    }
}
