//! A window over numbers that only grow: what they stood at when each of the last buckets closed.
//!
//! The way of a request adds to totals and looks whether the bucket is over, one read of a line that hardly ever changes. Whoever finds it
//! over writes down the totals; a window's count is the difference of two such notes, so none is ever lost and none is counted twice.
//! The bucket that is open is not part of the window, as in Hystrix. Time is counted in nanoseconds from an origin of the caller's.

use crate::config::model::WindowConfig;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The last buckets of a `T`.
#[derive(Debug)]
pub(super) struct Window<T> {
    bucket: u64,
    /// When the open bucket closes.
    closes: AtomicU64,
    /// One more than there are buckets; the oldest first.
    notes: Mutex<VecDeque<T>>,
}

impl<T: Copy + Default> Window<T> {
    pub(super) fn new(config: WindowConfig) -> Self {
        let bucket = u64::try_from(config.bucket().as_nanos()).unwrap_or(u64::MAX).max(1);
        let notes = vec![T::default(); config.buckets.max(1) + 1];
        Self { bucket, closes: AtomicU64::new(bucket), notes: Mutex::new(notes.into()) }
    }

    /// Closes the bucket if it is over; `totals` says what to note. To be called before something is added at `now`. Whether it closed.
    pub(super) fn roll(&self, now: u64, totals: impl FnOnce() -> T) -> bool {
        if now < self.closes.load(Relaxed) {
            return false;
        }
        // Who finds it taken goes on: the one who has it is closing this very bucket.
        let Some(mut notes) = self.notes.try_lock() else { return false };
        let closes = self.closes.load(Relaxed);
        if now < closes {
            return false;
        }
        let over = 1 + (now - closes) / self.bucket;
        let totals = totals();
        for _ in 0..over.min(notes.len() as u64) {
            notes.pop_front();
            notes.push_back(totals);
        }
        self.closes.store(closes + over * self.bucket, Relaxed);
        true
    }

    /// Looks at the notes, the oldest first.
    pub(super) fn read<R>(&self, look: impl FnOnce(&VecDeque<T>) -> R) -> R {
        look(&self.notes.lock())
    }

    /// Forgets what was: the window is empty from here on.
    pub(super) fn reset(&self, totals: impl FnOnce() -> T) {
        let mut notes = self.notes.lock();
        let totals = totals();
        notes.iter_mut().for_each(|note| *note = totals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::time::Duration;

    const MILLI: u64 = 1_000_000;

    fn window(buckets: usize, each: u64) -> Window<u64> {
        let time = Duration::from_millis(each) * buckets as u32;
        Window::new(WindowConfig { time, buckets })
    }

    fn sum(window: &Window<u64>) -> u64 {
        window.read(|notes| notes[notes.len() - 1] - notes[0])
    }

    #[test]
    fn the_open_bucket_is_not_seen_and_old_ones_are_forgotten() {
        let (window, mut total) = (window(3, 10), 0);
        // At so many milliseconds so many come; the window then holds so many.
        let steps = [
            (0, 5, 0),
            (9, 1, 0),
            (10, 2, 6),
            (19, 0, 6),
            (20, 0, 8),
            (30, 7, 8),
            (40, 0, 9),
            (49, 0, 9),
            (50, 0, 7),
            (70, 1, 0),
            (81, 0, 1),
            (1000, 0, 0),
        ];
        for (at, come, held) in steps {
            window.roll(at * MILLI, || total);
            total += come;
            assert_eq!(sum(&window), held, "at {at} ms");
        }
    }

    #[test]
    fn it_can_forget_all() {
        let window = window(3, 10);
        assert!(window.roll(10 * MILLI, || 5));
        assert!(!window.roll(10 * MILLI, || 5));
        assert_eq!(sum(&window), 5);
        window.reset(|| 7);
        assert_eq!(sum(&window), 0);
        window.roll(20 * MILLI, || 9);
        assert_eq!(sum(&window), 2);
    }

    /// Whatever the order in which threads find a bucket over, each count is seen once.
    #[test]
    fn none_is_lost_under_many_threads() {
        const THREADS: u64 = 8;
        const EACH: u64 = 2_000;
        let (window, total, barrier) = (window(1_000, 1), AtomicU64::new(0), Barrier::new(THREADS as usize));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    barrier.wait();
                    for round in 0..EACH {
                        window.roll(round * MILLI / 4, || total.load(Relaxed));
                        total.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        window.roll(EACH * MILLI / 4 + MILLI, || total.load(Relaxed));
        assert_eq!(sum(&window), THREADS * EACH);
    }
}
