//! What routes lead to: servers in turn, the circuit, the bound on concurrent requests, and the time that a call may take.

use super::Failure;
use super::admission::{Admission, Bound};
use super::call::{Call, outbound, within};
use super::lease::{Lease, Server};
use super::notes::Notes;
use super::places::PlacePool;
use super::upload::{Progress, Upload};
use http::Response;
use hyper::body::Incoming;
use portcullis::client::{BodyLength, ClientError};
use portcullis::command::{Command, Event, Run};
use portcullis::config::Config;
use portcullis::config::model::{BackendConfig, BackendKind, IsolationConfig};
use portcullis::deadline::Deadline;
use portcullis::exchange::Plan;
use portcullis::isolation::Semaphore;
use portcullis::metrics::{Collect, Sink};
use portcullis::reason::Reason;
use portcullis::router::Route;
use portcullis::upstream::framing::RequestFraming;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Every backend by its id.
pub(super) struct Backends {
    by_id: HashMap<String, Backend>,
    pools: HashMap<String, Arc<PlacePool>>,
}

/// A service, or the server of a url route.
pub(super) struct Backend {
    config: Arc<BackendConfig>,
    pub(super) name: Arc<str>,
    servers: Vec<Arc<Server>>,
    turn: AtomicUsize,
    /// The library's: circuit and counts.
    command: Command,
    bound: Bound,
    most_body: Option<u64>,
    client_gap: Duration,
}

/// What is sent, and what it may be sent again from.
pub(super) struct Outbound<'a> {
    pub(super) plan: Plan<'a>,
    pub(super) length: BodyLength,
    pub(super) body: Incoming,
}

/// The head of an answer, and what goes on.
pub(super) struct Answered {
    pub(super) response: Response<Incoming>,
    pub(super) lease: Lease,
    pub(super) progress: Option<Arc<Progress>>,
}

/// A request that the circuit let through. Hyper drops what it serves when the client goes away, and that is how such a one ends.
struct Passed<'a>(Option<Run<'a>>);

impl Backends {
    pub(super) fn new(config: &Config) -> Self {
        let most = config.zuul.host_max_total_connections;
        let urls = Arc::new(tokio::sync::Semaphore::new(most.min(tokio::sync::Semaphore::MAX_PERMITS)));
        let pools: HashMap<_, _> =
            config.thread_pools.iter().map(|(key, pool)| (key.clone(), PlacePool::new(key, pool))).collect();
        let backend = |config_of: &Arc<BackendConfig>| Backend::new(config, config_of, &urls, &pools);
        Self { by_id: config.backends.iter().map(|(id, of)| (id.clone(), backend(of))).collect(), pools }
    }

    pub(super) fn of(&self, route: &Route) -> Result<&Backend, Failure> {
        let id = route.backend.as_deref().unwrap_or_default();
        self.by_id.get(id).ok_or_else(|| Failure::new(Reason::NoServer, format!("no backend {id}")))
    }
}

impl Backend {
    fn new(
        all: &Config,
        config: &Arc<BackendConfig>,
        urls: &Arc<tokio::sync::Semaphore>,
        pools: &HashMap<String, Arc<PlacePool>>,
    ) -> Self {
        let total = match config.kind {
            BackendKind::Url => urls.clone(),
            BackendKind::Service => {
                let most = config.max_total_connections.min(tokio::sync::Semaphore::MAX_PERMITS);
                Arc::new(tokio::sync::Semaphore::new(most))
            }
        };
        let bound = match &config.isolation {
            IsolationConfig::Semaphore { max_concurrent_requests } => {
                Bound::Semaphore(Semaphore::new(&config.id, *max_concurrent_requests))
            }
            IsolationConfig::Thread { pool_key } => Bound::Places(pools[pool_key].clone()),
            IsolationConfig::None => Bound::None,
        };
        Self {
            name: config.id.as_str().into(),
            servers: config.servers.iter().map(|address| Server::new(config, address, &total)).collect(),
            turn: AtomicUsize::new(0),
            // Places are no threads, of which alone a pool's counts tell.
            command: Command::new(config, None, Instant::now()),
            bound,
            most_body: all.gateway.client_max_body_size,
            client_gap: all.server.connection_timeout,
            config: config.clone(),
        }
    }

    pub(super) fn kind(&self) -> BackendKind {
        self.config.kind
    }

    pub(super) fn read_timeout(&self) -> Option<Duration> {
        self.config.read_timeout
    }

    /// Circuit, admission, call, and what is counted of them: up to the head of the answer, as portcullis' own backends do it.
    pub(super) async fn ask<'r>(
        &self,
        outgoing: Outbound<'r>,
        notes: &mut Notes,
        again: impl Fn(&Notes) -> Option<Plan<'r>>,
    ) -> Result<(Admission, Answered), Failure> {
        self.check_length(outgoing.length)?;
        let asked = self.asked(outgoing, notes, again).await;
        if let Err(failure) = &asked
            && !failure.reason.status().is_client_error()
        {
            // Nothing falls back here, which is counted.
            drop(self.command.fall_back(Instant::now()));
        }
        asked
    }

    async fn asked<'r>(
        &self,
        outgoing: Outbound<'r>,
        notes: &mut Notes,
        again: impl Fn(&Notes) -> Option<Plan<'r>>,
    ) -> Result<(Admission, Answered), Failure> {
        let passed = self.command.begin(Instant::now());
        let mut passed =
            passed.map(Passed::new).ok_or_else(|| Failure::new(Reason::CircuitOpen, "the circuit is open"))?;
        let mut admission = match self.bound.admit() {
            Ok(admission) => admission,
            Err(reason) => {
                passed.end(Event::of(reason, None), Duration::ZERO);
                return Err(Failure::new(reason, self.limit()));
            }
        };
        passed.admitted();
        let answered = self.call(outgoing, &mut admission, notes, again).await;
        let event = match &answered {
            Ok(answered) => self.command.event_of(answered.response.status()),
            Err(failure) => Event::of(failure.reason, failure.cause),
        };
        passed.end(event, notes.waited());
        answered.map(|answered| (admission, answered))
    }

    /// A body that is announced as too long is not worth a permit, nor a test of the circuit.
    fn check_length(&self, body: BodyLength) -> Result<(), Failure> {
        match body {
            BodyLength::Exactly(octets) if self.most_body.is_some_and(|most| octets > most) => {
                Err(ClientError::TooLarge.into())
            }
            _ => Ok(()),
        }
    }

    /// Sends the request to the next server and waits for the head of its answer. `again` plans it once more, for a connection that
    /// turned out to be stale.
    async fn call<'r>(
        &self,
        outgoing: Outbound<'r>,
        admission: &mut Admission,
        notes: &mut Notes,
        again: impl Fn(&Notes) -> Option<Plan<'r>>,
    ) -> Result<Answered, Failure> {
        let deadline = Deadline::after_some(self.config.deadline);
        let server = self.next_server()?;
        notes.calling(&server.authority);
        let queued = Instant::now();
        within(deadline, "waiting for a place", admission.turn()).await?;
        notes.admitted(queued.elapsed());
        let Outbound { plan, length, body } = outgoing;
        let framing = RequestFraming::of(&plan.method, length);
        let (upload, progress) = self.upload(framing, body);
        let idempotent = plan.method.is_idempotent();
        let request = outbound(plan, &server.host, framing, upload)?;
        let lease = within(deadline, "taking a connection", server.lease()).await??;
        let mut call = Call { lease, deadline, read_timeout: self.config.read_timeout, progress, idempotent };
        let answered = call.answered(request, notes, |notes| {
            let plan = again(notes).ok_or_else(|| Failure::new(Reason::Internal, "the plan has gone"))?;
            outbound(plan, &server.host, framing, Upload::none())
        });
        let answered = answered.await;
        notes.connected(call.lease.connect);
        notes.uploaded(call.progress.as_ref().map_or(0, |progress| progress.received()));
        let response = answered?;
        notes.answered_by_upstream(response.status());
        Ok(Answered { response, lease: call.lease, progress: call.progress })
    }

    fn next_server(&self) -> Result<&Arc<Server>, Failure> {
        let turn = self.turn.fetch_add(1, Relaxed);
        let server = self.servers.get(turn % self.servers.len().max(1));
        server.ok_or_else(|| Failure::new(Reason::NoServer, "no server"))
    }

    fn upload(&self, framing: RequestFraming, body: Incoming) -> (Upload, Option<Arc<Progress>>) {
        if !framing.has_body() {
            return (Upload::none(), None);
        }
        let (upload, progress) = Upload::of(body, self.client_gap, self.most_body);
        (upload, Some(progress))
    }

    fn limit(&self) -> Cow<'static, str> {
        match &self.config.isolation {
            IsolationConfig::Semaphore { max_concurrent_requests } => {
                format!("all {max_concurrent_requests} permits are taken").into()
            }
            IsolationConfig::Thread { pool_key } => format!("no place is free in the pool {pool_key}").into(),
            IsolationConfig::None => "".into(),
        }
    }
}

impl<'a> Passed<'a> {
    fn new(run: Run<'a>) -> Self {
        Self(Some(run))
    }

    fn admitted(&mut self) {
        self.0.iter_mut().for_each(Run::admitted);
    }

    fn end(mut self, event: Event, waited: Duration) {
        if let Some(run) = self.0.take() {
            run.end(event, waited, Instant::now());
        }
    }
}

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run.end(Event::Cancelled, Duration::ZERO, Instant::now());
        }
    }
}

impl Collect for Backends {
    fn collect(&self, sink: &mut dyn Sink) {
        let now = Instant::now();
        for backend in self.by_id.values() {
            backend.command.collect(now, sink);
            if let Bound::Semaphore(semaphore) = &backend.bound {
                semaphore.collect(sink);
            }
            backend.servers.iter().for_each(|server| server.collect(sink));
        }
        self.pools.values().for_each(|pool| pool.collect(sink));
    }
}
