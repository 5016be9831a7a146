//! The way of a request, on one page: [`Gateway::serve`].
//!
//! ```text
//! head -> plan (route, upstream head) -> rate -> ask: circuit -> admission (permit | pool place) -> call (balance, connect, send, head)
//!      -> relay, or fall back where the backend failed -> log and counts
//! ```
//!
//! Everything below is a step of it: [`crate::exchange`] plans, [`backend`] admits and calls, [`relay`] streams the answer, [`fallback`] finds
//! another, [`pages`] are the gateway's own, [`record`] is what the log and the counters are told. Containers call it; nothing here knows which.

mod attempts;
mod backend;
mod dashboard;
pub mod debug;
mod downstream;
mod fallback;
mod pages;
mod record;
mod relay;
mod replay;
mod steps;

pub(crate) use backend::Backends;
pub(crate) use steps::steps;

use crate::access_log::{AccessLog, Entry};
use crate::client::{Client, ClientError, Ending, Handler, Refused, Request};
use crate::command::Event;
use crate::config::Config;
use crate::config::model::BackendKind;
use crate::counts::Counts;
use crate::exchange::{self, Peer, Plan, Planned, Rules};
use crate::management::Actuator;
use crate::rate_limit::RateLimits;
use crate::reason::{Cause, Reason};
use crate::reply::{self, ErrorAnswers};
use crate::router::{Route, Router};
use crate::upstream::{CallError, Caller, OutboundRequest};
use fallback::Failed;
use record::Record;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

/// The gateway behind a container.
pub struct Gateway {
    router: Arc<Router>,
    rules: Rules,
    backends: Arc<Backends>,
    /// Its own pages: below the routes, and what `forward:` reaches.
    actuator: Arc<Actuator>,
    /// Whether the actuator answers here too, because it has no listener of its own.
    actuator_here: bool,
    errors: ErrorAnswers,
    rate_limits: Arc<RateLimits>,
    log: Arc<AccessLog>,
    counts: Arc<Counts>,
}

/// The parts that a gateway is made of beside its configuration.
pub(crate) struct Parts {
    pub(crate) router: Arc<Router>,
    pub(crate) backends: Arc<Backends>,
    pub(crate) actuator: Arc<Actuator>,
    pub(crate) rate_limits: Arc<RateLimits>,
    pub(crate) log: Arc<AccessLog>,
    pub(crate) counts: Arc<Counts>,
}

/// What a worker keeps between requests.
pub struct Worker {
    caller: Caller,
    buffers: relay::Buffers,
}

/// Why a request cannot be answered as its client hoped, before any octet of an answer was sent.
#[derive(Debug)]
pub(crate) struct Failure {
    reason: Reason,
    cause: Option<Cause>,
    /// What exactly, for the log.
    detail: Cow<'static, str>,
    /// What exactly, for the client: where the fault is the client's own. What went wrong behind the gateway is not told to strangers.
    message: Cow<'static, str>,
    /// What kind of backend failed, if one was tried.
    backend: Option<BackendKind>,
}

impl Handler for Gateway {
    type Local = Worker;

    fn local(&self) -> Worker {
        Worker { caller: self.backends.caller(), buffers: relay::Buffers::default() }
    }

    fn serve(&self, worker: &mut Worker, request: Request, client: &mut dyn Client) -> Ending {
        let _in_flight = self.counts.begin();
        let mut record = Record::begin(&request, client.peer());
        let ending = match self.answer(worker, &request, client, &mut record) {
            Ok(ending) => ending,
            Err(failure) => self.apologise(&failure, &request, client, &mut record),
        };
        self.tell(record, request, ending);
        ending
    }

    fn refused(&self, refused: &Refused) {
        self.counts.refused(refused);
        if self.log.is_on() {
            self.log.record(Entry::refused(refused));
        }
    }
}

impl Gateway {
    pub(crate) fn new(config: &Config, parts: Parts) -> Self {
        let Parts { router, backends, actuator, rate_limits, log, counts } = parts;
        let errors = ErrorAnswers::new(config);
        let actuator_here = config.management.port.is_none();
        let rules = Rules::new(config);
        Self { router, rules, backends, actuator, actuator_here, errors, rate_limits, log, counts }
    }

    /// Everything from the head to the last octet of the answer.
    fn answer(
        &self,
        worker: &mut Worker,
        request: &Request,
        client: &mut dyn Client,
        record: &mut Record,
    ) -> Result<Ending, Failure> {
        let peer = Peer { remote: client.peer(), local: client.local(), secure: false };
        let plan = match exchange::plan(&self.router, &self.rules, &request.head, &peer)? {
            Planned::Proxy(plan) => plan,
            own => return self.own_page(&own, request, client, record),
        };
        record.planned(&plan);
        self.rate(plan.route, request, client, record)?;
        let Plan { route, method, target, fields, .. } = plan;
        let backend = self.backends.of(route)?;
        record.leads_to(backend.name());
        let outbound = OutboundRequest { method, target: target.clone(), fields };
        match backend.ask((route, outbound), &mut worker.caller, client, record) {
            Ok((_held, answer)) => relay::relay(answer, (backend, route, request), &mut worker.buffers, client, record),
            Err(failure) => self.fall_back(Failed { failure, backend, target }, worker, request, client, record),
        }
    }

    /// Takes a token, if the route has a limit.
    fn rate(&self, route: &Route, request: &Request, client: &dyn Client, record: &mut Record) -> Result<(), Failure> {
        let address = || self.rules.client_address(&request.head, client.peer().ip());
        let Some(rated) = self.rate_limits.take(route.index, &request.head, address) else { return Ok(()) };
        let passes = rated.retry_after.is_none();
        record.rated(rated);
        if passes {
            Ok(())
        } else {
            Err(Failure::of_client(Reason::RateLimited, "too many requests in too short a time"))
        }
    }

    /// The answer to a failure; a client that is gone gets none.
    fn apologise(&self, failure: &Failure, request: &Request, client: &mut dyn Client, record: &mut Record) -> Ending {
        let Failure { reason, cause, message, backend, .. } = failure;
        record.failed(*reason, failure.detail.clone());
        if *reason == Reason::ClientAborted {
            return Ending::Abort;
        }
        let (reason, cause, backend, server) = (*reason, *cause, *backend, record.server());
        let retry_after = record.retry_after();
        let failure = reply::Failure { reason, cause, message, backend, server, retry_after };
        let mut reply = self.errors.error(failure, Some(&request.head), SystemTime::now());
        reply.fields.extend(record.fields().map(|(name, value)| (name.into(), value)));
        record.replying(&reply, request.head.method());
        // The rest of a body that is too long is not worth its reading.
        let may_persist = reason != Reason::BodyTooLarge && client.may_persist();
        reply.send_on(&request.head, client, may_persist)
    }

    /// Log and counts, whatever the ending.
    fn tell(&self, mut record: Record, request: Request, ending: Ending) {
        record.end(ending);
        self.counts.end(&record.ended(request.head.method()));
        if self.log.is_on() {
            self.log.record(record.into_entry(request));
        }
    }
}

impl Failure {
    fn new(reason: Reason, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { reason, cause: None, detail: detail.into(), message: "".into(), backend: None }
    }

    /// Whether it is the client's own fault.
    fn is_of_client(&self) -> bool {
        self.reason.status().is_client_error()
    }

    /// What it is to the command of its backend.
    fn event(&self) -> Event {
        Event::of(self.reason, self.cause)
    }

    /// A fault of the client's, who may know of it.
    fn of_client(reason: Reason, detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = detail.into();
        Self { message: detail.clone(), ..Self::new(reason, detail) }
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self::new(reason, "")
    }
}

impl From<exchange::Refusal> for Failure {
    fn from(refusal: exchange::Refusal) -> Self {
        Self::of_client(refusal.reason, refusal.detail)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error.reason.status().is_client_error() {
            true => Self::of_client(error.reason, error.detail),
            false => Self { cause: error.cause, ..Self::new(error.reason, error.detail) },
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::of_client(error.reason(), error.message())
    }
}
