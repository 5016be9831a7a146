//! What may be sent again, and to whom: Ribbon's and spring-retry's rules, as Zuul puts them together.
//!
//! The same server is asked MaxAutoRetries more times, then MaxAutoRetriesNextServer others, each as often. Any failure of the upstream
//! counts, and any listed status. GET is repeated; what else was sent is not, unless `OkToRetryOnAllOperations`. A request of which
//! nothing was sent (the connect failed) goes on whatever its method, as a running Zuul does.
//!
//! Never: what the client did, a passed deadline (it is that of all attempts), and a connection pool that stayed full: that is a limit
//! of ours, and another round would wait in the same place.

use crate::config::model::RetryConfig;
use crate::reason::{Cause, Reason};
use http::{Method, StatusCode};

/// The reasons that can be followed by another attempt.
pub(super) const RETRIED: [Reason; 5] = [
    Reason::ConnectFailed,
    Reason::ConnectTimeout,
    Reason::Timeout,
    Reason::UpstreamBadResponse,
    Reason::UpstreamAborted,
];

/// The rules of one service.
#[derive(Clone, Debug)]
pub struct Policy {
    same_server: u32,
    next_server: u32,
    all_operations: bool,
    statuses: Vec<StatusCode>,
    max_body: usize,
}

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The head of an answer is there.
    Answered(StatusCode),
    /// It failed before.
    Failed {
        /// Why.
        reason: Reason,
        /// What exactly.
        cause: Option<Cause>,
        /// Whether the request, or some of it, may have reached a server.
        sent: bool,
    },
}

/// Why there is to be another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The last one failed.
    Failed(Reason),
    /// It was answered with a listed status.
    Answered(StatusCode),
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(reason) => reason.fmt(f),
            Self::Answered(status) => write!(f, "answered {}", status.as_u16()),
        }
    }
}

/// Who is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The same server once more.
    SameServer,
    /// Another one.
    NextServer,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::SameServer => "same server",
            Self::NextServer => "next server",
        })
    }
}

impl Policy {
    /// From Ribbon's keys.
    pub fn new(config: &RetryConfig) -> Self {
        Self {
            same_server: config.same_server,
            next_server: config.next_server,
            all_operations: config.all_operations,
            statuses: config.statuses.clone(),
            max_body: config.max_body,
        }
    }

    /// Why there may be another attempt after this one; `None`: its outcome is final.
    pub fn why(&self, method: &Method, outcome: Outcome) -> Option<Why> {
        match outcome {
            Outcome::Answered(status) if self.statuses.contains(&status) => {
                self.repeats(method).then_some(Why::Answered(status))
            }
            Outcome::Answered(_) | Outcome::Failed { cause: Some(Cause::Deadline), .. } => None,
            Outcome::Failed { reason, sent, .. } => {
                let may = RETRIED.contains(&reason) && (!sent || self.repeats(method));
                may.then_some(Why::Failed(reason))
            }
        }
    }

    /// How many octets of the body of such a request are worth keeping.
    pub fn keeps(&self, method: &Method) -> usize {
        if self.repeats(method) { self.max_body } else { 0 }
    }

    fn repeats(&self, method: &Method) -> bool {
        *method == Method::GET || self.all_operations
    }
}

/// The attempts of one request, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turns {
    same_server: u32,
    next_server: u32,
    /// All further attempts so far.
    retries: u32,
}

impl Turns {
    /// Who is asked after another failure; `None` when all attempts were made.
    pub fn next(&mut self, policy: &Policy) -> Option<Target> {
        let target = if self.same_server < policy.same_server {
            self.same_server += 1;
            Target::SameServer
        } else if self.next_server < policy.next_server {
            (self.same_server, self.next_server) = (0, self.next_server + 1);
            Target::NextServer
        } else {
            return None;
        };
        self.retries += 1;
        Some(target)
    }

    /// The number of the retry that [`Self::next`] allowed last, from 1.
    pub fn retries(self) -> u32 {
        self.retries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Target::{NextServer, SameServer};

    fn policy(all_operations: bool, (same_server, next_server): (u32, u32)) -> Policy {
        let statuses = vec![StatusCode::SERVICE_UNAVAILABLE];
        Policy { same_server, next_server, all_operations, statuses, max_body: 9 }
    }

    const fn failed(reason: Reason, cause: Option<Cause>, sent: bool) -> Outcome {
        Outcome::Failed { reason, cause, sent }
    }

    /// What is repeated: GET, POST, and POST with OkToRetryOnAllOperations.
    #[track_caller]
    fn check(outcome: Outcome, expected: [bool; 3]) {
        let rows = [(Method::GET, false), (Method::POST, false), (Method::POST, true)];
        let found = rows.map(|(method, all)| policy(all, (0, 1)).why(&method, outcome).is_some());
        assert_eq!(found, expected, "{outcome:?}");
    }

    #[test]
    fn what_was_not_sent_is_sent_again_whatever_it_is() {
        check(failed(Reason::ConnectFailed, None, false), [true; 3]);
        check(failed(Reason::ConnectTimeout, None, false), [true; 3]);
    }

    #[test]
    fn what_was_sent_is_repeated_only_for_get_or_when_asked() {
        for (reason, cause) in [
            (Reason::Timeout, Some(Cause::ReadTimeout)),
            (Reason::UpstreamAborted, Some(Cause::NoAnswer)),
            (Reason::UpstreamAborted, None),
            (Reason::UpstreamBadResponse, None),
            // A stale connection was used before, and another one could not be made.
            (Reason::ConnectFailed, None),
        ] {
            check(failed(reason, cause, true), [true, false, true]);
        }
    }

    #[test]
    fn listed_statuses_are_repeated_and_no_others() {
        check(Outcome::Answered(StatusCode::SERVICE_UNAVAILABLE), [true, false, true]);
        check(Outcome::Answered(StatusCode::BAD_GATEWAY), [false; 3]);
        check(Outcome::Answered(StatusCode::OK), [false; 3]);
    }

    #[test]
    fn deadlines_clients_and_limits_of_our_own_are_final() {
        check(failed(Reason::Timeout, Some(Cause::Deadline), true), [false; 3]);
        check(failed(Reason::Timeout, Some(Cause::Deadline), false), [false; 3]);
        let never = Reason::ALL.iter().filter(|reason| !RETRIED.contains(reason));
        for reason in never {
            check(failed(*reason, None, false), [false; 3]);
            check(failed(*reason, None, true), [false; 3]);
        }
    }

    #[test]
    fn other_methods_than_get_are_not_repeated_unasked() {
        for method in [Method::HEAD, Method::PUT, Method::DELETE, Method::OPTIONS, Method::PATCH] {
            let outcome = failed(Reason::UpstreamAborted, None, true);
            assert_eq!(policy(false, (0, 1)).why(&method, outcome), None, "{method}");
            assert!(policy(true, (0, 1)).why(&method, outcome).is_some(), "{method}");
        }
    }

    #[test]
    fn bodies_are_kept_only_where_they_may_be_sent_again() {
        assert_eq!(policy(false, (0, 1)).keeps(&Method::POST), 0);
        assert_eq!(policy(true, (0, 1)).keeps(&Method::POST), 9);
        assert_eq!(policy(false, (0, 1)).keeps(&Method::GET), 9);
    }

    #[track_caller]
    fn check_turns(counts: (u32, u32), expected: &[Target]) {
        let (policy, mut turns) = (policy(false, counts), Turns::default());
        let made: Vec<_> = std::iter::from_fn(|| turns.next(&policy)).take(20).collect();
        assert_eq!(made, expected, "{counts:?}");
        assert_eq!(turns.retries() as usize, expected.len());
        assert_eq!(turns.next(&policy), None, "once spent, always spent");
    }

    #[test]
    fn the_same_server_first_then_the_next_each_as_often() {
        check_turns((0, 0), &[]);
        check_turns((0, 1), &[NextServer]);
        check_turns((2, 0), &[SameServer, SameServer]);
        check_turns((1, 1), &[SameServer, NextServer, SameServer]);
        check_turns((1, 2), &[SameServer, NextServer, SameServer, NextServer, SameServer]);
    }
}
