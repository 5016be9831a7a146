//! `hystrix.*`: isolation, timeouts, thread pools; circuit breaker, metrics and fallback are known but not built yet.
//!
//! What Zuul sets in code wins over `hystrix.command.default.*` (Hystrix's own precedence), so two of those have no effect there nor here.

use super::{COUNT, Key, Kind, MILLIS, OR_MINUS, POSITIVE, Unit, acts, inert, later};

const SET_BY_ZUUL: &str = "what Zuul sets wins over Hystrix's defaults; write zuul.ribbon-isolation-strategy, zuul.semaphore.max-semaphores \
                           or hystrix.command.<service>";
const OWN_CODE: &str = "it is for Java code of your own";
const INTERRUPTS: &str = "a request's thread is always freed at the deadline";

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
    later(
        "hystrix.command.<key...>.fallback.enabled",
        Kind::Flag,
        "",
        "Whether a fallback answers for a failed request.",
    ),
    later(
        "hystrix.command.<key...>.fallback.isolation.semaphore.maxConcurrentRequests",
        COUNT,
        "",
        "Fallbacks at once.",
    ),
    later(
        "hystrix.command.<key...>.circuitBreaker.enabled",
        Kind::Flag,
        "",
        "Whether a failing service is left alone for a while.",
    ),
    later("hystrix.command.<key...>.circuitBreaker.requestVolumeThreshold", COUNT, "", "Requests before it is judged."),
    later(
        "hystrix.command.<key...>.circuitBreaker.sleepWindowInMilliseconds",
        MILLIS,
        "",
        "How long it is left alone.",
    ),
    later("hystrix.command.<key...>.circuitBreaker.errorThresholdPercentage", COUNT, "", "The share of failures."),
    later("hystrix.command.<key...>.circuitBreaker.forceOpen", Kind::Flag, "", "Always leaves it alone."),
    later("hystrix.command.<key...>.circuitBreaker.forceClosed", Kind::Flag, "", "Never leaves it alone."),
    later("hystrix.command.<key...>.metrics.**", Kind::Any, "", "The windows of the circuit breaker and the stream."),
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
    later("hystrix.threadpool.<key...>.metrics.**", Kind::Any, "", "The windows of the stream."),
    later("hystrix.stream.**", Kind::Any, "", "The stream of events."),
    later("hystrix.config.**", Kind::Any, "", "The stream of events."),
    later("hystrix.metrics.**", Kind::Any, "", "Whether Hystrix's metrics are published."),
    inert("hystrix.timer.**", "no timer threads are needed: deadlines are those of the sockets"),
    inert("hystrix.collapser.**", OWN_CODE),
    inert("hystrix.dashboard.**", "the dashboard is a program of its own"),
    inert("hystrix.shareSecurityContext", OWN_CODE),
    inert("hystrix.wrappers.**", OWN_CODE),
    inert("hystrix.plugin.**", OWN_CODE),
];
