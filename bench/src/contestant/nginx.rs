//! nginx, its file made from the rows of its limits.

use super::{Contestant, Family, Knob, Launch, Limit, Listening, Stage, Told, find_installed, free_address};
use crate::child::{Running, installed};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

pub(super) const NGINX: Contestant = Contestant {
    name: "nginx",
    label: "nginx",
    family: Family::Async,
    knobs: &[KNOBS],
    find: || find_installed("nginx", "nginx-light"),
    launch: run,
};

/// Stock is Debian's nginx.conf and nginx's own defaults: HTTP/1.0 and a new connection for each request up to nginx 1.29.6. Later ones have
/// HTTP/1.1 and kept connections by themselves, so these rows are told, not left to it.
const KNOBS: &[Knob] = &[
    Knob::new(Stage::Backlog, "listen.backlog", Told::Default("511"), Told::Value("10000")),
    Knob::new(Stage::Connections, "worker_connections", Told::Value("768"), Told::Value("30000")),
    Knob::new(Stage::Connections, "worker_rlimit_nofile", Told::Default("as inherited"), Told::Value("65535")),
    Knob::new(Stage::KeepAlive, "keepalive_requests", Told::Default("1000"), Told::Value("1000000000")),
    Knob::new(Stage::Workers, "worker_processes", Told::Value("auto"), Told::Processors),
    Knob::new(Stage::Upstream, "proxy_http_version", Told::Value("1.0"), Told::Value("1.1")),
    Knob::new(Stage::Upstream, "proxy_set_header Connection", Told::Value("close"), Told::Value("\"\"")),
    Knob::new(Stage::Upstream, "upstream.keepalive", Told::Default("0"), Told::Value("1024")),
    Knob::new(Stage::Upstream, "upstream.keepalive_requests", Told::Default("1000"), Told::Value("1000000000")),
    Knob::new(Stage::Timeout, "client_header_timeout", Told::Default("60s"), Told::Default("60s")),
    Knob::new(Stage::Timeout, "keepalive_timeout", Told::Default("75s"), Told::Default("75s")),
    Knob::new(Stage::Timeout, "send_timeout", Told::Default("60s"), Told::Default("60s")),
    Knob::new(Stage::Timeout, "proxy_connect_timeout", Told::Default("60s"), Told::Default("60s")),
    Knob::new(Stage::Timeout, "proxy_send_timeout", Told::Default("60s"), Told::Default("60s")),
    Knob::new(Stage::Timeout, "proxy_read_timeout", Told::Default("60s"), Told::Default("60s")),
    Knob::new(Stage::Timeout, "upstream.keepalive_timeout", Told::Default("60s"), Told::Default("60s")),
    Knob::new(Stage::Body, "client_max_body_size", Told::Default("1m"), Told::Value("0")),
    Knob::new(Stage::Log, "access_log", Told::Value("access.log"), Told::Value("off")),
];

fn run(launch: &Launch<'_>) -> io::Result<Listening> {
    let address = free_address()?;
    let folder = launch.folder()?;
    let file = folder.join("nginx.conf");
    fs::write(&file, configuration(launch, &folder, address))?;
    let mut command = installed("nginx", "nginx-light")?;
    command.arg("-p").arg(&folder).arg("-c").arg(&file).arg("-e").arg(folder.join("error.log"));
    Ok((address, Some(Running::at(command, address, &launch.log_path())?)))
}

fn configuration(launch: &Launch<'_>, folder: &Path, address: SocketAddr) -> String {
    let mut text = format!("daemon off;\npid {}/nginx.pid;\n", folder.display());
    let told = |place: Place, separator| lines(launch.limits, place, separator);
    let _ = write!(text, "{}events {{ {} }}\nhttp {{\n", told(Place::Main, "\n"), told(Place::Events, " "));
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        let _ = writeln!(text, "{kind}_temp_path {}/{kind};", folder.display());
    }
    text += &told(Place::Http, "\n");
    let upstream = told(Place::Upstream, " ");
    let mut locations = String::new();
    for route in launch.routes() {
        let servers: String = route.servers.iter().map(|server| format!("server {server}; ")).collect();
        let name = &route.name;
        let _ = writeln!(text, "upstream {name} {{ {servers}{upstream} }}");
        let _ = writeln!(locations, "location /{name} {{ proxy_pass http://{name}; }}");
    }
    let listen = told(Place::Listen, "").replace(' ', "=").replace(';', "");
    text + &format!("server {{\nlisten {address} {listen};\n{locations}}}\n}}\n")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Main,
    Events,
    Http,
    Upstream,
    Listen,
}

/// Where a directive stands, and its name there.
fn place(key: &str) -> (Place, &str) {
    let prefixed = |prefix, place| Some((place, key.strip_prefix(prefix)?));
    match key {
        "worker_connections" | "multi_accept" | "accept_mutex" => (Place::Events, key),
        _ if key.starts_with("worker_") => (Place::Main, key),
        _ => prefixed("upstream.", Place::Upstream)
            .or_else(|| prefixed("listen.", Place::Listen))
            .unwrap_or((Place::Http, key)),
    }
}

fn lines(limits: &[Limit], wanted: Place, separator: &str) -> String {
    let told = limits.iter().filter(|limit| limit.told);
    let lines = told.filter_map(|limit| match place(&limit.key) {
        (place, name) if place == wanted => Some(format!("{name} {};{separator}", limit.value)),
        _ => None,
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestant::{Scratch, Setup, knob};

    #[test]
    fn each_limit_that_is_told_stands_in_its_place() {
        let scratch = Scratch::new().unwrap();
        let mut setup = Setup::new(([127, 0, 0, 1], 9).into());
        setup.overrides = vec![("worker_processes".into(), "3".into()), ("proxy_buffering".into(), "off".into())];
        let limits = knob::limits(NGINX.knobs, &setup);
        let launch = Launch { name: "nginx", setup: &setup, limits: &limits, scratch: &scratch };
        let text = configuration(&launch, Path::new("/x"), ([127, 0, 0, 1], 8).into());
        for line in [
            "\nworker_processes 3;\n",
            "events { worker_connections 30000;  }",
            "\nproxy_buffering off;\n",
            "upstream product { server 127.0.0.1:9; keepalive 1024; keepalive_requests 1000000000;  }",
            "listen 127.0.0.1:8 backlog=10000;",
            "location /product { proxy_pass http://product; }",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
