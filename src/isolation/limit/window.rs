//! Several samples as one: single times say too little, since a slow page is no sign of a queue.
//!
//! As concurrency-limits' windows: the average time of at least ten samples and the most that were in flight. Two differences: a window
//! lasts a tenth of a second instead of a whole one, so that the limit follows within seconds; and a drop is told at once instead of at
//! the window's end, since it is news by itself.

use super::Sample;
use std::time::{Duration, Instant};

/// The shortest window.
const SPAN: Duration = Duration::from_millis(100);
/// The fewest samples in one.
const FEWEST: u32 = 10;

/// What was gathered since the last window ended.
#[derive(Debug, Default)]
pub(super) struct Window {
    since: Option<Instant>,
    total: Duration,
    count: u32,
    most_in_flight: usize,
}

impl Window {
    /// Gathers a sample; gives what the law is to see, if it is time.
    pub(super) fn add(&mut self, sample: Sample, now: Instant) -> Option<Sample> {
        if sample.dropped {
            return Some(sample);
        }
        let since = *self.since.get_or_insert(now);
        self.total = self.total.saturating_add(sample.rtt);
        self.count += 1;
        self.most_in_flight = self.most_in_flight.max(sample.in_flight);
        if self.count < FEWEST || now.saturating_duration_since(since) < SPAN {
            return None;
        }
        let whole = std::mem::replace(self, Self { since: Some(now), ..Self::default() });
        Some(Sample { rtt: whole.total / whole.count, in_flight: whole.most_in_flight, dropped: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(millis: u64, in_flight: usize) -> Sample {
        Sample { rtt: Duration::from_millis(millis), in_flight, dropped: false }
    }

    #[test]
    fn a_window_needs_time_and_samples() {
        let (mut window, start) = (Window::default(), Instant::now());
        for _ in 0..FEWEST {
            assert_eq!(window.add(sample(10, 3), start), None, "no time passed");
        }
        assert_eq!(window.add(sample(21, 7), start + SPAN), Some(sample(11, 7)));
        for _ in 1..FEWEST {
            assert_eq!(window.add(sample(1, 1), start + SPAN * 9), None, "too few");
        }
        assert_eq!(window.add(sample(1, 1), start + SPAN * 9), Some(sample(1, 1)));
    }

    #[test]
    fn a_drop_is_told_at_once_and_spoils_no_average() {
        let (mut window, start) = (Window::default(), Instant::now());
        for _ in 1..FEWEST {
            window.add(sample(10, 1), start);
        }
        let dropped = Sample { dropped: true, ..sample(9_000, 50) };
        assert_eq!(window.add(dropped, start), Some(dropped));
        assert_eq!(window.add(sample(10, 1), start + SPAN), Some(sample(10, 1)));
    }
}
