//! One connection to an upstream server, plain or TLS: what a pool keeps and an exchange uses.
//!
//! A link owns no buffers, so that an idle one costs a descriptor and little memory. Closing one does no blocking work.

use super::error::Fault;
use super::tcp::{Patience, Socket, Switch};
use super::tls::{Session, TlsPeer, Waiting};
use crate::deadline::{Deadline, Stopwatch};
use crate::reason::Reason;
use rustix::event::PollFlags;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a link may be idle unless its upstream says otherwise: below the 5 s after which a common one (Node) closes.
const IDLE: Duration = Duration::from_secs(4);

/// A connection.
pub(super) struct Link {
    socket: Arc<Socket>,
    session: Option<Box<Session>>,
    patience: Patience,
    peer: SocketAddr,
    opened: Instant,
    idle: Duration,
    /// Which addresses of its server's name were known when its own was among them.
    epoch: u64,
}

impl Link {
    /// Connects, TLS included, within `by`; all addresses share that budget.
    pub(super) fn open(addresses: &[SocketAddr], tls: Option<&TlsPeer>, by: Deadline) -> Result<Self, Fault> {
        let watch = Stopwatch::start();
        let (socket, peer) = Socket::connect(addresses, by).map_err(|error| refused(&error, addresses))?;
        let mut patience = Patience::default();
        let session = match tls {
            None => None,
            Some(tls) => {
                let session = Session::begin(tls, &socket, by, &mut patience).map_err(|error| shaken(&error, peer))?;
                Some(Box::new(session))
            }
        };
        Ok(Self { socket: Arc::new(socket), session, patience, peer, opened: watch.started(), idle: IDLE, epoch: 0 })
    }

    /// The other end.
    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// What a poll can wait for. With TLS, readable is only a hint.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// Begins an exchange; the switch ends it from another thread.
    pub(super) fn begin(&self) -> Arc<Switch> {
        self.socket.begin_turn()
    }

    /// Ends the exchange; false when it was ended from another thread.
    pub(super) fn end(&self) -> bool {
        self.socket.end_turn()
    }

    /// Whether the exchange was ended from another thread.
    pub(super) fn was_cut(&self) -> bool {
        self.socket.was_cut()
    }

    /// The upstream closes idle connections after `timeout` (`Keep-Alive: timeout=`): be a second faster.
    pub(super) fn closes_after(&mut self, timeout: Duration) {
        self.idle = timeout.saturating_sub(Duration::from_secs(1));
    }

    /// Whether it may be kept at all.
    pub(super) fn may_idle(&self) -> bool {
        !self.idle.is_zero()
    }

    /// Which addresses of its server's name were known when its own was among them.
    pub(super) fn epoch(&mut self) -> &mut u64 {
        &mut self.epoch
    }

    /// Whether it has been idle too long, or lived too long.
    pub(super) fn is_expired(&self, idle_since: Instant, life: Option<Duration>, now: Instant) -> bool {
        let too_old = life.is_some_and(|life| now.saturating_duration_since(self.opened) >= life);
        too_old || now.saturating_duration_since(idle_since) >= self.idle
    }

    /// Whether an idle one is still of use: not closed, not reset, nothing unasked for received.
    pub(super) fn is_alive(&mut self) -> bool {
        match &mut self.session {
            None => self.socket.is_quiet(),
            Some(session) => session.is_quiet(&self.socket),
        }
    }

    /// Sends what can be sent without waiting.
    pub(super) fn send_now(&mut self, octets: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            None => self.socket.send_now(octets),
            Some(session) => session.send_now(&self.socket, octets),
        }
    }

    /// Sends what TLS still holds back.
    pub(super) fn flush_now(&mut self) -> io::Result<()> {
        self.session.as_mut().map_or(Ok(()), |session| session.flush_now(&self.socket))
    }

    /// Receives what is there without waiting; 0 is the end.
    pub(super) fn receive_now(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            None => self.socket.receive_now(into),
            Some(session) => session.receive_now(&self.socket, into),
        }
    }

    /// Receives, waiting until `by`; 0 is the end.
    pub(super) fn receive(&mut self, into: &mut [u8], by: Deadline) -> io::Result<usize> {
        match &mut self.session {
            None => self.socket.receive(into, by, &mut self.patience),
            Some(session) => {
                session.receive(into, &mut Waiting { socket: &self.socket, by, patience: &mut self.patience })
            }
        }
    }

    /// Waits until it can be read or written, as wanted, or until `by`.
    pub(super) fn wait(&self, want: PollFlags, by: Deadline) -> io::Result<PollFlags> {
        self.socket.wait(want, by)
    }

    /// Whether there may be something to receive: for TLS a hint, else certain.
    pub(super) fn is_readable(&self) -> bool {
        !self.socket.is_quiet()
    }
}

fn refused(error: &io::Error, addresses: &[SocketAddr]) -> Fault {
    let last = addresses.last().map_or_else(String::new, |address| format!(" ({address})"));
    match error.kind() {
        io::ErrorKind::TimedOut => Fault::new(Reason::ConnectTimeout, format!("connect timeout{last}")),
        io::ErrorKind::ConnectionRefused => Fault::new(Reason::ConnectFailed, format!("connection refused{last}")),
        _ => Fault::new(Reason::ConnectFailed, format!("connect: {error}{last}")),
    }
}

fn shaken(error: &io::Error, peer: SocketAddr) -> Fault {
    match error.kind() {
        io::ErrorKind::TimedOut => Fault::new(Reason::ConnectTimeout, format!("TLS handshake timeout ({peer})")),
        io::ErrorKind::UnexpectedEof => {
            Fault::new(Reason::ConnectFailed, format!("closed during the TLS handshake ({peer})"))
        }
        _ => Fault::new(Reason::ConnectFailed, format!("TLS: {error} ({peer})")),
    }
}
