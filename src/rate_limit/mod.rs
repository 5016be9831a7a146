//! Rate limits: how many requests a client may make along a route in a time, kept by this gateway for itself (`gateway.rate-limit`).
//!
//! A token bucket per route and key, before isolation: what is refused here takes no permit. The arithmetic is `governor`'s; which key a
//! request counts for is in `key`, how many keys are remembered in `table`. A route without a limit costs one look at a slice.

mod key;
mod limit;
mod table;

use crate::config::model::RateLimitsConfig;
use crate::metrics::{Collect, Sink};
use crate::wire::head::RequestHead;
use http::HeaderValue;
use limit::{Limit, Uptime};
use std::net::IpAddr;

/// The limits of all routes.
#[derive(Default)]
pub struct RateLimits {
    /// By the index of the route; empty when nothing is limited.
    by_route: Box<[Option<Limit<Uptime>>]>,
}

/// What became of a request that a limit applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rated {
    /// Seconds after which the next request can pass, rounded up; `None`: this one did.
    pub retry_after: Option<u64>,
    /// What the client is told of it.
    pub fields: RateFields,
}

/// The response fields of draft-ietf-httpapi-ratelimit-headers-10. They are sent with every answer of a limited route, so that a client can
/// slow down before it is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateFields {
    /// `RateLimit-Policy`: the route, its quota and window.
    pub policy: HeaderValue,
    /// `RateLimit`: what is left, and when there is more.
    pub state: HeaderValue,
}

impl RateFields {
    /// Names and values, for whoever writes a head.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &HeaderValue)> {
        [("RateLimit-Policy", &self.policy), ("RateLimit", &self.state)].into_iter()
    }
}

impl RateLimits {
    /// For routes of these ids, in the order of their indices.
    pub fn new<'a>(config: &RateLimitsConfig, routes: impl Iterator<Item = &'a str>) -> Self {
        if config.routes.is_empty() {
            return Self::default();
        }
        let limit = |id: &str| Some(Limit::new(id, config.of(id)?, config.max_keys, Uptime::start()));
        Self { by_route: routes.map(limit).collect() }
    }

    /// Takes a token for a request along the route of this index; `None` where nothing is limited. `client` is asked where its address
    /// counts.
    pub fn take(&self, route: usize, head: &RequestHead, client: impl FnOnce() -> IpAddr) -> Option<Rated> {
        self.by_route.get(route)?.as_ref().map(|limit| limit.take(head, client))
    }
}

impl Collect for RateLimits {
    fn collect(&self, sink: &mut dyn Sink) {
        self.by_route.iter().flatten().for_each(|limit| limit.collect(sink));
    }
}
