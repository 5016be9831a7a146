//! Limits that find themselves: from how long requests took to how many may be under way (`gateway.limit`).
//!
//! The laws are those of Netflix's concurrency-limits, in our own code; each stands in a file of its own and says what differs. Pure: a
//! [`Sample`] and the time come in, the new limit goes out. Called by [`super::Semaphore`] under a lock of its own.

mod aimd;
mod gradient2;
mod vegas;
mod window;

#[cfg(test)]
mod tests;

use crate::config::model::{AdaptiveLimit, LimitLaw};
use aimd::Aimd;
use gradient2::Gradient2;
use std::time::{Duration, Instant};
use vegas::Vegas;
use window::Window;

/// The limit to begin with, if floor and ceiling allow it: that of Vegas and Gradient2 in concurrency-limits (AIMD has 10 there).
const INITIAL: f64 = 20.0;

/// What one request tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// From the permit to the response head, or to the failure.
    pub(super) rtt: Duration,
    /// Permits that were taken when it got its own, that one included.
    pub(super) in_flight: usize,
    /// It timed out, or found nobody to connect to.
    pub(super) dropped: bool,
}

/// A limit that moves between a floor and a ceiling.
#[derive(Debug)]
pub(super) struct MovingLimit {
    law: Law,
    floor: f64,
    ceiling: f64,
    estimate: f64,
}

#[derive(Debug)]
enum Law {
    Vegas(Vegas, Window),
    Gradient2(Gradient2, Window),
    Aimd(Aimd),
}

impl MovingLimit {
    /// At 20, as far as floor and ceiling allow it.
    pub(super) fn new(config: AdaptiveLimit, ceiling: usize) -> Self {
        let law = match config.law {
            LimitLaw::Vegas => Law::Vegas(Vegas::default(), Window::default()),
            LimitLaw::Gradient2 => Law::Gradient2(Gradient2::default(), Window::default()),
            LimitLaw::Aimd => Law::Aimd(Aimd),
        };
        let ceiling = ceiling as f64;
        let floor = (config.floor.max(1) as f64).min(ceiling);
        Self { law, floor, ceiling, estimate: INITIAL.clamp(floor, ceiling) }
    }

    /// The limit now.
    pub(super) fn limit(&self) -> usize {
        self.estimate as usize
    }

    /// One more request is over; says what the limit is then.
    pub(super) fn sample(&mut self, sample: Sample, now: Instant) -> usize {
        let estimate = self.estimate;
        let next = match &mut self.law {
            Law::Vegas(law, window) => window.add(sample, now).map(|sample| law.next(estimate, sample)),
            Law::Gradient2(law, window) => window.add(sample, now).map(|sample| law.next(estimate, sample)),
            Law::Aimd(law) => Some(law.next(estimate, sample)),
        };
        if let Some(next) = next {
            self.estimate = next.clamp(self.floor, self.ceiling);
        }
        self.limit()
    }
}

/// Whether so few were under way that their times say nothing about a higher limit.
fn is_idle(limit: f64, sample: Sample) -> bool {
    (sample.in_flight as f64) * 2.0 < limit
}
