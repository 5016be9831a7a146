//! The start, step by step: what others need comes first, what lets clients in comes last.

use super::background::Background;
use super::{EXAMPLE_WORKERS, Main, SIDE_WORKERS, Server, StartError};
use crate::access_log::AccessLog;
use crate::client::Handler;
use crate::command::CircuitState;
use crate::config::Config;
use crate::config::model::{Container, ServerAddress};
use crate::container::tiny::{TinyConfig, TinyFront};
use crate::counts::Counts;
use crate::example::Example;
use crate::front::{Front, FrontConfig};
use crate::gateway::{Backends, Gateway, Parts};
use crate::management::{Actuator, Component, Health, ManagementHandler, ProcessMeters, RouteLine, Sources, Status};
use crate::metrics::{Collect, Registry};
use crate::router::{Route, Router};
use log::info;
use serde_json::json;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Instant, SystemTime};

pub(super) fn server(config: &Config) -> Result<Server, StartError> {
    info!("starting {} (portcullis {})", config.application_name, env!("CARGO_PKG_VERSION"));
    let started = ProcessMeters::new(Instant::now(), SystemTime::now());
    let router = Arc::new(router(config)?);
    let log = Arc::new(AccessLog::start(&config.gateway.access_log).map_err(StartError::of("the access log"))?);
    let backends = Arc::new(Backends::new(config).map_err(StartError::of("the upstream side"))?);
    let counts = Arc::new(Counts::new(router.routes().iter().map(|route| route.full_path.clone()).collect()));
    let (registry, draining) = (Arc::new(Registry::default()), Arc::new(AtomicBool::new(false)));
    let actuator = Arc::new(actuator(config, &router, &registry, (&backends, &draining)));
    let background = Background::start(backends.clone()).map_err(StartError::of("the background thread"))?;
    let pingers = backends.start_pings().map_err(StartError::of("the threads that ping"))?;
    let example = example(config)?;
    let management = management(config, &actuator)?;
    let parts = Parts {
        router: router.clone(),
        backends: backends.clone(),
        actuator,
        log: log.clone(),
        counts: counts.clone(),
    };
    let main = main_container(config, Arc::new(Gateway::new(config, parts)))?;
    let (front, address) = main.meters_and_address();
    for part in [front, backends, counts, log.clone() as Arc<dyn Collect>, Arc::new(started)] {
        registry.add(part);
    }
    announce(&router, address, management.as_ref());
    Ok(Server { main, management, example, log, registry, draining, _background: background, _pingers: pingers })
}

fn router(config: &Config) -> Result<Router, StartError> {
    Router::new(config).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        StartError { what: "routes".into(), error: io::Error::new(io::ErrorKind::InvalidInput, faults.join("; ")) }
    })
}

fn actuator(
    config: &Config,
    router: &Arc<Router>,
    registry: &Arc<Registry>,
    (backends, draining): (&Arc<Backends>, &Arc<AtomicBool>),
) -> Actuator {
    let (router, draining, servers, backends) =
        (router.clone(), draining.clone(), backends_component(config), backends.clone());
    let sources = Sources {
        collect: vec![registry.clone()],
        routes: Arc::new(move || router.routes().iter().map(|route| route_line(route)).collect()),
        health: Arc::new(move || Health {
            draining: draining.load(Relaxed),
            components: vec![servers.clone(), hystrix_component(&backends)],
        }),
    };
    Actuator::new(&config.management, sources)
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
    let front = side_front(FrontConfig { max_threads: EXAMPLE_WORKERS, ..few }, Example::new())?;
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
fn announce(router: &Router, address: SocketAddr, management: Option<&Front>) {
    for route in router.routes() {
        info!("route {}: {}; not passed on: {}", route.config.id, route.mapping(), route.withheld_names());
    }
    if let Some(management) = management {
        info!("management on {}", management.local_addr());
    }
    info!("listening on {address}");
}
