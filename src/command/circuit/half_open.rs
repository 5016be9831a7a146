//! The circuit breaker of Hystrix 1.5.12 and its main branch: closed, open, half open.
//!
//! ```text
//! closed    --- the thresholds are reached ---> open since T
//! open      --- a sleep window after T: one request passes ---> half open
//! half open --- that request succeeds ---> closed
//! half open --- it ends in any other way ---> open since now
//! ```
//!
//! Only the request that tests decides; in Hystrix any request that ends meanwhile does, and a test that found no permit left the circuit
//! half open for good.

use super::{CircuitState, Pass, nanos};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const CLOSED: u64 = u64::MAX;
const HALF_OPEN: u64 = u64::MAX - 1;

/// [`CLOSED`], [`HALF_OPEN`], or when it opened: state and time change as one.
#[derive(Debug)]
pub(super) struct HalfOpen(AtomicU64);

impl Default for HalfOpen {
    fn default() -> Self {
        Self(AtomicU64::new(CLOSED))
    }
}

impl HalfOpen {
    /// Whether a request may pass; `trips` is asked while it is closed.
    pub(super) fn admit(&self, now: Duration, sleep: Duration, trips: impl FnOnce() -> bool) -> Option<Pass> {
        self.judge(now, trips);
        match self.0.load(Relaxed) {
            CLOSED => Some(Pass::Usual),
            HALF_OPEN => None,
            since => {
                let tests = nanos(now) > since.saturating_add(nanos(sleep))
                    && self.0.compare_exchange(since, HALF_OPEN, Relaxed, Relaxed).is_ok();
                tests.then_some(Pass::Test)
            }
        }
    }

    /// Opens it if it is closed and to be opened.
    pub(super) fn judge(&self, now: Duration, trips: impl FnOnce() -> bool) {
        if self.0.load(Relaxed) == CLOSED && trips() {
            let _ = self.0.compare_exchange(CLOSED, nanos(now), Relaxed, Relaxed);
        }
    }

    /// The test succeeded. Whether that closed it.
    pub(super) fn succeeded(&self) -> bool {
        self.0.compare_exchange(HALF_OPEN, CLOSED, Relaxed, Relaxed).is_ok()
    }

    /// The test ended in another way.
    pub(super) fn failed(&self, now: Duration) {
        let _ = self.0.compare_exchange(HALF_OPEN, nanos(now), Relaxed, Relaxed);
    }

    pub(super) fn state(&self) -> CircuitState {
        match self.0.load(Relaxed) {
            CLOSED => CircuitState::Closed,
            HALF_OPEN => CircuitState::HalfOpen,
            _ => CircuitState::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    const SLEEP: Duration = Duration::from_secs(5);

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// What happens at a millisecond, and the state after it.
    enum Step {
        /// A request comes; whether the thresholds are reached, and whether it passes.
        Request(bool, Option<Pass>),
        /// The test ends well, or not.
        Ends(bool),
    }

    #[track_caller]
    fn check(steps: &[(u64, Step, CircuitState)]) {
        let circuit = HalfOpen::default();
        for (millis, step, state) in steps {
            match step {
                Step::Request(trips, passes) => {
                    assert_eq!(circuit.admit(at(*millis), SLEEP, || *trips), *passes, "a request at {millis} ms");
                }
                Step::Ends(true) => assert!(circuit.succeeded(), "the test at {millis} ms"),
                Step::Ends(false) => circuit.failed(at(*millis)),
            }
            assert_eq!(circuit.state(), *state, "at {millis} ms");
        }
    }

    #[test]
    fn one_request_decides() {
        use CircuitState::{Closed, HalfOpen, Open};
        use Step::{Ends, Request};
        const USUAL: Option<Pass> = Some(Pass::Usual);
        const TEST: Option<Pass> = Some(Pass::Test);
        check(&[
            (0, Request(false, USUAL), Closed),
            (1000, Request(true, None), Open),
            (6000, Request(false, None), Open),
            (6001, Request(false, TEST), HalfOpen),
            // However long it takes, nothing else passes.
            (60_000, Request(false, None), HalfOpen),
            (60_001, Ends(false), Open),
            // The window begins with the failure, not with the test.
            (65_001, Request(false, None), Open),
            (65_002, Request(true, TEST), HalfOpen),
            (65_003, Ends(true), Closed),
            (65_004, Request(false, USUAL), Closed),
        ]);
    }

    #[test]
    fn who_did_not_test_decides_nothing() {
        let circuit = HalfOpen::default();
        assert!(!circuit.succeeded());
        circuit.failed(at(1));
        assert_eq!(circuit.state(), CircuitState::Closed);
        assert_eq!(circuit.admit(at(2), SLEEP, || true), None);
        assert!(!circuit.succeeded());
        assert_eq!(circuit.state(), CircuitState::Open);
    }

    #[test]
    fn one_of_many_threads_tests() {
        const THREADS: usize = 16;
        for _ in 0..50 {
            let (circuit, tests, barrier) = (HalfOpen::default(), AtomicUsize::new(0), Barrier::new(THREADS));
            assert_eq!(circuit.admit(at(0), SLEEP, || true), None);
            std::thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        barrier.wait();
                        let passed = circuit.admit(at(5001), SLEEP, || true);
                        tests.fetch_add(usize::from(passed == Some(Pass::Test)), Relaxed);
                    });
                }
            });
            assert_eq!(tests.load(Relaxed), 1);
            assert!(circuit.succeeded());
        }
    }
}
