//! Zuul 2: its core, with a main of our own that reads the routes from system properties.

use super::{Contestant, Family, Knob, Launch, Listening, Stage, Told, java};
use std::io;

pub(super) const ZUUL2: Contestant = Contestant {
    name: "zuul2",
    label: "Zuul 2",
    family: Family::Async,
    knobs: &[KNOBS, super::spring::MEMORY],
    find: || java::find("zuul2", "zuul2"),
    launch: run,
};

const KNOBS: &[Knob] = &[
    Knob::new(Stage::Backlog, "SO_BACKLOG", FIXED_BACKLOG, FIXED_BACKLOG),
    Knob::new(Stage::Connections, "-Dserver.connection.max", Told::Default("20000"), Told::Default("20000")),
    Knob::new(Stage::KeepAlive, "-Dserver.connection.max.requests", Told::Default("20000"), UNBOUNDED),
    Knob::new(Stage::Workers, "-Dzuul.server.netty.threads.worker", PER_PROCESSOR, Told::Processors),
    Knob::new(Stage::Isolation, "-Dzuul.origin.<service>.concurrency.max.requests", Told::Default("200"), MANY),
    Knob::new(Stage::Upstream, "-D<service>.ribbon.MaxConnectionsPerHost", Told::Default("50"), MANY),
    Knob::new(Stage::Upstream, "-D<service>.netty.client.perServerWaterline", Told::Default("4"), MANY),
    Knob::new(Stage::Upstream, "-D<service>.netty.client.maxRequestsPerConnection", Told::Default("1000"), UNBOUNDED),
    // Without it, the head and the body of a POST wait 40 ms for each other on a kept connection.
    Knob::new(Stage::Upstream, "-D<service>.netty.client.TcpNoDelay", Told::Default("false"), Told::Value("true")),
    Knob::new(Stage::Timeout, "-Dserver.http.request.read.timeout", Told::Default("5000"), Told::Value("60000")),
    Knob::new(Stage::Timeout, "-Dserver.connection.idle.timeout", Told::Default("65000"), Told::Default("65000")),
    Knob::new(Stage::Timeout, "-D<service>.ribbon.ReadTimeout", Told::Default("5000"), Told::Value("30000")),
];

const FIXED_BACKLOG: Told = Told::Default("128, fixed in its code");
const MANY: Told = Told::Value("20000");
const UNBOUNDED: Told = Told::Value("2147483647");
const PER_PROCESSOR: Told = Told::Default("one per processor");

fn run(launch: &Launch<'_>) -> io::Result<Listening> {
    java::run(launch, "zuul2", |address| {
        let routes = launch.routes().into_iter().map(|route| {
            let servers: Vec<String> = route.servers.iter().map(ToString::to_string).collect();
            format!("{}={}", route.name, servers.join(",")).into()
        });
        Ok(std::iter::once(address.port().to_string().into()).chain(routes).collect())
    })
}
