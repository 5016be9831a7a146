//! The weights of `WeightedResponseTimeRule`: made anew now and then, read by all workers without a lock.
//!
//! There are two tables; one is read while the other is written. A reader that is held up for a whole interval may see new weights among
//! old ones, which is as good a choice.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One weight for each server.
#[derive(Debug)]
pub(super) struct Weights {
    interval: Duration,
    epoch: Instant,
    /// Nanoseconds from the epoch to when they are made anew.
    due: AtomicU64,
    tables: [Box<[AtomicU64]>; 2],
    current: AtomicUsize,
}

impl Weights {
    /// All zero until the first interval is over.
    pub(super) fn new(count: usize, interval: Duration, now: Instant) -> Self {
        let table = || (0..count).map(|_| AtomicU64::new(0)).collect();
        let due = AtomicU64::new(nanoseconds(interval));
        Self { interval, epoch: now, due, tables: [table(), table()], current: AtomicUsize::new(0) }
    }

    /// Makes them anew if that is due: the sum of all average response times less the server's own. One caller does it; others go on
    /// with the old ones.
    pub(super) fn refresh(&self, now: Instant, average: impl Fn(usize) -> f64) {
        let (due, moment) = (self.due.load(Ordering::Acquire), nanoseconds(now.saturating_duration_since(self.epoch)));
        let next = moment.saturating_add(nanoseconds(self.interval));
        if moment < due || self.due.compare_exchange(due, next, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        let other = 1 - self.current.load(Ordering::Acquire);
        let averages = || (0..self.tables[other].len()).map(&average);
        let sum: f64 = averages().sum();
        for (weight, average) in self.tables[other].iter().zip(averages()) {
            weight.store((sum - average).max(0.0).to_bits(), Ordering::Relaxed);
        }
        self.current.store(other, Ordering::Release);
    }

    /// The weights now, in the order of the servers.
    pub(super) fn now(&self) -> impl Iterator<Item = f64> + Clone {
        let table = &self.tables[self.current.load(Ordering::Acquire)];
        table.iter().map(|weight| f64::from_bits(weight.load(Ordering::Relaxed)))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_made_anew_each_interval() {
        let start = Instant::now();
        let weights = Weights::new(3, Duration::from_secs(30), start);
        let at = |seconds: u64, averages: [f64; 3]| {
            weights.refresh(start + Duration::from_secs(seconds), |server| averages[server]);
            weights.now().collect::<Vec<_>>()
        };
        assert_eq!(at(29, [10.0, 20.0, 30.0]), [0.0; 3]);
        assert_eq!(at(30, [10.0, 20.0, 30.0]), [50.0, 40.0, 30.0]);
        assert_eq!(at(59, [1.0, 1.0, 1.0]), [50.0, 40.0, 30.0]);
        assert_eq!(at(60, [1.0, 1.0, 1.0]), [2.0; 3]);
        assert_eq!(at(89, [5.0, 5.0, 5.0]), [2.0; 3]);
    }

    #[test]
    fn one_server_weighs_nothing() {
        let start = Instant::now();
        let weights = Weights::new(1, Duration::ZERO, start);
        weights.refresh(start, |_| 0.1);
        assert_eq!(weights.now().collect::<Vec<_>>(), [0.0]);
    }
}
