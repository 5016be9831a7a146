//! The limit of one route: a bucket for each of its keys, and what is told of it.

use super::key::{Key, Keys};
use super::table::{Store, Table};
use super::{RateFields, Rated};
use crate::config::model::RateLimitConfig;
use crate::metrics::{Collect, Counter, Sink};
use crate::wire::head::RequestHead;
use governor::clock::Clock;
use governor::middleware::StateInformationMiddleware;
use governor::nanos::Nanos;
use governor::{Quota, RateLimiter};
use http::HeaderValue;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The clock of limits in use: the time since they were made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uptime(Instant);

impl Uptime {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for Uptime {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

/// A limit in use.
pub(super) struct Limit<C: Clock<Instant = Nanos>> {
    /// The route's id.
    id: Box<str>,
    keys: Keys,
    max_keys: usize,
    buckets: RateLimiter<Key, Store<C>, C, StateInformationMiddleware>,
    table: Arc<Table<C>>,
    /// Between two tokens.
    interval: Duration,
    /// The route's id as a string of a structured field, with its quotes.
    name: String,
    policy: HeaderValue,
    refused: Counter,
}

impl<C: Clock<Instant = Nanos> + Clone> Limit<C> {
    pub(super) fn new(id: &str, config: &RateLimitConfig, max_keys: usize, clock: C) -> Self {
        let interval = config.interval();
        let burst = NonZeroU32::new(config.burst).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::with_period(interval).unwrap_or(Quota::per_second(burst)).allow_burst(burst);
        let table = Arc::new(Table::new(max_keys, interval, clock.clone()));
        let name = structured_string(id);
        Self {
            id: id.into(),
            keys: Keys::new(config.key.clone()),
            max_keys,
            buckets: RateLimiter::new(quota, Store(table.clone()), clock),
            table,
            interval,
            policy: value(policy(&name, config)),
            name,
            refused: Counter::default(),
        }
    }

    pub(super) fn take(&self, head: &RequestHead, client: impl FnOnce() -> IpAddr) -> Rated {
        let (left, wait) = match self.buckets.check_key(&self.keys.of(head, client)) {
            Ok(state) => (state.remaining_burst_capacity(), None),
            Err(until) => (0, Some(until.wait_time_from(self.buckets.clock().now()))),
        };
        let retry_after = wait.map(|wait| seconds(wait).max(1));
        if wait.is_some() {
            self.refused.add_one();
        }
        let more_after = retry_after.unwrap_or_else(|| seconds(self.interval));
        let state = value(format!("{};r={left};t={more_after}", self.name));
        Rated { retry_after, fields: RateFields { policy: self.policy.clone(), state } }
    }
}

impl<C: Clock<Instant = Nanos> + Send + Sync> Collect for Limit<C> {
    fn collect(&self, sink: &mut dyn Sink) {
        let route = [("route", &*self.id)];
        let (keys, max) = (self.table.len() as f64, self.max_keys as f64);
        sink.gauge("portcullis.rate-limit.keys", "Clients that a rate limit remembers", &route, keys);
        sink.gauge("portcullis.rate-limit.keys.max", "Clients that a rate limit remembers at most", &route, max);
        sink.counter("portcullis.rate-limit.refused", "Requests over their rate", &route, self.refused.get());
        let overflowed = self.table.overflowed.get();
        let help = "Requests of clients for whom there was no room, which share one bucket";
        sink.counter("portcullis.rate-limit.overflowed", help, &route, overflowed);
    }
}

/// `"id";q=100;w=1`; the window only where it is one of whole seconds, since the draft has no other.
fn policy(name: &str, config: &RateLimitConfig) -> String {
    let window = match config.per {
        per if per.subsec_nanos() == 0 => format!(";w={}", per.as_secs()),
        _ => String::new(),
    };
    format!("{name};q={}{window}", config.requests)
}

/// A string of RFC 9651 3.3.3, which holds printable ASCII only.
fn structured_string(text: &str) -> String {
    let mut string = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => string.extend(['\\', c]),
            ' '..='~' => string.push(c),
            _ => string.push('_'),
        }
    }
    string.push('"');
    string
}

/// Made of printable ASCII, it always is one.
fn value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// Whole seconds, rounded up.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::model::RateLimitKey;
    use crate::wire::testing::request;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// A clock that a test moves.
    #[derive(Clone, Default)]
    struct Hand(Arc<AtomicU64>);

    impl Clock for Hand {
        type Instant = Nanos;

        fn now(&self) -> Nanos {
            Nanos::new(self.0.load(Relaxed))
        }
    }

    impl Hand {
        fn advance(&self, millis: u64) {
            self.0.fetch_add(millis * 1_000_000, Relaxed);
        }
    }

    fn config(requests: u32, per_millis: u64, burst: u32) -> RateLimitConfig {
        RateLimitConfig { requests, per: Duration::from_millis(per_millis), burst, key: RateLimitKey::Address }
    }

    struct Limited {
        limit: Limit<Hand>,
        clock: Hand,
    }

    impl Limited {
        fn new(config: &RateLimitConfig, max_keys: usize) -> Self {
            let clock = Hand::default();
            Self { limit: Limit::new("shop", config, max_keys, clock.clone()), clock }
        }

        /// Whether a client passes, by the last octet of its address, and what is left to it.
        #[track_caller]
        fn check(&self, client: u8, expected: Result<&str, u64>) {
            let rated = self.limit.take(&request("GET / HTTP/1.1\r\nHost: a"), || [192, 0, 2, client].into());
            match expected {
                Ok(state) => assert_eq!((rated.fields.state, rated.retry_after), (value(state.into()), None)),
                Err(after) => assert_eq!(rated.retry_after, Some(after), "{:?}", rated.fields.state),
            }
        }
    }

    #[test]
    fn each_client_has_its_bucket_and_a_token_comes_back_at_a_time() {
        let limited = Limited::new(&config(2, 1000, 2), 10);
        assert_eq!(limited.limit.policy, "\"shop\";q=2;w=1");
        limited.check(1, Ok("\"shop\";r=1;t=1"));
        limited.check(1, Ok("\"shop\";r=0;t=1"));
        limited.check(1, Err(1));
        limited.check(2, Ok("\"shop\";r=1;t=1"));
        limited.clock.advance(500);
        limited.check(1, Ok("\"shop\";r=0;t=1"));
        limited.check(1, Err(1));
        limited.clock.advance(60_000);
        limited.check(1, Ok("\"shop\";r=1;t=1"));
    }

    #[test]
    fn the_burst_is_a_number_of_its_own_and_waits_are_rounded_up() {
        let limited = Limited::new(&config(1, 90_500, 3), 10);
        assert_eq!(limited.limit.policy, "\"shop\";q=1");
        limited.check(1, Ok("\"shop\";r=2;t=91"));
        limited.check(1, Ok("\"shop\";r=1;t=91"));
        limited.check(1, Ok("\"shop\";r=0;t=91"));
        limited.check(1, Err(91));
        limited.clock.advance(90_400);
        limited.check(1, Err(1));
    }

    /// A limit of one key: whoever comes second shares the bucket of strangers, until the first is idle.
    #[test]
    fn those_for_whom_there_is_no_room_share_a_bucket() {
        let limited = Limited::new(&config(1, 1000, 1), 1);
        limited.check(1, Ok("\"shop\";r=0;t=1"));
        limited.check(2, Ok("\"shop\";r=0;t=1"));
        limited.check(3, Err(1));
        limited.check(1, Err(1));
        assert_eq!((limited.limit.table.len(), limited.limit.table.overflowed.get()), (1, 2));
        limited.clock.advance(2001);
        limited.check(3, Ok("\"shop\";r=0;t=1"));
        assert_eq!((limited.limit.table.len(), limited.limit.table.overflowed.get()), (1, 2), "the idle one made room");
        limited.check(3, Err(1));
    }

    #[test]
    fn never_more_keys_than_allowed_are_remembered() {
        let limited = Limited::new(&config(1, 1000, 1), 5000);
        let head = request("GET / HTTP/1.1\r\nHost: a");
        for client in 0..20_000_u32 {
            limited.limit.take(&head, || std::net::Ipv4Addr::from_bits(client).into());
        }
        assert_eq!(limited.limit.table.len(), 5000);
        assert_eq!(limited.limit.table.overflowed.get(), 15_000);
    }

    #[test]
    fn names_are_strings_of_structured_fields() {
        assert_eq!(structured_string("a\"b\\c\u{e4}\n"), r#""a\"b\\c__""#);
    }
}
