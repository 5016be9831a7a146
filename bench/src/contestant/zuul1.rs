//! Zuul 1 as Spring Cloud Hoxton packages it: service routes with semaphores or with pools, and url routes.

use super::netflix::{CONNECTIONS, POOL, POOL_QUEUE, SEMAPHORE, TIMEOUTS};
use super::spring::{MEMORY, PLATFORM, TOMCAT, write_properties};
use super::{Contestant, Family, Knob, Launch, Listening, Stage, Told, java};
use std::io;

pub(super) const ALL: &[Contestant] = &[
    Contestant {
        name: "zuul1",
        label: "Zuul 1",
        knobs: &[TOMCAT, PLATFORM, SEMAPHORE, CONNECTIONS, TIMEOUTS, MEMORY],
        launch: |launch| run(launch, "services"),
        ..ZUUL1
    },
    Contestant {
        name: "zuul1-thread",
        label: "Zuul 1, THREAD",
        knobs: &[TOMCAT, PLATFORM, POOL, POOL_GROWTH, POOL_QUEUE, CONNECTIONS, TIMEOUTS, MEMORY],
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
    find: || java::find("zuul1", "zuul1"),
    launch: |launch| run(launch, "urls"),
};

fn run(launch: &Launch<'_>, routes: &str) -> io::Result<Listening> {
    java::run(launch, "zuul1", |address| Ok(vec![java::location(&write_properties(launch, routes, address)?)]))
}

const POOL_GROWTH: &[Knob] = &[Knob::new(
    Stage::Isolation,
    "hystrix.threadpool.<service>.maximumSize",
    Told::Default("10, for all"),
    Told::Workers,
)];

const URL: &[Knob] = &[
    Knob::new(Stage::Upstream, "zuul.host.max-per-route-connections", Told::Default("20"), Told::Value("20000")),
    Knob::new(Stage::Upstream, "zuul.host.max-total-connections", Told::Default("200"), Told::Value("20000")),
    Knob::new(Stage::Upstream, "zuul.host.connection-request-timeout-millis", Told::Default("-1"), Told::Default("-1")),
    Knob::new(Stage::Timeout, "zuul.host.socket-timeout-millis", Told::Default("10000"), Told::Value("30000")),
];
