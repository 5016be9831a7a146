//! Why a request did not end as its client hoped: one closed set, used in `X-Gateway-Reason`, the error body, the access log and the
//! metrics, so that the same word can be searched for in all four. The only place where a reason becomes a status.

use http::StatusCode;
use std::net::IpAddr;

macro_rules! reasons {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal, $status:literal;)+) => {
        /// Why a request was refused or failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason { $($(#[$doc])+ $variant,)+ }

        impl Reason {
            /// Every reason, in the order of the way of a request.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word for it: stable, part of the interface.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The status it is answered with (`gateway.compat: zuul1` uses another table).
            pub fn status(self) -> StatusCode {
                let code = match self { $(Self::$variant => $status,)+ };
                StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    };
}

reasons! {
    /// The request head is not HTTP/1.1 (RFC 9112), or its target holds what no URI may hold.
    BadRequest = "bad_request", 400;
    /// The request line is longer than `server.max-http-header-size`.
    TargetTooLong = "target_too_long", 414;
    /// The fields are longer than `server.max-http-header-size`, or more than 100.
    HeadTooLarge = "head_too_large", 431;
    /// The head did not arrive within `server.tomcat.connection-timeout`.
    HeadTimeout = "head_timeout", 408;
    /// The client's body stalled, or came slower than `gateway.client.min-rate`.
    BodyTimeout = "body_timeout", 408;
    /// The client's body is longer than `gateway.client.max-body-size`.
    BodyTooLarge = "body_too_large", 413;
    /// The client went away before its answer was complete; logged as 499, never sent.
    ClientAborted = "client_aborted", 499;
    /// The ready queue is full while every worker is busy (`server.tomcat.threads.max-queue-capacity`).
    QueueFull = "queue_full", 503;
    /// The request waited longer than `gateway.queue.timeout` for a worker.
    QueueTimeout = "queue_timeout", 503;
    /// The gateway is shutting down.
    Draining = "draining", 503;
    /// No route matches the path.
    NoRoute = "no_route", 404;
    /// The key's rate is used up.
    RateLimited = "rate_limited", 429;
    /// Every permit of the service's semaphore is taken.
    SemaphoreFull = "semaphore_full", 503;
    /// The thread pool and its queue are full.
    PoolFull = "pool_full", 503;
    /// The service's circuit is open.
    CircuitOpen = "circuit_open", 503;
    /// The service has no server, or its rule finds none that is up.
    NoServer = "no_server", 503;
    /// No upstream connection came free within `zuul.host.connection-request-timeout-millis`.
    UpstreamPoolTimeout = "upstream_pool_timeout", 503;
    /// Connecting to the upstream failed: refused, unreachable, name not found, TLS.
    ConnectFailed = "connect_failed", 502;
    /// Connecting to the upstream, TLS included, took too long.
    ConnectTimeout = "connect_timeout", 504;
    /// The deadline or the read timeout passed before the upstream's answer.
    Timeout = "timeout", 504;
    /// The upstream's answer can't be understood.
    UpstreamBadResponse = "upstream_bad_response", 502;
    /// The upstream closed or reset the connection before its answer was complete.
    UpstreamAborted = "upstream_aborted", 502;
    /// The fallback's own semaphore is full.
    FallbackRejected = "fallback_rejected", 503;
    /// A fault of the gateway itself.
    Internal = "internal", 500;
}

impl Reason {
    /// Whether the answer carries `Retry-After`: limits of our own, and no instance.
    pub fn asks_to_retry(self) -> bool {
        matches!(self.status(), StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS)
    }
}

/// What exactly failed behind a [`Reason`], where an answer depends on it: Zuul 1 tells these apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// [`Reason::Timeout`]: the deadline passed (Hystrix's timeout).
    Deadline,
    /// [`Reason::Timeout`]: nothing could be read or written for the read timeout.
    ReadTimeout,
    /// [`Reason::ConnectFailed`]: this address and port, the last one tried, refused.
    Refused(IpAddr, u16),
    /// [`Reason::ConnectTimeout`]: this address and port, the last one tried, did not answer in time.
    ConnectTimeout(IpAddr, u16),
    /// [`Reason::UpstreamAborted`]: the connection was closed before any octet of an answer.
    NoAnswer,
    /// Any of these but the deadline, on a retryable route: after the last attempt.
    Retryable,
    /// The answer's body failed before anything of the answer was sent.
    Body,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_statuses_real() {
        let mut names: Vec<_> = Reason::ALL.iter().map(|r| r.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Reason::ALL.len());
        assert_eq!(Reason::ClientAborted.status().as_u16(), 499);
    }
}
