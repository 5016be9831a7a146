//! portcullis in its variants, and its async twin: the same file for all.

use super::netflix::{CONNECTIONS, POOL, POOL_QUEUE, SEMAPHORE, TIMEOUTS};
use super::spring::{file_of, write_properties};
use super::{Availability, Contestant, Family, Knob, Launch, Listening, Scratch, Stage, Told};
use crate::child::{Output, Running, tied};
use crate::twin::absent;
use clap::CommandFactory;
use portcullis::config::{self, Fault, Sources};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

pub(super) const ALL: &[Contestant] = &[
    contestant("portcullis", "portcullis", &[DOOR, FRONT, CLIENTS, CONNECTIONS, WAIT, TIMEOUTS, LOG, SEMAPHORE]),
    contestant(
        "portcullis-thread",
        "portcullis, THREAD",
        &[DOOR, FRONT, CLIENTS, CONNECTIONS, WAIT, TIMEOUTS, LOG, POOL, POOL_QUEUE],
    ),
    contestant(
        "portcullis-tiny-http",
        "portcullis, tiny-http",
        &[TINY_HTTP, CONNECTIONS, WAIT, TIMEOUTS, LOG, SEMAPHORE],
    ),
    Contestant {
        name: "twin",
        label: "async twin",
        family: Family::Async,
        knobs: &[DOOR, TWIN, CONNECTIONS, WAIT, TIMEOUTS, LOG, SEMAPHORE],
        find: find_twin,
        launch: |launch| run(launch, "async-gateway"),
    },
];

const fn contestant(name: &'static str, label: &'static str, knobs: &'static [&'static [Knob]]) -> Contestant {
    let find = || Availability::Ready;
    Contestant { name, label, family: Family::Blocking, knobs, find, launch: |launch| run(launch, "gateway") }
}

const DOOR: &[Knob] = &[
    Knob::new(Stage::Backlog, "server.tomcat.accept-count", Told::Default("100"), Told::Value("10000")),
    Knob::new(Stage::Connections, "server.tomcat.max-connections", Told::Default("8192"), Told::Value("20000")),
    Knob::new(Stage::KeepAlive, "server.tomcat.max-keep-alive-requests", NO_BOUND, NO_BOUND),
    Knob::new(Stage::Timeout, "server.tomcat.connection-timeout", Told::Default("60s"), Told::Default("60s")),
    Knob::new(Stage::Timeout, "server.tomcat.keep-alive-timeout", AS_CONNECTION_TIMEOUT, AS_CONNECTION_TIMEOUT),
    Knob::new(Stage::Body, "gateway.client.max-body-size", NO_BOUND, NO_BOUND),
];

/// What a client must keep up.
const CLIENTS: &[Knob] =
    &[Knob::new(Stage::Timeout, "gateway.client.min-rate", Told::Default("250 octets a second"), Told::Value("0"))];

const FRONT: &[Knob] = &[
    Knob::new(Stage::Workers, "server.tomcat.threads.max", Told::Default("200"), Told::Workers),
    Knob::new(Stage::Workers, "gateway.workers.runnable", EIGHT_EACH, EIGHT_EACH),
    Knob::new(Stage::Workers, "gateway.workers.scheduling", Told::Default("batch"), Told::Default("batch")),
    Knob::new(Stage::Queue, "server.tomcat.threads.max-queue-capacity", AS_CONNECTIONS, AS_CONNECTIONS),
    Knob::new(Stage::Queue, "gateway.queue.timeout", Told::Default("5s"), Told::Value("30s")),
];

/// Nothing waits for a thread in it. Of the least rate it is told what makes it and portcullis alike.
const TWIN: &[Knob] = &[
    Knob::new(Stage::Workers, "--threads", Told::Default("one per processor"), Told::Processors),
    Knob::new(Stage::Workers, "gateway.workers.scheduling", NOT_BATCH, NOT_BATCH),
    Knob::new(Stage::Timeout, "gateway.client.min-rate", Told::Default("none: not in the twin"), Told::Value("0")),
];

/// The crate bounds neither threads nor connections, and knows no least rate.
const TINY_HTTP: &[Knob] = &[
    Knob::new(Stage::Backlog, "server.tomcat.accept-count", Told::Default("100"), Told::Value("10000")),
    Knob::new(Stage::Timeout, "server.tomcat.connection-timeout", Told::Default("60s"), Told::Default("60s")),
    Knob::new(Stage::Timeout, "server.tomcat.keep-alive-timeout", AS_CONNECTION_TIMEOUT, AS_CONNECTION_TIMEOUT),
    Knob::new(Stage::Workers, "server.container", Told::Value("tiny-http"), Told::Value("tiny-http")),
    Knob::new(Stage::Workers, "server.tomcat.threads.max", Told::Default("200"), Told::Workers),
    Knob::new(Stage::Queue, "gateway.queue.timeout", Told::Default("5s"), Told::Value("30s")),
];

/// Zuul waits for ever.
const WAIT: &[Knob] = &[Knob::new(
    Stage::Upstream,
    "zuul.host.connection-request-timeout-millis",
    Told::Default("2000"),
    Told::Value("30000"),
)];

const LOG: &[Knob] =
    &[Knob::new(Stage::Log, "gateway.access-log.format", Told::Default("combined"), Told::Value("off"))];

const EIGHT_EACH: Told = Told::Default("8 per processor");
const NOT_BATCH: Told = Told::Default("normal: not in the twin");
const NO_BOUND: Told = Told::Default("no bound");
const AS_CONNECTION_TIMEOUT: Told = Told::Default("as connection-timeout");
const AS_CONNECTIONS: Told = Told::Default("as max-connections");

/// Starts this program as `command`; it picks a port and says which.
fn run(launch: &Launch<'_>, command: &str) -> io::Result<Listening> {
    let file = write_properties(launch, "services", "127.0.0.1:0".parse().map_err(io::Error::other)?)?;
    let mut program = tied(&std::env::current_exe()?);
    program.args([command, "-c"]).arg(file).stdout(launch.log()?);
    for limit in launch.limits.iter().filter(|limit| limit.told && limit.key.starts_with("--")) {
        program.args([&limit.key, &limit.value]);
    }
    let (process, address) = Running::listening(program, Output::Stderr)?;
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()));
    Ok((if address.ip().is_unspecified() { loopback } else { address }, Some(process)))
}

/// What portcullis would do by the file that the twin was last started with, and the twin does not.
///
/// # Errors
/// The file is gone, or is none.
pub(crate) fn twin_lacks(scratch: &Scratch) -> io::Result<Vec<String>> {
    let files = vec![file_of("twin", scratch)];
    let loaded = config::load(&Sources { files, arguments: Vec::new(), environment: Vec::new() });
    let told =
        |faults: Vec<Fault>| io::Error::other(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    Ok(absent::from(&loaded.map_err(told)?))
}

fn find_twin() -> Availability {
    if crate::Arguments::command().find_subcommand("async-gateway").is_some() {
        return Availability::Ready;
    }
    let why = "the async twin is not built into this binary".into();
    Availability::Missing { why, how: "build a version that has `bench async-gateway`".into() }
}
