//! The client of one request on its own socket: [`Client`] for the native front.
//!
//! Reads and writes never block in a system call that could not be left: each is tried without waiting, and what must wait polls, in a phase,
//! for no longer than the client's limits allow. So no socket carries a timeout, and a request that never waits costs one receive and one
//! send. While a body is read past the buffer, the connection's events are muted. `connection` makes one per request and asks it
//! afterwards what becomes of the connection.

use super::body::{Body, SwallowBound};
use super::clock::Clock;
use super::input::{Input, Received, receive_now};
use super::pace::Pace;
use super::shared::Shared;
use super::slots::Owned;
use crate::cancel::Cancel;
use crate::client::{BodyLength, Client, ClientError, Downstream, Subscription, Woken};
use crate::deadline::Deadline;
use crate::phase::{self, Phase};
use crate::wire::response::HeadWriter;
use http::{HeaderMap, StatusCode, Version};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use std::io::IoSlice;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// A writer looks at least this often whether the kernel took something: it says so only when a third of its buffer is free.
const WRITE_STEP: Duration = Duration::from_secs(1);
/// The system takes no more than 1024 in one call.
const MOST_PARTS: usize = 256;
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Where a client stands: its connection, and the worker's buffer with what came of it.
pub(super) struct Link<'a> {
    pub(super) shared: &'a Shared,
    pub(super) owned: &'a Owned<'a>,
    pub(super) socket: &'a TcpStream,
    pub(super) input: &'a mut Input,
    pub(super) peer: SocketAddr,
}

pub(super) struct NativeClient<'a> {
    link: Link<'a>,
    version: Version,
    body: Body,
    /// The request itself and the connection's count allow another one.
    keeps: bool,
    /// What [`Client::may_persist`] said last.
    told: Option<bool>,
    /// Octets of the answer.
    wrote: u64,
    failed: Option<ClientError>,
    muted: bool,
    reading: Waits,
    writing: Waits,
    subscription: Option<Box<dyn Subscription>>,
}

/// How long one direction was waited for.
struct Waits {
    pace: Pace,
    /// Since the last octet moved.
    stalled: Duration,
}

impl Waits {
    fn new(shared: &Shared) -> Self {
        let config = &shared.config;
        Self { pace: Pace::new(config.client_min_rate, config.client_grace), stalled: Duration::ZERO }
    }

    fn moved(&mut self, octets: usize) {
        self.pace.moved(octets);
        self.stalled = Duration::ZERO;
    }

    /// Whether the client may be waited for any longer.
    fn waited(&mut self, time: Duration, most: Duration) -> bool {
        self.stalled += time;
        self.pace.waited(time) && self.stalled < most
    }
}

/// What a request left behind.
pub(super) struct Outcome {
    pub(super) wrote: u64,
    pub(super) failed: Option<ClientError>,
    pub(super) subscription: Option<Box<dyn Subscription>>,
}

impl<'a> NativeClient<'a> {
    pub(super) fn new(link: Link<'a>, version: Version, body: Body, keeps: bool) -> Self {
        let (reading, writing) = (Waits::new(link.shared), Waits::new(link.shared));
        let (told, wrote, failed, muted) = (None, 0, None, false);
        Self { link, version, body, keeps, told, wrote, failed, muted, reading, writing, subscription: None }
    }

    pub(super) fn shared(&self) -> &'a Shared {
        self.link.shared
    }

    /// Reads the rest of the body, within its bound and for at most `patience`; whether the connection can serve another request.
    pub(super) fn swallow(&mut self, patience: Duration) -> bool {
        if self.failed.is_some() || self.told == Some(false) || !self.can_persist() {
            return false;
        }
        self.body.has_ended() || self.discard(Deadline::after(patience))
    }

    fn discard(&mut self, by: Deadline) -> bool {
        let mut bound = SwallowBound::new(self.link.shared.config.max_swallow_size, by);
        let mut block = [0; 8 * 1024];
        while !self.body.has_ended() {
            match self.read_now(&mut block) {
                Ok(Some(octets)) if bound.allows(octets) => {}
                Ok(None) if self.wait(None, by) == Ok(Woken::Client) => {}
                _ => return false,
            }
        }
        true
    }

    /// Ends the request; events are reported again.
    pub(super) fn finish(self) -> Outcome {
        if self.muted {
            // A failure leaves only hang-ups reported. The keep-alive timeout then closes the connection.
            let _ = self.link.shared.ready.unmute(self.link.socket, self.link.owned.token());
            self.link.input.drained = false; // what stands behind the body was not looked at
        }
        Outcome { wrote: self.wrote, failed: self.failed, subscription: self.subscription }
    }

    fn can_persist(&self) -> bool {
        self.keeps
            && self.failed.is_none()
            && !self.link.shared.is_draining()
            && self.body.is_swallowable(self.link.shared.config.max_swallow_size)
    }

    fn fail<T>(&mut self, error: ClientError) -> Result<T, ClientError> {
        self.failed.get_or_insert(error);
        Err(error)
    }

    fn ask_for_body(&mut self) -> Result<(), ClientError> {
        if std::mem::take(&mut self.body.continue_due) && self.link.input.unread().is_empty() {
            self.send_interim(CONTINUE)?;
        }
        Ok(())
    }

    /// Octets that are in the buffer already; `None` when it holds nothing that could be told.
    fn take_buffered(&mut self, into: &mut [u8]) -> Result<Option<usize>, ClientError> {
        match self.body.take(self.link.input.unread(), into) {
            Ok(decoded) => {
                self.link.input.consume(decoded.used);
                Ok((decoded.written > 0 || decoded.ended).then_some(decoded.written))
            }
            Err(error) => self.fail(error),
        }
    }

    /// Receives once, straight into `into` when the framing allows it; `Some` are body octets.
    fn receive(&mut self, into: &mut [u8]) -> Result<(Received, Option<usize>), ClientError> {
        self.mute();
        let Some(left) = self.body.direct() else {
            let owned = self.link.owned;
            return Ok((self.link.input.receive(self.link.socket, || owned.hung_up()), None));
        };
        let most = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let received = receive_now(self.link.socket, &mut into[..most]);
        let Received::Octets(octets) = received else { return Ok((received, None)) };
        self.body.took_directly(octets);
        Ok((received, Some(octets)))
    }

    fn mute(&mut self) {
        if !self.muted {
            self.muted = self.link.shared.ready.mute(self.link.socket, self.link.owned.token()).is_ok();
        }
    }

    /// Sends what is not part of the answer.
    fn send_interim(&mut self, octets: &[u8]) -> Result<(), ClientError> {
        let before = self.wrote;
        self.send(&mut [IoSlice::new(octets)])?;
        self.wrote = before;
        Ok(())
    }

    /// Sends all of it.
    fn send(&mut self, mut parts: &mut [IoSlice<'_>]) -> Result<(), ClientError> {
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            let most = parts.len().min(MOST_PARTS);
            let sent = match &parts[..most] {
                // The cheaper of the two calls.
                [only] => send(self.link.socket, only, SEND),
                several => sendmsg(self.link.socket, several, &mut SendAncillaryBuffer::default(), SEND),
            };
            match sent {
                Ok(octets) => {
                    self.writing.moved(octets);
                    self.wrote += octets as u64;
                    IoSlice::advance_slices(&mut parts, octets);
                }
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => self.wait_writable()?,
                Err(_) => return self.fail(ClientError::Gone),
            }
        }
        Ok(())
    }

    fn wait_writable(&mut self) -> Result<(), ClientError> {
        let most = self.link.shared.config.connection_timeout;
        let step = most.saturating_sub(self.writing.stalled).min(WRITE_STEP);
        let client = PollFd::new(self.link.socket, PollFlags::OUT);
        let (_, waited) = wait_for(self.link.shared.clock, &mut [client], step);
        if self.writing.waited(waited, most) { Ok(()) } else { self.fail(ClientError::WriteTimeout) }
    }

    /// Waits until one is readable, `left` has passed, or the client's own limits; false when it is too slow.
    fn wait_readable(&mut self, both: &mut [PollFd<'_>], left: Option<Duration>) -> (Ready, bool) {
        let most = self.link.shared.config.connection_timeout;
        let patience = most.saturating_sub(self.reading.stalled);
        let (ready, waited) = wait_for(self.link.shared.clock, both, left.map_or(patience, |left| left.min(patience)));
        (ready, self.reading.waited(waited, most))
    }
}

/// Which of one or two descriptors is ready, or broken.
struct Ready {
    first: bool,
    second: bool,
}

/// Waits for the client, or for another descriptor beside it; also says for how long.
fn wait_for(clock: Clock, descriptors: &mut [PollFd<'_>], step: Duration) -> (Ready, Duration) {
    let _phase = phase::enter(Phase::Client);
    let from = clock.now();
    let timeout = Timespec::try_from(step.max(Duration::from_millis(1))).ok();
    let _ = poll(descriptors, timeout.as_ref()); // interrupted: nothing is ready
    let is_ready = |at: usize| descriptors.get(at).is_some_and(|d| !d.revents().is_empty());
    (Ready { first: is_ready(0), second: is_ready(1) }, clock.now().saturating_duration_since(from))
}

pub(super) const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

impl Downstream for NativeClient<'_> {
    fn length(&self) -> BodyLength {
        self.body.length()
    }

    fn read_now(&mut self, into: &mut [u8]) -> Result<Option<usize>, ClientError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.ask_for_body()?;
        loop {
            if let Some(octets) = self.take_buffered(into)? {
                return Ok(Some(octets));
            }
            if into.is_empty() {
                return Ok(None);
            }
            match self.receive(into)? {
                (Received::Octets(octets), direct) => {
                    self.reading.moved(octets);
                    if direct.is_some() {
                        return Ok(direct);
                    }
                }
                (Received::Nothing, _) => return Ok(None),
                (Received::End | Received::Broken, _) => return self.fail(ClientError::Gone),
            }
        }
    }

    fn wait(&mut self, other: Option<BorrowedFd<'_>>, by: Deadline) -> Result<Woken, ClientError> {
        if self.failed.is_some() || self.body.has_ended() || !self.link.input.unread().is_empty() {
            return Ok(Woken::Client);
        }
        self.ask_for_body()?;
        loop {
            let Ok(left) = by.left() else { return Ok(Woken::Expired) };
            let client = PollFd::new(self.link.socket, PollFlags::IN);
            let (ready, in_time) = match &other {
                Some(other) => self.wait_readable(&mut [client, PollFd::new(other, PollFlags::IN)], left),
                None => self.wait_readable(&mut [client], left),
            };
            match ready {
                // The other first: an early answer must not wait for the end of a fast upload.
                Ready { second: true, .. } => return Ok(Woken::Other),
                _ if !in_time => return self.fail(ClientError::BodyTimeout),
                Ready { first: true, .. } => return Ok(Woken::Client),
                Ready { .. } => {}
            }
        }
    }

    fn interim(&mut self, status: StatusCode, fields: &HeaderMap) -> Result<(), ClientError> {
        if self.version == Version::HTTP_10 {
            return Ok(());
        }
        let mut octets = Vec::with_capacity(256);
        let mut head = HeadWriter::start(&mut octets, status);
        for (name, value) in fields {
            head.field(name.as_str(), value);
        }
        head.finish_interim();
        self.send_interim(&octets)
    }
}

impl Client for NativeClient<'_> {
    fn peer(&self) -> SocketAddr {
        self.link.peer
    }

    fn local(&self) -> SocketAddr {
        let listener = self.link.shared.address;
        if !listener.ip().is_unspecified() {
            return listener;
        }
        self.link.socket.local_addr().unwrap_or(listener)
    }

    fn write(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), ClientError> {
        if let Some(error @ (ClientError::Gone | ClientError::WriteTimeout)) = self.failed {
            return Err(error);
        }
        self.send(parts)
    }

    fn may_persist(&mut self) -> bool {
        // The end of a chunked body often came with its beginning: then there is nothing to fear of it.
        let persists = self.can_persist()
            || (self.body.may_be_here() && self.discard(Deadline::after(Duration::ZERO)) && self.can_persist());
        self.told = Some(persists);
        persists
    }

    fn cancel(&self) -> Arc<Cancel> {
        self.link.owned.cancel()
    }

    fn subscription(&mut self) -> Option<&mut Option<Box<dyn Subscription>>> {
        Some(&mut self.subscription)
    }
}
