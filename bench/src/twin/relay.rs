//! What goes back to the client: a reply of the gateway's own, or the upstream's body frame by frame with everything that lasts as long.
//!
//! Permit, connection and notes end with the body: when the last frame was handed to hyper, or when hyper drops it since the client is
//! gone. An answer that breaks off upstream breaks off here: hyper then closes without the last chunk.

use super::admission::Admission;
use super::call::fault;
use super::lease::Lease;
use super::notes::Notes;
use super::stall::Gap;
use super::upload::Progress;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use portcullis::reason::Reason;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A body for hyper's server.
pub(super) enum Outgoing {
    /// All of it at once.
    Whole(Option<Bytes>),
    /// The upstream's.
    Relayed(Box<Relay>),
}

/// The upstream's body and what is held meanwhile.
pub(super) struct Relay {
    incoming: Incoming,
    gap: Gap,
    held: Option<Held>,
    /// What is still to come, where the length is known.
    left: Option<u64>,
}

/// What a request holds until its answer ended.
pub(super) struct Held {
    pub(super) notes: Notes,
    pub(super) lease: Lease,
    #[expect(dead_code, reason = "held for its drop")]
    pub(super) admission: Admission,
    pub(super) progress: Option<Arc<Progress>>,
}

/// The answer broke off.
#[derive(Debug)]
pub(super) struct Cut(Reason);

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the answer broke off: {}", self.0)
    }
}

impl std::error::Error for Cut {}

impl Relay {
    pub(super) fn new(incoming: Incoming, read_timeout: Option<Duration>, held: Held) -> Self {
        let left = incoming.size_hint().exact();
        let mut relay = Self { incoming, gap: Gap::of(read_timeout), held: Some(held), left };
        if relay.incoming.is_end_stream() {
            relay.end();
        }
        relay
    }

    /// Everything was handed over.
    fn end(&mut self) {
        if let Some(mut held) = self.held.take() {
            held.settle();
            held.notes.whole();
            held.lease.give_back();
        }
    }

    fn cut(&mut self, reason: Reason, detail: String) -> Cut {
        if let Some(mut held) = self.held.take() {
            held.settle();
            held.notes.failed(reason, detail.into());
        }
        Cut(reason)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if self.held.is_none() {
            return Poll::Ready(None);
        }
        let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) else {
            let why = || "the read timeout passed while reading the body".to_owned();
            return self.gap.poll_passed(cx).map(|()| Some(Err(self.cut(Reason::Timeout, why()))));
        };
        self.gap.moved();
        Poll::Ready(match frame {
            Some(Ok(frame)) => self.hand_over(frame),
            None => {
                self.end();
                None
            }
            Some(Err(error)) => {
                let failure = fault(&error, self.held.as_ref().and_then(|held| held.progress.as_deref()));
                Some(Err(self.cut(failure.reason, failure.detail.into_owned())))
            }
        })
    }

    /// Trailers end here, as in portcullis.
    fn hand_over(&mut self, frame: Frame<Bytes>) -> Option<Result<Frame<Bytes>, Cut>> {
        let Some(octets) = frame.data_ref().map(Bytes::len) else {
            self.end();
            return None;
        };
        self.left = self.left.map(|left| left.saturating_sub(octets as u64));
        if let Some(held) = &mut self.held {
            held.notes.sent(octets);
        }
        if self.left == Some(0) || self.incoming.is_end_stream() {
            self.end();
        }
        Some(Ok(frame))
    }
}

impl Held {
    fn settle(&mut self) {
        if let Some(progress) = &self.progress {
            self.notes.uploaded(progress.received());
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some(held) = &mut self.held {
            held.settle();
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match &mut *self {
            Self::Whole(octets) => Poll::Ready(octets.take().map(|octets| Ok(Frame::data(octets)))),
            Self::Relayed(relay) => relay.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(octets) => octets.as_ref().is_none_or(Bytes::is_empty),
            Self::Relayed(relay) => relay.held.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(octets) => SizeHint::with_exact(octets.as_ref().map_or(0, Bytes::len) as u64),
            Self::Relayed(relay) => relay.left.map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}
