//! Durations: how many, their sum, the longest. What Micrometer's Timer tells without a histogram.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Counts durations.
#[derive(Debug, Default)]
pub struct Timer {
    count: AtomicU64,
    nanos: AtomicU64,
    longest: AtomicU64,
}

impl Timer {
    /// One more.
    pub fn record(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Relaxed);
        self.nanos.fetch_add(nanos, Relaxed);
        // A plain load first: the longest changes rarely, and a read costs other processors nothing.
        if nanos > self.longest.load(Relaxed) {
            self.longest.fetch_max(nanos, Relaxed);
        }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Their sum.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Relaxed))
    }

    /// The longest since the start.
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_count_sum_and_longest() {
        let timer = Timer::default();
        for ms in [3, 9, 1] {
            timer.record(Duration::from_millis(ms));
        }
        assert_eq!((timer.count(), timer.total().as_millis(), timer.longest().as_millis()), (3, 13, 9));
    }
}
