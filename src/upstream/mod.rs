//! Calls to upstream servers: a request in, the head of its answer and a reader for its body out.
//!
//! ```text
//! Caller::call -> native: head written, answer parsed (`head`)  -> Exchange: lease, send, upload, interim heads, retry
//!              -> ureq's Agent -> hollow transport -> cell      -> the same
//! AnswerBody   -> Flow: the rest of the same connection, by length, chunks or close; or through ureq's body reader
//! ```
//!
//! Two clients do the HTTP of it (`gateway.http-client`); connections, time, names and TLS are ours under both, and ureq is named in this
//! folder only (`agent`, `buffers`, `body` and, as a name, here). Lost: trailers, reason phrases, the case of field names; refused: more than 128 fields or
//! 64 KiB of a head, and through ureq chunk-size lines of more than 20 octets. An answer that comes during an upload ends the upload:
//! there is no full duplex.

mod agent;
mod alarm;
mod body;
mod buffers;
mod cell;
mod error;
mod exchange;
pub mod framing;
mod head;
mod interim;
mod lease;
mod link;
mod native;
mod pool;
mod resolve;
mod server;
mod tcp;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tls;
mod upload;

pub use alarm::Alarm;
pub use body::AnswerBody;
pub use error::CallError;
pub use pool::{ConnectionLimit, PoolCounts};
pub use resolve::{LookUp, Pace, ResolverTable};
pub use server::Server;
pub use tls::TlsContext;

use crate::cancel::Cancel;
use crate::client::Downstream;
use crate::config::model::HttpClient;
use crate::deadline::Deadline;
use crate::reason::Reason;
use body::Flow;
use buffers::Input;
use bytes::Bytes;
use error::Fault;
use exchange::{Exchange, Progress};
use framing::{AnswerFraming, AnswerKind, RequestFraming};
use head::AnswerHead;
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use upload::Outgoing;

/// What is sent.
#[derive(Clone, Debug)]
pub struct OutboundRequest {
    /// The method; CONNECT is refused.
    pub method: Method,
    /// Path and query, or `*`, octet for octet.
    pub target: Bytes,
    /// End-to-end fields. Host, if it is there and not empty, stays; else it is the server's authority. Framing fields are ours and are
    /// dropped.
    pub fields: HeaderMap,
}

/// What bounds a call.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// By when the head of the answer must be there. It stands still while the client's upload is waited for.
    pub deadline: Deadline,
    /// For connecting, TLS and all addresses of the name included.
    pub connect_timeout: Duration,
    /// The longest gap between two reads or writes, in the body too.
    pub read_timeout: Option<Duration>,
    /// The longest wait for a connection.
    pub connection_request_timeout: Option<Duration>,
}

/// The answer of an upstream server.
#[derive(Debug)]
pub struct Answer {
    /// The final status.
    pub status: StatusCode,
    /// The version that the server answered with.
    pub version: Version,
    /// As received, framing and connection fields included.
    pub fields: HeaderMap,
    /// What Content-Length says, be there a body or not.
    pub length: Option<u64>,
    /// To be read to its end, or dropped.
    pub body: AnswerBody,
    /// How the call went.
    pub marks: CallMarks,
    /// For how long the client's upload was waited for, with nothing left to send.
    pub client_waited: Duration,
}

/// How a call went, for the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallMarks {
    /// Whether the (last) connection had been used before.
    pub reused: bool,
    /// The time it took to connect.
    pub connect: Duration,
    /// The time it waited for a connection to come free.
    pub waited: Duration,
    /// How often the request was sent.
    pub attempts: u32,
    /// To which address.
    pub peer: Option<SocketAddr>,
}

/// Makes the calls of one thread.
#[derive(Debug)]
pub struct Caller {
    client: Client,
    outgoing: Outgoing,
}

/// Who writes the head of a request and reads that of its answer.
#[derive(Debug)]
enum Client {
    Native,
    Ureq(Box<ureq::Agent>),
}

/// What a client has received.
struct Answered {
    head: AnswerHead,
    rest: Rest,
}

/// What follows a head.
enum Rest {
    /// These octets, and then the connection's next ones.
    Here(Input),
    /// Whatever ureq makes of them.
    Ureq(ureq::Body),
}

impl Caller {
    /// One for the calling thread.
    pub fn new(client: HttpClient) -> Self {
        let client = match client {
            HttpClient::Native => Client::Native,
            HttpClient::Ureq => Client::Ureq(Box::new(agent::agent())),
        };
        Self { client, outgoing: Outgoing::default() }
    }

    /// Sends `request` to `server`, with the body of `down`, and waits for the head of the answer.
    ///
    /// # Errors
    /// Every reason of the upstream's and the client's side; nothing is left of the exchange then.
    pub fn call(
        &mut self,
        server: &Arc<Server>,
        request: OutboundRequest,
        down: &mut dyn Downstream,
        limits: &CallLimits,
        cancel: &Cancel,
    ) -> Result<Answer, CallError> {
        let method = request.method.clone();
        let framing = RequestFraming::of(&method, down.length());
        self.outgoing.clear();
        let mut exchange = Exchange {
            server,
            down,
            cancel,
            limits,
            deadline: limits.deadline,
            framing,
            idempotent: method.is_idempotent(),
            longest_line: 0,
            outgoing: &mut self.outgoing,
            marks: CallMarks::default(),
            client_waited: Duration::ZERO,
            progress: Progress::default(),
        };
        let answered = match &self.client {
            _ if method == Method::CONNECT => Err(Fault::new(Reason::BadRequest, "CONNECT is not forwarded")),
            Client::Native => native::call(&request, &mut exchange),
            Client::Ureq(agent) => agent::call(agent, request, &mut exchange),
        };
        answered.and_then(|answered| conclude(&method, answered, &mut exchange)).map_err(|fault| {
            server.failed(fault.reason);
            fault.with(exchange.marks)
        })
    }
}

/// Puts the server's `own` authority where a plan left Host to it. (ureq would find it out for each request, by formatting the URI.)
pub fn name_host(fields: &mut HeaderMap, own: &HeaderValue) {
    match fields.get_mut(HOST) {
        Some(host) if host.is_empty() => *host = own.clone(),
        Some(_) => {}
        None => drop(fields.insert(HOST, own.clone())),
    }
}

/// The target, if it arrives as it is: what `http` refuses or shortens is refused.
fn target(octets: Bytes) -> Result<PathAndQuery, Fault> {
    let bad = |why: String| Fault::new(Reason::BadRequest, why);
    if octets.first() != Some(&b'/') && octets != "*" {
        return Err(bad("the target is neither a path nor *".into()));
    }
    let length = octets.len();
    let target = PathAndQuery::from_maybe_shared(octets).map_err(|error| bad(format!("target: {error}")))?;
    match target.as_str().len() == length {
        true => Ok(target),
        false => Err(bad("the target holds a fragment".into())),
    }
}

/// Judges the head and leaves the connection to the body.
fn conclude(method: &Method, answered: Answered, exchange: &mut Exchange<'_>) -> Result<Answer, Fault> {
    let Answered { head, rest } = answered;
    let length = head::content_length(&head.fields)?;
    let kind = AnswerKind::of(method, &head, length)?;
    let lease = exchange.take_lease();
    let mut lease = lease.ok_or_else(|| Fault::new(Reason::Internal, "an answer without a connection"))?;
    if let Some(timeout) = kind.keep_alive {
        lease.closes_after(timeout);
    }
    let body = if kind.framing == AnswerFraming::None {
        if let Rest::Here(input) = &rest
            && input.unread().is_empty()
            && !exchange.progress.early
        {
            lease.settle();
        }
        lease.finish(!kind.must_close);
        AnswerBody::empty()
    } else {
        let flow = Flow {
            lease,
            framing: kind.framing,
            may_reuse: !kind.must_close && !exchange.progress.early,
            read_timeout: exchange.limits.read_timeout,
            marks: exchange.marks,
            at_once: false,
            fault: None,
        };
        AnswerBody::new(rest, flow)
    };
    let (marks, client_waited) = (exchange.marks, exchange.client_waited);
    let AnswerHead { status, version, fields } = head;
    Ok(Answer { status, version, fields, length, body, marks, client_waited })
}
