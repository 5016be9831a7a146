//! The start, step by step: what others need comes first, what lets clients in comes last.

use super::background::Background;
use super::{EXAMPLE_WORKERS, Main, SIDE_DRAIN, SIDE_WORKERS, Server, StartError, drain_front};
use crate::access_log::AccessLog;
use crate::client::Handler;
use crate::command::CircuitState;
use crate::config::Config;
use crate::config::model::{Container, ServerAddress, StreamConfig};
use crate::container::tiny::{TinyConfig, TinyFront};
use crate::counts::Counts;
use crate::deadline::Deadline;
use crate::example::Example;
use crate::front::{Front, FrontConfig};
use crate::gateway::{self, Backends, Gateway, Parts};
use crate::management::{
    Actuator, Component, EventStream, Events, Health, ManagementHandler, ProcessMeters, RouteLine, Sources, Status,
};
use crate::metrics::{Collect, Registry};
use crate::rate_limit::RateLimits;
use crate::router::{Route, Router};
use crate::wire::head::HeadLimits;
use log::info;
use serde_json::json;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Instant, SystemTime};

/// What the actuator tells of a gateway's commands, beside what it finds out by itself.
pub struct Told {
    /// Components of `health`.
    pub health: Arc<dyn Fn() -> Vec<Component> + Send + Sync>,
    /// What `hystrix.stream` sends; whoever gives it attends to it.
    pub stream: Arc<EventStream>,
}

impl Told {
    /// By a gateway without commands: nobody can listen to the stream.
    pub fn nothing() -> Self {
        let silent = StreamConfig { max_clients: 0, ..StreamConfig::default() };
        Self { health: Arc::new(Vec::new), stream: EventStream::new(silent, Box::new(|_, _, _| {})) }
    }
}

/// What stands around a gateway, whoever does its input and output: its routes, its log, its counts, and the listeners beside the main
/// one. An asynchronous gateway that is compared with this one has the same.
pub struct Surroundings {
    /// The routes.
    pub router: Arc<Router>,
    /// The access log.
    pub log: Arc<AccessLog>,
    /// The counts.
    pub counts: Arc<Counts>,
    /// What the actuator tells: [`Self::register`] fills it.
    pub registry: Arc<Registry>,
    /// Raised when the drain begins: readiness falls.
    pub draining: Arc<AtomicBool>,
    /// The gateway's own pages.
    pub actuator: Arc<Actuator>,
    /// What `hystrix.stream` sends.
    pub(super) stream: Arc<EventStream>,
    management: Option<Front>,
    example: Option<Front>,
    process: Arc<ProcessMeters>,
}

impl Surroundings {
    /// Reads the routes, opens the log, starts the management listener and the example service where they are configured.
    ///
    /// # Errors
    /// [`StartError`]: a route's pattern, the log's file, an address that cannot be listened on.
    pub fn start(config: &Config, told: Told) -> Result<Self, StartError> {
        let process = Arc::new(ProcessMeters::new(Instant::now(), SystemTime::now()));
        let router = Arc::new(router(config)?);
        let log = Arc::new(AccessLog::start(&config.gateway.access_log).map_err(StartError::of("the access log"))?);
        let counts = Arc::new(Counts::new(router.routes().iter().map(|route| route.full_path.clone()).collect()));
        let (registry, draining) = (Arc::new(Registry::default()), Arc::new(AtomicBool::new(false)));
        let stream = told.stream.clone();
        let sources = sources(config, &router, &registry, &draining, told);
        let actuator = Arc::new(Actuator::new(&config.management, sources));
        let example = example(config)?;
        let management = management(config, &actuator)?;
        Ok(Self { router, log, counts, registry, draining, actuator, stream, management, example, process })
    }

    /// Has the actuator tell of `parts`, then of what is here.
    pub fn register(&self, parts: impl IntoIterator<Item = Arc<dyn Collect>>) {
        let own: [Arc<dyn Collect>; 3] = [self.counts.clone(), self.log.clone(), self.process.clone()];
        parts.into_iter().chain(own).for_each(|part| self.registry.add(part));
    }

    /// Where the actuator listens, when it has a listener of its own.
    pub fn management_addr(&self) -> Option<SocketAddr> {
        self.management.as_ref().map(Front::local_addr)
    }

    /// Ends the listeners and the log; to be called when the last request is done, since people look at the actuator until then.
    pub fn end(self) {
        for side in [self.management, self.example].into_iter().flatten() {
            drain_front(side, &self.stream, Deadline::after(SIDE_DRAIN));
        }
        self.log.close(Deadline::after(SIDE_DRAIN));
    }
}

pub(super) fn server(config: &Config) -> Result<Server, StartError> {
    info!("starting {} (portcullis {})", config.application_name, env!("CARGO_PKG_VERSION"));
    let backends = Arc::new(Backends::new(config).map_err(StartError::of("the upstream side"))?);
    let stream = event_stream(config, &backends);
    let (circuits, told) = (backends.clone(), stream.clone());
    let told = Told { health: Arc::new(move || vec![hystrix_component(&circuits)]), stream: told };
    let around = Surroundings::start(config, told)?;
    let ids = around.router.routes().iter().map(|route| route.config.id.as_str());
    let rate_limits = Arc::new(RateLimits::new(&config.gateway.rate_limits, ids));
    let background =
        Background::start(backends.clone(), stream.clone()).map_err(StartError::of("the background thread"))?;
    let pingers = backends.start_pings().map_err(StartError::of("the threads that ping"))?;
    let parts = Parts {
        router: around.router.clone(),
        backends: backends.clone(),
        actuator: around.actuator.clone(),
        rate_limits: rate_limits.clone(),
        log: around.log.clone(),
        counts: around.counts.clone(),
    };
    let main = main_container(config, Arc::new(Gateway::new(config, parts)))?;
    let (front, address) = main.meters_and_address();
    around.register([front, backends as Arc<dyn Collect>, rate_limits, stream]);
    announce(&around, address);
    Ok(Server { main, around, _background: background, _pingers: pingers })
}

fn router(config: &Config) -> Result<Router, StartError> {
    Router::new(config).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        StartError { what: "routes".into(), error: io::Error::new(io::ErrorKind::InvalidInput, faults.join("; ")) }
    })
}

/// What Hystrix's dashboard is told.
fn event_stream(config: &Config, backends: &Arc<Backends>) -> Arc<EventStream> {
    let backends = backends.clone();
    let events: Box<Events> = Box::new(move |out, now, wall| backends.tell_stream(out, now, wall));
    EventStream::new(config.management.stream, events)
}

fn sources(
    config: &Config,
    router: &Arc<Router>,
    registry: &Arc<Registry>,
    draining: &Arc<AtomicBool>,
    told: Told,
) -> Sources {
    let (router, draining, servers) = (router.clone(), draining.clone(), backends_component(config));
    let Told { health, stream } = told;
    Sources {
        collect: vec![registry.clone()],
        routes: Arc::new(move || router.routes().iter().map(|route| route_line(route)).collect()),
        filters: gateway::steps(config),
        health: Arc::new(move || Health {
            draining: draining.load(Relaxed),
            components: std::iter::once(servers.clone()).chain(health()).collect(),
        }),
        stream,
    }
}

/// What is known of backends without asking them: their servers. What pings find is told by gauges, and is each rule's affair: here their
/// state is unknown, and counts for nothing.
fn backends_component(config: &Config) -> Component {
    let details = config.backends.values().map(|backend| {
        let servers: Vec<String> = backend.servers.iter().map(ServerAddress::authority).collect();
        (backend.id.clone(), json!({ "servers": servers }))
    });
    Component { name: "backends", status: Status::Unknown, details: details.collect() }
}

/// HystrixHealthIndicator: which circuits are open, by group and name.
fn hystrix_component(backends: &Backends) -> Component {
    let open = backends.commands().filter(|command| command.circuit() != CircuitState::Closed);
    let open: Vec<String> = open.map(|command| format!("RibbonCommand::{}", command.config().id)).collect();
    let status = if open.is_empty() { Status::Up } else { Status::CircuitOpen };
    let details = (!open.is_empty()).then(|| ("openCircuitBreakers".to_owned(), json!(open)));
    Component { name: "hystrix", status, details: details.into_iter().collect() }
}

fn route_line(route: &Route) -> RouteLine {
    let own = route.config.sensitive_headers.as_ref();
    RouteLine {
        id: route.config.id.clone(),
        full_path: route.full_path.clone(),
        location: route.location.clone(),
        path: route.forwarded_path.clone(),
        prefix: route.prefix.clone(),
        retryable: route.config.retryable,
        sensitive_headers: own.into_iter().flatten().cloned().collect(),
        custom_sensitive_headers: own.is_some(),
        prefix_stripped: route.config.strip_prefix,
    }
}

/// The embedded example service, on the loopback.
fn example(config: &Config) -> Result<Option<Front>, StartError> {
    let Some(example) = &config.gateway.example else { return Ok(None) };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, example.port));
    let few = FrontConfig::small("example", address, SIDE_WORKERS);
    let head = HeadLimits::behind(config.server.max_http_header_size);
    let front = side_front(FrontConfig { max_threads: EXAMPLE_WORKERS, head, ..few }, Example::new())?;
    info!("embedded example service on {}", front.local_addr());
    Ok(Some(front))
}

fn management(config: &Config, actuator: &Arc<Actuator>) -> Result<Option<Front>, StartError> {
    let Some(port) = config.management.port else { return Ok(None) };
    let address = SocketAddr::new(config.management.address.unwrap_or(config.server.address), port);
    let config = FrontConfig::small("management", address, SIDE_WORKERS);
    side_front(config, ManagementHandler::new(actuator.clone())).map(Some)
}

fn side_front<H: Handler>(config: FrontConfig, handler: H) -> Result<Front, StartError> {
    let failed = StartError::of(format!("the {} listener on {}", config.name, config.address));
    Front::start(config, Arc::new(handler)).map_err(failed)
}

fn main_container(config: &Config, gateway: Arc<Gateway>) -> Result<Main, StartError> {
    let address = SocketAddr::new(config.server.address, config.server.port);
    let started = match config.gateway.container {
        Container::Native => Front::start(FrontConfig::main(config), gateway).map(Main::Native),
        Container::TinyHttp => TinyFront::start(TinyConfig::main(config), gateway).map(Main::Tiny),
    };
    started.map_err(StartError::of(format!("the main listener on {address}")))
}

impl Main {
    fn meters_and_address(&self) -> (Arc<dyn Collect>, SocketAddr) {
        match self {
            Self::Native(front) => (front.gauges(), front.local_addr()),
            Self::Tiny(front) => (front.gauges(), front.local_addr()),
        }
    }
}

/// What an operator wants to see first: each mapping, what it withholds, and where to connect.
fn announce(around: &Surroundings, address: SocketAddr) {
    for route in around.router.routes() {
        info!("route {}: {}; not passed on: {}", route.config.id, route.mapping(), route.withheld_names());
    }
    if let Some(management) = around.management_addr() {
        info!("management on {management}");
    }
    info!("listening on {address}");
}
