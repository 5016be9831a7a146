//! Limit, permits in use and whether somebody waits, in one word: so that a permit is granted against the limit of that very moment.
//!
//! ```text
//! 63 ... 32  limit      31  somebody waits      30 ... 0  in use
//! ```
//!
//! With the limit in a word of its own, a permit could be granted by a limit that was lowered between the look and the grant. Used by
//! [`super::Semaphore`]; the flag is set and cleared by [`super::line`] under its lock.

use std::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

const WAITING: u64 = 1 << 31;
const IN_USE: u64 = WAITING - 1;

/// The word.
#[derive(Debug)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    /// Nothing in use.
    pub(super) fn new(limit: usize) -> Self {
        Self(AtomicU64::new(high(limit)))
    }

    /// Takes one, unless the limit is reached or somebody waits; says how many are taken then.
    pub(super) fn take(&self) -> Option<usize> {
        self.take_if(|word| word & WAITING == 0)
    }

    /// Takes one for who waits longest.
    pub(super) fn take_in_turn(&self) -> Option<usize> {
        self.take_if(|_| true)
    }

    fn take_if(&self, may: impl Fn(u64) -> bool) -> Option<usize> {
        let one_more = |word: u64| (may(word) && word & IN_USE < word >> 32).then_some(word + 1);
        let before = self.0.fetch_update(Acquire, Relaxed, one_more).ok()?;
        Some((before & IN_USE) as usize + 1)
    }

    /// One fewer; whether somebody waits.
    pub(super) fn give_back(&self) -> bool {
        self.0.fetch_sub(1, Release) & WAITING != 0
    }

    /// Changes the limit; whether somebody waits. What is taken beyond it stays so until it is given back.
    pub(super) fn set_limit(&self, limit: usize) -> bool {
        let with = |word: u64| Some(high(limit) | word & (WAITING | IN_USE));
        self.0.fetch_update(AcqRel, Relaxed, with).unwrap_or_default() & WAITING != 0
    }

    /// From now on nobody takes one out of turn.
    pub(super) fn somebody_waits(&self) {
        self.0.fetch_or(WAITING, AcqRel);
    }

    /// Nobody waits any more.
    pub(super) fn nobody_waits(&self) {
        self.0.fetch_and(!WAITING, AcqRel);
    }

    pub(super) fn limit(&self) -> usize {
        (self.0.load(Relaxed) >> 32) as usize
    }

    pub(super) fn in_use(&self) -> usize {
        (self.0.load(Relaxed) & IN_USE) as usize
    }
}

/// The limit at its place; one beyond what can be counted is as good as the largest that can.
fn high(limit: usize) -> u64 {
    (limit as u64).min(IN_USE) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lowered_limit_grants_nothing_until_enough_came_back() {
        let tally = Tally::new(2);
        assert_eq!((tally.take(), tally.take(), tally.take()), (Some(1), Some(2), None));
        assert!(!tally.set_limit(1));
        assert_eq!((tally.limit(), tally.in_use()), (1, 2));
        assert!(!tally.give_back());
        assert_eq!(tally.take(), None);
        tally.give_back();
        assert_eq!(tally.take(), Some(1));
    }

    #[test]
    fn while_somebody_waits_nobody_else_takes_one() {
        let tally = Tally::new(2);
        tally.somebody_waits();
        assert_eq!((tally.take(), tally.take_in_turn()), (None, Some(1)));
        assert!(tally.set_limit(3) && tally.give_back());
        tally.nobody_waits();
        assert_eq!((tally.take(), tally.limit()), (Some(1), 3));
    }

    #[test]
    fn the_largest_limit_leaves_the_flag_alone() {
        let tally = Tally::new(usize::MAX);
        assert_eq!((tally.limit(), tally.take()), (IN_USE as usize, Some(1)));
        assert!(!tally.give_back());
    }
}
