//! `hystrix.*`: isolation, timeouts, thread pools, circuit breaker, metrics, fallback.
//!
//! What Zuul sets in code wins over `hystrix.command.default.*` (Hystrix's own precedence), so two of those have no effect there nor here.

use super::{COUNT, Key, Kind, MILLIS, OR_MINUS, POSITIVE, Unit, acts, inert, later};

const SET_BY_ZUUL: &str = "what Zuul sets wins over Hystrix's defaults; write zuul.ribbon-isolation-strategy, zuul.semaphore.max-semaphores \
                           or hystrix.command.<service>";
const OWN_CODE: &str = "it is for Java code of your own";
const INTERRUPTS: &str = "a request's thread is always freed at the deadline";

/// So many that each may be remembered.
const BUCKETS: Kind = Kind::Count { min: 1, max: 100_000 };
/// A time that is no time when it is nothing.
const WINDOW: Kind = Kind::Duration { unit: Unit::Millis, min: 1 };

pub(super) const KEYS: &[Key] = &[
    inert("hystrix.command.default.execution.isolation.strategy", SET_BY_ZUUL),
    inert("hystrix.command.default.execution.isolation.semaphore.maxConcurrentRequests", SET_BY_ZUUL),
    acts(
        "hystrix.command.<key...>.execution.isolation.strategy",
        Kind::Choice(&["SEMAPHORE", "THREAD"]),
        "",
        "How the requests to this service are bounded; default: zuul.ribbon-isolation-strategy.",
    ),
    acts(
        "hystrix.command.<key...>.execution.isolation.semaphore.maxConcurrentRequests",
        POSITIVE,
        "",
        "Concurrent requests to this service or url route; default: zuul.semaphore.max-semaphores.",
    ),
    acts(
        "hystrix.command.<key...>.execution.isolation.thread.timeoutInMilliseconds",
        MILLIS,
        "",
        "Deadline up to the head of the answer, in both strategies; `default` as key for all services. Default: (ReadTimeout + \
         ConnectTimeout) x (MaxAutoRetries + 1) x (MaxAutoRetriesNextServer + 1).",
    ),
    acts("hystrix.command.<key...>.execution.timeout.enabled", Kind::Flag, "true", "False: no deadline."),
    acts("hystrix.command.<key...>.threadPoolKeyOverride", Kind::Text, "", "The pool of this service, by its key."),
    inert("hystrix.command.<key...>.execution.isolation.thread.interruptOnTimeout", INTERRUPTS),
    inert("hystrix.command.<key...>.execution.isolation.thread.interruptOnFutureCancel", INTERRUPTS),
    acts(
        "hystrix.command.<key...>.fallback.enabled",
        Kind::Flag,
        "true",
        "Whether a fallback answers for a failed request, where gateway.fallback has one.",
    ),
    acts(
        "hystrix.command.<key...>.fallback.isolation.semaphore.maxConcurrentRequests",
        COUNT,
        "10",
        "Fallbacks at once; then 503 fallback_rejected.",
    ),
    acts(
        "hystrix.command.<key...>.circuitBreaker.enabled",
        Kind::Flag,
        "true",
        "Whether a failing service is left alone for a while. Url routes: only where a circuitBreaker key names the route.",
    ),
    acts(
        "hystrix.command.<key...>.circuitBreaker.requestVolumeThreshold",
        COUNT,
        "20",
        "Requests in metrics.rollingStats.timeInMilliseconds before it is judged.",
    ),
    acts(
        "hystrix.command.<key...>.circuitBreaker.sleepWindowInMilliseconds",
        MILLIS,
        "5000",
        "How long it is left alone before one request tests it.",
    ),
    acts(
        "hystrix.command.<key...>.circuitBreaker.errorThresholdPercentage",
        COUNT,
        "50",
        "The share of failures at which it is left alone.",
    ),
    acts("hystrix.command.<key...>.circuitBreaker.forceOpen", Kind::Flag, "false", "Always leaves it alone."),
    acts("hystrix.command.<key...>.circuitBreaker.forceClosed", Kind::Flag, "false", "Never leaves it alone."),
    acts(
        "hystrix.command.<key...>.metrics.rollingStats.timeInMilliseconds",
        WINDOW,
        "10000",
        "The window of counts, and of what the circuit breaker judges by.",
    ),
    acts(
        "hystrix.command.<key...>.metrics.rollingStats.numBuckets",
        BUCKETS,
        "10",
        "The steps in which the window of counts rolls; must divide its milliseconds.",
    ),
    acts(
        "hystrix.command.<key...>.metrics.rollingPercentile.enabled",
        Kind::Flag,
        "true",
        "Whether percentiles of latency are kept.",
    ),
    acts(
        "hystrix.command.<key...>.metrics.rollingPercentile.timeInMilliseconds",
        WINDOW,
        "60000",
        "The window of the percentiles.",
    ),
    acts(
        "hystrix.command.<key...>.metrics.rollingPercentile.numBuckets",
        BUCKETS,
        "6",
        "The steps in which that window rolls; must divide its milliseconds.",
    ),
    inert(
        "hystrix.command.<key...>.metrics.rollingPercentile.bucketSize",
        "histograms keep every value (in Hystrix 1.5 too)",
    ),
    acts(
        "hystrix.command.<key...>.metrics.healthSnapshot.intervalInMilliseconds",
        WINDOW,
        "500",
        "How often the circuit breaker's view of failures is made anew.",
    ),
    inert("hystrix.command.<key...>.requestCache.enabled", OWN_CODE),
    inert("hystrix.command.<key...>.requestLog.enabled", OWN_CODE),
    acts("hystrix.threadpool.<key...>.coreSize", POSITIVE, "10", "Threads of a pool; `default` as key for all pools."),
    acts(
        "hystrix.threadpool.<key...>.maximumSize",
        POSITIVE,
        "10",
        "The most threads of a pool, once its queue is full; counts only beside allowMaximumSizeToDivergeFromCoreSize.",
    ),
    acts(
        "hystrix.threadpool.<key...>.allowMaximumSizeToDivergeFromCoreSize",
        Kind::Flag,
        "false",
        "Whether maximumSize counts.",
    ),
    acts(
        "hystrix.threadpool.<key...>.maxQueueSize",
        OR_MINUS,
        "-1",
        "Requests that wait for a thread; -1 or 0: none may.",
    ),
    acts(
        "hystrix.threadpool.<key...>.queueSizeRejectionThreshold",
        COUNT,
        "5",
        "The queue's length at which requests are refused.",
    ),
    acts(
        "hystrix.threadpool.<key...>.keepAliveTimeMinutes",
        Kind::Duration { unit: Unit::Minutes, min: 0 },
        "1m",
        "How long an idle thread above coreSize is kept.",
    ),
    acts(
        "hystrix.threadpool.<key...>.metrics.rollingStats.timeInMilliseconds",
        WINDOW,
        "10000",
        "The window of a pool's counts.",
    ),
    acts(
        "hystrix.threadpool.<key...>.metrics.rollingStats.numBuckets",
        BUCKETS,
        "10",
        "The steps in which it rolls; must divide its milliseconds.",
    ),
    acts(
        "hystrix.stream.dashboard.intervalInMilliseconds",
        Kind::Duration { unit: Unit::Millis, min: 1 },
        "500",
        "How often /actuator/hystrix.stream tells every command and pool; a ping comes every 500 ms whatever it says.",
    ),
    acts(
        "hystrix.config.stream.maxConcurrentConnections",
        COUNT,
        "5",
        "Clients of /actuator/hystrix.stream at once; further ones get 503.",
    ),
    inert("hystrix.stream.**", "of Hystrix's streams the dashboard's is here alone"),
    inert("hystrix.config.**", "of Hystrix's streams the dashboard's is here alone"),
    later("hystrix.metrics.**", Kind::Any, "", "Whether Hystrix's metrics are published."),
    inert("hystrix.timer.**", "no timer threads are needed: deadlines are those of the sockets"),
    inert("hystrix.collapser.**", OWN_CODE),
    inert("hystrix.dashboard.**", "the dashboard is a program of its own"),
    inert("hystrix.shareSecurityContext", OWN_CODE),
    inert("hystrix.wrappers.**", OWN_CODE),
    inert("hystrix.plugin.**", OWN_CODE),
];
