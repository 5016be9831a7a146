//! The housekeeper's sleep: it must not sleep through a deadline, nor while every worker is busy.
//!
//! It says that it sleeps, looks again whether all is calm and when the earliest deadline is, then parks. Whoever ends the calm, or sets an
//! earlier deadline, does so first, looks whether it sleeps afterwards, and unparks it. A SeqCst fence stands between one's own write and
//! the look at the other's, on both sides. Times are milliseconds of the front's clock. Pure atomics, checked with `loom`; the caller
//! parks and unparks.

use super::sync::{AtomicBool, AtomicU64, Ordering, fence};

/// No deadline at all.
pub(super) const NEVER: u64 = u64::MAX;

/// Padded: every worker reads it once a request, and it is seldom written.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Sleep {
    asleep: AtomicBool,
    earliest: AtomicU64,
}

impl Sleep {
    pub(super) fn new() -> Self {
        Self { asleep: AtomicBool::new(false), earliest: AtomicU64::new(NEVER) }
    }

    /// The earliest deadline that anybody has set since the last scan.
    pub(super) fn earliest(&self) -> u64 {
        self.earliest.load(Ordering::Acquire)
    }

    /// A scan over all deadlines begins: what is set from here on counts, what was set before is found by the scan.
    pub(super) fn begin_scan(&self) {
        self.earliest.store(NEVER, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// A deadline is set, and can be found by a scan already. True: the housekeeper sleeps too long, unpark it.
    #[must_use = "the housekeeper must be unparked"]
    pub(super) fn set(&self, due: u64) -> bool {
        fence(Ordering::SeqCst);
        if due >= self.earliest.load(Ordering::Relaxed) {
            return false;
        }
        due < self.earliest.fetch_min(due, Ordering::AcqRel) && self.disturb()
    }

    /// The calm has ended, by a write before this call. True: the housekeeper sleeps, unpark it.
    #[must_use = "the housekeeper must be unparked"]
    pub(super) fn disturb(&self) -> bool {
        fence(Ordering::SeqCst);
        self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::AcqRel)
    }

    /// The housekeeper means to sleep. `Some`: it may, until then, unless it is unparked; [`Self::wake`] must follow.
    pub(super) fn fall_asleep(&self, calm: impl FnOnce() -> bool) -> Option<u64> {
        self.asleep.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        if calm() {
            return Some(self.earliest());
        }
        self.wake();
        None
    }

    /// The housekeeper is awake, for whatever reason.
    pub(super) fn wake(&self) {
        self.asleep.store(false, Ordering::Release);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn only_an_earlier_deadline_wakes() {
        let sleep = Sleep::new();
        assert!(!sleep.set(50), "awake");
        assert_eq!(sleep.fall_asleep(|| true), Some(50));
        assert!(!sleep.set(60));
        assert!(sleep.set(40));
        assert!(!sleep.set(30), "unparked already");
        assert_eq!(sleep.earliest(), 30);
        sleep.begin_scan();
        assert_eq!(sleep.earliest(), NEVER);
    }

    #[test]
    fn does_not_sleep_without_calm() {
        let sleep = Sleep::new();
        assert_eq!(sleep.fall_asleep(|| false), None);
        assert!(!sleep.disturb(), "nobody to unpark");
        assert_eq!(sleep.fall_asleep(|| true), Some(NEVER));
        assert!(sleep.disturb());
    }
}

#[cfg(test)]
#[cfg(loom)]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    #[test]
    fn loom_the_end_of_calm_is_seen_or_wakes() {
        loom::model(|| {
            let sleep = Arc::new(Sleep::new());
            let idle = Arc::new(AtomicU64::new(1));
            let (other, last_idle) = (sleep.clone(), idle.clone());
            let worker = thread::spawn(move || {
                last_idle.store(0, Ordering::Relaxed);
                other.disturb()
            });
            let sleeps = sleep.fall_asleep(|| idle.load(Ordering::Relaxed) > 0).is_some();
            assert!(worker.join().unwrap() || !sleeps, "asleep while nobody is idle");
        });
    }

    #[test]
    fn loom_an_earlier_deadline_is_seen_or_wakes() {
        loom::model(|| {
            let sleep = Arc::new(Sleep::new());
            assert!(!sleep.set(90));
            let other = sleep.clone();
            let acceptor = thread::spawn(move || other.set(20));
            let until = sleep.fall_asleep(|| true);
            assert!(acceptor.join().unwrap() || until == Some(20), "sleeps through a deadline");
        });
    }

    /// A releasing worker stores its slot's deadline, then sets it; the scan forgets what was set, then reads the slots.
    #[test]
    fn loom_a_deadline_set_during_a_scan_is_found_by_it_or_kept() {
        loom::model(|| {
            let sleep = Arc::new(Sleep::new());
            assert!(!sleep.set(10));
            let slot = Arc::new(AtomicU64::new(NEVER));
            let (other, its_slot) = (sleep.clone(), slot.clone());
            let worker = thread::spawn(move || {
                its_slot.store(30, Ordering::Relaxed);
                assert!(!other.set(30), "the housekeeper is awake");
            });
            sleep.begin_scan();
            let found = slot.load(Ordering::Relaxed);
            worker.join().unwrap();
            assert_eq!(sleep.earliest().min(found), 30, "forgotten");
        });
    }
}
