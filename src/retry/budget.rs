//! How many retries there may be beside the requests: Finagle's `RetryBudget`, which Linkerd took over with the same numbers.
//!
//! Over a window of ten seconds: retries <= `percent` of the requests + `min_per_second` x 10. When everything fails, the load on a
//! service grows by that share and no more, however many attempts each request could have. Ours counts in slots of one second where
//! Finagle leaks tokens. Requests only add to a number; retries, which are rare, take turns under a mutex so that none is granted above
//! the budget.

use crate::config::model::RetryBudgetConfig;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Seconds of the window, the present one included.
const WINDOW: u64 = 10;

/// The budget of one service.
#[derive(Debug)]
pub struct Budget {
    config: RetryBudgetConfig,
    since: Instant,
    requests: Window,
    retries: Window,
    turn: Mutex<()>,
}

impl Budget {
    /// With nothing in it but the floor.
    pub fn new(config: RetryBudgetConfig, since: Instant) -> Self {
        Self { config, since, requests: Window::default(), retries: Window::default(), turn: Mutex::new(()) }
    }

    /// A request began.
    pub fn deposit(&self, now: Instant) {
        self.requests.add(self.second(now));
    }

    /// Takes a retry out, if there is one.
    pub fn withdraw(&self, now: Instant) -> bool {
        let second = self.second(now);
        let _turn = self.turn.lock();
        let RetryBudgetConfig { percent, min_per_second } = self.config;
        let share = self.requests.sum(second) * u64::from(percent) / 100;
        let granted = self.retries.sum(second) < share + u64::from(min_per_second) * WINDOW;
        if granted {
            self.retries.add(second);
        }
        granted
    }

    /// A retry that happens anyway; what it takes too much is missing for others.
    pub fn draw(&self, now: Instant) {
        self.retries.add(self.second(now));
    }

    fn second(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.since).as_secs()
    }
}

/// Counts by second. A slot's upper half says which second it holds, so that who comes first in a new one begins at zero.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Window([AtomicU64; WINDOW as usize]);

impl Window {
    fn add(&self, second: u64) {
        let slot = &self.0[(second % WINDOW) as usize];
        let more = |held: u64| match held >> 32 {
            // A thread that was held up for a whole window comes too late to count.
            newer if newer > second => None,
            same if same == second => Some(held + 1),
            _ => Some((second << 32) | 1),
        };
        let _ = slot.fetch_update(Relaxed, Relaxed, more);
    }

    fn sum(&self, second: u64) -> u64 {
        let oldest = second.saturating_sub(WINDOW - 1);
        let held = self.0.iter().map(|slot| slot.load(Relaxed));
        held.filter(|held| (oldest..=second).contains(&(held >> 32))).map(|held| held & u64::from(u32::MAX)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    fn budget(percent: u32, min_per_second: u32) -> Budget {
        Budget::new(RetryBudgetConfig { percent, min_per_second }, Instant::now())
    }

    /// How many retries are granted in a row.
    fn granted(budget: &Budget, now: Instant) -> usize {
        (0..10_000).take_while(|_| budget.withdraw(now)).count()
    }

    #[test]
    fn a_share_of_the_requests_and_a_floor() {
        for (percent, floor, requests, expected) in [
            (20, 0, 0, 0),
            (20, 0, 4, 0),
            (20, 0, 5, 1),
            (20, 0, 100, 20),
            (0, 0, 100, 0),
            (0, 1, 0, 10),
            (100, 2, 7, 27),
        ] {
            let budget = budget(percent, floor);
            let now = budget.since;
            (0..requests).for_each(|_| budget.deposit(now));
            assert_eq!(granted(&budget, now), expected, "{percent} % and {floor} a second of {requests}");
        }
    }

    #[test]
    fn it_rolls_on_with_time() {
        let budget = budget(50, 0);
        let at = |second| budget.since + Duration::from_secs(second);
        (0..10).for_each(|_| budget.deposit(at(0)));
        assert_eq!(granted(&budget, at(5)), 5);
        assert_eq!(granted(&budget, at(9)), 0, "still within the window");
        assert_eq!(granted(&budget, at(10)), 0, "the requests left it, the retries did not");
        (0..12).for_each(|_| budget.deposit(at(10)));
        assert_eq!(granted(&budget, at(14)), 1, "5 of 6 were taken in second 5");
        assert_eq!(granted(&budget, at(15)), 5, "those of second 5 have left");
        assert_eq!(granted(&budget, at(1000)), 0);
    }

    #[test]
    fn what_is_drawn_anyway_is_missing_for_others() {
        let budget = budget(0, 1);
        let now = budget.since;
        (0..12).for_each(|_| budget.draw(now));
        assert_eq!(granted(&budget, now), 0);
        assert_eq!(granted(&budget, now + Duration::from_secs(10)), 10);
    }

    /// A slot is taken over by the first of a new second and by nobody twice; no retry is granted above the share.
    #[test]
    fn many_threads_get_no_more_than_there_is() {
        let (budget, barrier, got) = (budget(20, 0), Barrier::new(8), AtomicUsize::new(0));
        let now = budget.since + Duration::from_secs(3);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    (0..500).for_each(|_| budget.deposit(now));
                    barrier.wait();
                    got.fetch_add((0..500).filter(|_| budget.withdraw(now)).count(), Relaxed);
                });
            }
        });
        assert_eq!(got.load(Relaxed), 800);
    }
}
