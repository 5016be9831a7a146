//! What is noted of one request on its way, and told to the log and the counters when it ends, whatever ended it.
//!
//! The value goes with the request: through the call into the body of the answer. Whoever drops it says that the request is over; if
//! nothing else was said before, its client went away, since hyper drops what it serves when that happens.

use super::Failure;
use http::{HeaderValue, StatusCode};
use portcullis::access_log::{AccessLog, Entry};
use portcullis::client::ClientError;
use portcullis::counts::{Counts, Ended, InFlight};
use portcullis::exchange::Plan;
use portcullis::gateway::debug;
use portcullis::reason::Reason;
use portcullis::reply::Reply;
use portcullis::router::Route;
use portcullis::wire::head::RequestHead;
use portcullis::wire::response::has_body;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Who is told.
#[derive(Clone)]
pub(super) struct Ledger {
    pub(super) log: Arc<AccessLog>,
    pub(super) counts: Arc<Counts>,
}

/// The notes on one request.
pub(super) struct Notes {
    ledger: Ledger,
    head: RequestHead,
    entry: Entry,
    peer: SocketAddr,
    received: Instant,
    route: Option<usize>,
    received_octets: u64,
    debug: Option<String>,
    /// Answered to its end.
    whole: bool,
    _in_flight: InFlight,
}

impl Notes {
    /// The request was received.
    pub(super) fn begin(ledger: Ledger, head: RequestHead, peer: SocketAddr, received: Instant) -> Self {
        let in_flight = ledger.counts.begin_shared();
        let entry = Entry::new(SystemTime::now(), peer);
        Self {
            ledger,
            head,
            entry,
            peer,
            received,
            route: None,
            received_octets: 0,
            debug: None,
            whole: false,
            _in_flight: in_flight,
        }
    }

    pub(super) fn head(&self) -> &RequestHead {
        &self.head
    }

    pub(super) fn server(&self) -> Option<&str> {
        self.entry.server.as_deref()
    }

    pub(super) fn routed(&mut self, route: &Route) {
        self.route = Some(route.index);
        self.entry.route = Some(route.name.clone());
    }

    pub(super) fn planned(&mut self, plan: &Plan<'_>) {
        self.routed(plan.route);
        self.debug = plan.debug.then(|| debug::plan(&plan.route.mapping(), &plan.method, &plan.target));
    }

    /// `X-Zuul-Debug-Header`, where the answer is to carry it.
    pub(super) fn debug(&self) -> Option<(&'static str, HeaderValue)> {
        Some((debug::NAME, debug::steps(self.debug.as_ref()?, &self.entry)?))
    }

    pub(super) fn leads_to(&mut self, backend: &Arc<str>) {
        self.entry.backend = Some(backend.clone());
    }

    pub(super) fn admitted(&mut self, waited: Duration) {
        self.entry.times.isolation = Some(waited);
    }

    /// How long it waited for its turn.
    pub(super) fn waited(&self) -> Duration {
        self.entry.times.isolation.unwrap_or_default()
    }

    pub(super) fn calling(&mut self, server: &Arc<str>) {
        self.entry.server = Some(server.clone());
    }

    pub(super) fn connected(&mut self, took: Duration) {
        let before = self.entry.times.connect.unwrap_or_default();
        self.entry.times.connect = Some(before + took);
    }

    pub(super) fn attempted(&mut self) {
        self.entry.attempts += 1;
    }

    pub(super) fn uploaded(&mut self, octets: u64) {
        self.received_octets = octets;
    }

    pub(super) fn answered_by_upstream(&mut self, status: StatusCode) {
        self.entry.upstream_status = Some(status.as_u16());
        self.entry.times.first_byte = Some(self.received.elapsed());
        self.entry.status = Some(status.as_u16());
    }

    /// So many more octets of the body were handed to hyper.
    pub(super) fn sent(&mut self, octets: usize) {
        self.entry.sent += octets as u64;
    }

    /// The answer is complete.
    pub(super) fn whole(&mut self) {
        self.whole = true;
    }

    pub(super) fn failed(&mut self, reason: Reason, detail: Cow<'static, str>) {
        self.entry.reason = Some(reason);
        self.entry.detail = Some(detail).filter(|detail| !detail.is_empty());
        if reason == Reason::ClientAborted {
            self.entry.status = Some(reason.status().as_u16());
        }
    }

    pub(super) fn failed_by(&mut self, failure: &Failure) {
        self.failed(failure.reason, failure.detail.clone());
    }

    /// The gateway itself answers.
    pub(super) fn replying(&mut self, reply: &Reply) {
        self.entry.status = Some(reply.status.as_u16());
        self.entry.sent = if has_body(self.head.method(), reply.status) { reply.body.len() as u64 } else { 0 };
        self.whole = true;
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        let took = self.received.elapsed();
        self.entry.times.total = Some(took);
        if !self.whole && self.entry.reason.is_none() {
            self.failed(Reason::ClientAborted, ClientError::Gone.message().into());
        }
        self.ledger.counts.end(&Ended {
            route: self.route,
            method: self.head.method(),
            status: self.entry.status.unwrap_or(Reason::ClientAborted.status().as_u16()),
            reason: self.entry.reason,
            received: self.received_octets,
            sent: self.entry.sent,
            took,
        });
        if self.ledger.log.is_on() {
            let mut entry = std::mem::replace(&mut self.entry, Entry::new(SystemTime::UNIX_EPOCH, self.peer));
            entry.head = Some(self.head.clone());
            self.ledger.log.record(entry);
        }
    }
}
