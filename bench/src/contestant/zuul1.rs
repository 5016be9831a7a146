//! Zuul 1 as Spring Cloud Hoxton packages it: service routes with semaphores or with pools, and url routes.

use super::spring::{MEMORY, PLATFORM, TOMCAT, write_properties};
use super::{Contestant, Family, Knob, Launch, Listening, Stage, Told, java};
use std::io;

pub(super) const ALL: &[Contestant] = &[
    Contestant {
        name: "zuul1",
        label: "Zuul 1",
        knobs: &[TOMCAT, PLATFORM, SEMAPHORE, SERVICE, MEMORY],
        launch: |launch| run(launch, "services"),
        ..ZUUL1
    },
    Contestant {
        name: "zuul1-thread",
        label: "Zuul 1, THREAD",
        knobs: &[TOMCAT, PLATFORM, THREAD, SERVICE, MEMORY],
        launch: |launch| run(launch, "services"),
        ..ZUUL1
    },
    Contestant { name: "zuul1-url", label: "Zuul 1, url route", knobs: &[TOMCAT, PLATFORM, URL, MEMORY], ..ZUUL1 },
];

const ZUUL1: Contestant = Contestant {
    name: "",
    label: "",
    family: Family::Blocking,
    knobs: &[],
    find: || java::find("zuul1", 17, 25),
    launch: |launch| run(launch, "urls"),
};

fn run(launch: &Launch<'_>, routes: &str) -> io::Result<Listening> {
    java::run(launch, "zuul1", (17, 25), |address| {
        Ok(vec![java::location(&write_properties(launch, routes, address)?)])
    })
}

const SEMAPHORE: &[Knob] =
    &[Knob::new(Stage::Isolation, "zuul.semaphore.max-semaphores", Told::Default("100"), Told::Value("20000"))];

/// A pool for each service, as large as the number of workers.
const THREAD: &[Knob] = &[
    Knob::new(Stage::Isolation, "zuul.ribbon-isolation-strategy", Told::Value("THREAD"), Told::Value("THREAD")),
    Knob::new(
        Stage::Isolation,
        "zuul.thread-pool.use-separate-thread-pools",
        Told::Default("false"),
        Told::Value("true"),
    ),
    Knob::new(Stage::Isolation, "hystrix.threadpool.<service>.coreSize", Told::Default("10, for all"), Told::Workers),
    Knob::new(
        Stage::Isolation,
        "hystrix.threadpool.<service>.maximumSize",
        Told::Default("10, for all"),
        Told::Workers,
    ),
    Knob::new(Stage::Isolation, "hystrix.threadpool.<service>.maxQueueSize", Told::Default("-1"), Told::Value("20000")),
    Knob::new(
        Stage::Isolation,
        "hystrix.threadpool.<service>.queueSizeRejectionThreshold",
        Told::Default("5"),
        Told::Value("20000"),
    ),
];

const SERVICE: &[Knob] = &[
    super::spring::BREAKER,
    Knob::new(Stage::Upstream, "<service>.ribbon.MaxConnectionsPerHost", Told::Default("50"), Told::Value("20000")),
    Knob::new(Stage::Upstream, "<service>.ribbon.MaxTotalConnections", Told::Default("200"), Told::Value("20000")),
    Knob::new(Stage::Timeout, "<service>.ribbon.ReadTimeout", Told::Default("1000"), Told::Value("30000")),
    Knob::new(
        Stage::Timeout,
        "hystrix.command.<service>.execution.isolation.thread.timeoutInMilliseconds",
        Told::Default("4000"),
        Told::Value("60000"),
    ),
];

const URL: &[Knob] = &[
    Knob::new(Stage::Upstream, "zuul.host.max-per-route-connections", Told::Default("20"), Told::Value("20000")),
    Knob::new(Stage::Upstream, "zuul.host.max-total-connections", Told::Default("200"), Told::Value("20000")),
    Knob::new(Stage::Upstream, "zuul.host.connection-request-timeout-millis", Told::Default("-1"), Told::Default("-1")),
    Knob::new(Stage::Timeout, "zuul.host.socket-timeout-millis", Told::Default("10000"), Told::Value("30000")),
];
