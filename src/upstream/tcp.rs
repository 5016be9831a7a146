//! TCP below TLS: one socket to an upstream, read and written by one thread at a time, shut down by any.
//!
//! Every wait is bounded by a [`Deadline`] that is asked again after each wake-up. Sends never block; a receive blocks in the kernel with
//! a socket timeout that is kept between calls and changed only when it no longer serves (see [`fitting`]), so that a warm exchange is
//! one send and one receive. The switch that a vanishing client throws knows the turn of the connection for which it was given out: a
//! late throw cannot hit the next request's exchange.

use crate::cancel::ShutDown;
use crate::deadline::Deadline;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A connected socket.
pub(super) struct Socket {
    stream: TcpStream,
    turn: Mutex<Turn>,
}

/// Which exchange the socket serves, and whether that one was ended from outside.
#[derive(Default)]
struct Turn {
    number: u64,
    cut: bool,
}

/// The socket timeout for receiving that is set now; `None` blocks for ever.
#[derive(Debug, Default)]
pub(super) struct Patience(Option<Duration>);

impl Socket {
    /// Connects to the first of `addresses` that answers, all of them within `by`.
    pub(super) fn connect(addresses: &[SocketAddr], by: Deadline) -> io::Result<(Self, SocketAddr)> {
        let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
        for (tried, address) in addresses.iter().enumerate() {
            let share = share_of(by, addresses.len() - tried)?;
            match connect_one(address, share) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok((Self { stream, turn: Mutex::default() }, *address));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Begins an exchange and gives out the switch that ends it.
    pub(super) fn begin_turn(self: &Arc<Self>) -> Arc<Switch> {
        let mut turn = self.turn.lock();
        turn.number += 1;
        Arc::new(Switch { socket: Arc::downgrade(self), turn: turn.number })
    }

    /// Ends the exchange: its switch does nothing any more. False when it was thrown before.
    pub(super) fn end_turn(&self) -> bool {
        let mut turn = self.turn.lock();
        turn.number += 1;
        !turn.cut
    }

    /// Whether the exchange was ended by its switch.
    pub(super) fn was_cut(&self) -> bool {
        self.turn.lock().cut
    }

    /// What a poll can wait for.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Sends what fits into the kernel's buffer now.
    pub(super) fn send_now(&self, octets: &[u8]) -> io::Result<usize> {
        loop {
            match send(&self.stream, octets, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                other => return Ok(other?),
            }
        }
    }

    /// Receives what is there, [`io::ErrorKind::WouldBlock`] when nothing is; 0 is the end.
    pub(super) fn receive_now(&self, into: &mut [u8]) -> io::Result<usize> {
        self.recv(into, RecvFlags::DONTWAIT)
    }

    /// Receives, waiting until `by`; 0 is the end, [`io::ErrorKind::TimedOut`] that `by` passed.
    pub(super) fn receive(&self, into: &mut [u8], by: Deadline, patience: &mut Patience) -> io::Result<usize> {
        loop {
            patience.fit(&self.stream, by)?;
            match self.recv(into, RecvFlags::empty()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }

    /// Whether nothing is there to be received: no octet, no end, no error. One system call.
    pub(super) fn is_quiet(&self) -> bool {
        let mut octet = [0];
        let probe = self.recv(&mut octet, RecvFlags::DONTWAIT | RecvFlags::PEEK);
        matches!(probe, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Waits until it can be read or written, as wanted; [`io::ErrorKind::TimedOut`] when `by` passes first.
    pub(super) fn wait(&self, want: PollFlags, by: Deadline) -> io::Result<PollFlags> {
        let mut fds = [PollFd::new(&self.stream, want)];
        loop {
            let left = by.left().map_err(|_| timed_out())?.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut fds, left.as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(fds[0].revents()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn recv(&self, into: &mut [u8], flags: RecvFlags) -> io::Result<usize> {
        loop {
            match recv(&self.stream, &mut *into, flags) {
                Err(Errno::INTR) => {}
                other => return Ok(other?.1),
            }
        }
    }
}

/// Ends one exchange from another thread.
pub(super) struct Switch {
    socket: Weak<Socket>,
    turn: u64,
}

impl ShutDown for Switch {
    fn shut_down(&self) {
        let Some(socket) = self.socket.upgrade() else { return };
        // Under the lock, so that the turn cannot end between the look at it and the call, which does not block.
        let mut turn = socket.turn.lock();
        if turn.number == self.turn {
            turn.cut = true;
            // It fails only when the peer was faster.
            let _ = socket.stream.shutdown(Shutdown::Both);
        }
    }
}

impl Patience {
    fn fit(&mut self, stream: &TcpStream, by: Deadline) -> io::Result<()> {
        let left = by.left().map_err(|_| timed_out())?;
        let fitting = fitting(self.0, left);
        if fitting != self.0 {
            stream.set_read_timeout(fitting)?;
            self.0 = fitting;
        }
        Ok(())
    }
}

/// Waking up this seldom costs nothing that could be measured.
const SELDOM: Duration = Duration::from_millis(500);

/// The error of a wait that came to its deadline.
pub(super) fn timed_out() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

/// The socket timeout to wait with when `left` is left and `current` is set. A shorter one than needed costs a wake-up now and then, a
/// change costs a system call on each request; so one that is not longer than `left` stays, unless it would wake up too often.
fn fitting(current: Option<Duration>, left: Option<Duration>) -> Option<Duration> {
    let left = left?;
    match current {
        Some(current) if current <= left && current >= SELDOM.min(left / 4) => Some(current),
        _ if left < Duration::from_millis(100) => Some(left.max(Duration::from_micros(1))),
        _ => Some(left - left / 8),
    }
}

/// What the first of `parties` may take of what is left: an equal share. What it does not use is there for the others.
fn share_of(by: Deadline, parties: usize) -> io::Result<Option<Duration>> {
    let left = by.left().map_err(|_| timed_out())?;
    let parties = u32::try_from(parties).unwrap_or(u32::MAX);
    Ok(left.map(|left| (left / parties).max(Duration::from_millis(1))))
}

fn connect_one(address: &SocketAddr, within: Option<Duration>) -> io::Result<TcpStream> {
    match within {
        Some(within) => TcpStream::connect_timeout(address, within),
        None => TcpStream::connect(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(current: Option<u64>, left: Option<u64>, expected: Option<u64>) {
        let millis = |n: Option<u64>| n.map(Duration::from_millis);
        assert_eq!(fitting(millis(current), millis(left)), millis(expected), "{current:?} set, {left:?} left");
    }

    #[test]
    fn a_socket_timeout_is_changed_only_when_it_no_longer_serves() {
        check(None, None, None);
        check(Some(10), None, None);
        check(None, Some(800), Some(700));
        check(Some(700), Some(800), Some(700));
        check(Some(700), Some(90_000), Some(700));
        check(Some(300), Some(1200), Some(300));
        check(Some(300), Some(1600), Some(1400));
        check(Some(700), Some(160), Some(140));
        check(Some(700), Some(20), Some(20));
    }

    #[test]
    fn a_late_throw_spares_the_next_exchange() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (socket, peer) = Socket::connect(&[address], Deadline::after(Duration::from_secs(5))).unwrap();
        assert_eq!(peer, address);
        let socket = Arc::new(socket);
        let first = socket.begin_turn();
        assert!(socket.end_turn());
        let second = socket.begin_turn();
        first.shut_down();
        assert!(!socket.was_cut() && socket.is_quiet());
        second.shut_down();
        assert!(socket.was_cut() && !socket.is_quiet());
        assert!(!socket.end_turn());
    }
}
