//! Limits of Hystrix and Ribbon, by the keys that Zuul 1 and portcullis share.

use super::spring::BREAKER;
use super::{Knob, Stage, Told};

pub(super) const SEMAPHORE: &[Knob] =
    &[Knob::new(Stage::Isolation, "zuul.semaphore.max-semaphores", Told::Default("100"), Told::Value("20000"))];

/// A pool for each service, as large as the number of workers.
pub(super) const POOL: &[Knob] = &[
    Knob::new(Stage::Isolation, "zuul.ribbon-isolation-strategy", Told::Value("THREAD"), Told::Value("THREAD")),
    Knob::new(
        Stage::Isolation,
        "zuul.thread-pool.use-separate-thread-pools",
        Told::Default("false"),
        Told::Value("true"),
    ),
    Knob::new(Stage::Isolation, "hystrix.threadpool.<service>.coreSize", Told::Default("10, for all"), Told::Workers),
];

pub(super) const POOL_QUEUE: &[Knob] = &[
    Knob::new(Stage::Isolation, "hystrix.threadpool.<service>.maxQueueSize", Told::Default("-1"), Told::Value("20000")),
    Knob::new(
        Stage::Isolation,
        "hystrix.threadpool.<service>.queueSizeRejectionThreshold",
        Told::Default("5"),
        Told::Value("20000"),
    ),
];

pub(super) const CONNECTIONS: &[Knob] = &[
    BREAKER,
    Knob::new(Stage::Upstream, "<service>.ribbon.MaxConnectionsPerHost", Told::Default("50"), Told::Value("20000")),
    Knob::new(Stage::Upstream, "<service>.ribbon.MaxTotalConnections", Told::Default("200"), Told::Value("20000")),
];

pub(super) const TIMEOUTS: &[Knob] = &[
    Knob::new(Stage::Timeout, "<service>.ribbon.ConnectTimeout", Told::Default("1000"), Told::Default("1000")),
    Knob::new(Stage::Timeout, "<service>.ribbon.ReadTimeout", Told::Default("1000"), Told::Value("30000")),
    Knob::new(
        Stage::Timeout,
        "hystrix.command.<service>.execution.isolation.thread.timeoutInMilliseconds",
        Told::Default("4000"),
        Told::Value("60000"),
    ),
];
