//! The circuit breaker of Hystrix 1.5.18: closed or open, and while it is open one test a sleep window.
//!
//! ```text
//! closed --- the thresholds are reached ---> open since T
//! open   --- more than a sleep window after T: this request passes, T := now ---> open
//! open   --- any success, also of a request that was on its way before ---> closed
//! ```
//!
//! A test that fails changes nothing: the next one comes a sleep window after this one began.

use super::{CircuitState, Pass, nanos};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const CLOSED: u64 = u64::MAX;

/// [`CLOSED`], or when it opened or was tested last: state and time change as one.
#[derive(Debug)]
pub(super) struct SingleTest(AtomicU64);

impl Default for SingleTest {
    fn default() -> Self {
        Self(AtomicU64::new(CLOSED))
    }
}

impl SingleTest {
    /// Whether a request may pass; `trips` is asked while it is closed.
    pub(super) fn admit(&self, now: Duration, sleep: Duration, trips: impl FnOnce() -> bool) -> Option<Pass> {
        if !self.is_open(now, trips) {
            return Some(Pass::Usual);
        }
        let since = self.0.load(Relaxed);
        let tests = nanos(now) > since.saturating_add(nanos(sleep))
            && self.0.compare_exchange(since, nanos(now), Relaxed, Relaxed).is_ok();
        tests.then_some(Pass::Test)
    }

    /// Whether it is open; it opens here.
    pub(super) fn is_open(&self, now: Duration, trips: impl FnOnce() -> bool) -> bool {
        if self.0.load(Relaxed) != CLOSED {
            return true;
        }
        let trips = trips();
        if trips {
            let _ = self.0.compare_exchange(CLOSED, nanos(now), Relaxed, Relaxed);
        }
        trips
    }

    /// Whether this success closed it.
    pub(super) fn succeeded(&self) -> bool {
        // A read first: a closed circuit is no place for every request to write to.
        self.0.load(Relaxed) != CLOSED && self.0.swap(CLOSED, Relaxed) != CLOSED
    }

    pub(super) fn state(&self) -> CircuitState {
        if self.0.load(Relaxed) == CLOSED { CircuitState::Closed } else { CircuitState::Open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    const SLEEP: Duration = Duration::from_secs(5);

    /// What happens at a millisecond, and what is to come of it.
    enum Step {
        /// A request comes; whether the thresholds are reached, and whether it passes.
        Request(bool, Option<Pass>),
        /// A request ends well; whether that closes it.
        Success(bool),
    }

    #[track_caller]
    fn check(steps: &[(u64, Step)]) {
        let circuit = SingleTest::default();
        for (at, step) in steps {
            match step {
                Step::Request(trips, passes) => {
                    let passed = circuit.admit(Duration::from_millis(*at), SLEEP, || *trips);
                    assert_eq!(passed, *passes, "a request at {at} ms");
                }
                Step::Success(closes) => assert_eq!(circuit.succeeded(), *closes, "a success at {at} ms"),
            }
        }
    }

    #[test]
    fn it_opens_and_tests_once_a_sleep_window() {
        use Step::{Request, Success};
        const USUAL: Option<Pass> = Some(Pass::Usual);
        const TEST: Option<Pass> = Some(Pass::Test);
        check(&[(0, Request(false, USUAL)), (1, Success(false)), (2, Request(false, USUAL))]);
        check(&[
            (1000, Request(true, None)),
            (1001, Request(false, None)),
            // Not before the window is over, and its last moment belongs to it.
            (6000, Request(false, None)),
            (6001, Request(false, TEST)),
            (6002, Request(false, None)),
            // The test failed, or goes on: the next comes a window after this one began.
            (11_001, Request(true, None)),
            (11_002, Request(true, TEST)),
            (11_003, Success(true)),
            (11_004, Success(false)),
            (11_005, Request(false, USUAL)),
        ]);
        // A request that was on its way before closes it too.
        check(&[(0, Request(true, None)), (1, Success(true)), (2, Request(false, USUAL)), (3, Request(true, None))]);
    }

    #[test]
    fn one_of_many_threads_tests() {
        const THREADS: usize = 16;
        for window in 1..50 {
            let (circuit, tests, barrier) = (SingleTest::default(), AtomicUsize::new(0), Barrier::new(THREADS));
            assert_eq!(circuit.admit(Duration::ZERO, SLEEP, || true), None);
            std::thread::scope(|scope| {
                for thread in 0..THREADS as u32 {
                    let (circuit, tests, barrier) = (&circuit, &tests, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        let now = SLEEP * window + Duration::from_nanos(u64::from(thread) + 1);
                        if circuit.admit(now, SLEEP, || true) == Some(Pass::Test) {
                            tests.fetch_add(1, Relaxed);
                        }
                    });
                }
            });
            assert_eq!(tests.load(Relaxed), 1);
        }
    }
}
