//! Time has a name: a moment by which something must have happened.
//!
//! Waiting code takes a [`Deadline`] and asks it what is left before each call that may block; nothing takes a bare timeout and
//! restarts it. `Instant::now` is called here and in the background loops only, pure code gets its `now` as an argument.

use std::time::{Duration, Instant};

/// A moment by which something must have happened, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

/// The deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired;

impl Deadline {
    /// No bound.
    pub const NEVER: Self = Self(None);

    /// The given moment.
    pub fn at(moment: Instant) -> Self {
        Self(Some(moment))
    }

    /// `budget` from now; a budget too long for the clock is no bound.
    pub fn after(budget: Duration) -> Self {
        Self(Instant::now().checked_add(budget))
    }

    /// [`Self::after`], or no bound for `None`.
    pub fn after_some(budget: Option<Duration>) -> Self {
        budget.map_or(Self::NEVER, Self::after)
    }

    /// `budget` after `moment`, or no bound for `None`.
    pub fn later_than(moment: Instant, budget: Option<Duration>) -> Self {
        Self(budget.and_then(|budget| moment.checked_add(budget)))
    }

    /// The moment itself; `None` means no bound.
    pub fn moment(self) -> Option<Instant> {
        self.0
    }

    /// The nearer of the two.
    pub fn nearer(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Self(Some(a.min(b))),
            (a, b) => Self(a.or(b)),
        }
    }

    /// The same deadline moved away by `by`: time that did not count.
    pub fn later_by(self, by: Duration) -> Self {
        Self(self.0.and_then(|at| at.checked_add(by)))
    }

    /// What is left: `Ok(None)` without a bound, never `Ok(Some(0))`.
    ///
    /// # Errors
    /// [`Expired`] when nothing is left.
    pub fn left(self) -> Result<Option<Duration>, Expired> {
        match self.0 {
            None => Ok(None),
            Some(at) => match at.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => Ok(Some(left)),
                _ => Err(Expired),
            },
        }
    }

    /// Whether nothing is left.
    pub fn has_passed(self) -> bool {
        self.left().is_err()
    }
}

/// How long something took: for marks in logs and metrics, and for time that does not count.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// When it was started.
    pub fn started(self) -> Instant {
        self.0
    }

    /// The time since.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_deadline_binds() {
        let now = Instant::now();
        let (soon, late) = (Deadline::at(now), Deadline::at(now + Duration::from_secs(9)));
        assert_eq!(soon.nearer(late), soon);
        assert_eq!(late.nearer(soon), soon);
        assert_eq!(Deadline::NEVER.nearer(late), late);
        assert_eq!(late.nearer(Deadline::NEVER), late);
    }

    #[test]
    fn a_passed_deadline_leaves_nothing() {
        assert!(Deadline::at(Instant::now()).has_passed());
        assert_eq!(Deadline::NEVER.left(), Ok(None));
        assert!(Deadline::after(Duration::from_secs(3600)).left().is_ok());
        assert_eq!(Deadline::after(Duration::MAX), Deadline::NEVER);
    }
}
