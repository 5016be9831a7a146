//! What answers in place of a backend that failed: an answer that was told in the configuration, or another path of this gateway.
//!
//! It happens once: what a fallback leads to has none, so a forward can lead in no circle. A client's own fault has none either. The cause
//! stays in log, counters and `X-Gateway-Reason`; `X-Gateway-Fallback` says that the answer is another's.

use super::backend::Backend;
use super::pages::split;
use super::record::Record;
use super::{Failure, Gateway, Worker, relay};
use crate::client::{Client, Ending, Request};
use crate::command::NoFallback;
use crate::config::model::{FallbackAnswer, StaticAnswer};
use crate::exchange::{self, Peer, Planned};
use crate::isolation::Admitted;
use crate::reason::Reason;
use crate::reply::Reply;
use crate::router::Route;
use crate::upstream::{Answer, Caller, OutboundRequest};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Instant;

/// What failed, and at what.
pub(super) struct Failed<'a> {
    pub(super) failure: Failure,
    pub(super) backend: &'a Backend,
    /// What the backend was to be asked, in origin-form.
    pub(super) target: Bytes,
}

/// The head of an answer to a forwarded request.
enum Forwarded<'r> {
    /// An upstream's, along this route to its backend.
    Answer((&'r Backend, &'r Arc<Route>), Box<Answer>, Admitted<Caller>),
    /// A page of the gateway's own.
    Page(Reply),
}

impl Gateway {
    /// Answers in place of the backend.
    ///
    /// # Errors
    /// The failure, where nothing else answers; [`Reason::FallbackRejected`] where too many do already.
    pub(super) fn fall_back(
        &self,
        failed: Failed<'_>,
        worker: &mut Worker,
        request: &Request,
        client: &mut dyn Client,
        record: &mut Record,
    ) -> Result<Ending, Failure> {
        let Failed { failure, backend, target } = failed;
        if failure.is_of_client() {
            return Err(failure);
        }
        let falling = match backend.command().fall_back(Instant::now()) {
            Ok(falling) => falling,
            Err(NoFallback::Missing) => return Err(failure),
            Err(NoFallback::Rejected) => return Err(failure.without_fallback()),
        };
        let asked = record.asked();
        let forwarded = match falling.answer() {
            FallbackAnswer::Static(answer) => Ok(Forwarded::Page(reply(answer))),
            FallbackAnswer::Forward(path) => {
                self.forward(forward_target(path, request, &target), worker, request, client, record)
            }
        };
        falling.end(forwarded.is_ok(), Instant::now());
        match forwarded {
            Ok(forwarded) => {
                record.fell_back(failure.reason, failure.detail);
                self.send_forwarded(forwarded, worker, request, client, record)
            }
            Err(second) if second.is_of_client() => Err(second),
            Err(second) => {
                record.asked_before(asked);
                Err(failure.after(&second))
            }
        }
    }

    /// Asks for another path of this gateway, as far as the head of the answer.
    fn forward(
        &self,
        target: Bytes,
        worker: &mut Worker,
        request: &Request,
        client: &mut dyn Client,
        record: &mut Record,
    ) -> Result<Forwarded<'_>, Failure> {
        if *record.received_octets() > 0 {
            // Nobody has kept them.
            return Err(Failure::new(Reason::Internal, "a part of the request's body was sent to the first server"));
        }
        let peer = Peer { remote: client.peer(), local: client.local(), secure: false };
        let planned = exchange::plan_forward(&self.router, &self.rules, (&request.head, &target), &peer);
        let planned = planned.map_err(|refusal| Failure::new(Reason::Internal, refusal.detail))?;
        let Planned::Proxy(plan) = planned else {
            // That there is no such page is no fault of the client's, who asked for another.
            let page = self.page(&planned, &request.head, split(&target), false);
            return page
                .map(|answer| Forwarded::Page(answer.reply))
                .map_err(|failure| Failure::new(Reason::Internal, failure.detail));
        };
        let backend = self.backends.of(plan.route)?;
        record.leads_to(backend.name());
        let outbound = OutboundRequest { method: plan.method, target: plan.target, fields: plan.fields };
        let (held, answer) = backend.ask((plan.route, outbound), &mut worker.caller, client, record)?;
        Ok(Forwarded::Answer((backend, plan.route), Box::new(answer), held))
    }

    fn send_forwarded(
        &self,
        forwarded: Forwarded<'_>,
        worker: &mut Worker,
        request: &Request,
        client: &mut dyn Client,
        record: &mut Record,
    ) -> Result<Ending, Failure> {
        match forwarded {
            Forwarded::Answer((backend, route), answer, _held) => {
                relay::relay(*answer, (backend, route, request), &mut worker.buffers, client, record)
            }
            Forwarded::Page(mut reply) => {
                reply.fields.extend(record.extra_fields().map(|(name, value)| (name.into(), value)));
                record.replying(&reply, request.head.method());
                Ok(reply.send(&request.head, client))
            }
        }
    }
}

impl Failure {
    /// Too many fall back already; the log is told why anybody would.
    fn without_fallback(self) -> Self {
        let detail = format!("too many fallbacks at once, after {}: {}", self.reason, self.detail);
        Self { reason: Reason::FallbackRejected, cause: None, detail: detail.into(), ..self }
    }

    /// The same failure, after its fallback failed too.
    fn after(self, second: &Self) -> Self {
        let detail = format!("{}; its fallback failed too: {}: {}", self.detail, second.reason, second.detail);
        Self { detail: detail.into(), ..self }
    }
}

fn reply(answer: &StaticAnswer) -> Reply {
    let fields = answer.fields.iter().map(|(name, value)| (name.as_str().to_owned().into(), value.clone()));
    Reply { status: answer.status, fields: fields.collect(), body: answer.body.clone() }
}

/// The path with the request's query, unless it has one; in place of a `/**` at its end what the backend was to be asked.
fn forward_target(path: &str, request: &Request, asked: &[u8]) -> Bytes {
    let query = |path: &str| request.head.query().filter(|_| !path.contains('?')).map(|query| [b"?", query].concat());
    match path.strip_suffix("/**") {
        Some(base) => [base.as_bytes(), asked].concat().into(),
        None => [path.as_bytes(), &query(path).unwrap_or_default()].concat().into(),
    }
}
