//! Limit, permits in use and whether somebody waits, in one word: so that a permit is granted against the limit of that very moment.
//!
//! ```text
//! 63 ... 32  limit      31  somebody waits      30 ... 0  in use
//! ```
//!
//! With the limit in a word of its own, a permit could be granted by a limit that was lowered between the look and the grant. Used by
//! [`super::Semaphore`]; the flag is set and cleared by [`super::line`] under its lock. Pure atomics, checked with `loom`.

#[cfg(loom)]
use loom::sync::atomic::AtomicU64;
#[cfg(not(loom))]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::{Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

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
#[cfg(not(loom))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// Who alone sets the limit sees it kept, once it was reached from above: whoever takes and gives back meanwhile.
    #[test]
    fn a_lowered_limit_is_kept_under_many_threads() {
        let (tally, over) = (Tally::new(4), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !over.load(Relaxed) {
                        if tally.take().is_some() {
                            tally.give_back();
                        }
                    }
                });
            }
            let most_beyond = (0..1_000).map(|_| {
                tally.set_limit(4);
                std::thread::yield_now();
                tally.set_limit(1);
                while tally.in_use() > 1 {
                    std::thread::yield_now();
                }
                (0..50).map(|_| tally.in_use()).max().unwrap_or(0)
            });
            let most = most_beyond.max();
            over.store(true, Relaxed);
            assert_eq!(most, Some(1));
        });
        assert_eq!(tally.in_use(), 0);
    }

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

#[cfg(test)]
#[cfg(loom)]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// Two ask for the last one: one of them gets it, in every order.
    #[test]
    fn loom_no_two_take_the_last_one() {
        loom::model(|| {
            let tally = Arc::new(Tally::new(1));
            let other = tally.clone();
            let other = thread::spawn(move || other.take().is_some());
            let mine = tally.take().is_some();
            assert!(mine != other.join().unwrap());
            assert_eq!(tally.in_use(), 1);
        });
    }

    /// The limit is lowered while somebody asks: after that, nothing is granted beyond it.
    #[test]
    fn loom_nothing_is_granted_by_a_limit_of_the_past() {
        loom::model(|| {
            let tally = Arc::new(Tally::new(2));
            assert_eq!(tally.take(), Some(1));
            let other = tally.clone();
            let other = thread::spawn(move || other.take());
            tally.set_limit(1);
            let then = tally.in_use();
            let granted = other.join().unwrap();
            assert_eq!(tally.in_use(), then, "taken before the limit was lowered, or not at all: {granted:?}");
        });
    }
}
