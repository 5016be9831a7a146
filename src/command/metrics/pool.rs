//! What happened at one thread pool, over all commands that use it: Hystrix's counts of a pool.
//!
//! The pool's own gauges (threads, queue) are its own affair; here is only what rolls.

use super::UnderWay;
use super::window::Window;
use crate::command::Event;
use crate::config::model::WindowConfig;
use crate::metrics::Stripes;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// The rolling counts of one pool.
#[derive(Debug)]
pub struct PoolMetrics {
    key: String,
    window: WindowConfig,
    maximum_size: usize,
    origin: Instant,
    totals: Stripes<Totals>,
    active: UnderWay,
    rolling: Window<PoolRolling>,
}

#[derive(Debug, Default)]
struct Totals {
    executed: AtomicU64,
    rejected: AtomicU64,
}

/// What the last buckets held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolRolling {
    /// `rollingCountThreadsExecuted`.
    pub threads_executed: u64,
    /// `rollingCountCommandRejections`.
    pub rejections: u64,
    /// `rollingMaxActiveThreads`.
    pub most_active: u64,
}

impl PoolMetrics {
    /// Nothing yet, at `origin`; the pool has so many threads at most.
    pub fn new(key: &str, window: WindowConfig, maximum_size: usize, origin: Instant) -> Self {
        Self {
            key: key.into(),
            window,
            maximum_size,
            origin,
            totals: Stripes::new(Totals::default),
            active: UnderWay::default(),
            rolling: Window::new(window),
        }
    }

    /// The pool's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// `metrics.rollingStats.*`.
    pub fn window(&self) -> WindowConfig {
        self.window
    }

    pub(in crate::command) fn start(&self) {
        self.active.start();
    }

    pub(in crate::command) fn stop(&self) {
        self.active.stop();
    }

    pub(in crate::command) fn count(&self, event: Event, now: Instant) {
        self.roll(now);
        match event {
            Event::Success | Event::Failure | Event::Timeout | Event::BadRequest => {
                self.totals.mine().executed.fetch_add(1, Relaxed);
            }
            Event::ThreadPoolRejected => {
                self.totals.mine().rejected.fetch_add(1, Relaxed);
            }
            _ => {}
        }
    }

    /// The closed buckets of the window.
    pub fn rolling(&self, now: Instant) -> PoolRolling {
        self.roll(now);
        self.rolling.read(|notes| {
            let most = notes.iter().skip(1).map(|note| note.most_active).max();
            let (oldest, newest) =
                (notes.front().copied().unwrap_or_default(), notes.back().copied().unwrap_or_default());
            PoolRolling {
                threads_executed: newest.threads_executed.wrapping_sub(oldest.threads_executed),
                rejections: newest.rejections.wrapping_sub(oldest.rejections),
                // Those in the queue are counted with them, but are not active.
                most_active: most.unwrap_or(0).min(self.maximum_size as u64),
            }
        })
    }

    fn roll(&self, now: Instant) {
        let at = u64::try_from(now.saturating_duration_since(self.origin).as_nanos()).unwrap_or(u64::MAX);
        self.rolling.roll(at, || PoolRolling {
            threads_executed: self.totals.iter().map(|totals| totals.executed.load(Relaxed)).sum(),
            rejections: self.totals.iter().map(|totals| totals.rejected.load(Relaxed)).sum(),
            most_active: self.active.take_most(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_threads_did_and_what_found_none() {
        let origin = Instant::now();
        let pool = PoolMetrics::new("RibbonCommand", WindowConfig::of_seconds(10, 1), 1, origin);
        (0..3).for_each(|_| pool.start());
        let events =
            [Event::Success, Event::Timeout, Event::ThreadPoolRejected, Event::ShortCircuited, Event::Cancelled];
        events.iter().for_each(|&event| pool.count(event, origin));
        (0..3).for_each(|_| pool.stop());
        assert_eq!(pool.rolling(origin), PoolRolling::default());
        let expected = PoolRolling { threads_executed: 2, rejections: 1, most_active: 1 };
        assert_eq!(pool.rolling(origin + Duration::from_secs(1)), expected);
        assert_eq!(pool.rolling(origin + Duration::from_secs(11)), PoolRolling::default());
    }
}
