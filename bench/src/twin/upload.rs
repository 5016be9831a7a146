//! The client's body on its way upstream: frame by frame, counted and bounded, with a note of who is being waited for.
//!
//! While the client is waited for, the deadline stands still and the upstream's read timeout does not count, as in `portcullis`. What
//! fails on the client's side ends the upstream request, and is remembered, since hyper tells only that the body broke.

use super::stall::Gap;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;
use portcullis::client::ClientError;
use portcullis::deadline::Deadline;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A request's body, if it has one.
pub(super) struct Upload(Option<Streaming>);

struct Streaming {
    incoming: Incoming,
    progress: Arc<Progress>,
    gap: Gap,
    most: Option<u64>,
}

/// How far an upload has come.
pub(super) struct Progress(Mutex<State>);

struct State {
    received: u64,
    failure: Option<ClientError>,
    /// When the upstream last took something, or the client's octets last came.
    moved: Instant,
    waiting: Option<Instant>,
    stood_still: Duration,
}

/// The client's body broke; [`Progress::failure`] tells why.
#[derive(Debug)]
pub(super) struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the client's body broke off")
    }
}

impl std::error::Error for Broken {}

impl Upload {
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// The body of a request; `gap` is the longest silence of the client, `most` the longest body.
    pub(super) fn of(incoming: Incoming, gap: Duration, most: Option<u64>) -> (Self, Arc<Progress>) {
        let progress = Arc::new(Progress::new(Instant::now()));
        let streaming = Streaming { incoming, progress: progress.clone(), gap: Gap::of(Some(gap)), most };
        (Self(Some(streaming)), progress)
    }
}

impl Progress {
    fn new(now: Instant) -> Self {
        Self(Mutex::new(State { received: 0, failure: None, moved: now, waiting: None, stood_still: Duration::ZERO }))
    }

    /// Octets that came from the client.
    pub(super) fn received(&self) -> u64 {
        self.0.lock().received
    }

    /// What went wrong on the client's side.
    pub(super) fn failure(&self) -> Option<ClientError> {
        self.0.lock().failure
    }

    /// `deadline` without the time for which the client was waited for, and by when the upstream has to move, `now`.
    pub(super) fn bounds(&self, deadline: Deadline, gap: Option<Duration>, now: Instant) -> (Deadline, Deadline) {
        let state = self.0.lock();
        let waited = state.waiting.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        let from = if state.waiting.is_some() { now } else { state.moved };
        let gap = gap.map_or(Deadline::NEVER, |gap| Deadline::at(from + gap));
        (deadline.later_by(state.stood_still + waited), gap)
    }

    fn waits(&self, now: Instant) {
        self.0.lock().waiting.get_or_insert(now);
    }

    fn moved(&self, now: Instant, octets: usize) -> u64 {
        let mut state = self.0.lock();
        if let Some(since) = state.waiting.take() {
            state.stood_still += now.saturating_duration_since(since);
        }
        state.moved = now;
        state.received += octets as u64;
        state.received
    }

    fn failed(&self, error: ClientError) -> Broken {
        let mut state = self.0.lock();
        state.failure.get_or_insert(error);
        state.waiting = None;
        Broken
    }
}

impl Streaming {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) else {
            self.progress.waits(Instant::now());
            return self.gap.poll_passed(cx).map(|()| Some(Err(self.progress.failed(ClientError::BodyTimeout))));
        };
        self.gap.moved();
        let octets = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
            _ => 0,
        };
        let received = self.progress.moved(Instant::now(), octets);
        Poll::Ready(match frame {
            _ if self.most.is_some_and(|most| received > most) => {
                Some(Err(self.progress.failed(ClientError::TooLarge)))
            }
            // Trailers end here, as in portcullis.
            Some(Ok(frame)) if frame.is_data() => Some(Ok(frame)),
            Some(Ok(_)) | None => None,
            Some(Err(error)) if error.is_incomplete_message() || error.is_canceled() || error.is_closed() => {
                Some(Err(self.progress.failed(ClientError::Gone)))
            }
            Some(Err(error)) if is_io_of_client(&error) => Some(Err(self.progress.failed(ClientError::Gone))),
            Some(Err(_)) => Some(Err(self.progress.failed(ClientError::BadBody))),
        })
    }
}

/// hyper tells a connection that ended and a chunk that is none alike, as an error of the body; what is behind it tells them apart.
fn is_io_of_client(error: &hyper::Error) -> bool {
    use std::error::Error;
    let cause = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| {
        !matches!(cause.kind(), std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData)
    })
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.0.as_mut().map_or(Poll::Ready(None), |streaming| streaming.poll(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|streaming| streaming.incoming.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or(SizeHint::with_exact(0), |streaming| streaming.incoming.size_hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_while_the_client_is_waited_for() {
        let start = Instant::now();
        let second = |n| start + Duration::from_secs(n);
        let (progress, gap) = (Progress::new(start), Some(Duration::from_secs(2)));
        let at = |now, deadline, gap_at| {
            let found = progress.bounds(Deadline::at(second(10)), gap, now);
            assert_eq!(found, (Deadline::at(deadline), Deadline::at(gap_at)));
        };
        at(second(1), second(10), second(2));
        progress.waits(second(1));
        progress.waits(second(3));
        at(second(4), second(13), second(6));
        assert_eq!(progress.moved(second(5), 7), 7);
        at(second(6), second(14), second(7));
        assert_eq!(progress.bounds(Deadline::NEVER, None, second(6)), (Deadline::NEVER, Deadline::NEVER));
    }
}
