//! What routes lead to, ready for calls: servers in turn, isolation, and the time a call may take.
//!
//! The gateway admits, then calls; whether the call runs here or on a pool's thread is isolation's affair. Nobody else makes upstream calls.

use super::Failure;
use super::downstream::Attended;
use super::record::Record;
use crate::balance::Balancer;
use crate::client::Client;
use crate::config::Config;
use crate::config::model::{BackendConfig, BackendKind, IsolationConfig, Scheduling};
use crate::deadline::Deadline;
use crate::isolation::{Admitted, Isolation, NoResult, Parties, Pool, Semaphore};
use crate::metrics::{Collect, Sink};
use crate::reason::Reason;
use crate::router::Route;
use crate::scheduling;
use crate::upstream::{
    Answer, CallLimits, Caller, ConnectionLimit, OutboundRequest, ResolverTable, Server, TlsContext,
};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// Every backend by its id.
pub(crate) struct Backends {
    by_id: HashMap<String, Backend>,
    pools: Vec<Arc<Pool<Caller>>>,
}

/// A service, or the server of a url route.
pub(crate) struct Backend {
    config: Arc<BackendConfig>,
    name: Arc<str>,
    balancer: Balancer,
    isolation: Isolation<Caller>,
}

/// What backends share while they are built.
struct Shared {
    tls: TlsContext,
    resolver: Arc<ResolverTable>,
    /// `zuul.host.max-total-connections`: one bound over all url routes.
    url_connections: Arc<ConnectionLimit>,
    pools: HashMap<String, Arc<Pool<Caller>>>,
}

impl Backends {
    /// Builds them all; connects to nothing.
    pub(crate) fn new(config: &Config) -> io::Result<Self> {
        let shared = Shared {
            tls: TlsContext::new().map_err(io::Error::other)?,
            resolver: ResolverTable::new()?,
            url_connections: ConnectionLimit::new(config.zuul.host_max_total_connections),
            pools: config.thread_pools.keys().map(|key| (key.clone(), pool(config, key))).collect(),
        };
        let by_id = config.backends.iter().map(|(id, backend)| (id.clone(), Backend::new(backend, &shared))).collect();
        Ok(Self { by_id, pools: shared.pools.into_values().collect() })
    }

    /// The backend of `route`.
    pub(crate) fn of(&self, route: &Route) -> Result<&Backend, Failure> {
        let id = route.backend.as_deref().unwrap_or_default();
        self.by_id.get(id).ok_or_else(|| Failure::new(Reason::NoServer, format!("no backend {id}")))
    }

    /// Closes pooled connections that are too old or were closed by the upstream; the background thread calls it.
    pub(crate) fn evict(&self, now: Instant) {
        self.servers().for_each(|server| server.evict(now));
    }

    fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.by_id.values().flat_map(|backend| backend.balancer.servers())
    }
}

impl Backend {
    fn new(config: &Arc<BackendConfig>, shared: &Shared) -> Self {
        let total = match config.kind {
            BackendKind::Url => shared.url_connections.clone(),
            BackendKind::Service => ConnectionLimit::new(config.max_total_connections),
        };
        let server = |address| Server::new(config, address, total.clone(), &shared.resolver, &shared.tls);
        let isolation = match &config.isolation {
            IsolationConfig::Semaphore { max_concurrent_requests } => {
                Isolation::Semaphore(Semaphore::new(&config.id, *max_concurrent_requests))
            }
            IsolationConfig::Thread { pool_key } => Isolation::Pool(shared.pools[pool_key].clone()),
            IsolationConfig::None => Isolation::None,
        };
        Self {
            name: config.id.as_str().into(),
            balancer: Balancer::new(config.servers.iter().map(server).collect()),
            isolation,
            config: config.clone(),
        }
    }

    /// A permit or a pool place, without waiting.
    pub(crate) fn admit(&self) -> Result<Admitted<Caller>, Failure> {
        self.isolation.admit().map_err(|reason| self.failure(reason, "no permit"))
    }

    /// Sends the request to the next server in turn and waits for the head of its answer.
    pub(super) fn call(
        &self,
        admitted: &Admitted<Caller>,
        (route, request): (&Route, OutboundRequest),
        caller: &mut Caller,
        client: &mut dyn Client,
        record: &mut Record,
    ) -> Result<Answer, Failure> {
        let deadline = Deadline::after_some(self.config.deadline);
        let server = self.balancer.next(&[]).ok_or_else(|| self.failure(Reason::NoServer, "no server"))?;
        record.calling(&self.name, server);
        let cancel = client.cancel();
        let mut client = Attended { client, route, received: record.received_octets() };
        let parties = Parties { local: caller, client: &mut client, deadline, cancel: &cancel };
        let (server, config) = (server.clone(), self.config.clone());
        let outcome = admitted.call(parties, move |caller, downstream, deadline, cancel| {
            caller.call(&server, request, downstream, &limits(&config, deadline), cancel)
        });
        record.called(admitted.waited(), &outcome);
        match outcome {
            Ok(answer) => answer.map_err(|error| self.failure(error.reason, error.detail)),
            Err(NoResult::Gateway(reason)) => Err(self.failure(reason, "no answer from the pool thread")),
            Err(NoResult::Client(error)) => Err(error.into()),
        }
    }

    fn failure(&self, reason: Reason, detail: impl Into<std::borrow::Cow<'static, str>>) -> Failure {
        let detail = format!("{}: {}", self.config.id, detail.into()).into();
        Failure { reason, detail, backend: Some(self.config.kind) }
    }
}

impl Collect for Backends {
    fn collect(&self, sink: &mut dyn Sink) {
        for backend in self.by_id.values() {
            if let Isolation::Semaphore(semaphore) = &backend.isolation {
                semaphore.collect(sink);
            }
        }
        self.pools.iter().for_each(|pool| pool.collect(sink));
        self.servers().for_each(|server| server.collect(sink));
    }
}

fn limits(config: &BackendConfig, deadline: Deadline) -> CallLimits {
    CallLimits {
        deadline,
        connect_timeout: config.connect_timeout,
        read_timeout: config.read_timeout,
        connection_request_timeout: config.connection_request_timeout,
    }
}

fn pool(config: &Config, key: &str) -> Arc<Pool<Caller>> {
    let on_start: fn() = match config.gateway.scheduling {
        Scheduling::Batch => || scheduling::apply(Scheduling::Batch),
        Scheduling::Normal => || scheduling::apply(Scheduling::Normal),
    };
    Pool::start(key, config.thread_pools[key], on_start, Caller::new)
}
