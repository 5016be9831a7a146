//! What the routes lead to: servers and connections of each service (Ribbon's keys) and of each url route (`zuul.host.*`).
//!
//! Limits are found by name, so one name can't be both kinds. How many requests at once, and for how long, is `isolation`'s affair.

use super::routes::{Route, RouteList};
use super::{address, balance, command, fallback, front, isolation, limit, retry};
use crate::config::fault::Fault;
use crate::config::model::{
    BackendConfig, BackendKind, BalanceConfig, CommandConfig, Compat, IsolationConfig, RouteTarget, ServerAddress,
};
use crate::config::name::nearest;
use crate::config::settings::{Read, Setting, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What Tomcat keeps of an answer before it sends the head (`org.apache.catalina.connector.OutputBuffer`).
const TOMCATS_BUFFER: usize = 8192;

/// Looks up what each backend may.
pub(super) struct Backends<'a> {
    pub(super) settings: &'a Settings,
    pub(super) compat: Compat,
    /// The lists of servers of a route file, by service.
    pub(super) services: &'a [(String, Setting)],
}

impl Backends<'_> {
    /// One backend for each id that a route leads to. One id can't be a service and a url route.
    pub(super) fn resolve(&self, routes: &RouteList, faults: &mut Vec<Fault>) -> BTreeMap<String, Arc<BackendConfig>> {
        let mut backends: BTreeMap<String, Arc<BackendConfig>> = BTreeMap::new();
        for route in routes.iter() {
            let Some((id, kind)) = backend_of(route) else { continue };
            match backends.get(id) {
                Some(known) if known.kind == kind => {}
                Some(_) => faults.push(Fault::error(&route.place, route.name.clone(), both(id))),
                None => {
                    let mut backend = match &route.server {
                        Some(server) => self.url(id, server, faults),
                        None => self.service(id, routes, faults),
                    };
                    limit::set(&mut backend, self.settings, faults);
                    backends.insert(id.to_string(), Arc::new(backend));
                }
            }
        }
        backends
    }

    fn service(&self, id: &str, routes: &RouteList, faults: &mut Vec<Fault>) -> BackendConfig {
        let read = Ribbon { settings: self.settings, id };
        let unit = read.text(KEEP_ALIVE_UNITS).unwrap_or_else(|| "SECONDS".into());
        let life = read.text(KEEP_ALIVE).and_then(|text| text.parse().ok().map(|n| front::in_unit(n, &unit)));
        let strategy = isolation::Isolation { settings: self.settings, id };
        let isolation = strategy.of_a_service();
        BackendConfig {
            id: id.into(),
            kind: BackendKind::Service,
            servers: self.servers(read, faults),
            connect_timeout: read.time(CONNECT_TIMEOUT).map_or(Duration::from_secs(1), bounded),
            read_timeout: read.time(READ_TIMEOUT).unwrap_or(Some(Duration::from_secs(1))),
            max_total_connections: read.amount(MAX_TOTAL).unwrap_or(200),
            max_connections_per_host: read.amount(MAX_PER_HOST).unwrap_or(50),
            connection_request_timeout: self.connection_request_timeout(BackendKind::Service),
            time_to_live: life.or_else(|| read.time(KEEP_ALIVE)).unwrap_or(Some(Duration::from_secs(900))),
            adaptive: None,
            deadline: strategy.deadline_of_a_service(read, faults),
            command: self.command(id, BackendKind::Service, isolation.pool_key(), faults),
            isolation,
            thread_pool_key_override: strategy.pool_key_override(),
            retry: retry::of_a_service(read, routes, faults),
            verify_tls: true,
            balance: balance::of_a_service(read, faults),
            held_back: if self.compat == Compat::Zuul1 { TOMCATS_BUFFER } else { 0 },
        }
    }

    fn url(&self, id: &str, server: &ServerAddress, faults: &mut Vec<Fault>) -> BackendConfig {
        let read = self.settings.all();
        let unit = read.words("zuul.host.time-unit").unwrap_or_else(|| "MILLISECONDS".into());
        let per_route = read.amount("zuul.host.max-per-route-connections").unwrap_or(20);
        let strategy = isolation::Isolation { settings: self.settings, id };
        let guarded = self.compat == Compat::None;
        BackendConfig {
            id: id.into(),
            kind: BackendKind::Url,
            servers: vec![server.clone()],
            connect_timeout: read.bounded_time("zuul.host.connect-timeout-millis").unwrap_or(Duration::from_secs(2)),
            read_timeout: read.time("zuul.host.socket-timeout-millis").unwrap_or(Some(Duration::from_secs(10))),
            max_total_connections: read.amount("zuul.host.max-total-connections").unwrap_or(200),
            max_connections_per_host: per_route,
            connection_request_timeout: self.connection_request_timeout(BackendKind::Url),
            time_to_live: read.count("zuul.host.time-to-live").and_then(|number| front::in_unit(number, &unit)),
            thread_pool_key_override: None,
            isolation: if guarded { strategy.of_a_url_route(per_route) } else { IsolationConfig::None },
            adaptive: None,
            deadline: strategy.deadline_of_a_url_route().filter(|_| guarded),
            command: self.command(id, BackendKind::Url, None, faults),
            retry: None,
            verify_tls: read.flag("zuul.ssl-hostname-validation-enabled").unwrap_or(true),
            balance: BalanceConfig::default(),
            held_back: 0,
        }
    }

    fn command(&self, id: &str, kind: BackendKind, pool_key: Option<&str>, faults: &mut Vec<Fault>) -> CommandConfig {
        command::Command { settings: self.settings, id, kind, compat: self.compat }.resolve(pool_key, faults)
    }

    /// Zuul waits as long as it takes: for a url route unless the key is written, for a service whatever it says.
    fn connection_request_timeout(&self, kind: BackendKind) -> Option<Duration> {
        let written = self.settings.all().time("zuul.host.connection-request-timeout-millis");
        match (self.compat, kind) {
            (Compat::None, _) => written.unwrap_or(Some(Duration::from_secs(2))),
            (Compat::Zuul1, BackendKind::Url) => written.flatten(),
            (Compat::Zuul1, BackendKind::Service) => None,
        }
    }

    /// The servers that the keys name, else those of the route file. An entry that is no server is a fault.
    fn servers(&self, read: Ribbon<'_>, faults: &mut Vec<Fault>) -> Vec<ServerAddress> {
        let in_file = || self.services.iter().find(|(id, _)| id == read.id).map(|(_, setting)| setting);
        let Some(setting) = read.setting(LIST_OF_SERVERS).or_else(in_file) else { return Vec::new() };
        let secure = read.flag(IS_SECURE);
        let mut servers = Vec::new();
        for item in setting.value.items() {
            match address::server(&item, secure) {
                Ok(server) => servers.push(server),
                Err(message) => {
                    let message = format!("{item:?}: {message}");
                    faults.push(Fault::error(&setting.place, setting.name.clone(), message));
                }
            }
        }
        servers
    }
}

fn bounded(time: Option<Duration>) -> Duration {
    time.unwrap_or(crate::config::values::LONGEST)
}

fn both(id: &str) -> String {
    format!(
        "{id} would be both a service and a url route, and limits are found by that name; give one of them another id"
    )
}

/// The backend's id and kind; forwards have none.
fn backend_of(route: &Route) -> Option<(&str, BackendKind)> {
    match &route.config.target {
        RouteTarget::Service(id) => Some((id, BackendKind::Service)),
        RouteTarget::Url { .. } => Some((&route.config.id, BackendKind::Url)),
        RouteTarget::Forward(_) => None,
    }
}

/// The names of one of Ribbon's keys: for one service, and for all.
pub(super) type Names = (&'static str, &'static str);

macro_rules! ribbon {
    ($key:literal) => {
        (concat!("<service...>.ribbon.", $key), concat!("ribbon.", $key))
    };
}

pub(super) use ribbon;

pub(super) const LIST_OF_SERVERS: Names = ribbon!("listOfServers");
pub(super) const IS_SECURE: Names = ribbon!("IsSecure");
pub(super) const CONNECT_TIMEOUT: Names = ribbon!("ConnectTimeout");
pub(super) const READ_TIMEOUT: Names = ribbon!("ReadTimeout");
pub(super) const MAX_TOTAL: Names = ribbon!("MaxTotalConnections");
pub(super) const MAX_PER_HOST: Names = ribbon!("MaxConnectionsPerHost");
pub(super) const KEEP_ALIVE: Names = ribbon!("PoolKeepAliveTime");
pub(super) const KEEP_ALIVE_UNITS: Names = ribbon!("PoolKeepAliveTimeUnits");
pub(super) const RETRIES: Names = ribbon!("MaxAutoRetries");
pub(super) const RETRIES_NEXT: Names = ribbon!("MaxAutoRetriesNextServer");
pub(super) const ALL_OPERATIONS: Names = ribbon!("OkToRetryOnAllOperations");
pub(super) const RETRYABLE_STATUSES: Names = ribbon!("retryableStatusCodes");

/// Reads `<service>.ribbon.K`, else `ribbon.K`.
#[derive(Clone, Copy)]
pub(super) struct Ribbon<'a> {
    pub(super) settings: &'a Settings,
    pub(super) id: &'a str,
}

impl<'a> Ribbon<'a> {
    fn own_or_common<T>(self, (own, common): Names, read: fn(Read<'a>, &'static str) -> Option<T>) -> Option<T> {
        read(self.settings.one(self.id), own).or_else(|| read(self.settings.all(), common))
    }

    pub(super) fn setting(self, names: Names) -> Option<&'a Setting> {
        self.own_or_common(names, Read::setting)
    }

    pub(super) fn text(self, names: Names) -> Option<String> {
        self.own_or_common(names, Read::words)
    }

    pub(super) fn flag(self, names: Names) -> Option<bool> {
        self.own_or_common(names, Read::flag)
    }

    pub(super) fn amount(self, names: Names) -> Option<usize> {
        self.own_or_common(names, Read::amount)
    }

    pub(super) fn time(self, names: Names) -> Option<Option<Duration>> {
        self.own_or_common(names, Read::time)
    }
}

/// Warns of limits for backends and pools that no route leads to, once for each name.
pub(super) fn tell_unused(
    settings: &Settings,
    backends: &BTreeMap<String, Arc<BackendConfig>>,
    faults: &mut Vec<Fault>,
) {
    let pools: BTreeSet<&str> = backends.values().filter_map(|backend| backend.isolation.pool_key()).collect();
    let ids: BTreeSet<&str> = backends.keys().map(String::as_str).collect();
    let mut told = BTreeSet::new();
    for setting in settings.iter() {
        let name = setting.key.name;
        let for_all = if name.starts_with("gateway.fallback.") { fallback::ALL } else { "default" };
        let Some(id) = setting.ids.first().filter(|id| *id != for_all) else { continue };
        let of_a_backend = [
            "hystrix.command.",
            "gateway.fallback.",
            "gateway.limits.<",
            "gateway.ping.<",
            "zuul.eureka.",
            "<service...>.",
            "niws.loadbalancer.<",
        ];
        let of_a_backend = of_a_backend.iter().any(|start| name.starts_with(start));
        let (known, message) = match name.starts_with("hystrix.threadpool.") {
            true => (&pools, "no service uses a pool of this name"),
            false if of_a_backend => (&ids, "no route leads to a service or url route of this id"),
            false => continue,
        };
        if !known.contains(id.as_str()) && told.insert((id, message)) {
            let near = nearest(id, known.iter().copied()).map(str::to_string);
            faults.push(Fault::warning(&setting.place, setting.name.clone(), format!("{id}: {message}")).meaning(near));
        }
    }
}
