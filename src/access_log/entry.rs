//! What one line of the access log needs to know.
//!
//! Made on a worker at the end of a request, so it takes over what is there anyway (the head, shared names) and formats nothing.

use crate::client::Refused;
use crate::reason::Reason;
use crate::wire::head::RequestHead;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One request, at its end.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When the request was received.
    pub received: SystemTime,
    /// Who asked.
    pub peer: SocketAddr,
    /// The request head; `None` when it could not be read, or was refused before.
    pub head: Option<RequestHead>,
    /// The status that was sent, 499 when the client went away before; `None` when the connection was closed without a word.
    pub status: Option<u16>,
    /// Octets of the response body that were written to the client, without its framing.
    pub sent: u64,
    /// The route's id.
    pub route: Option<Arc<str>>,
    /// The service id, or the route's id for a url.
    pub backend: Option<Arc<str>>,
    /// The upstream server that was asked last, `host:port`.
    pub server: Option<Arc<str>>,
    /// The status that the upstream answered, whatever the client got.
    pub upstream_status: Option<u16>,
    /// How many times an upstream was asked.
    pub attempts: u32,
    /// Where the time went.
    pub times: Times,
    /// Why the request did not end as its client hoped; independent of the status, since a fallback may have answered.
    pub reason: Option<Reason>,
    /// Whether a fallback answered.
    pub fallback: bool,
    /// What exactly failed: which timer, which limit, what the system said.
    pub detail: Option<Cow<'static, str>>,
}

/// Where a request's time went; what it never came to is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// In the ready queue, until a worker had it.
    pub queue: Option<Duration>,
    /// From the place in a pool to the start of the call.
    pub isolation: Option<Duration>,
    /// Connecting, TLS included, of all attempts.
    pub connect: Option<Duration>,
    /// From receipt to the upstream's response head.
    pub first_byte: Option<Duration>,
    /// From receipt to the end.
    pub total: Option<Duration>,
}

impl Entry {
    /// For a request that no handler saw.
    pub fn refused(refused: &Refused) -> Self {
        let (age, now) = (refused.since.elapsed(), SystemTime::now());
        let mut entry = Self::new(now.checked_sub(age).unwrap_or(now), refused.peer);
        entry.status = refused.told().map(|status| status.as_u16());
        entry.reason = Some(refused.reason);
        entry.detail = Some(refused.detail.clone()).filter(|detail| !detail.is_empty());
        entry.times.total = Some(age);
        entry
    }

    /// An entry of which nothing else is known.
    pub fn new(received: SystemTime, peer: SocketAddr) -> Self {
        Self {
            received,
            peer,
            head: None,
            status: None,
            sent: 0,
            route: None,
            backend: None,
            server: None,
            upstream_status: None,
            attempts: 0,
            times: Times::default(),
            reason: None,
            fallback: false,
            detail: None,
        }
    }
}
