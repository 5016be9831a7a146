//! One number each: a counter that only grows, a gauge that a guard gives back.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Counts up.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn add_one(&self) {
        self.add(1);
    }

    /// `n` more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// The count since the start.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// How many there are now.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// One more, until the guard is dropped.
    pub fn hold(&self) -> Held<'_> {
        self.0.fetch_add(1, Relaxed);
        Held(self)
    }

    /// For owners whose own guard outlives a borrow: they must call it with the opposite sign when they end.
    pub fn move_by(&self, n: i64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// The number now.
    pub fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }
}

/// One of a [`Gauge`].
#[derive(Debug)]
pub struct Held<'a>(&'a Gauge);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_gauge_comes_back() {
        let gauge = Gauge::default();
        let one = gauge.hold();
        assert_eq!(gauge.get(), 1);
        drop(one);
        assert_eq!(gauge.get(), 0);
    }
}
