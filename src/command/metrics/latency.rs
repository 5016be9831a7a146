//! Percentiles of latency over the last buckets, from histograms (hdrhistogram) of microseconds with two digits.
//!
//! Each few threads have histograms of their own, under a lock that is next to never waited for; when a bucket is over they are put
//! together and emptied. In Hystrix the bucket that is open is not seen, so that nothing is told for 10 s; here it is.

use crate::config::model::WindowConfig;
use crate::metrics::Stripes;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Longer ones count as this.
const LONGEST_MICROS: u64 = 60 * 60 * 1_000_000;

/// Both latencies of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    /// The call itself.
    pub(super) execute: Duration,
    /// What the caller waited.
    pub(super) total: Duration,
}

/// The last buckets.
#[derive(Debug)]
pub(super) struct Latency {
    bucket: u64,
    closes: AtomicU64,
    open: Stripes<Mutex<Pair>>,
    closed: Mutex<VecDeque<Option<Pair>>>,
}

/// A histogram of each latency; made when the first one comes.
#[derive(Debug, Default)]
struct Pair(Option<Box<[Histogram<u32>; 2]>>);

/// What is told of one latency.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Option<Histogram<u32>>);

impl Latencies {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, Histogram::len)
    }

    /// Their mean; zero of none.
    pub fn mean(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |histogram| Duration::from_micros(histogram.mean() as u64))
    }

    /// So many percent of them were not longer than this; zero of none.
    pub fn percentile(&self, percent: f64) -> Duration {
        let micros = self.0.as_ref().map_or(0, |histogram| histogram.value_at_percentile(percent));
        Duration::from_micros(micros)
    }
}

impl Latency {
    pub(super) fn new(config: WindowConfig) -> Self {
        let bucket = u64::try_from(config.bucket().as_nanos()).unwrap_or(u64::MAX).max(1);
        let closed = (0..config.buckets.max(1)).map(|_| None).collect();
        let open = Stripes::new(Mutex::default);
        Self { bucket, closes: AtomicU64::new(bucket), open, closed: Mutex::new(closed) }
    }

    /// One more, at `now`.
    pub(super) fn record(&self, took: Took, now: u64) {
        self.roll(now);
        self.open.mine().lock().record(took);
    }

    /// Of the calls themselves, and of what callers waited.
    pub(super) fn read(&self, now: u64) -> [Latencies; 2] {
        self.roll(now);
        let mut all = Pair::default();
        self.closed.lock().iter().flatten().for_each(|pair| all.add(pair));
        self.open.iter().for_each(|pair| all.add(&pair.lock()));
        all.0.map_or_else(Default::default, |pair| pair.map(|histogram| Latencies(Some(histogram))))
    }

    fn roll(&self, now: u64) {
        if now < self.closes.load(Relaxed) {
            return;
        }
        let Some(mut closed) = self.closed.try_lock() else { return };
        let closes = self.closes.load(Relaxed);
        if now < closes {
            return;
        }
        let over = 1 + (now - closes) / self.bucket;
        for bucket in 0..over.min(closed.len() as u64) {
            closed.pop_front();
            // What came since the last look belongs to the first bucket that is over.
            closed.push_back((bucket == 0).then(|| self.take()));
        }
        if over > closed.len() as u64 {
            closed.iter_mut().for_each(|bucket| *bucket = None);
        }
        self.closes.store(closes + over * self.bucket, Relaxed);
    }

    fn take(&self) -> Pair {
        let mut all = Pair::default();
        for pair in self.open.iter() {
            let mut pair = pair.lock();
            all.add(&pair);
            pair.clear();
        }
        all
    }
}

impl Pair {
    fn histograms(&mut self) -> &mut [Histogram<u32>; 2] {
        self.0.get_or_insert_with(|| {
            let one = || Histogram::new(2).expect("two digits are within its bounds");
            Box::new([one(), one()])
        })
    }

    fn record(&mut self, took: Took) {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX).min(LONGEST_MICROS);
        let [execute, total] = self.histograms();
        // It grows as far as its values go; it could only fail beyond all memory.
        let _ = execute.record(micros(took.execute));
        let _ = total.record(micros(took.total));
    }

    fn add(&mut self, other: &Self) {
        let Some(other) = &other.0 else { return };
        for (mine, others) in self.histograms().iter_mut().zip(other.iter()) {
            let _ = mine.add(others);
        }
    }

    fn clear(&mut self) {
        self.0.iter_mut().flat_map(|pair| pair.iter_mut()).for_each(Histogram::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    const SECOND: u64 = 1_000_000_000;

    fn took(millis: u64) -> Took {
        let execute = Duration::from_millis(millis);
        Took { execute, total: 2 * execute }
    }

    #[track_caller]
    fn is_about(told: Duration, millis: u64) {
        let (told, expected) = (told.as_secs_f64() * 1000.0, millis as f64);
        assert!((told - expected).abs() <= expected / 50.0, "{told} ms, not {expected}");
    }

    #[test]
    fn percentiles_of_both_latencies() {
        let latency = Latency::new(WindowConfig::of_seconds(6, 10));
        (1..=1000).for_each(|millis| latency.record(took(millis), millis));
        let [execute, total] = latency.read(1);
        assert_eq!((execute.count(), total.count()), (1000, 1000));
        for (percent, millis) in [(0.0, 1), (50.0, 500), (99.0, 990), (99.5, 995), (100.0, 1000)] {
            is_about(execute.percentile(percent), millis);
            is_about(total.percentile(percent), 2 * millis);
        }
        is_about(execute.mean(), 500);
        latency.record(took(u64::MAX / 4_000_000), 2);
        is_about(latency.read(2)[0].percentile(100.0), 60 * 60 * 1000);
    }

    #[test]
    fn what_is_older_than_the_window_is_forgotten() {
        let latency = Latency::new(WindowConfig::of_seconds(3, 1));
        let count = |at: u64| latency.read(at * SECOND / 10)[0].count();
        latency.record(took(1), 0);
        assert_eq!([count(0), count(9), count(10), count(39)], [1; 4]);
        latency.record(took(1), 4 * SECOND - 1);
        assert_eq!([count(40), count(69), count(70), count(80)], [1, 1, 0, 0]);
        latency.record(took(1), 9 * SECOND);
        assert_eq!([count(90), count(500)], [1, 0]);
        assert_eq!(latency.read(60 * SECOND)[0].percentile(50.0), Duration::ZERO);
    }

    #[test]
    fn none_is_lost_under_many_threads() {
        const THREADS: u64 = 8;
        const EACH: u64 = 2_000;
        let (latency, barrier) = (Latency::new(WindowConfig::of_seconds(100, 1)), Barrier::new(THREADS as usize));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    barrier.wait();
                    (0..EACH).for_each(|round| latency.record(took(1), round * SECOND / 50));
                });
            }
        });
        assert_eq!(latency.read(0)[0].count(), THREADS * EACH);
    }
}
