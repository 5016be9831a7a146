//! What is known of one server: requests in flight, response times, successive connection failures and the blackout that follows from
//! them, and whether pings find it up. Ribbon's `ServerStats`, without its windows.
//!
//! Pure but for its counters: moments are passed in. What every request writes and what every request reads stand on cache lines of their
//! own.

use super::Outcome;
use crate::config::model::BlackoutConfig;
use crate::metrics::{Counter, Gauge, Timer};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Doublings of a blackout beyond which there are no more.
const MOST_DOUBLINGS: u32 = 16;

/// The statistics of one server.
#[derive(Debug)]
pub(super) struct ServerStats {
    blackout: BlackoutConfig,
    /// What moments are counted from.
    epoch: Instant,
    load: Load,
    health: Health,
}

/// Written by every request.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Load {
    in_flight: Gauge,
    response: Timer,
    broken: Counter,
}

/// Read by every request, written when something fails or recovers.
#[derive(Debug)]
#[repr(align(64))]
struct Health {
    successive_failures: AtomicU32,
    /// Nanoseconds from the epoch to the latest connection failure.
    last_failed: AtomicU64,
    is_up: AtomicBool,
}

impl ServerStats {
    /// Of a server that counts as up and has not been asked yet.
    pub(super) fn new(blackout: BlackoutConfig, now: Instant) -> Self {
        let (successive_failures, last_failed) = (AtomicU32::new(0), AtomicU64::new(0));
        let health = Health { successive_failures, last_failed, is_up: AtomicBool::new(true) };
        Self { blackout, epoch: now, load: Load::default(), health }
    }

    /// An attempt begins; [`Self::ended`] must follow.
    pub(super) fn began(&self) {
        self.load.in_flight.move_by(1);
    }

    /// An attempt ended, however.
    pub(super) fn ended(&self) {
        self.load.in_flight.move_by(-1);
    }

    /// How an attempt went that took so long and ended now.
    pub(super) fn note(&self, outcome: Outcome, took: Duration, now: Instant) {
        match outcome {
            Outcome::Unknown => {}
            Outcome::Answered => {
                self.load.response.record(took);
                self.recovered();
            }
            Outcome::ClosedEarly => {
                self.load.broken.add_one();
                self.recovered();
            }
            Outcome::TimedOut => {
                self.load.response.record(took);
                self.failed(now);
            }
            Outcome::Unreachable => {
                self.load.broken.add_one();
                self.failed(now);
            }
        }
    }

    fn recovered(&self) {
        if self.successive_failures() != 0 {
            self.health.successive_failures.store(0, Ordering::Release);
        }
    }

    /// The moment first: who sees the failure sees when it was.
    fn failed(&self, now: Instant) {
        self.health.last_failed.fetch_max(self.since_epoch(now), Ordering::Release);
        let more = |failures: u32| failures.checked_add(1);
        let _ = self.health.successive_failures.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
    }

    /// Connection failures since the last answer.
    pub(super) fn successive_failures(&self) -> u32 {
        self.health.successive_failures.load(Ordering::Acquire)
    }

    /// How long it is still blacked out: nothing when it is not.
    pub(super) fn blackout_left(&self, now: Instant) -> Duration {
        let whole = blackout(&self.blackout, self.successive_failures());
        if whole.is_zero() {
            return whole;
        }
        let until = Duration::from_nanos(self.health.last_failed.load(Ordering::Acquire)).saturating_add(whole);
        until.saturating_sub(Duration::from_nanos(self.since_epoch(now)))
    }

    /// Whether it is blacked out.
    pub(super) fn is_blacked_out(&self, now: Instant) -> bool {
        !self.blackout_left(now).is_zero()
    }

    /// Attempts whose answer has not begun yet.
    pub(super) fn in_flight(&self) -> i64 {
        self.load.in_flight.get()
    }

    /// Response times since the start: heads of answers and timeouts.
    pub(super) fn response(&self) -> &Timer {
        &self.load.response
    }

    /// Attempts since the start whose outcome says something about the server.
    pub(super) fn requests(&self) -> u64 {
        self.load.response.count() + self.load.broken.get()
    }

    /// The average response time in milliseconds; 0 before the first.
    pub(super) fn average_millis(&self) -> f64 {
        match self.load.response.count() {
            0 => 0.0,
            count => self.load.response.total().as_secs_f64() * 1000.0 / count as f64,
        }
    }

    /// Whether the last ping found it up; true before the first.
    pub(super) fn is_up(&self) -> bool {
        self.health.is_up.load(Ordering::Acquire)
    }

    /// What a ping found; whether that is news.
    pub(super) fn found(&self, up: bool) -> bool {
        self.health.is_up.swap(up, Ordering::AcqRel) != up
    }

    fn since_epoch(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.epoch).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// How long a server is passed over after so many successive failures: nothing below the threshold, the factor at it, then twice as long
/// after each.
fn blackout(config: &BlackoutConfig, failures: u32) -> Duration {
    match failures.checked_sub(config.threshold) {
        None => Duration::ZERO,
        Some(beyond) => config.factor.saturating_mul(1 << beyond.min(MOST_DOUBLINGS)).min(config.longest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_blackout_doubles_up_to_its_bound() {
        let ribbons = BlackoutConfig::default();
        for (failures, seconds) in [(0, 0), (1, 0), (2, 0), (3, 10), (4, 20), (5, 30), (6, 30), (u32::MAX, 30)] {
            assert_eq!(blackout(&ribbons, failures), seconds * SECOND, "{failures} failures");
        }
        let unbounded = BlackoutConfig { longest: Duration::MAX, ..ribbons };
        assert_eq!(blackout(&unbounded, 3 + 16), 655_360 * SECOND);
        assert_eq!(blackout(&unbounded, 3 + 17), 655_360 * SECOND, "sixteen doublings at most");
    }

    /// Each step: seconds since the start, what happened then, failures and seconds of blackout left afterwards.
    #[test]
    fn failures_black_out_and_answers_pardon() {
        use Outcome::{Answered, ClosedEarly, TimedOut, Unknown, Unreachable};
        let start = Instant::now();
        let stats = ServerStats::new(BlackoutConfig::default(), start);
        for (at, outcome, failures, left) in [
            (0, Unreachable, 1, 0),
            (1, TimedOut, 2, 0),
            (2, Answered, 0, 0),
            (3, Unreachable, 1, 0),
            (3, TimedOut, 2, 0),
            (4, Unreachable, 3, 10),
            (5, Unknown, 3, 9),
            (13, Unknown, 3, 1),
            (14, Unknown, 3, 0),
            (20, Unreachable, 4, 20),
            (50, Unreachable, 5, 30),
            (90, Unreachable, 6, 30),
            (91, ClosedEarly, 0, 0),
            (92, Unreachable, 1, 0),
        ] {
            let now = start + at * SECOND;
            stats.note(outcome, SECOND, now);
            assert_eq!((stats.successive_failures(), stats.blackout_left(now)), (failures, left * SECOND), "at {at}");
            assert_eq!(stats.is_blacked_out(now), left > 0, "at {at}");
        }
    }

    #[test]
    fn a_server_that_refuses_has_no_response_time() {
        let start = Instant::now();
        let stats = ServerStats::new(BlackoutConfig::default(), start);
        assert_eq!((stats.requests(), stats.average_millis()), (0, 0.0));
        stats.note(Outcome::Answered, Duration::from_millis(10), start);
        stats.note(Outcome::Unreachable, Duration::ZERO, start);
        stats.note(Outcome::TimedOut, Duration::from_millis(30), start);
        stats.note(Outcome::Unknown, SECOND, start);
        assert_eq!((stats.requests(), stats.average_millis()), (3, 20.0));
    }

    #[test]
    fn news_of_a_ping_is_told_once() {
        let stats = ServerStats::new(BlackoutConfig::default(), Instant::now());
        assert!(stats.is_up() && !stats.found(true));
        assert!(stats.found(false) && !stats.found(false) && !stats.is_up());
        assert!(stats.found(true) && stats.is_up());
    }

    #[test]
    fn many_threads_lose_no_failure_and_leave_nothing_in_flight() {
        const THREADS: u32 = 8;
        let start = Instant::now();
        let stats = ServerStats::new(BlackoutConfig::default(), start);
        let barrier = Barrier::new(THREADS as usize);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    barrier.wait();
                    for _ in 0..1000 {
                        stats.began();
                        stats.note(Outcome::Unreachable, SECOND, start);
                        stats.ended();
                    }
                });
            }
        });
        assert_eq!((stats.successive_failures(), stats.in_flight()), (THREADS * 1000, 0));
        stats.note(Outcome::Answered, SECOND, start);
        assert_eq!(stats.successive_failures(), 0);
    }
}
