//! The client's side of a request, as a container (native or tiny-http) hands it to a handler.
//!
//! Handlers see decoded body octets and write raw response octets; who frames, buffers, polls or encrypts is the container's affair.
//! [`Downstream`] is the half that the upstream call needs while it sends; [`Client`] adds the response. Containers call [`Handler`].

use crate::cancel::Cancel;
use crate::deadline::Deadline;
use crate::reason::Reason;
use crate::wire::head::RequestHead;
use http::{HeaderMap, StatusCode};
use std::borrow::Cow;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why the client's side failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientError {
    /// It closed or reset the connection: nobody to answer.
    Gone,
    /// Its body stalled, or came slower than `gateway.client.min-rate`: 408.
    BodyTimeout,
    /// It reads too slowly or not at all: nothing more can be sent.
    WriteTimeout,
    /// Its chunked framing is broken: 400.
    BadBody,
    /// Its body is longer than `gateway.client.max-body-size`: 413.
    TooLarge,
}

impl ClientError {
    /// What happened, in words that the client may read.
    pub fn message(self) -> &'static str {
        match self {
            Self::Gone => "the client went away",
            Self::WriteTimeout => "the client does not read",
            Self::BodyTimeout => "the request's body stalled",
            Self::BadBody => "the request's chunked body is broken",
            Self::TooLarge => "the request's body is too long",
        }
    }

    /// The reason for the log, the counters and, if there is still somebody to read it, the answer.
    pub fn reason(self) -> Reason {
        match self {
            Self::Gone | Self::WriteTimeout => Reason::ClientAborted,
            Self::BodyTimeout => Reason::BodyTimeout,
            Self::BadBody => Reason::BadRequest,
            Self::TooLarge => Reason::BodyTooLarge,
        }
    }
}

/// How long a request body is (RFC 9112 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// Neither Content-Length nor Transfer-Encoding.
    None,
    /// Content-Length; may be 0.
    Exactly(u64),
    /// Transfer-Encoding: chunked.
    Chunked,
}

/// What ended a [`Downstream::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The client's body has octets, or ended, or failed: read it.
    Client,
    /// The other descriptor is readable.
    Other,
    /// `by` passed.
    Expired,
}

/// What an upstream call needs of the client while it sends the request.
pub trait Downstream {
    /// The length that the client announced.
    fn length(&self) -> BodyLength;

    /// Body octets that can be had without waiting: `Ok(None)` when there are none yet, `Ok(Some(0))` at the end of the body.
    /// The first call answers an `Expect: 100-continue`.
    ///
    /// # Errors
    /// What went wrong on the client's side; the body cannot be read any further.
    fn read_now(&mut self, into: &mut [u8]) -> Result<Option<usize>, ClientError>;

    /// Waits for the client's next octets, or until `other` is readable, or until `by`. A client that stalls past its own limits ends
    /// the wait with [`ClientError::BodyTimeout`]. A container without a descriptor to poll ignores `other`.
    ///
    /// # Errors
    /// As for [`Self::read_now`].
    fn wait(&mut self, other: Option<BorrowedFd<'_>>, by: Deadline) -> Result<Woken, ClientError>;

    /// Relays an interim (1xx) head; dropped for HTTP/1.0 clients.
    ///
    /// # Errors
    /// [`ClientError::Gone`] or [`ClientError::WriteTimeout`].
    fn interim(&mut self, status: StatusCode, fields: &HeaderMap) -> Result<(), ClientError>;
}

/// The client of one request.
pub trait Client: Downstream {
    /// The other end of the connection.
    fn peer(&self) -> SocketAddr;

    /// Our end of the connection.
    fn local(&self) -> SocketAddr;

    /// Sends octets of the response as they are, all of them. Each write is bounded by the connection timeout and the minimum rate.
    ///
    /// # Errors
    /// [`ClientError::Gone`] or [`ClientError::WriteTimeout`]; the connection is then of no further use.
    fn write(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), ClientError>;

    /// Whether the connection can serve another request after this answer; to be asked when the head of the answer is written, since a
    /// drain may have begun and the unread rest of the body decides too. False means that the answer carries `Connection: close`.
    fn may_persist(&mut self) -> bool;

    /// The switch that a vanishing client throws: it ends whatever the request waits for upstream.
    fn cancel(&self) -> Arc<Cancel>;

    /// Where a handler puts what the connection is to be left to after [`Ending::Subscribe`]; `None` for a container that cannot let
    /// a connection outlive its request. With any other ending it is dropped.
    fn subscription(&mut self) -> Option<&mut Option<Box<dyn Subscription>>> {
        None
    }
}

/// What a connection is left to that outlives its request.
pub trait Subscription: Send {
    /// The head was sent and the worker goes; called by it, so this must not wait.
    fn begin(self: Box<Self>, connection: Box<dyn EventConnection>);
}

/// A connection that outlives its request: it only sends. It keeps its place among the open connections; dropping it closes it.
pub trait EventConnection: Send {
    /// Sends what the system takes without waiting, and says how much that is: 0 when it takes nothing.
    ///
    /// # Errors
    /// [`ClientError::Gone`]: the client closed, if only its own side; the connection is of no further use.
    fn send_now(&mut self, octets: &[u8]) -> Result<usize, ClientError>;

    /// Whether the listener drains: the answer is to be ended soon.
    fn is_draining(&self) -> bool;

    /// Closes in stages, so that what was sent arrives.
    fn finish(self: Box<Self>);
}

/// One request, its head parsed and its body still with the client.
#[derive(Debug)]
pub struct Request {
    /// The head, as received.
    pub head: RequestHead,
    /// When the last octet of the head was known to be there; for a pipelined request, when its turn came. The wait for a worker is
    /// part of the time since.
    pub received: Instant,
    /// How long it waited for a worker, from `received`.
    pub queued: Duration,
}

/// What becomes of the client's connection after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The answer is complete; the connection persists if the container says so too.
    Done,
    /// Close in stages: the answer is complete, but must be the last one.
    Close,
    /// The answer is cut short: the client must notice (reset, or a close without the last chunk).
    Abort,
    /// The answer goes on without a worker: the connection is left to [`Client::subscription`].
    Subscribe,
}

/// Serves requests; one `Local` per worker thread.
pub trait Handler: Send + Sync + 'static {
    /// What a worker keeps between requests: buffers, an upstream caller.
    type Local;

    /// Makes it, on the worker's own thread.
    fn local(&self) -> Self::Local;

    /// Answers one request. A panic closes that connection only.
    fn serve(&self, local: &mut Self::Local, request: Request, client: &mut dyn Client) -> Ending;

    /// A request that was refused before it had a worker, or a head that could not be parsed, for the access log and the counters.
    fn refused(&self, refusal: &Refused);
}

/// What is known of a request that no handler saw.
#[derive(Debug)]
pub struct Refused {
    /// Why.
    pub reason: Reason,
    /// The status of the answer, sent or not: the reason's own, or a finer one (417, 501, 505).
    pub status: StatusCode,
    /// What exactly, for the log; empty where the reason says it all.
    pub detail: Cow<'static, str>,
    /// Who asked.
    pub peer: SocketAddr,
    /// When its first octet came, or the connection was accepted.
    pub since: Instant,
    /// The octets that were sent as an answer; 0 for a silent close.
    pub sent: usize,
}

impl Refused {
    /// The status that the client was told; `None` for a silent close.
    pub fn told(&self) -> Option<StatusCode> {
        (self.sent > 0).then_some(self.status)
    }
}

#[cfg(test)]
pub(crate) mod fake;
