//! What routes lead to, ready for calls: servers in turn, isolation, and the time a call may take.
//!
//! The gateway admits, then calls; whether the call runs here or on a pool's thread is isolation's affair. Nobody else makes upstream calls.

use super::Failure;
use super::downstream::{Attended, is_beyond};
use super::record::Record;
use crate::balance::{Balancer, Outcome, Pinger};
use crate::client::{BodyLength, Client, ClientError};
use crate::config::Config;
use crate::config::model::{BackendConfig, BackendKind, IsolationConfig, Scheduling};
use crate::deadline::Deadline;
use crate::isolation::{Admitted, Isolation, NoResult, Parties, Pool, Semaphore};
use crate::metrics::{Collect, Sink};
use crate::reason::{Cause, Reason};
use crate::router::Route;
use crate::scheduling;
use crate::upstream::{
    Alarm, Answer, CallLimits, Caller, ConnectionLimit, OutboundRequest, ResolverTable, Server, TlsContext,
};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// Every backend by its id.
pub(crate) struct Backends {
    by_id: HashMap<String, Backend>,
    alarm: Arc<Alarm>,
    pools: Vec<Arc<Pool<Caller>>>,
}

/// A service, or the server of a url route.
pub(crate) struct Backend {
    config: Arc<BackendConfig>,
    name: Arc<str>,
    balancer: Arc<Balancer>,
    isolation: Isolation<Caller>,
    /// The limits of each of its calls, but for the deadline.
    limits: CallLimits,
    /// `gateway.client.max-body-size`.
    max_body: Option<u64>,
}

/// What backends share while they are built.
struct Shared {
    tls: TlsContext,
    resolver: Arc<ResolverTable>,
    alarm: Arc<Alarm>,
    /// `zuul.host.max-total-connections`: one bound over all url routes.
    url_connections: Arc<ConnectionLimit>,
    pools: HashMap<String, Arc<Pool<Caller>>>,
    max_body: Option<u64>,
}

impl Backends {
    /// Builds them all; connects to nothing.
    pub(crate) fn new(config: &Config) -> io::Result<Self> {
        let alarm = Arc::default();
        let shared = Shared {
            tls: TlsContext::new().map_err(io::Error::other)?,
            resolver: ResolverTable::new()?,
            url_connections: ConnectionLimit::watched(config.zuul.host_max_total_connections, &alarm),
            alarm,
            pools: config.thread_pools.keys().map(|key| (key.clone(), pool(config, key))).collect(),
            max_body: config.gateway.client_max_body_size,
        };
        let by_id = config.backends.iter().map(|(id, backend)| (id.clone(), Backend::new(backend, &shared))).collect();
        Ok(Self { by_id, alarm: shared.alarm, pools: shared.pools.into_values().collect() })
    }

    /// The backend of `route`.
    pub(crate) fn of(&self, route: &Route) -> Result<&Backend, Failure> {
        let id = route.backend.as_deref().unwrap_or_default();
        self.by_id.get(id).ok_or_else(|| Failure::new(Reason::NoServer, format!("no backend {id}")))
    }

    /// Closes pooled connections that are too old or were closed by the upstream; whether some are left. The background thread calls it.
    pub(crate) fn evict(&self, now: Instant) -> bool {
        self.servers().for_each(|server| server.evict(now));
        self.has_pooled()
    }

    /// Sleeps until a connection is pooled, or until the thread is unparked; the background thread calls it when none is.
    pub(crate) fn sleep_until_pooled(&self) {
        self.alarm.sleep_unless(|| self.has_pooled());
    }

    /// Starts a thread for each service whose servers are pinged.
    pub(crate) fn start_pings(&self) -> io::Result<Vec<Pinger>> {
        let pinged = self.by_id.values().filter_map(|backend| Some((backend, backend.config.balance.ping.clone()?)));
        let start = |(backend, ping): (&Backend, _)| {
            Pinger::start(backend.balancer.clone(), ping, backend.config.connect_timeout)
        };
        pinged.map(start).collect()
    }

    fn has_pooled(&self) -> bool {
        self.servers().any(|server| server.pool().idle > 0)
    }

    fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.by_id.values().flat_map(|backend| backend.balancer.servers())
    }
}

impl Backend {
    fn new(config: &Arc<BackendConfig>, shared: &Shared) -> Self {
        let total = match config.kind {
            BackendKind::Url => shared.url_connections.clone(),
            BackendKind::Service => ConnectionLimit::watched(config.max_total_connections, &shared.alarm),
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
            balancer: Arc::new(Balancer::new(
                &config.balance,
                config.servers.iter().map(server).collect(),
                Instant::now(),
            )),
            isolation,
            limits: CallLimits {
                deadline: Deadline::NEVER,
                connect_timeout: config.connect_timeout,
                read_timeout: config.read_timeout,
                connection_request_timeout: config.connection_request_timeout,
            },
            max_body: shared.max_body,
            config: config.clone(),
        }
    }

    /// What it is called: the service, or the id of the url route.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// A permit or a pool place, without waiting, for a request with a body of this length.
    pub(crate) fn admit(&self, body: BodyLength) -> Result<Admitted<Caller>, Failure> {
        if let BodyLength::Exactly(octets) = body
            && is_beyond(self.max_body, octets)
        {
            return Err(ClientError::TooLarge.into());
        }
        self.isolation.admit().map_err(|reason| self.failed(Failure::new(reason, self.limit())))
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
        let now = Instant::now();
        let server =
            self.balancer.next(&[], now).ok_or_else(|| self.failure(Reason::NoServer, self.balancer.why_none()))?;
        let asked = self.balancer.ask(server, now);
        record.calling(server);
        let cancel = client.cancel();
        let mut client = Attended { client, route, received: record.received_octets(), max_body: self.max_body };
        let parties = Parties { local: caller, client: &mut client, deadline, cancel: &cancel };
        let (server, limits) = (server.clone(), self.limits);
        let outcome = admitted.call(parties, move |caller, downstream, deadline, cancel| {
            let outcome = caller.call(&server, request, downstream, &CallLimits { deadline, ..limits }, cancel);
            asked.note(Outcome::of(&outcome), Instant::now());
            outcome
        });
        record.called(admitted.waited(), &outcome);
        match outcome {
            Ok(answer) => answer.map_err(|error| self.failed(error.into())),
            // The caller left its pool thread at the deadline.
            Err(NoResult::Gateway(reason @ Reason::Timeout)) => {
                Err(Failure { cause: Some(Cause::Deadline), ..self.failure(reason, "the deadline passed") })
            }
            Err(NoResult::Gateway(reason)) => Err(self.failure(reason, "no answer from the pool thread")),
            Err(NoResult::Client(error)) => Err(error.into()),
        }
    }

    /// The failure as one of this backend.
    pub(super) fn failed(&self, failure: Failure) -> Failure {
        Failure { backend: Some(self.config.kind), ..failure }
    }

    /// What is used up when it admits nothing.
    fn limit(&self) -> Cow<'static, str> {
        match &self.config.isolation {
            IsolationConfig::Semaphore { max_concurrent_requests } => {
                format!("all {max_concurrent_requests} permits are taken").into()
            }
            IsolationConfig::Thread { pool_key } => format!("no place is free in the pool {pool_key}").into(),
            IsolationConfig::None => "".into(),
        }
    }

    fn failure(&self, reason: Reason, detail: &'static str) -> Failure {
        self.failed(Failure::new(reason, detail))
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
        let now = Instant::now();
        self.by_id.values().for_each(|backend| backend.balancer.collect(sink, now));
    }
}

fn pool(config: &Config, key: &str) -> Arc<Pool<Caller>> {
    let on_start: fn() = match config.gateway.scheduling {
        Scheduling::Batch => || scheduling::apply(Scheduling::Batch),
        Scheduling::Normal => || scheduling::apply(Scheduling::Normal),
    };
    Pool::start(key, config.thread_pools[key], on_start, Caller::new)
}
