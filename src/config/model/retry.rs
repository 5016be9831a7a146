//! When a request to a service is sent again: Ribbon's keys, and ours for what Ribbon leaves without a bound.

use http::StatusCode;
use std::time::Duration;

/// The retries of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryConfig {
    /// `ribbon.MaxAutoRetries` (0): further attempts on the same server.
    pub same_server: u32,
    /// `ribbon.MaxAutoRetriesNextServer` (1): further servers, each with its own attempts.
    pub next_server: u32,
    /// `ribbon.OkToRetryOnAllOperations` (false): whether other requests than GET may be repeated once they were sent.
    pub all_operations: bool,
    /// `ribbon.retryableStatusCodes` (none): answers that are not passed on while attempts are left.
    pub statuses: Vec<StatusCode>,
    /// `gateway.retry.max-body-size` (64 KB): octets of a request's body that are kept so that they can be sent again.
    pub max_body: usize,
    /// `gateway.retry-budget`; `None` when it is negative: no budget.
    pub budget: Option<RetryBudgetConfig>,
    /// `gateway.retry.backoff.*`; `None` by default: the next attempt follows at once, as in Ribbon.
    pub backoff: Option<BackoffConfig>,
}

impl RetryConfig {
    /// The most attempts for one request: (MaxAutoRetries + 1) x (MaxAutoRetriesNextServer + 1).
    pub fn most_attempts(&self) -> u32 {
        (self.same_server + 1).saturating_mul(self.next_server + 1)
    }
}

/// How many retries there may be beside the requests of the last ten seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryBudgetConfig {
    /// `gateway.retry-budget` (20): retries per hundred requests.
    pub percent: u32,
    /// `gateway.retry.min-retries-per-second` (10): what is granted on top, however few requests there are.
    pub min_per_second: u32,
}

/// Exponential pauses with jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffConfig {
    /// `gateway.retry.backoff.base-interval`: the longest pause before the first retry; doubles with each further one.
    pub base: Duration,
    /// `gateway.retry.backoff.max-interval`: the longest pause of all; default ten times the base.
    pub max: Duration,
}
