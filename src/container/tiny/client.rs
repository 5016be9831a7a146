//! A `tiny_http` request as a [`Client`]: first its body is read, then its answer is written; the crate knows no way back.
//!
//! Reads block, since there is no descriptor to wait on; each is bounded by the connection timeout. Whoever makes a [`TinyClient`] ends
//! it with [`TinyClient::end`], which decides what becomes of the connection. Nothing may follow an answer that was cut short.

use super::Common;
use super::body::Body;
use super::head::ends_by_itself;
use super::socket::ClientSocket;
use crate::cancel::Cancel;
use crate::client::{BodyLength, Client, ClientError, Downstream, Ending, Woken};
use crate::deadline::{Deadline, Expired};
use crate::phase::{self, Phase};
use crate::wire::framing;
use crate::wire::head::RequestHead;
use http::{HeaderMap, StatusCode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::OnceCell;
use std::io::{self, IoSlice, Write};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

/// Bodies up to this length are read by the crate before it hands over the request, unless the client expects a 100.
const READ_BEFOREHAND: u64 = 1024;

/// Declared octets that are still to come above which a request is not dropped: the crate would allocate them, and a failed allocation
/// ends the process.
const MOST_ALLOCATED: u64 = 1 << 30;

/// One request's client.
pub(super) struct TinyClient {
    common: Arc<Common>,
    peer: SocketAddr,
    cancel: Arc<Cancel>,
    side: Side,
    body: Body,
    /// The client sends the body only after a 100, and none was sent.
    holds_body_back: bool,
    ends_by_itself: bool,
    /// The head was understood, so that it is known where the body ends.
    in_step: bool,
    persists: bool,
    /// Nothing more is served on this connection.
    condemned: bool,
    /// Looked for once, and only when needed.
    socket: OnceCell<Option<ClientSocket>>,
}

enum Side {
    Reading(tiny_http::Request),
    Writing(Box<dyn Write + Send>),
    /// Nothing can be read or written any more.
    Over,
}

impl TinyClient {
    /// For `request`, which has the head `head` (none if it was refused) and a body of `length`.
    pub(super) fn new(
        common: Arc<Common>,
        cancel: Arc<Cancel>,
        request: tiny_http::Request,
        parsed: Option<(&RequestHead, BodyLength)>,
    ) -> Self {
        let head = parsed.map(|(head, _)| head);
        Self {
            peer: peer_of(&request),
            side: Side::Reading(request),
            body: Body::new(parsed.map_or(BodyLength::None, |(_, length)| length)),
            holds_body_back: head.is_some_and(framing::expects_continue),
            ends_by_itself: head.is_some_and(ends_by_itself),
            in_step: head.is_some(),
            persists: head.is_some(),
            condemned: head.is_none(),
            socket: OnceCell::new(),
            common,
            cancel,
        }
    }

    /// Whether octets of an answer may have been sent.
    pub(super) fn has_written(&self) -> bool {
        !matches!(self.side, Side::Reading(_))
    }

    /// What becomes of the connection. An answer that was not even begun is cut short, too.
    pub(super) fn end(mut self, ending: Ending) {
        match (std::mem::replace(&mut self.side, Side::Over), ending) {
            (Side::Writing(writer), Ending::Done) if self.persists => drop(writer),
            (Side::Writing(writer), Ending::Done | Ending::Close) if self.ends_by_itself && !self.condemned => {
                drop(writer)
            }
            (Side::Writing(writer), Ending::Done | Ending::Close) => {
                // Before the writer goes, which lets the next answer out.
                self.cut(ClientSocket::close);
                drop(writer);
            }
            // Nobody subscribes here: there is no place to put a subscription in.
            (Side::Writing(writer), Ending::Abort | Ending::Subscribe) => {
                self.cut(ClientSocket::reset);
                drop(writer);
            }
            (Side::Reading(request), _) => {
                self.cut(ClientSocket::reset);
                self.retire(request);
            }
            (Side::Over, _) => self.cut(ClientSocket::reset),
        }
    }

    /// Ends a request that came behind the last one of its connection: whoever served that one ends the connection.
    pub(super) fn ignore(mut self) {
        if let Side::Reading(request) = std::mem::replace(&mut self.side, Side::Over) {
            self.retire(request);
        }
    }

    /// Nothing more is served on this connection, and it is ended in the manner of `how`.
    fn cut(&mut self, how: impl FnOnce(&ClientSocket)) {
        self.condemn();
        // Told before it is done, since a reset socket can't be found any more.
        self.common.peers.shut_down(self.peer, self.socket().and_then(ClientSocket::cookie));
        if let Some(socket) = self.socket() {
            how(socket);
        }
    }

    /// Nothing more is served on this connection; it must be [`Self::cut`] then.
    fn condemn(&mut self) {
        self.condemned = true;
        self.common.peers.condemn(self.peer, Instant::now());
    }

    fn socket(&self) -> Option<&ClientSocket> {
        self.socket.get_or_init(|| ClientSocket::find(self.common.local.port(), self.peer)).as_ref()
    }

    /// Before the first read of a body that comes in pieces: bounds its reads.
    fn prepare_to_read(&self) {
        let in_pieces = self.holds_body_back || self.body.left() > READ_BEFOREHAND;
        if self.body.taken() == 0
            && in_pieces
            && let Some(socket) = self.socket()
        {
            socket.limit_reads(self.common.config.connection_timeout);
        }
    }

    /// Reads the rest of the body to nowhere, as far as that is worth it; whether the next request can be found after it.
    fn settle(&mut self) -> bool {
        if !self.in_step {
            return false;
        }
        let by = Deadline::after(self.common.config.connection_timeout);
        let mut budget = self.common.config.max_swallow_size.unwrap_or(u64::MAX);
        if self.body.outcome().is_none() && self.body.length() != BodyLength::Chunked && self.body.left() > budget {
            return false;
        }
        let mut nowhere = [0; 8192];
        while self.body.outcome().is_none() {
            if self.holds_body_back || budget == 0 || by.has_passed() {
                return false;
            }
            let most = usize::try_from(budget).unwrap_or(usize::MAX).min(nowhere.len());
            let Ok(Some(count)) = self.read_now(&mut nowhere[..most]) else { return false };
            budget -= count as u64;
        }
        self.body.has_ended()
    }

    /// The crate reads the rest of the body before it lends the writer, and the next request behind it.
    fn begin_to_write(&mut self) -> Result<(), ClientError> {
        if !matches!(self.side, Side::Reading(_)) {
            return Ok(());
        }
        if !self.settle() {
            self.persists = false;
            self.condemn();
            if let Some(socket) = self.socket() {
                socket.shut_reading();
            }
        }
        let Side::Reading(request) = std::mem::replace(&mut self.side, Side::Over) else { return Ok(()) };
        let _phase = phase::enter(Phase::Client);
        match self.take_writer(request) {
            Some(writer) => self.side = Side::Writing(writer),
            None => return Err(ClientError::Gone),
        }
        Ok(())
    }

    /// Ends a request without an answer.
    fn retire(&self, request: tiny_http::Request) {
        // Dropped as it is, it would answer 500.
        drop(self.take_writer(request));
    }

    fn take_writer(&self, request: tiny_http::Request) -> Option<Box<dyn Write + Send>> {
        let declared = request.body_length().map_or(0, |length| length as u64);
        if declared.saturating_sub(self.body.taken()) <= MOST_ALLOCATED {
            return Some(request.into_writer());
        }
        self.common.meters.abandoned.add_one();
        std::mem::forget(request);
        None
    }

    fn write_all(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let Side::Writing(writer) = &mut self.side else { return Err(io::ErrorKind::BrokenPipe.into()) };
        for part in parts {
            writer.write_all(part)?;
        }
        writer.flush()
    }
}

impl Downstream for TinyClient {
    fn length(&self) -> BodyLength {
        self.body.length()
    }

    fn read_now(&mut self, into: &mut [u8]) -> Result<Option<usize>, ClientError> {
        match self.body.outcome() {
            Some(outcome) => return outcome.map(|()| Some(0)),
            None if into.is_empty() => return Ok(None),
            None => self.prepare_to_read(),
        }
        let Side::Reading(request) = &mut self.side else { return Err(ClientError::Gone) };
        self.holds_body_back = false;
        let most = usize::try_from(self.body.left()).unwrap_or(usize::MAX).min(into.len());
        let _phase = phase::enter(Phase::Client);
        let read = request.as_reader().read(&mut into[..most]);
        // Without a socket, the end of a chunked body is in doubt, and that means no.
        let has_shut_down =
            || self.socket.get().is_none_or(|socket| socket.as_ref().is_none_or(ClientSocket::is_at_end));
        self.body.note(read, has_shut_down).map(Some)
    }

    /// Returns at once while the body is open: the next read waits.
    fn wait(&mut self, other: Option<BorrowedFd<'_>>, by: Deadline) -> Result<Woken, ClientError> {
        match (self.body.outcome(), other) {
            (None, _) => Ok(Woken::Client),
            (Some(outcome), None) => outcome.map(|()| Woken::Client),
            (Some(outcome), Some(other)) => outcome.map(|()| wait_for(other, by)),
        }
    }

    /// Dropped: the crate lends no writer before the request is given up.
    fn interim(&mut self, _status: StatusCode, _fields: &HeaderMap) -> Result<(), ClientError> {
        Ok(())
    }
}

impl Client for TinyClient {
    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn local(&self) -> SocketAddr {
        self.common.local
    }

    fn write(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), ClientError> {
        self.begin_to_write()?;
        let _phase = phase::enter(Phase::Client);
        self.write_all(parts).map_err(|error| {
            self.persists = false;
            match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::WriteTimeout,
                _ => ClientError::Gone,
            }
        })
    }

    fn may_persist(&mut self) -> bool {
        self.persists = self.persists && !self.common.is_draining() && self.settle();
        if !self.persists && !self.ends_by_itself {
            self.condemn();
        }
        self.persists && !self.ends_by_itself
    }

    fn cancel(&self) -> Arc<Cancel> {
        self.cancel.clone()
    }
}

/// The other end; the crate knows it for every TCP connection.
pub(super) fn peer_of(request: &tiny_http::Request) -> SocketAddr {
    request.remote_addr().copied().unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)))
}

fn wait_for(other: BorrowedFd<'_>, by: Deadline) -> Woken {
    let _phase = phase::enter(Phase::Upstream);
    loop {
        let left = match by.left() {
            Ok(left) => left.and_then(|left| Timespec::try_from(left).ok()),
            Err(Expired) => return Woken::Expired,
        };
        match poll(&mut [PollFd::from_borrowed_fd(other, PollFlags::IN)], left.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return Woken::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::container::tiny::TinyConfig;
    use crate::wire::testing;
    use tiny_http::{HTTPVersion, Method, TestRequest};

    /// A client with the body `body`, that is not connected.
    fn client(body: &'static str, fields: &str) -> TinyClient {
        let request = TestRequest::new().with_method(Method::Post).with_http_version(HTTPVersion(1, 1)).with_body(body);
        let config = TinyConfig::main(&Config::default());
        let common = Arc::new(Common::new(config, ([127, 0, 0, 1], 1).into()));
        let head = testing::request(&format!("POST / HTTP/1.1\r\nHost: a{fields}"));
        let length = BodyLength::Exactly(body.len() as u64);
        TinyClient::new(common, Arc::default(), request.into(), Some((&head, length)))
    }

    #[test]
    fn a_body_is_read_to_its_end_and_no_further() {
        let mut client = client("abcde", "");
        let mut buffer = [0; 3];
        assert_eq!(client.read_now(&mut []), Ok(None), "no end is told to who cannot read");
        assert_eq!(client.wait(None, Deadline::NEVER), Ok(Woken::Client));
        assert_eq!(client.read_now(&mut buffer), Ok(Some(3)));
        assert_eq!(client.read_now(&mut buffer), Ok(Some(2)));
        assert_eq!(client.read_now(&mut buffer), Ok(Some(0)));
        assert_eq!(client.wait(None, Deadline::NEVER), Ok(Woken::Client), "the end is there to be read");
    }

    #[test]
    fn after_the_body_the_other_descriptor_is_waited_for() {
        let (reader, writer) = io::pipe().unwrap();
        let other = Some(std::os::fd::AsFd::as_fd(&reader));
        let mut client = client("", "");
        assert_eq!(client.wait(other, Deadline::after(std::time::Duration::from_millis(2))), Ok(Woken::Expired));
        drop(writer);
        assert_eq!(client.wait(other, Deadline::NEVER), Ok(Woken::Other));
    }

    #[test]
    fn an_answer_reads_the_rest_of_a_small_body_first() {
        let mut client = client("abc", "");
        assert!(client.may_persist());
        client.write(&mut [IoSlice::new(b"x")]).unwrap();
        assert_eq!(client.read_now(&mut [0; 9]), Ok(Some(0)), "it was read to its end");
    }

    #[test]
    fn a_connection_that_the_crate_ends_does_not_persist_and_is_not_condemned() {
        let mut client = client("", "\r\nConnection: close");
        let (peers, peer) = (client.common.clone(), client.peer());
        assert!(!client.may_persist());
        client.write(&mut [IoSlice::new(b"x")]).unwrap();
        client.end(Ending::Close);
        assert!(!peers.peers.is_condemned(peer, Instant::now(), || None));
    }

    #[test]
    fn a_drain_makes_the_answer_the_last_one() {
        let mut client = client("", "");
        client.common.begin_to_drain();
        let (common, peer) = (client.common.clone(), client.peer());
        assert!(!client.may_persist());
        assert!(common.peers.is_condemned(peer, Instant::now(), || None));
    }
}
