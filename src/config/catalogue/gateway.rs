//! `gateway.*`: the keys that are ours alone.
//!
//! Whatever Spring or Zuul has a key for keeps that key; only what neither knows stands here. The one exception is `server.container`,
//! which stands where users look for it.

use super::{COUNT, Key, Kind, PORT, POSITIVE, Unit, acts};

pub(super) const KEYS: &[Key] = &[
    acts(
        "gateway.http-client",
        Kind::Choice(&["native", "ureq"]),
        "native",
        "What speaks HTTP with the servers: our own client, or ureq, which takes more processor time.",
    ),
    acts(
        "gateway.compat",
        Kind::Choice(&["none", "zuul1"]),
        "none",
        "zuul1: Zuul's own statuses and messages for failures, and what they follow from: url routes are unguarded, connections are waited \
         for, a service's answer of known length that breaks off in its first 8 KiB is an error, and names that Zuul reads in one spelling \
         alone are not read in another.",
    ),
    acts(
        "gateway.queue.timeout",
        Kind::Duration { unit: Unit::Millis, min: 1 },
        "5s",
        "Longest wait of a request for a worker; then 503 queue_timeout.",
    ),
    acts(
        "gateway.queue.order",
        Kind::Choice(&["fifo", "adaptive-lifo"]),
        "fifo",
        "Who is next for a worker. adaptive-lifo: who came last, as long as the queue has not been empty for 100 ms.",
    ),
    acts(
        "gateway.queue.codel",
        Kind::Flag,
        "false",
        "Who comes while the queue has not been empty for 100 ms waits for 5 ms at most; then 503 queue_timeout.",
    ),
    acts(
        "gateway.isolation.max-wait",
        Kind::Duration { unit: Unit::Millis, min: 0 },
        "0",
        "Longest wait for a permit of a full semaphore, before the deadline begins; then 503 semaphore_full.",
    ),
    acts(
        "gateway.limit",
        Kind::Choice(LIMITS),
        "fixed",
        "How the limits of semaphores move with what the servers bear: by times (vegas, gradient2) or by drops (aimd).",
    ),
    acts("gateway.limits.<key...>.law", Kind::Choice(LIMITS), "", "gateway.limit of one service or url route."),
    acts(
        "gateway.limits.<key...>.floor",
        POSITIVE,
        "",
        "Fewest permits of an adaptive limit; `default` stands for all. Default: 1 for vegas, else 20, within the ceiling.",
    ),
    acts(
        "gateway.limits.<key...>.ceiling",
        POSITIVE,
        "",
        "Most permits of an adaptive limit; `default` stands for all. Default: what the semaphore would have if it were fixed.",
    ),
    acts(
        "gateway.workers.runnable",
        POSITIVE,
        "",
        "How many workers should run at once; the others wait until these are blocked. Default: 8 per core.",
    ),
    acts(
        "gateway.workers.scheduling",
        Kind::Choice(&["batch", "normal"]),
        "batch",
        "batch: workers run under SCHED_BATCH, so that a woken one does not preempt another.",
    ),
    acts(
        "gateway.client.min-rate",
        COUNT,
        "250",
        "Octets a second below which a body or a reader is cut off; 0 for none.",
    ),
    acts(
        "gateway.client.max-body-size",
        Kind::Size { min: -1, max: i64::MAX },
        "-1",
        "Longest request body that is passed on; then 413 body_too_large. Negative for no bound.",
    ),
    acts(
        "gateway.circuit-breaker.mode",
        Kind::Choice(&["single-test", "half-open"]),
        "single-test",
        "single-test: Hystrix 1.5.18, any success closes an open circuit. half-open: after the sleep window one request decides.",
    ),
    acts(
        "gateway.circuit-breaker.count-5xx",
        Kind::Flag,
        "false",
        "Whether a 5xx of a server counts as a failure; it is passed on all the same. In Hystrix it counts as a success.",
    ),
    acts(
        "gateway.fallback.<key...>.status",
        Kind::Count { min: 200, max: 599 },
        "",
        "Status of the answer in place of a failed service, 200 unless it is said; `*` as key for all services without one of their own.",
    ),
    acts("gateway.fallback.<key...>.headers", Kind::List, "", "Its fields, a list of `Name: value`."),
    acts("gateway.fallback.<key...>.body", Kind::Text, "", "Its body."),
    acts(
        "gateway.fallback.<key...>.body-file",
        Kind::Text,
        "",
        "Its body, read from a file at the start; relative to the file that names it.",
    ),
    acts(
        "gateway.fallback.<key...>.forward",
        Kind::Text,
        "",
        "In place of these: a path of this gateway that answers, such as /static/sorry. /backup/** keeps what follows.",
    ),
    acts(
        "gateway.retry-budget",
        Kind::Count { min: -1, max: 100 },
        "20",
        "Retries per hundred requests of the last 10 s to a service; -1 for no budget.",
    ),
    acts(
        "gateway.retry.min-retries-per-second",
        COUNT,
        "10",
        "Retries that the budget grants on top, over the same 10 s, so that a quiet service can be retried.",
    ),
    acts(
        "gateway.retry.max-body-size",
        Kind::Size { min: 0, max: 1 << 30 },
        "64KB",
        "How much of a request's body is kept for another attempt; a longer one is not sent twice.",
    ),
    acts(
        "gateway.retry.backoff.base-interval",
        Kind::Duration { unit: Unit::Millis, min: 0 },
        "0",
        "Longest pause before the first retry, doubled for each further one; chance takes up to half of it. 0 for none.",
    ),
    acts(
        "gateway.retry.backoff.max-interval",
        Kind::Duration { unit: Unit::Millis, min: 0 },
        "",
        "Longest pause of all; default: 10 times the first.",
    ),
    acts(
        "gateway.trusted-proxies",
        Kind::List,
        "",
        "Addresses and networks (10.0.0.0/8) whose X-Forwarded-* and Forwarded fields are believed. Default: everybody, as in Zuul.",
    ),
    acts(
        "gateway.encoded-delimiters.<id>",
        Kind::Choice(&["allow", "reject"]),
        "",
        "reject: 400 for %2F, %5C, %3B, %3F and %23 in the paths of this route (* for all). Default: allow, passed on as they are.",
    ),
    acts(
        "gateway.access-log.format",
        Kind::Choice(&["combined", "json", "off"]),
        "combined",
        "Shape of the access log.",
    ),
    acts(
        "gateway.balancer",
        Kind::Choice(&["ribbon", "least-outstanding-p2c"]),
        "ribbon",
        "How servers of services are chosen that name no NFLoadBalancerRuleClassName. least-outstanding-p2c: of two random ones that with \
         fewer requests in flight.",
    ),
    acts("gateway.ping.path", Kind::Text, "/", "Path of PingUrl's GET, since Ribbon has no key for it."),
    acts("gateway.ping.<service...>.path", Kind::Text, "", "The same for one service."),
    acts(
        "gateway.ping.expected-content",
        Kind::Text,
        "",
        "Body that means a server is up, whatever the status; default: status 200 means so.",
    ),
    acts("gateway.ping.<service...>.expected-content", Kind::Text, "", "The same for one service."),
    acts("gateway.access-log.file", Kind::Text, "", "Where the access log goes; default: standard output."),
    acts(
        "gateway.example.port",
        PORT,
        "",
        "Starts the example service on this port of 127.0.0.1; 0 lets the system pick.",
    ),
    acts(
        "gateway.rate-limit.max-keys",
        POSITIVE,
        "100000",
        "Clients that each rate limit remembers; while all of them are busy, further ones share one bucket.",
    ),
    acts(
        "gateway.rate-limit.routes.<id>.requests",
        Kind::Count { min: 1, max: 1_000_000_000 },
        "",
        "Requests that a client may make along this route in the time `per`; then 429 rate_limited. `*` as id is for each route without \
         a limit of its own.",
    ),
    acts(
        "gateway.rate-limit.routes.<id>.per",
        Kind::Duration { unit: Unit::Seconds, min: 1 },
        "1s",
        "The time that `requests` are for.",
    ),
    acts(
        "gateway.rate-limit.routes.<id>.burst",
        Kind::Count { min: 1, max: 1_000_000_000 },
        "",
        "Requests that a client may make at once after a pause; default: requests.",
    ),
    acts(
        "gateway.rate-limit.routes.<id>.key",
        Kind::Text,
        "route",
        "What tells clients apart: address (IPv6: its network of 64 bits; behind gateway.trusted-proxies, by X-Forwarded-For), header:<name>, \
         or route: all requests count together.",
    ),
    acts(
        "gateway.routes-file",
        Kind::Text,
        "",
        "A JSON file with routeDefinitionList and ribbonDefinitionList; relative to the file that names it.",
    ),
];

/// The order is that of [`crate::config::model::LimitLaw`], after `fixed`.
const LIMITS: &[&str] = &["fixed", "vegas", "gradient2", "aimd"];
