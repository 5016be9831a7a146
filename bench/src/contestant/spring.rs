//! Files in Spring's dialect, which Zuul 1, Spring Cloud Gateway and portcullis all read; and Spring Cloud Gateway itself.

use super::{Contestant, Family, Knob, Launch, Listening, Route, Scratch, Stage, Told, java};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

pub(super) const ALL: &[Contestant] = &[
    Contestant {
        name: "gateway-webflux",
        label: "Spring Cloud Gateway, WebFlux",
        family: Family::Async,
        knobs: &[WEBFLUX, MEMORY],
        find: || java::find("gateway-webflux", "gateway-webflux"),
        launch: |launch| run(launch, "gateway-webflux"),
    },
    Contestant {
        name: "gateway-webmvc",
        label: "Spring Cloud Gateway, WebMVC",
        family: Family::Blocking,
        knobs: &[PLATFORM, TOMCAT, WEBMVC, MEMORY],
        find: || java::find("gateway-webmvc", "gateway-webmvc"),
        launch: |launch| run(launch, "gateway-webmvc"),
    },
    Contestant {
        name: "gateway-webmvc-virtual",
        label: "Spring Cloud Gateway, WebMVC, virtual threads",
        family: Family::Blocking,
        knobs: &[VIRTUAL, TOMCAT, WEBMVC, MEMORY],
        find: || java::find("gateway-webmvc", "gateway-webmvc-virtual"),
        launch: |launch| run(launch, "gateway-webmvc"),
    },
];

/// The same for every JVM, in both configurations: a heap by the machine's memory would not be comparable. It begins small, so that what
/// is resident is what was needed, and not what was asked for at the start; it grows while warming up.
pub(super) const MEMORY: &[Knob] = &[
    Knob::new(Stage::Memory, "-Xms", Told::Value("32m"), Told::Value("32m")),
    Knob::new(Stage::Memory, "-Xmx", Told::Value("1g"), Told::Value("1g")),
    Knob::new(Stage::Memory, "-XX:+UseG1GC", Told::Value("on"), Told::Value("on")),
];

/// Tomcat's, as Spring Boot names them.
pub(super) const TOMCAT: &[Knob] = &[
    Knob::new(Stage::Backlog, "server.tomcat.accept-count", Told::Default("100"), Told::Value("10000")),
    Knob::new(Stage::Connections, "server.tomcat.max-connections", Told::Default("8192"), Told::Value("20000")),
    Knob::new(Stage::KeepAlive, "server.tomcat.max-keep-alive-requests", Told::Default("100"), Told::Value("-1")),
    Knob::new(Stage::Timeout, "server.tomcat.connection-timeout", Told::Default("60s"), Told::Default("60s")),
    Knob::new(
        Stage::Timeout,
        "server.tomcat.keep-alive-timeout",
        Told::Default("as connection-timeout"),
        Told::Default("as connection-timeout"),
    ),
    Knob::new(Stage::Log, "server.tomcat.accesslog.enabled", Told::Default("false"), Told::Default("false")),
];

/// Hystrix's, of Zuul 1 and of portcullis: it would turn a run past the knee into one of refusals.
pub(super) const BREAKER: Knob = Knob::new(
    Stage::Isolation,
    "hystrix.command.<service>.circuitBreaker.enabled",
    Told::Default("true"),
    Told::Value("false"),
);

pub(super) const PLATFORM: &[Knob] =
    &[Knob::new(Stage::Workers, "server.tomcat.threads.max", Told::Default("200"), Told::Workers)];

const VIRTUAL: &[Knob] =
    &[Knob::new(Stage::Workers, "spring.threads.virtual.enabled", Told::Value("true"), Told::Value("true"))];

/// Stock has the JDK's client, which is what comes with it; equalised has Apache's, as its documentation advises for load.
const WEBMVC: &[Knob] = &[
    Knob::new(
        Stage::Upstream,
        "spring.http.clients.imperative.factory",
        Told::Value("jdk"),
        Told::Value("http-components"),
    ),
    // Of Apache's pool, for which Spring has no key; the project has these.
    Knob::new(Stage::Upstream, "peers.max-connections-per-route", Told::Default("5"), Told::Value("20000")),
    Knob::new(Stage::Upstream, "peers.max-connections", Told::Default("25"), Told::Value("20000")),
    Knob::new(Stage::Timeout, "spring.http.clients.read-timeout", Told::Default("none"), Told::Value("30s")),
];

const WEBFLUX: &[Knob] = &[
    Knob::new(
        Stage::Backlog,
        "-Dio.netty.somaxconn",
        Told::Default("the kernel's somaxconn"),
        Told::Default("the kernel's somaxconn"),
    ),
    // As many as the others would be fewer than it has by itself on a small machine, and equalised takes nothing away.
    Knob::new(Stage::Workers, "-Dreactor.netty.ioWorkerCount", IO_WORKERS, IO_WORKERS),
    Knob::new(Stage::Timeout, "server.netty.connection-timeout", Told::Default("none"), Told::Default("none")),
    Knob::new(Stage::Timeout, "server.netty.idle-timeout", Told::Default("none"), Told::Default("none")),
    Knob::new(
        Stage::Upstream,
        "spring.cloud.gateway.server.webflux.httpclient.pool.type",
        Told::Default("elastic"),
        Told::Default("elastic"),
    ),
    Knob::new(
        Stage::Timeout,
        "spring.cloud.gateway.server.webflux.httpclient.response-timeout",
        Told::Default("none"),
        Told::Value("30s"),
    ),
];

const IO_WORKERS: Told = Told::Default("one per processor, at least 4");

/// Starts a Spring Cloud Gateway.
fn run(launch: &Launch<'_>, project: &str) -> io::Result<Listening> {
    let family = if project == "gateway-webflux" { "webflux" } else { "webmvc" };
    java::run(launch, project, |address| Ok(vec![java::location(&write_properties(launch, family, address)?)]))
}

/// Writes `application.properties`: the address, the routes in the dialect of `routes`, and every limit that is told.
pub(super) fn write_properties(launch: &Launch<'_>, routes: &str, address: SocketAddr) -> io::Result<PathBuf> {
    let mut text = format!("server.port={}\nserver.address={}\n", address.port(), address.ip());
    for (number, route) in launch.routes().iter().enumerate() {
        text += &match routes {
            "services" => service(route),
            "urls" => url(route),
            family => gateway_route(family, number, route),
        };
    }
    for limit in launch.limits.iter().filter(|limit| limit.told && !java::is_option(limit)) {
        let _ = writeln!(text, "{}={}", limit.key, limit.value);
    }
    launch.folder()?;
    let file = file_of(launch.name, launch.scratch);
    fs::write(&file, text)?;
    Ok(file)
}

/// Where the file of this contestant's last start is.
pub(super) fn file_of(contestant: &str, scratch: &Scratch) -> PathBuf {
    scratch.path().join(contestant).join("application.properties")
}

fn service(route: &Route) -> String {
    let servers: Vec<String> = route.servers.iter().map(ToString::to_string).collect();
    let (name, servers) = (&route.name, servers.join(","));
    format!(
        "zuul.routes.{name}.path=/{name}/**\nzuul.routes.{name}.service-id={name}\nzuul.routes.{name}.strip-prefix=false\n\
         {name}.ribbon.listOfServers={servers}\n"
    )
}

/// A url route has one server.
fn url(route: &Route) -> String {
    let (name, server) = (&route.name, first(route));
    format!(
        "zuul.routes.{name}.path=/{name}/**\nzuul.routes.{name}.url={server}\nzuul.routes.{name}.strip-prefix=false\n"
    )
}

fn gateway_route(family: &str, number: usize, route: &Route) -> String {
    let key = format!("spring.cloud.gateway.server.{family}.routes[{number}]");
    let (name, server) = (&route.name, first(route));
    format!("{key}.id={name}\n{key}.uri={server}\n{key}.predicates[0]=Path=/{name}/**\n")
}

fn first(route: &Route) -> String {
    route.servers.first().map(|server| format!("http://{server}")).unwrap_or_default()
}
