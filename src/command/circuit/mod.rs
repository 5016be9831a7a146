//! The circuit breaker: whether a request may go to a service that has been failing.
//!
//! Two algorithms (`gateway.circuit-breaker.mode`), each a state in one atomic with the time passed in; what they share is here: the force
//! flags, the thresholds, the switch. Health is asked for by a closure and only where it is needed. Called by [`super::Command`].

mod half_open;
mod single_test;

use super::event::HealthCounts;
use crate::config::model::{CircuitConfig, CircuitMode};
use half_open::HalfOpen;
use single_test::SingleTest;
use std::time::Duration;

/// A request was let through; its end is to be told to the circuit, with this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Like any other.
    Usual,
    /// It tests whether an open circuit may close.
    Test,
}

/// The circuit of one command.
#[derive(Debug)]
pub(super) struct Circuit {
    config: CircuitConfig,
    state: State,
}

#[derive(Debug)]
enum State {
    /// `circuitBreaker.enabled: false`.
    None,
    SingleTest(SingleTest),
    HalfOpen(HalfOpen),
}

/// What a circuit shows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState {
    /// Everything passes.
    Closed,
    /// Nothing passes, but for tests.
    Open,
    /// One request is under way that decides.
    HalfOpen,
}

impl Circuit {
    pub(super) fn new(config: CircuitConfig) -> Self {
        let state = match config.mode {
            _ if !config.enabled => State::None,
            CircuitMode::SingleTest => State::SingleTest(SingleTest::default()),
            CircuitMode::HalfOpen => State::HalfOpen(HalfOpen::default()),
        };
        Self { config, state }
    }

    /// Whether a request may pass at `now`, a time since an origin of the caller's; `None`: it may not.
    pub(super) fn admit(&self, now: Duration, health: impl FnOnce() -> HealthCounts) -> Option<Pass> {
        if matches!(self.state, State::None) {
            return Some(Pass::Usual);
        }
        if self.config.force_open {
            return None;
        }
        let trips = || self.is_beyond(health());
        if self.config.force_closed {
            // As in Hystrix it is judged all the same, so that the stream shows what would be.
            self.judge(now, trips);
            return Some(Pass::Usual);
        }
        match &self.state {
            State::None => Some(Pass::Usual),
            State::SingleTest(state) => state.admit(now, self.config.sleep_window, trips),
            State::HalfOpen(state) => state.admit(now, self.config.sleep_window, trips),
        }
    }

    fn judge(&self, now: Duration, trips: impl FnOnce() -> bool) {
        match &self.state {
            State::None => {}
            State::SingleTest(state) => drop(state.is_open(now, trips)),
            State::HalfOpen(state) => state.judge(now, trips),
        }
    }

    /// A request that passed had a success. True: the circuit closed, so its health is to begin anew.
    #[must_use]
    pub(super) fn succeeded(&self, pass: Pass) -> bool {
        match &self.state {
            State::None => false,
            State::SingleTest(state) => state.succeeded(),
            State::HalfOpen(state) => pass == Pass::Test && state.succeeded(),
        }
    }

    /// A request that passed ended without a success, for whatever reason.
    pub(super) fn failed(&self, pass: Pass, now: Duration) {
        if let (State::HalfOpen(state), Pass::Test) = (&self.state, pass) {
            state.failed(now);
        }
    }

    /// What it is now. Force flags are not shown, as in Hystrix 1.5.18.
    pub(super) fn state(&self) -> CircuitState {
        match &self.state {
            State::None => CircuitState::Closed,
            State::SingleTest(state) => state.state(),
            State::HalfOpen(state) => state.state(),
        }
    }

    fn is_beyond(&self, health: HealthCounts) -> bool {
        health.total >= u64::from(self.config.request_volume_threshold)
            && health.error_percentage() >= self.config.error_threshold_percentage
    }
}

/// Nanoseconds, below the values that stand for states without a time.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: HealthCounts = HealthCounts { total: 20, errors: 10 };

    fn circuit(config: CircuitConfig) -> Circuit {
        Circuit::new(config)
    }

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn both_thresholds_must_be_reached() {
        for mode in [CircuitMode::SingleTest, CircuitMode::HalfOpen] {
            for (total, errors, passes) in
                [(0, 0, true), (19, 19, true), (20, 9, true), (20, 10, false), (1000, 499, true), (1000, 500, false)]
            {
                let circuit = circuit(CircuitConfig { mode, ..CircuitConfig::default() });
                let passed = circuit.admit(at(0), || HealthCounts { total, errors });
                assert_eq!(passed.is_some(), passes, "{mode:?}: {errors} of {total}");
            }
        }
    }

    #[test]
    fn flags_force_it_and_the_switch_takes_it_away() {
        let default = CircuitConfig::default();
        for mode in [CircuitMode::SingleTest, CircuitMode::HalfOpen] {
            let default = CircuitConfig { mode, ..default };
            let open = circuit(CircuitConfig { force_open: true, force_closed: true, ..default });
            assert_eq!(open.admit(at(0), HealthCounts::default), None, "open wins");
            assert_eq!(open.state(), CircuitState::Closed, "and does not show");
            let closed = circuit(CircuitConfig { force_closed: true, ..default });
            assert_eq!(closed.admit(at(0), || BAD), Some(Pass::Usual));
            assert_eq!(closed.state(), CircuitState::Open, "what it would be");
            let none = circuit(CircuitConfig { enabled: false, force_open: true, ..default });
            assert_eq!(none.admit(at(0), || BAD), Some(Pass::Usual));
            assert_eq!(none.state(), CircuitState::Closed);
        }
    }
}
