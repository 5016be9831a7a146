//! Wakes the thread that looks after pooled connections: it sleeps for good while there is none.
//!
//! The pools' own locks make it safe. The sleeper says that it sleeps, then looks into each pool under its lock; who pools a connection
//! does so under the same lock, and asks afterwards. So either the sleeper finds the connection, or its word is seen. It costs who pools
//! one load of a flag that hardly ever changes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, Thread};

/// What pools and the thread that looks after them share.
#[derive(Debug, Default)]
pub struct Alarm {
    asleep: AtomicBool,
    sleeper: OnceLock<Thread>,
}

impl Alarm {
    /// Sleeps until [`Self::ring`] or an unpark, unless `is_needed`; may wake for nothing. For one thread only, ever.
    pub fn sleep_unless(&self, is_needed: impl FnOnce() -> bool) {
        self.sleeper.get_or_init(thread::current);
        self.asleep.store(true, Relaxed);
        if !is_needed() {
            thread::park();
        }
        self.asleep.store(false, Relaxed);
    }

    /// There is something to look after, put where it is found under a lock that is free again.
    pub(super) fn ring(&self) {
        if self.asleep.load(Relaxed)
            && self.asleep.swap(false, Relaxed)
            && let Some(sleeper) = self.sleeper.get()
        {
            sleeper.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// Each round hands over one item while the sleeper is anywhere between awake and asleep; a lost ring is a round without an end.
    #[test]
    fn no_ring_is_lost() {
        const ROUNDS: usize = 20_000;
        let (alarm, items) = (Arc::new(Alarm::default()), Arc::new(Mutex::new(0)));
        let (took, taken) = channel();
        let (sleepers_alarm, sleepers_items) = (alarm.clone(), items.clone());
        let sleeper = thread::spawn(move || {
            let mut count = 0;
            while count < ROUNDS {
                sleepers_alarm.sleep_unless(|| *sleepers_items.lock() > 0);
                for _ in 0..std::mem::take(&mut *sleepers_items.lock()) {
                    count += 1;
                    took.send(()).unwrap();
                }
            }
        });
        for round in 0..ROUNDS {
            *items.lock() += 1;
            alarm.ring();
            assert!(taken.recv_timeout(Duration::from_secs(20)).is_ok(), "round {round}: nobody woke up");
        }
        sleeper.join().unwrap();
    }
}
