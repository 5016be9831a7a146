//! The way of a request through the twin, on one page: [`Gateway::serve`]. Read it beside `portcullis::gateway`.

use super::Failure;
use super::admission::Admission;
use super::backend::{Answered, Backends, Outbound};
use super::inbound::Judge;
use super::notes::{Ledger, Notes};
use super::relay::{Held, Outgoing, Relay};
use http::header::{CONNECTION, CONTENT_LENGTH};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use portcullis::access_log::Entry;
use portcullis::client::{BodyLength, Refused};
use portcullis::config::Config;
use portcullis::exchange::{self, ALLOW, Peer, Planned, Rules};
use portcullis::management::Actuator;
use portcullis::reason::Reason;
use portcullis::reply::{self, ErrorAnswers, Reply};
use portcullis::router::{Route, Router};
use portcullis::server::Surroundings;
use portcullis::wire::HeadError;
use portcullis::wire::response::{Framing, has_body};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The gateway behind hyper's server.
pub(super) struct Gateway {
    judge: Judge,
    router: Arc<Router>,
    rules: Rules,
    backends: Arc<Backends>,
    actuator: Arc<Actuator>,
    actuator_here: bool,
    errors: ErrorAnswers,
    ledger: Ledger,
}

/// What answers a request.
#[expect(clippy::large_enum_variant, reason = "it is there for a moment; a box would be an allocation a request")]
enum Answer<'r> {
    Own(Reply),
    Upstream { route: &'r Arc<Route>, answered: Answered, admission: Admission, read_timeout: Option<Duration> },
}

impl Gateway {
    pub(super) fn new(config: &Config, around: &Surroundings, backends: Arc<Backends>) -> Self {
        Self {
            judge: Judge::new(config),
            router: around.router.clone(),
            rules: Rules::new(config),
            backends,
            actuator: around.actuator.clone(),
            actuator_here: config.management.port.is_none(),
            errors: ErrorAnswers::new(config),
            ledger: Ledger { log: around.log.clone(), counts: around.counts.clone() },
        }
    }

    /// Everything from the head to the head of the answer; the body that it returns does the rest.
    pub(super) async fn serve(&self, peer: Peer, request: Request<Incoming>) -> Response<Outgoing> {
        let received = Instant::now();
        let (parts, body) = request.into_parts();
        let (head, length) = match self.judge.head(&parts) {
            Ok(judged) => judged,
            Err(error) => return self.refuse(&error, peer, received),
        };
        drop(parts);
        let mut notes = Notes::begin(self.ledger.clone(), head, peer.remote, received);
        match self.answer(peer, (length, body), &mut notes).await {
            Ok(Answer::Own(reply)) => own(reply, notes),
            Ok(Answer::Upstream { route, answered, admission, read_timeout }) => {
                relayed(route, answered, admission, read_timeout, notes)
            }
            Err(failure) => self.apologise(&failure, notes),
        }
    }

    async fn answer<'s>(
        &'s self,
        peer: Peer,
        (length, body): (BodyLength, Incoming),
        notes: &mut Notes,
    ) -> Result<Answer<'s>, Failure> {
        let planned = exchange::plan(&self.router, &self.rules, notes.head(), &peer);
        let plan = match planned.map_err(|refusal| Failure::of_client(refusal.reason, refusal.detail))? {
            Planned::Proxy(plan) => plan,
            other => return self.own_page(&other, notes).map(Answer::Own),
        };
        notes.planned(&plan);
        let route = plan.route;
        let backend = self.backends.of(route)?;
        notes.leads_to(&backend.name);
        let at = |failure: Failure| failure.at(backend.kind());
        let again = |notes: &Notes| match exchange::plan(&self.router, &self.rules, notes.head(), &peer) {
            Ok(Planned::Proxy(plan)) => Some(plan),
            _ => None,
        };
        let outbound = Outbound { plan, length, body };
        // What admits is held until the last octet of the answer was handed over.
        let (admission, answered) = backend.ask(outbound, notes, again).await.map_err(at)?;
        Ok(Answer::Upstream { route, answered, admission, read_timeout: backend.read_timeout() })
    }

    /// What does not go upstream.
    fn own_page(&self, planned: &Planned<'_>, notes: &mut Notes) -> Result<Reply, Failure> {
        let allow = |status| Reply::empty(status).with("Allow", HeaderValue::from_static(ALLOW));
        Ok(match planned {
            Planned::Forward { route, path } => {
                notes.routed(route);
                let mut halves = path.splitn(2, |&octet| octet == b'?');
                let (page, query) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
                let found = self.actuator.page_at(notes.head(), (page, query), false);
                let why = || format!("forward to {}: the gateway has no such page", page.escape_ascii());
                found.ok_or_else(|| Failure::of_client(Reason::NoRoute, why()))?.reply
            }
            Planned::Options => allow(StatusCode::OK),
            Planned::MethodNotAllowed => allow(StatusCode::METHOD_NOT_ALLOWED),
            Planned::None | Planned::Proxy(_) => {
                let page = self.actuator_here.then(|| self.actuator.page(notes.head(), false)).flatten();
                page.ok_or_else(|| Failure::new(Reason::NoRoute, ""))?.reply
            }
        })
    }

    /// A head that hyper let through and the library does not; the connection closes.
    fn refuse(&self, error: &HeadError, peer: Peer, since: Instant) -> Response<Outgoing> {
        let reply = reply::head_reply(error, SystemTime::now());
        let (reason, detail) = (error.reason(), error.to_string().into());
        self.refused(&Refused {
            reason,
            status: reply.status,
            detail,
            peer: peer.remote,
            since,
            sent: reply.body.len(),
        });
        closing(response(reply.status, &reply.fields, Outgoing::Whole(Some(reply.body))))
    }

    /// What no request came of.
    pub(super) fn refused(&self, refused: &Refused) {
        self.ledger.counts.refused(refused);
        if self.ledger.log.is_on() {
            self.ledger.log.record(Entry::refused(refused));
        }
    }

    fn apologise(&self, failure: &Failure, mut notes: Notes) -> Response<Outgoing> {
        notes.failed_by(failure);
        let Failure { reason, cause, message, backend, .. } = failure;
        let told = reply::Failure {
            reason: *reason,
            cause: *cause,
            message,
            backend: *backend,
            server: notes.server(),
            retry_after: None,
        };
        let mut reply = self.errors.error(told, Some(notes.head()), SystemTime::now());
        reply.fields.extend(notes.debug().map(|(name, value)| (name.into(), value)));
        let answer = own(reply, notes);
        match reason {
            Reason::BodyTooLarge | Reason::ClientAborted => closing(answer),
            _ => answer,
        }
    }
}

/// A reply of the gateway's own; for HEAD only its length is told.
fn own(reply: Reply, mut notes: Notes) -> Response<Outgoing> {
    notes.replying(&reply);
    let body = has_body(notes.head().method(), reply.status).then(|| reply.body.clone());
    let framing = Framing::of(notes.head(), reply.status, Some(reply.body.len() as u64));
    let mut answer = response(reply.status, &reply.fields, Outgoing::Whole(body));
    if let Framing::Length(length) = framing {
        answer.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    answer
}

/// The upstream's answer as the client sees it.
fn relayed(
    route: &Arc<Route>,
    Answered { response: upstream, lease, progress }: Answered,
    admission: Admission,
    read_timeout: Option<Duration>,
    notes: Notes,
) -> Response<Outgoing> {
    let (parts, incoming) = upstream.into_parts();
    let mut fields = exchange::answer_map(route, parts.version, &parts.headers);
    if let Some((name, value)) = notes.debug()
        && let Ok(name) = HeaderName::from_bytes(name.as_bytes())
    {
        fields.append(name, value);
    }
    let told = parts.headers.get(CONTENT_LENGTH).filter(|_| !has_body(notes.head().method(), parts.status));
    if let Some(length) = told
        && parts.status != StatusCode::NO_CONTENT
    {
        fields.insert(CONTENT_LENGTH, length.clone());
    }
    let relay = Relay::new(incoming, read_timeout, Held { notes, lease, admission, progress });
    let mut answer = Response::new(Outgoing::Relayed(Box::new(relay)));
    *answer.status_mut() = parts.status;
    *answer.headers_mut() = fields;
    answer
}

fn response(status: StatusCode, fields: &[(Cow<'static, str>, HeaderValue)], body: Outgoing) -> Response<Outgoing> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    for (name, value) in fields {
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
            answer.headers_mut().append(name, value.clone());
        }
    }
    answer
}

/// The same, as the last answer of its connection.
pub(super) fn closing(mut answer: Response<Outgoing>) -> Response<Outgoing> {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}
