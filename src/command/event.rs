//! What can happen to a request at a command: Hystrix's event types, as far as they have a meaning here.
//!
//! COLLAPSED and RESPONSE_FROM_CACHE belong to Java code of one's own; EMIT and FALLBACK_EMIT to observable commands, which Zuul's are not;
//! FALLBACK_DISABLED is what FALLBACK_MISSING is. EXCEPTION_THROWN is a sum of others ([`Counts::exceptions_thrown`]).

use crate::reason::{Cause, Reason};
use std::ops::Sub;

macro_rules! events {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal;)+) => {
        /// One of Hystrix's event types.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Event { $($(#[$doc])+ $variant,)+ }

        impl Event {
            /// Every one of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Hystrix's word for it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

events! {
    /// The head of an answer came, whatever its status (but see `gateway.circuit-breaker.count-5xx`).
    Success = "SUCCESS";
    /// The call failed: no server, no connection, no answer, a broken one, the read timeout.
    Failure = "FAILURE";
    /// The deadline passed.
    Timeout = "TIMEOUT";
    /// The circuit is open.
    ShortCircuited = "SHORT_CIRCUITED";
    /// No permit was free.
    SemaphoreRejected = "SEMAPHORE_REJECTED";
    /// No place was free in the thread pool.
    ThreadPoolRejected = "THREAD_POOL_REJECTED";
    /// The client's own fault, such as a body that stalls: no failure of the service.
    BadRequest = "BAD_REQUEST";
    /// The client went away: no failure of the service either.
    Cancelled = "CANCELLED";
    /// A fallback answered.
    FallbackSuccess = "FALLBACK_SUCCESS";
    /// The fallback failed too.
    FallbackFailure = "FALLBACK_FAILURE";
    /// Too many fallbacks at once.
    FallbackRejection = "FALLBACK_REJECTION";
    /// There is no fallback.
    FallbackMissing = "FALLBACK_MISSING";
}

impl Event {
    /// What a failure is to the command.
    pub fn of(reason: Reason, cause: Option<Cause>) -> Self {
        match reason {
            Reason::CircuitOpen => Self::ShortCircuited,
            Reason::SemaphoreFull => Self::SemaphoreRejected,
            Reason::PoolFull => Self::ThreadPoolRejected,
            Reason::Timeout if cause == Some(Cause::Deadline) => Self::Timeout,
            Reason::ClientAborted => Self::Cancelled,
            _ if reason.status().is_client_error() => Self::BadRequest,
            _ => Self::Failure,
        }
    }

    /// Whether it ends a call that had begun: what latencies are kept of, and what a pool's thread has done.
    pub fn is_executed(self) -> bool {
        matches!(self, Self::Success | Self::Failure | Self::Timeout | Self::BadRequest | Self::Cancelled)
    }
}

/// So many of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; Event::ALL.len()]);

impl Counts {
    /// One number for each event.
    pub(super) fn from_fn(of: impl FnMut(usize) -> u64) -> Self {
        Self(std::array::from_fn(of))
    }

    /// So many of this one.
    pub fn get(&self, event: Event) -> u64 {
        self.0[event as usize]
    }

    /// `rollingCountExceptionsThrown`: what Hystrix's caller gets as an exception.
    pub fn exceptions_thrown(&self) -> u64 {
        use Event::{BadRequest, FallbackFailure, FallbackMissing, FallbackRejection};
        self.sum([BadRequest, FallbackFailure, FallbackMissing, FallbackRejection])
    }

    /// `rollingCountThreadsExecuted`: calls that a pool's thread made.
    pub fn executed(&self) -> u64 {
        self.sum([Event::Success, Event::Failure, Event::Timeout, Event::BadRequest])
    }

    /// What a circuit is judged by: neither short circuits nor clients' faults count.
    pub(super) fn health(&self) -> HealthCounts {
        use Event::{Failure, SemaphoreRejected, ThreadPoolRejected, Timeout};
        let errors = self.sum([Failure, Timeout, ThreadPoolRejected, SemaphoreRejected]);
        HealthCounts { total: errors + self.get(Event::Success), errors }
    }

    fn sum<const N: usize>(&self, events: [Event; N]) -> u64 {
        events.iter().map(|&event| self.get(event)).sum()
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self::from_fn(|index| self.0[index].wrapping_sub(earlier.0[index]))
    }
}

/// `HealthCounts`: what a circuit is judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthCounts {
    /// `requestCount`.
    pub total: u64,
    /// `errorCount`.
    pub errors: u64,
}

impl HealthCounts {
    /// `errorPercentage`, truncated as in Hystrix; 0 of nothing.
    pub fn error_percentage(self) -> u32 {
        (self.errors * 100).checked_div(self.total).map_or(0, |share| share as u32)
    }
}

impl Sub for HealthCounts {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { total: self.total.wrapping_sub(earlier.total), errors: self.errors.wrapping_sub(earlier.errors) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(event: Event, reasons: &[(Reason, Option<Cause>)]) {
        for &(reason, cause) in reasons {
            assert_eq!(Event::of(reason, cause), event, "{reason} {cause:?}");
        }
    }

    #[test]
    fn reasons_are_the_events_that_hystrix_makes_of_them() {
        check(Event::ShortCircuited, &[(Reason::CircuitOpen, None)]);
        check(Event::SemaphoreRejected, &[(Reason::SemaphoreFull, None)]);
        check(Event::ThreadPoolRejected, &[(Reason::PoolFull, None)]);
        check(Event::Timeout, &[(Reason::Timeout, Some(Cause::Deadline))]);
        check(Event::Cancelled, &[(Reason::ClientAborted, None)]);
        let of_clients = [Reason::BadRequest, Reason::BodyTimeout, Reason::BodyTooLarge];
        check(Event::BadRequest, &of_clients.map(|reason| (reason, None)));
        let failures = [
            Reason::NoServer,
            Reason::UpstreamPoolTimeout,
            Reason::ConnectFailed,
            Reason::ConnectTimeout,
            Reason::UpstreamBadResponse,
            Reason::UpstreamAborted,
            Reason::Internal,
        ];
        check(Event::Failure, &failures.map(|reason| (reason, None)));
        check(Event::Failure, &[(Reason::Timeout, Some(Cause::ReadTimeout))]);
    }

    #[test]
    fn health_is_made_of_what_says_something_of_the_service() {
        // 1 of the first event, 2 of the second, 4 of the third ...
        let counts = Counts::from_fn(|index| 1 << index);
        let of = |events: &[Event]| events.iter().map(|&event| counts.get(event)).sum::<u64>();
        let errors = of(&[Event::Failure, Event::Timeout, Event::SemaphoreRejected, Event::ThreadPoolRejected]);
        assert_eq!(counts.health(), HealthCounts { total: errors + counts.get(Event::Success), errors });
        let thrown = [Event::BadRequest, Event::FallbackFailure, Event::FallbackMissing, Event::FallbackRejection];
        assert_eq!(counts.exceptions_thrown(), of(&thrown));
        assert_eq!(counts.executed(), of(&[Event::Success, Event::Failure, Event::Timeout, Event::BadRequest]));
    }

    #[test]
    fn percentages_are_truncated() {
        let percentage = |errors, total| HealthCounts { total, errors }.error_percentage();
        assert_eq!([percentage(0, 0), percentage(1, 3), percentage(2, 3), percentage(5, 5)], [0, 33, 66, 100]);
    }
}
