//! What routes lead to, ready for calls: servers in turn, isolation, and the time a call may take.
//!
//! The gateway admits, then calls; whether the call runs here or on a pool's thread is isolation's affair. Nobody else makes upstream calls.

use super::Failure;
use super::attempts::{Again, Attempts, Trail};
use super::downstream::{Attended, is_beyond};
use super::record::Record;
use crate::balance::{Balancer, Pinger};
use crate::client::{BodyLength, Client, ClientError};
use crate::command::{Command, PoolMetrics, PoolState};
use crate::config::Config;
use crate::config::model::{BackendConfig, BackendKind, HttpClient, IsolationConfig, Scheduling};
use crate::deadline::Deadline;
use crate::isolation::{Admitted, Heard, Isolation, Manner, NoResult, Parties, Pool, Semaphore};
use crate::metrics::{Collect, Sink};
use crate::reason::{Cause, Reason};
use crate::retry::Retry;
use crate::router::Route;
use crate::scheduling;
use crate::upstream::{
    Alarm, Answer, CallError, CallLimits, Caller, ConnectionLimit, OutboundRequest, ResolverTable, Server, TlsContext,
};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Every backend by its id.
pub(crate) struct Backends {
    by_id: HashMap<String, Backend>,
    http_client: HttpClient,
    alarm: Arc<Alarm>,
    pools: Vec<Arc<Pool<Caller>>>,
    pool_metrics: Vec<Arc<PoolMetrics>>,
}

/// A service, or the server of a url route.
pub(crate) struct Backend {
    pub(super) config: Arc<BackendConfig>,
    name: Arc<str>,
    balancer: Arc<Balancer>,
    command: Command,
    retry: Option<Arc<Retry>>,
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
    pool_metrics: HashMap<String, Arc<PoolMetrics>>,
    started: Instant,
    max_body: Option<u64>,
    /// `gateway.isolation.max-wait`.
    max_wait: Duration,
}

impl Backends {
    /// Builds them all; connects to nothing.
    pub(crate) fn new(config: &Config) -> io::Result<Self> {
        let (alarm, started) = (Arc::default(), Instant::now());
        let shared = Shared {
            tls: TlsContext::new().map_err(io::Error::other)?,
            resolver: ResolverTable::new()?,
            url_connections: ConnectionLimit::watched(config.zuul.host_max_total_connections, &alarm),
            alarm,
            pools: config.thread_pools.keys().map(|key| (key.clone(), pool(config, key))).collect(),
            pool_metrics: config
                .backends
                .values()
                .filter_map(|backend| pool_metrics(config, backend, started))
                .collect(),
            started,
            max_body: config.gateway.client_max_body_size,
            max_wait: config.gateway.max_wait,
        };
        let by_id = config.backends.iter().map(|(id, backend)| (id.clone(), Backend::new(backend, &shared))).collect();
        let (pools, pool_metrics) = (shared.pools.into_values(), shared.pool_metrics.into_values());
        Ok(Self {
            by_id,
            http_client: config.gateway.http_client,
            alarm: shared.alarm,
            pools: pools.collect(),
            pool_metrics: pool_metrics.collect(),
        })
    }

    /// Makes the calls of one thread.
    pub(crate) fn caller(&self) -> Caller {
        Caller::new(self.http_client)
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
            Pinger::start(backend.balancer.clone(), ping, backend.config.connect_timeout, self.caller())
        };
        pinged.map(start).collect()
    }

    fn has_pooled(&self) -> bool {
        self.servers().any(|server| server.pool().idle > 0)
    }

    /// What is counted of each of them.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &Command> {
        self.by_id.values().map(|backend| &backend.command)
    }

    /// The thread pool of this key, as it is now.
    pub(super) fn pool(&self, key: &str) -> Option<PoolState> {
        self.pools.iter().find(|pool| pool.key() == key).map(|pool| pool.state())
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
                let manner = Manner { adaptive: config.adaptive, max_wait: shared.max_wait };
                Isolation::Semaphore(Semaphore::with(&config.id, *max_concurrent_requests, manner))
            }
            IsolationConfig::Thread { pool_key } => Isolation::Pool(shared.pools[pool_key].clone()),
            IsolationConfig::None => Isolation::None,
        };
        Self {
            name: config.id.as_str().into(),
            balancer: Arc::new(Balancer::new(
                &config.balance,
                config.servers.iter().map(server).collect(),
                shared.started,
            )),
            command: Command::new(
                config,
                config.isolation.pool_key().map(|key| shared.pool_metrics[key].clone()),
                shared.started,
            ),
            retry: config.retry.as_ref().map(|retry| Arc::new(Retry::new(&config.id, retry, Instant::now()))),
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

    /// What surrounds its calls.
    pub(super) fn command(&self) -> &Command {
        &self.command
    }

    /// What it is called: the service, or the id of the url route.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Circuit, admission, call, and what is counted of them: up to the head of the answer. What is admitted is to be held until the last
    /// octet of the answer was sent or given up.
    pub(super) fn ask(
        &self,
        request: (&Route, OutboundRequest),
        caller: &mut Caller,
        client: &mut dyn Client,
        record: &mut Record,
    ) -> Result<(Admitted<Caller>, Answer), Failure> {
        self.check_length(client.length())?;
        let come = Instant::now();
        let run = self.command.begin(come);
        let mut run = run.ok_or_else(|| self.failure(Reason::CircuitOpen, "the circuit is open"))?;
        let admitted = match self.admit(client) {
            Ok(admitted) => admitted,
            Err(refusal) => {
                run.end(refusal.event(), Duration::ZERO, Instant::now());
                return Err(refusal);
            }
        };
        run.admitted();
        let (answer, now) = self.call((&admitted, admitted.since(come)), request, caller, client, record);
        let event = answer.as_ref().map_or_else(Failure::event, |answer| self.command.event_of(answer.status));
        run.end(event, admitted.waited(), now);
        answer.map(|answer| (admitted, answer))
    }

    /// A body that is announced as too long is not worth a permit, nor a test of the circuit.
    fn check_length(&self, body: BodyLength) -> Result<(), Failure> {
        match body {
            BodyLength::Exactly(octets) if is_beyond(self.max_body, octets) => Err(ClientError::TooLarge.into()),
            _ => Ok(()),
        }
    }

    /// A permit or a pool place; a semaphore's permit is waited for, where that is configured.
    fn admit(&self, client: &dyn Client) -> Result<Admitted<Caller>, Failure> {
        self.isolation.admit(|| client.cancel()).map_err(|why| match why {
            NoResult::Gateway(reason) => self.failed(Failure::new(reason, self.limit())),
            NoResult::Client(error) => error.into(),
        })
    }

    /// Sends the request to the next server in turn, to others after it if the route is retryable, and waits for the head of an answer.
    /// Admitted at this moment, and ended at that one: each look at the clock costs.
    fn call(
        &self,
        (admitted, now): (&Admitted<Caller>, Instant),
        (route, request): (&Route, OutboundRequest),
        caller: &mut Caller,
        client: &mut dyn Client,
        record: &mut Record,
    ) -> (Result<Answer, Failure>, Instant) {
        let deadline = Deadline::later_than(now, self.config.deadline);
        let Some(server) = self.balancer.next(&[], now) else {
            return (Err(self.failure(Reason::NoServer, self.balancer.why_none())), now);
        };
        let asked = self.balancer.ask(server, now);
        record.calling(server);
        let cancel = client.cancel();
        let mut client = Attended { client, route, received: record.received_octets(), max_body: self.max_body };
        let parties = Parties { local: caller, client: &mut client, deadline, cancel: &cancel };
        let again = self.again(route, server);
        let trail = again.as_ref().map(|again| again.trail.clone());
        let mut attempts =
            Attempts { server: server.clone(), asked, request, limits: self.limits, retry: self.retry.clone(), again };
        let is_handed_over = matches!(admitted, Admitted::Place(_));
        let outcome = admitted.call(parties, move |caller, downstream, deadline, cancel| {
            if is_handed_over {
                attempts.asked.begins(Instant::now());
            }
            attempts.run(caller, downstream, deadline, cancel)
        });
        let now = Instant::now();
        record.called((admitted.waited(), now), &outcome, trail.as_deref());
        if let Some(heard) = heard(&outcome) {
            admitted.heard(heard);
        }
        (self.answer_of(outcome), now)
    }

    /// What the call came to, in the gateway's words.
    fn answer_of(&self, outcome: Result<Result<Answer, CallError>, NoResult>) -> Result<Answer, Failure> {
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

    /// What attempts after that on `first` need, if there may be any.
    fn again(&self, route: &Route, first: &Arc<Server>) -> Option<Again> {
        let may_be = self.retry.is_some() && route.config.retryable;
        may_be.then(|| Again { balancer: self.balancer.clone(), trail: Trail::new(first) })
    }

    /// The failure as one of this backend.
    pub(super) fn failed(&self, failure: Failure) -> Failure {
        Failure { backend: Some(self.config.kind), ..failure }
    }

    /// What is used up when it admits nothing.
    fn limit(&self) -> Cow<'static, str> {
        match (&self.isolation, &self.config.isolation) {
            (Isolation::Semaphore(semaphore), _) => semaphore.exhausted().into(),
            (_, IsolationConfig::Thread { pool_key }) => format!("no place is free in the pool {pool_key}").into(),
            _ => "".into(),
        }
    }

    fn failure(&self, reason: Reason, detail: &'static str) -> Failure {
        self.failed(Failure::new(reason, detail))
    }
}

impl Collect for Backends {
    fn collect(&self, sink: &mut dyn Sink) {
        let now = Instant::now();
        self.commands().for_each(|command| command.collect(now, sink));
        self.pool_metrics.iter().for_each(|pool| pool.collect(now, sink));
        for backend in self.by_id.values() {
            if let Isolation::Semaphore(semaphore) = &backend.isolation {
                semaphore.collect(sink);
            }
            backend.retry.iter().for_each(|retry| retry.collect(sink));
        }
        self.pools.iter().for_each(|pool| pool.collect(sink));
        self.servers().for_each(|server| server.collect(sink));
        self.by_id.values().for_each(|backend| backend.balancer.collect(sink, now));
    }
}

fn pool_metrics(config: &Config, backend: &BackendConfig, started: Instant) -> Option<(String, Arc<PoolMetrics>)> {
    let key = backend.isolation.pool_key()?;
    Some((
        key.into(),
        Arc::new(PoolMetrics::new(key, backend.command.pool_window, config.thread_pools[key].maximum_size, started)),
    ))
}

/// What the call tells an adaptive limit: an answer of any status, or that the server did not bear it. What ended by the client, by a limit
/// of our own or by a broken answer tells nothing.
fn heard(outcome: &Result<Result<Answer, CallError>, NoResult>) -> Option<Heard> {
    match outcome {
        Ok(Ok(answer)) => Some(Heard::Head { client: answer.client_waited }),
        Ok(Err(error)) => match error.reason {
            Reason::Timeout | Reason::ConnectTimeout | Reason::ConnectFailed => Some(Heard::Dropped),
            _ => None,
        },
        Err(_) => None,
    }
}

fn pool(config: &Config, key: &str) -> Arc<Pool<Caller>> {
    let on_start: fn() = match config.gateway.scheduling {
        Scheduling::Batch => || scheduling::apply(Scheduling::Batch),
        Scheduling::Normal => || scheduling::apply(Scheduling::Normal),
    };
    let http_client = config.gateway.http_client;
    Pool::start(key, config.thread_pools[key], on_start, move || Caller::new(http_client))
}
