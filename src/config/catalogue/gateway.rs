//! `gateway.*`: the keys that are ours alone.
//!
//! Whatever Spring or Zuul has a key for keeps that key; only what neither knows stands here. The one exception is `server.container`,
//! which stands where users look for it.

use super::{COUNT, Key, Kind, PORT, POSITIVE, Unit, acts};

pub(super) const KEYS: &[Key] = &[
    acts(
        "gateway.compat",
        Kind::Choice(&["none", "zuul1"]),
        "none",
        "zuul1: Zuul's own statuses and messages for failures, and url routes unguarded, as they are there.",
    ),
    acts(
        "gateway.queue.timeout",
        Kind::Duration { unit: Unit::Millis, min: 1 },
        "5s",
        "Longest wait of a request for a worker; then 503 queue_timeout.",
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
        "gateway.routes-file",
        Kind::Text,
        "",
        "A JSON file with routeDefinitionList and ribbonDefinitionList; relative to the file that names it.",
    ),
];
