//! Whether a request is sent again, and when: policy, budget and backoff of one service, and what came of them.
//!
//! ```text
//! attempt failed -> Policy (may it, where to) -> Budget (may we all) -> Backoff (how soon) -> pause -> next attempt
//! ```
//!
//! Nothing here sends anything or knows a server: the gateway's attempts ask, one question after the other. Policy, budget and backoff are
//! pure, with time and chance as arguments. A service without retries has none of this.

mod backoff;
mod budget;
mod pause;
mod policy;

pub use backoff::Backoff;
pub use budget::Budget;
pub use pause::pause;
pub use policy::{Outcome, Policy, Target, Turns, Why};

use crate::config::model::RetryConfig;
use crate::metrics::{Collect, Counter, Gauge, Held, Sink};
use crate::reason::Reason;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// The retries of one service.
#[derive(Debug)]
pub struct Retry {
    backend: String,
    /// What may be sent again.
    pub policy: Policy,
    budget: Option<Budget>,
    backoff: Option<Backoff>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    by_reason: [Counter; Reason::ALL.len()],
    by_status: Counter,
    no_budget: Counter,
    not_repeatable: Counter,
    no_time: Counter,
    pausing: Gauge,
}

impl Retry {
    /// Those of the service `backend`.
    pub fn new(backend: &str, config: &RetryConfig, now: Instant) -> Self {
        Self {
            backend: backend.into(),
            policy: Policy::new(config),
            budget: config.budget.map(|budget| Budget::new(budget, now)),
            backoff: config.backoff.map(Backoff::new),
            counts: Counts::default(),
        }
    }

    /// A request begins: it adds to the budget.
    pub fn began(&self, now: Instant) {
        if let Some(budget) = &self.budget {
            budget.deposit(now);
        }
    }

    /// How long to wait before the retry of this number, from 1.
    pub fn pause_before(&self, number: u32) -> Duration {
        let chance = || RandomState::new().hash_one(number);
        self.backoff.as_ref().map_or(Duration::ZERO, |backoff| backoff.pause(number, chance()))
    }

    /// Whether the budget lets another attempt be made; it is then counted.
    pub fn grants(&self, why: Why, now: Instant) -> bool {
        if self.budget.as_ref().is_some_and(|budget| !budget.withdraw(now)) {
            self.counts.no_budget.add_one();
            return false;
        }
        match why {
            Why::Failed(reason) => self.counts.by_reason[reason as usize].add_one(),
            Why::Answered(_) => self.counts.by_status.add_one(),
        }
        true
    }

    /// A stale connection was replaced and the request sent again below the policy. That draws from the budget, but is never refused:
    /// the server had not seen the request, so it adds nothing to its load, and it happens at most once an attempt.
    pub fn replaced_stale(&self, now: Instant) {
        if let Some(budget) = &self.budget {
            budget.draw(now);
        }
    }

    /// An attempt was not followed by another, since the body is not at hand any more, or the client was told something already.
    pub fn not_repeatable(&self) {
        self.counts.not_repeatable.add_one();
    }

    /// An attempt was not followed by another, since the pause before it would have ended after the deadline.
    pub fn lacked_time(&self) {
        self.counts.no_time.add_one();
    }

    /// A request waits for its next attempt, until the guard is dropped.
    pub fn pausing(&self) -> Held<'_> {
        self.counts.pausing.hold()
    }
}

impl Collect for Retry {
    fn collect(&self, sink: &mut dyn Sink) {
        let (backend, counts) = (("backend", self.backend.as_str()), &self.counts);
        let mut retries = |reason: &str, count: &Counter| {
            sink.counter("portcullis.retries", "Further attempts", &[backend, ("reason", reason)], count.get());
        };
        for reason in policy::RETRIED {
            retries(reason.name(), &counts.by_reason[reason as usize]);
        }
        retries("status", &counts.by_status);
        let help = "Attempts that were not followed by another, though they might have been";
        for (reason, count) in
            [("budget", &counts.no_budget), ("replay", &counts.not_repeatable), ("deadline", &counts.no_time)]
        {
            sink.counter("portcullis.retries.refused", help, &[backend, ("reason", reason)], count.get());
        }
        let help = "Requests that wait for their next attempt";
        sink.gauge("portcullis.retries.waiting", help, &[backend], counts.pausing.get() as f64);
    }
}
