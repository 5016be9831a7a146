//! The front's clock: monotonic, in milliseconds since the front was made, so that a deadline is one word in a slot.
//!
//! The one place of the front that asks for the time; everything pure gets it as an argument.

use super::sleep::NEVER;
use std::time::{Duration, Instant, SystemTime};

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now(self) -> Instant {
        Instant::now()
    }

    /// The time of day, for the `Date` of an answer.
    pub(super) fn wall(self) -> SystemTime {
        SystemTime::now()
    }

    /// The millisecond in which `moment` lies.
    pub(super) fn millis(self, moment: Instant) -> u64 {
        u64::try_from(moment.saturating_duration_since(self.0).as_millis()).unwrap_or(NEVER)
    }

    /// The first millisecond at which `budget` has passed since `from`; [`NEVER`] without a budget.
    pub(super) fn due(self, from: Instant, budget: Option<Duration>) -> u64 {
        let Some(budget) = budget else { return NEVER };
        let budget = u64::try_from(budget.as_millis()).unwrap_or(NEVER);
        self.millis(from).saturating_add(budget).saturating_add(1)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_early() {
        let clock = Clock::start();
        let from = clock.0 + Duration::from_micros(1_999);
        assert_eq!(clock.due(from, Some(Duration::from_millis(10))), 12);
        assert_eq!(clock.due(from, None), NEVER);
        assert_eq!(clock.due(from, Some(Duration::MAX)), NEVER);
    }
}
