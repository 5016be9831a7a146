//! HAProxy, its file made from the rows of its limits.

use super::{Contestant, Family, Knob, Launch, Limit, Listening, Stage, Told, find_installed, free_address};
use crate::child::{Running, installed};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::SocketAddr;

pub(super) const HAPROXY: Contestant = Contestant {
    name: "haproxy",
    label: "HAProxy",
    family: Family::Async,
    knobs: &[KNOBS],
    find: || find_installed("haproxy", "haproxy"),
    launch: run,
};

/// Its number of connections follows the limit of open files, and a higher one is refused at the start.
/// Its timeouts are without bound unless given, of which it warns; those of Debian's haproxy.cfg count as stock.
const KNOBS: &[Knob] = &[
    Knob::new(Stage::Backlog, "defaults.backlog", Told::Default("as maxconn"), Told::Default("as maxconn")),
    Knob::new(Stage::Connections, "global.maxconn", Told::Default("by open files"), Told::Default("by open files")),
    Knob::new(
        Stage::Connections,
        "defaults.maxconn",
        Told::Default("as global.maxconn"),
        Told::Default("as global.maxconn"),
    ),
    Knob::new(Stage::Workers, "global.nbthread", Told::Default("one per processor"), Told::Processors),
    Knob::new(Stage::Queue, "defaults.timeout queue", Told::Default("as timeout connect"), Told::Value("30s")),
    Knob::new(Stage::Upstream, "defaults.http-reuse", Told::Default("safe"), Told::Value("always")),
    Knob::new(Stage::Upstream, "server.pool-max-conn", Told::Default("-1"), Told::Default("-1")),
    Knob::new(Stage::Timeout, "defaults.timeout connect", Told::Value("5000ms"), Told::Value("5000ms")),
    Knob::new(Stage::Timeout, "defaults.timeout client", Told::Value("50000ms"), Told::Value("50000ms")),
    Knob::new(Stage::Timeout, "defaults.timeout http-request", AS_CLIENT, AS_CLIENT),
    Knob::new(Stage::Timeout, "defaults.timeout http-keep-alive", AS_CLIENT, AS_CLIENT),
    Knob::new(Stage::Timeout, "defaults.timeout server", Told::Value("50000ms"), Told::Value("50000ms")),
    Knob::new(Stage::Log, "log", Told::Default("off, where Debian's file has syslog"), Told::Default("off")),
];

const AS_CLIENT: Told = Told::Default("as timeout client");

fn run(launch: &Launch<'_>) -> io::Result<Listening> {
    let address = free_address()?;
    let file = launch.folder()?.join("haproxy.cfg");
    fs::write(&file, configuration(launch, address))?;
    let mut command = installed("haproxy", "haproxy")?;
    command.arg("-db").arg("-f").arg(&file);
    Ok((address, Some(Running::at(command, address, &launch.log_path())?)))
}

fn configuration(launch: &Launch<'_>, address: SocketAddr) -> String {
    let section = |name: &str| lines(launch.limits, name, "  ", "\n");
    let mut text = format!("global\n{}defaults\n  mode http\n{}", section("global."), section("defaults."));
    let _ = writeln!(text, "frontend clients\n  bind {address}");
    for route in launch.routes() {
        let _ = writeln!(text, "  use_backend {0} if {{ path_beg /{0} }}", route.name);
    }
    let options = lines(launch.limits, "server.", " ", "");
    for route in launch.routes() {
        let _ = writeln!(text, "backend {}", route.name);
        for (number, server) in route.servers.iter().enumerate() {
            let _ = writeln!(text, "  server s{number} {server}{options}");
        }
    }
    text
}

/// The told limits whose key begins with `section`.
fn lines(limits: &[Limit], section: &str, before: &str, after: &str) -> String {
    let told = limits.iter().filter(|limit| limit.told);
    let of_section = told.filter_map(|limit| Some((limit.key.strip_prefix(section)?, &limit.value)));
    of_section.map(|(name, value)| format!("{before}{name} {value}{after}")).collect()
}
