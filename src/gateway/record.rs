//! What is noted of one request on its way, for the access log and the counters.
//!
//! A value that is passed down, never found through the thread: nothing of one request can show in the next one's line.

use super::attempts::Trail;
use super::debug;
use crate::access_log::Entry;
use crate::client::{ClientError, Ending, Request};
use crate::counts::Ended;
use crate::exchange::Plan;
use crate::isolation::NoResult;
use crate::rate_limit::Rated;
use crate::reason::Reason;
use crate::reply::Reply;
use crate::router::Route;
use crate::upstream::{Answer, CallError, CallMarks, Server};
use crate::wire::response::has_body;
use http::{HeaderValue, Method, StatusCode};
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The notes on one request.
pub(super) struct Record {
    entry: Entry,
    received: Instant,
    route: Option<usize>,
    received_octets: u64,
    /// The first step for `X-Zuul-Debug-Header`, where the answer is to carry it.
    debug: Option<String>,
    /// What its client is told of its rate.
    rated: Option<Rated>,
}

/// Backend and server, as the log names them.
pub(super) struct Asked {
    backend: Option<Arc<str>>,
    server: Option<Arc<str>>,
}

impl Record {
    /// Begins when a worker has the request; it was received earlier, by what it waited.
    pub(super) fn begin(request: &Request, peer: SocketAddr) -> Self {
        let age = request.received.elapsed();
        let now = SystemTime::now();
        let mut entry = Entry::new(now.checked_sub(age).unwrap_or(now), peer);
        entry.times.queue = Some(request.queued);
        Self { entry, received: request.received, route: None, received_octets: 0, debug: None, rated: None }
    }

    /// A route took it.
    pub(super) fn routed(&mut self, route: &Route) {
        self.route = Some(route.index);
        self.entry.route = Some(route.name.clone());
    }

    /// It is to go upstream.
    pub(super) fn planned(&mut self, plan: &Plan<'_>) {
        self.routed(plan.route);
        self.debug = plan.debug.then(|| debug::plan(&plan.route.mapping(), &plan.method, &plan.target));
    }

    /// Its rate was looked at.
    pub(super) fn rated(&mut self, rated: Rated) {
        self.rated = Some(rated);
    }

    /// Seconds after which its client may try again, where that is known.
    pub(super) fn retry_after(&self) -> Option<u64> {
        self.rated.as_ref()?.retry_after
    }

    /// The fields that its answer is to carry, whoever answers: the rate, and `X-Zuul-Debug-Header` with what is known by now.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'static str, HeaderValue)> {
        let rate = self.rated.iter().flat_map(|rated| rated.fields.iter()).map(|(name, value)| (name, value.clone()));
        rate.chain(self.debug())
    }

    fn debug(&self) -> Option<(&'static str, HeaderValue)> {
        Some((debug::NAME, debug::steps(self.debug.as_ref()?, &self.entry)?))
    }

    /// What an answer that is no error carries beside its own fields: why it is a fallback's, and [`Self::fields`].
    pub(super) fn extra_fields(&self) -> impl Iterator<Item = (&'static str, HeaderValue)> {
        let cause = self.entry.reason.filter(|_| self.entry.fallback);
        let cause = cause.map(|cause| {
            [("X-Gateway-Reason", cause.name()), ("X-Gateway-Fallback", "true")]
                .map(|(name, value)| (name, HeaderValue::from_static(value)))
        });
        cause.into_iter().flatten().chain(self.fields())
    }

    /// A fallback answers, for this cause.
    pub(super) fn fell_back(&mut self, cause: Reason, detail: Cow<'static, str>) {
        self.failed(cause, detail);
        self.entry.fallback = true;
    }

    /// It leads to this backend, whether that admits it or not.
    pub(super) fn leads_to(&mut self, backend: &Arc<str>) {
        self.entry.backend = Some(backend.clone());
    }

    /// This server is about to be asked.
    pub(super) fn calling(&mut self, server: &Server) {
        self.entry.server = Some(server.authority().clone());
    }

    /// Who is asked now.
    pub(super) fn asked(&self) -> Asked {
        Asked { backend: self.entry.backend.clone(), server: self.entry.server.clone() }
    }

    /// Nobody was asked but these, as far as the log is told.
    pub(super) fn asked_before(&mut self, asked: Asked) {
        (self.entry.backend, self.entry.server) = (asked.backend, asked.server);
    }

    /// Host and port of the server that was asked.
    pub(super) fn server(&self) -> Option<&str> {
        self.entry.server.as_deref()
    }

    /// Where octets of the request's body are counted.
    pub(super) fn received_octets(&mut self) -> &mut u64 {
        &mut self.received_octets
    }

    /// A call came back at this moment, after so long a wait, with whatever outcome; the trail is that of its attempts, where there may be
    /// several.
    pub(super) fn called(
        &mut self,
        (waited, now): (Duration, Instant),
        outcome: &Result<Result<Answer, CallError>, NoResult>,
        trail: Option<&Trail>,
    ) {
        self.entry.times.isolation = Some(waited);
        match outcome {
            Ok(Ok(answer)) => {
                self.marks(&answer.marks);
                self.entry.upstream_status = Some(answer.status.as_u16());
                self.entry.times.first_byte = Some(now.saturating_duration_since(self.received));
            }
            Ok(Err(error)) => self.marks(&error.marks),
            Err(_) => self.entry.attempts = 1,
        }
        if let Some(trace) = trail.map(Trail::read) {
            self.calling(&trace.server);
            (self.entry.attempts, self.entry.times.connect) = (trace.attempts, Some(trace.connect));
        }
    }

    fn marks(&mut self, marks: &CallMarks) {
        self.entry.attempts = marks.attempts;
        self.entry.times.connect = Some(marks.connect);
    }

    /// The head of an answer with this status is about to go to the client.
    pub(super) fn answering(&mut self, status: StatusCode) {
        self.entry.status = Some(status.as_u16());
    }

    /// So many octets of the body were written.
    pub(super) fn sent(&mut self, body_octets: u64) {
        self.entry.sent = body_octets;
    }

    /// It will not end as its client hoped.
    pub(super) fn failed(&mut self, reason: Reason, detail: Cow<'static, str>) {
        let asked = self.entry.server.as_ref().or(self.entry.backend.as_ref()).map_or("-", |name| name);
        log::debug!("{reason}: {asked}: {detail}");
        self.entry.reason = Some(reason);
        self.entry.detail = Some(detail).filter(|detail| !detail.is_empty());
        if reason == Reason::ClientAborted {
            self.entry.status = Some(reason.status().as_u16());
        }
    }

    /// The gateway itself answers a request with this method.
    pub(super) fn replying(&mut self, reply: &Reply, method: &Method) {
        self.answering(reply.status);
        self.sent(if has_body(method, reply.status) { reply.body.len() as u64 } else { 0 });
    }

    /// The end of it: nothing is noted afterwards.
    pub(super) fn end(&mut self, ending: Ending) {
        self.entry.times.total = Some(self.received.elapsed());
        if ending == Ending::Abort && self.entry.reason.is_none() {
            self.failed(Reason::ClientAborted, ClientError::Gone.message().into());
        }
    }

    /// For the counters.
    pub(super) fn ended<'a>(&self, method: &'a Method) -> Ended<'a> {
        Ended {
            route: self.route,
            method,
            status: self.entry.status.unwrap_or(Reason::ClientAborted.status().as_u16()),
            reason: self.entry.reason,
            received: self.received_octets,
            sent: self.entry.sent,
            took: self.entry.times.total.unwrap_or_default(),
        }
    }

    /// For the log.
    pub(super) fn into_entry(self, request: Request) -> Entry {
        Entry { head: Some(request.head), ..self.entry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::fake::request;

    #[track_caller]
    fn check(method: &str, sent: u64) {
        let request = request(&format!("{method} / HTTP/1.1\r\nHost: a\r\n"));
        let mut record = Record::begin(&request, ([127, 0, 0, 1], 1).into());
        record.replying(&Reply::new(StatusCode::NOT_FOUND, "text/plain", "gone"), request.head.method());
        assert_eq!(record.ended(request.head.method()).sent, sent);
    }

    #[test]
    fn a_reply_to_head_sends_no_body() {
        check("GET", 4);
        check("HEAD", 0);
    }
}
