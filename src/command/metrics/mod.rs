//! What happened at one command: totals, the rolling counts, the health that its circuit is judged by, latencies, and how many are under way.
//!
//! They always run (Hystrix's rolling counts begin with the first listener). Adding costs a few atomics, of which all but the number under
//! way are on cache lines of a few threads; windows are made of totals by whoever first comes after a bucket's end.

mod latency;
mod pool;
mod window;

pub use latency::Latencies;
pub use pool::{PoolMetrics, PoolRolling};

use super::event::{Counts, Event, HealthCounts};
use crate::config::model::{MetricsConfig, WindowConfig};
use crate::metrics::Stripes;
use latency::{Latency, Took};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use window::Window;

/// All that is counted of one command.
#[derive(Debug)]
pub struct Metrics {
    origin: Instant,
    totals: Stripes<[AtomicU64; Event::ALL.len()]>,
    under_way: UnderWay,
    counts: Window<Note>,
    health: Window<HealthCounts>,
    /// The health of the closed buckets, packed: the circuit looks at it for every request.
    judged: AtomicU64,
    latency: Option<Latency>,
}

/// What is noted when a bucket closes: the totals, and the most under way at once meanwhile.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    totals: Counts,
    most_under_way: u64,
}

/// What the last buckets held: the read side for the stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rolling {
    /// `rollingCount*`.
    pub counts: Counts,
    /// `rollingMaxConcurrentExecutionCount`.
    pub most_under_way: u64,
}

impl Metrics {
    /// Nothing yet, at `origin`.
    pub fn new(config: &MetricsConfig, origin: Instant) -> Self {
        let slices = config.counts.time.as_nanos() / config.health_interval.as_nanos().max(1);
        let slices = usize::try_from(slices).unwrap_or(usize::MAX).max(1);
        let time = config.health_interval * u32::try_from(slices).unwrap_or(u32::MAX);
        Self {
            origin,
            totals: Stripes::new(|| std::array::from_fn(|_| AtomicU64::new(0))),
            under_way: UnderWay::default(),
            counts: Window::new(config.counts),
            health: Window::new(WindowConfig { time, buckets: slices }),
            judged: AtomicU64::new(0),
            latency: config.latency.map(Latency::new),
        }
    }

    /// One more of these.
    pub fn count(&self, event: Event, now: Instant) {
        self.roll(self.at(now));
        self.totals.mine()[event as usize].fetch_add(1, Relaxed);
    }

    /// A call begins.
    pub(super) fn start(&self) {
        self.under_way.start();
    }

    /// A call that had begun is at its end.
    pub(super) fn stop(&self) {
        self.under_way.stop();
    }

    /// How long a call took, without and with what came before it.
    pub(super) fn took(&self, execute: Duration, total: Duration, now: Instant) {
        if let Some(latency) = &self.latency {
            latency.record(Took { execute, total }, self.at(now));
        }
    }

    /// What the circuit is judged by: the closed buckets of the window.
    pub fn health(&self, now: Instant) -> HealthCounts {
        self.roll(self.at(now));
        unpacked(self.judged.load(Relaxed))
    }

    /// Begins the health anew; the other counts go on.
    pub(super) fn reset_health(&self) {
        self.health.reset(|| {
            self.judged.store(0, Relaxed);
            self.totals().health()
        });
    }

    /// Since the start.
    pub fn totals(&self) -> Counts {
        Counts::from_fn(|event| self.totals.iter().map(|stripe| stripe[event].load(Relaxed)).sum())
    }

    /// The closed buckets of the window.
    pub fn rolling(&self, now: Instant) -> Rolling {
        self.roll(self.at(now));
        self.counts.read(|notes| {
            let (oldest, newest) = (notes.front().copied(), notes.back().copied());
            Rolling {
                counts: newest.unwrap_or_default().totals - oldest.unwrap_or_default().totals,
                most_under_way: notes.iter().skip(1).map(|note| note.most_under_way).max().unwrap_or(0),
            }
        })
    }

    /// `currentConcurrentExecutionCount`.
    pub fn under_way(&self) -> u64 {
        self.under_way.now.load(Relaxed)
    }

    /// `latencyExecute` and `latencyTotal`; empty when percentiles are switched off.
    pub fn latencies(&self, now: Instant) -> [Latencies; 2] {
        self.latency.as_ref().map(|latency| latency.read(self.at(now))).unwrap_or_default()
    }

    fn roll(&self, now: u64) {
        self.counts.roll(now, || Note { totals: self.totals(), most_under_way: self.under_way.take_most() });
        if self.health.roll(now, || self.totals().health()) {
            // Under the lock of the notes, so that what was before a reset can't come after it.
            self.health.read(|notes| {
                let (oldest, newest) = (notes.front().copied(), notes.back().copied());
                self.judged.store(packed(newest.unwrap_or_default() - oldest.unwrap_or_default()), Relaxed);
            });
        }
    }

    fn at(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.origin).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// How many calls are under way, and the most at once since the last bucket closed. On a line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct UnderWay {
    now: AtomicU64,
    most: AtomicU64,
}

impl UnderWay {
    fn start(&self) {
        let now = self.now.fetch_add(1, Relaxed) + 1;
        // A plain read first: the most changes rarely.
        if now > self.most.load(Relaxed) {
            self.most.fetch_max(now, Relaxed);
        }
    }

    fn stop(&self) {
        self.now.fetch_sub(1, Relaxed);
    }

    /// The most until now; those that are under way count for the next bucket too.
    fn take_most(&self) -> u64 {
        self.most.swap(self.now.load(Relaxed), Relaxed)
    }
}

/// Both halves are read and written as one, so that no circuit sees errors without their requests.
fn packed(health: HealthCounts) -> u64 {
    let half = |count: u64| count.min(u64::from(u32::MAX));
    half(health.total) << 32 | half(health.errors)
}

fn unpacked(packed: u64) -> HealthCounts {
    HealthCounts { total: packed >> 32, errors: packed & u64::from(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(origin: Instant) -> Metrics {
        Metrics::new(&MetricsConfig::default(), origin)
    }

    #[test]
    fn health_lags_by_half_a_second_and_rolling_counts_by_a_whole() {
        let origin = Instant::now();
        let metrics = metrics(origin);
        let after = |millis| origin + Duration::from_millis(millis);
        let events = [Event::Success, Event::Failure, Event::Timeout, Event::BadRequest, Event::ShortCircuited];
        events.iter().for_each(|&event| metrics.count(event, after(1)));
        assert_eq!(metrics.health(after(499)), HealthCounts::default());
        assert_eq!(metrics.health(after(500)), HealthCounts { total: 3, errors: 2 });
        assert_eq!(metrics.rolling(after(999)).counts, Counts::default());
        assert_eq!(metrics.rolling(after(1000)).counts, metrics.totals());
        assert_eq!(metrics.health(after(10_499)).total, 3);
        assert_eq!(metrics.health(after(10_500)), HealthCounts::default());
        assert_eq!(metrics.rolling(after(10_999)).counts.get(Event::Timeout), 1);
        assert_eq!(metrics.rolling(after(11_000)).counts, Counts::default());
        assert_eq!(metrics.totals().get(Event::BadRequest), 1);
    }

    #[test]
    fn a_reset_forgets_the_health_alone() {
        let origin = Instant::now();
        let metrics = metrics(origin);
        metrics.count(Event::Failure, origin);
        let later = origin + Duration::from_millis(1100);
        assert_eq!(metrics.health(later).errors, 1);
        metrics.reset_health();
        assert_eq!(metrics.health(later).errors, 0);
        assert_eq!(metrics.rolling(later).counts.get(Event::Failure), 1);
        metrics.count(Event::Failure, later);
        assert_eq!(metrics.health(later + Duration::from_secs(1)).errors, 1);
    }

    #[test]
    fn the_most_at_once_is_kept_for_the_window() {
        let origin = Instant::now();
        let metrics = metrics(origin);
        let at = |seconds| metrics.rolling(origin + Duration::from_secs(seconds)).most_under_way;
        (0..3).for_each(|_| metrics.start());
        (0..2).for_each(|_| metrics.stop());
        assert_eq!((metrics.under_way(), at(0), at(1), at(10)), (1, 0, 3, 3));
        assert_eq!(at(11), 1, "one is still there");
        metrics.stop();
        assert_eq!((metrics.under_way(), at(12), at(13), at(22)), (0, 1, 1, 0));
    }
}
