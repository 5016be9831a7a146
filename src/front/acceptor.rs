//! The thread that accepts: one connection permit, one accept, one registration in the ready set.
//!
//! At `server.tomcat.max-connections` it stops accepting, as Tomcat does, and the kernel's backlog fills. No failed accept ends it: when
//! descriptors run out, a spare one is given up to accept and close what waits, so that no client hangs; then it pauses. When the front
//! drains, it takes what the backlog holds and closes the listener.

use super::shared::Shared;
use super::slots::Vacancy;
use crate::reason::Reason;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Connections taken from the backlog at the end: more than any kernel queues by default.
const BACKLOG: usize = 65_536;

/// Opens the listener: address reused, not blocking.
pub(super) fn listen(address: SocketAddr, backlog: usize) -> io::Result<TcpListener> {
    let kind = socket2::Type::STREAM.nonblocking().cloexec();
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), kind, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX).max(1))?;
    Ok(socket.into())
}

pub(super) struct Acceptor {
    shared: Arc<Shared>,
    listener: TcpListener,
    spare: Option<OwnedFd>,
    pause: Duration,
    logged: Option<Instant>,
}

/// What to do about a failed accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing there: wait.
    Wait,
    /// That connection was gone already: take the next.
    Next,
    /// No descriptor is left.
    NoDescriptor,
    /// The system is short of something: pause.
    Pause,
}

impl Acceptor {
    pub(super) fn new(shared: Arc<Shared>, listener: TcpListener) -> Self {
        Self { shared, listener, spare: spare(), pause: SHORTEST_PAUSE, logged: None }
    }

    /// The thread's life.
    pub(super) fn run(mut self) {
        let shared = self.shared.clone();
        while !shared.is_draining() {
            self.wait_for_connection();
            self.accept_all(&shared);
        }
        self.empty_backlog(&shared);
    }

    /// Waits without a permit, so that the permits taken are the connections open.
    fn wait_for_connection(&self) {
        let mut both = [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.shared.closing, PollFlags::IN)];
        let _ = poll(&mut both, None);
    }

    fn accept_all(&mut self, shared: &Shared) {
        while let Some(vacancy) = shared.slots.take(|| shared.is_draining()) {
            match self.accept() {
                Ok((socket, peer)) => open(shared, vacancy, socket, peer),
                Err(error) => {
                    drop(vacancy);
                    if !self.is_survived(error) {
                        return;
                    }
                }
            }
        }
    }

    fn accept(&mut self) -> Result<(TcpStream, SocketAddr), Errno> {
        let (socket, peer) = acceptfrom_with(&self.listener, SocketFlags::CLOEXEC)?;
        self.pause = SHORTEST_PAUSE;
        let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok()).ok_or(Errno::CONNABORTED)?;
        Ok((TcpStream::from(socket), peer))
    }

    /// Counts the error and does what it asks for; true when the next accept may be tried at once.
    fn is_survived(&mut self, error: Errno) -> bool {
        let shared = self.shared.clone();
        let errors = &shared.stats.accept_errors;
        match verdict(error) {
            Verdict::Wait => return false,
            Verdict::Next => {
                errors.peer.add_one();
                return true;
            }
            Verdict::NoDescriptor => {
                errors.descriptors.add_one();
                self.shed_one();
            }
            Verdict::Pause => errors.system.add_one(),
        }
        self.log(error);
        self.back_off();
        false
    }

    /// At most one line a second.
    fn log(&mut self, error: Errno) {
        let now = self.shared.clock.now();
        if self.logged.is_none_or(|last| now.saturating_duration_since(last) >= LONGEST_PAUSE) {
            self.logged = Some(now);
            log::warn!("{}: accept failed: {error}", self.shared.config.name);
        }
    }

    /// Gives the spare descriptor up to close one connection that waits, rather than let its client hang.
    fn shed_one(&mut self) {
        drop(self.spare.take());
        if let Ok((socket, _)) = acceptfrom_with(&self.listener, SocketFlags::CLOEXEC) {
            drop(socket);
        }
        self.spare = spare();
    }

    fn back_off(&mut self) {
        let pause = Timespec::try_from(self.pause).ok();
        let _ = poll(&mut [PollFd::new(&self.shared.closing, PollFlags::IN)], pause.as_ref());
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// What the backlog holds is accepted still: a connection for which there is a slot is served, the others are refused.
    fn empty_backlog(mut self, shared: &Shared) {
        for _ in 0..BACKLOG {
            match self.accept() {
                Ok((socket, peer)) => match shared.slots.try_take() {
                    Some(vacancy) => open(shared, vacancy, socket, peer),
                    None => shared.refuse_bare(socket, peer, Reason::Draining),
                },
                Err(error) if verdict(error) == Verdict::Next => {}
                Err(_) => return,
            }
        }
    }
}

fn open(shared: &Shared, vacancy: Vacancy<'_>, socket: TcpStream, peer: SocketAddr) {
    let _ = socket.set_nodelay(true); // fails on a connection that is gone, which the ready set will tell
    let now = shared.clock.now();
    let due = shared.due(now, Some(shared.config.connection_timeout));
    let Some(token) = vacancy.open(socket, peer, now, due) else { return };
    shared.stats.accepted.add_one();
    let added = shared.slots.if_open(token, |socket| shared.ready.add(socket, token));
    if let Some(Err(error)) = added {
        log::warn!("{}: a connection could not be registered: {error}", shared.config.name);
        shared.slots.discard(token);
    }
    shared.watch(due);
}

fn spare() -> Option<OwnedFd> {
    eventfd(0, EventfdFlags::CLOEXEC).ok()
}

fn verdict(error: Errno) -> Verdict {
    match error {
        Errno::AGAIN => Verdict::Wait,
        Errno::MFILE | Errno::NFILE => Verdict::NoDescriptor,
        Errno::INTR
        | Errno::CONNABORTED
        | Errno::PROTO
        | Errno::PERM
        | Errno::NETDOWN
        | Errno::NETUNREACH
        | Errno::HOSTDOWN
        | Errno::HOSTUNREACH
        | Errno::NOPROTOOPT
        | Errno::OPNOTSUPP
        | Errno::NONET => Verdict::Next,
        _ => Verdict::Pause,
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: Errno, expected: Verdict) {
        assert_eq!(verdict(error), expected, "{error:?}");
    }

    #[test]
    fn no_failed_accept_is_fatal() {
        check(Errno::AGAIN, Verdict::Wait);
        check(Errno::CONNABORTED, Verdict::Next);
        check(Errno::INTR, Verdict::Next);
        check(Errno::PROTO, Verdict::Next);
        check(Errno::MFILE, Verdict::NoDescriptor);
        check(Errno::NFILE, Verdict::NoDescriptor);
        check(Errno::NOMEM, Verdict::Pause);
        check(Errno::NOBUFS, Verdict::Pause);
    }
}
