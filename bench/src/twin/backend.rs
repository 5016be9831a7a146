//! What routes lead to: servers in turn, the bound on concurrent requests, and the time that a call may take.

use super::Failure;
use super::admission::{Admission, Bound};
use super::call::{Failed, Patience, deadline_passed, outbound, send};
use super::lease::{Lease, Server, until};
use super::notes::Notes;
use super::places::PlacePool;
use super::upload::{Progress, Upload};
use http::Response;
use hyper::body::Incoming;
use portcullis::client::{BodyLength, ClientError};
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

    /// A permit or a place, without waiting.
    pub(super) fn admit(&self, body: BodyLength) -> Result<Admission, Failure> {
        if let BodyLength::Exactly(octets) = body
            && self.most_body.is_some_and(|most| octets > most)
        {
            return Err(ClientError::TooLarge.into());
        }
        self.bound.admit().map_err(|reason| Failure::new(reason, self.limit()))
    }

    /// Sends the request to the next server and waits for the head of its answer. `again` plans it once more, for a connection that
    /// turned out to be stale.
    pub(super) async fn call<'r>(
        &self,
        outgoing: Outbound<'r>,
        admission: &mut Admission,
        notes: &mut Notes,
        again: impl Fn(&Notes) -> Option<Plan<'r>>,
    ) -> Result<Answered, Failure> {
        let deadline = Deadline::after_some(self.config.deadline);
        let turn = self.turn.fetch_add(1, Relaxed);
        let server = self.servers.get(turn % self.servers.len().max(1));
        let server = server.ok_or_else(|| Failure::new(Reason::NoServer, "no server"))?;
        notes.calling(&server.authority);
        let queued = Instant::now();
        within(deadline, "waiting for a place", async { Ok(admission.turn().await) }).await?;
        notes.admitted(queued.elapsed());
        let Outbound { plan, length, body } = outgoing;
        let framing = RequestFraming::of(&plan.method, length);
        let (upload, progress) = match framing.has_body() {
            true => {
                let (upload, progress) = Upload::of(body, self.client_gap, self.most_body);
                (upload, Some(progress))
            }
            false => (Upload::none(), None),
        };
        let idempotent = plan.method.is_idempotent();
        let mut request = outbound(plan, &server.host, framing, upload)?;
        let mut lease = within(deadline, "taking a connection", server.lease()).await?;
        let response = loop {
            notes.attempted();
            let (read_timeout, upload) = (self.config.read_timeout, progress.as_deref());
            let failed = match send(&mut lease, request, Patience { deadline, read_timeout, progress: upload }).await {
                Ok(response) => break response,
                Err(failed) => failed,
            };
            let Failed { failure, unsent, is_abort } = failed;
            let untouched = idempotent && progress.as_ref().is_none_or(|progress| progress.received() == 0);
            // Once, where a kept connection failed as a stale one does and nothing can have happened twice.
            request = match unsent {
                Some(unsent) if lease.reused => unsent,
                None if lease.reused && is_abort && untouched && progress.is_none() => {
                    let plan = again(notes).ok_or_else(|| Failure::new(Reason::Internal, "the plan has gone"))?;
                    outbound(plan, &server.host, framing, Upload::none())?
                }
                _ => {
                    notes.connected(lease.connect);
                    notes.uploaded(progress.as_ref().map_or(0, |progress| progress.received()));
                    return Err(failure);
                }
            };
            within(deadline, "connecting", lease.reopen()).await?;
        };
        notes.connected(lease.connect);
        notes.answered_by_upstream(response.status());
        Ok(Answered { response, lease, progress })
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

/// What `doing` comes to, unless the deadline passes before.
async fn within<T>(
    deadline: Deadline,
    doing: &str,
    what: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        done = what => done,
        () = until(deadline) => Err(deadline_passed(doing)),
    }
}

impl Collect for Backends {
    fn collect(&self, sink: &mut dyn Sink) {
        for backend in self.by_id.values() {
            if let Bound::Semaphore(semaphore) = &backend.bound {
                semaphore.collect(sink);
            }
            backend.servers.iter().for_each(|server| server.collect(sink));
        }
        self.pools.values().for_each(|pool| pool.collect(sink));
    }
}
