//! What peers of the gateway do with sockets: wait for octets with a bound, take them without waiting, end a connection by force.

use super::message::End;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Octets received and how their sender ended.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// What came and was not taken yet.
    pub(crate) octets: Vec<u8>,
    /// How it ended, if it did.
    pub(crate) ended: Option<End>,
}

impl Input {
    /// Takes what is there; on a blocking socket only after it was found readable.
    pub(crate) fn receive(&mut self, mut socket: &TcpStream) {
        let mut chunk = vec![0; 256 * 1024];
        match socket.read(&mut chunk) {
            Ok(0) => self.ended = Some(End::Fin),
            Ok(n) => self.octets.extend_from_slice(&chunk[..n]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.ended = Some(End::Reset),
        }
    }
}

/// A listener on a loopback port that the system picks.
pub(crate) fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    let address = listener.local_addr().expect("a bound listener has an address");
    (listener, address)
}

/// Nobody listens there, and the system picks that port for nobody: connects are refused for as long as a test lasts.
pub(crate) const DEAD: &str = "127.0.0.1:1";

/// A port that nobody listens on yet; for parts that must be told one. It lies below those that the system picks, for the other end of a
/// connection too: one of them could be somebody else's by the time it is used.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(131);
    let mut ports = std::iter::repeat_with(|| {
        let number = first.wrapping_add(NEXT.fetch_add(1, Relaxed));
        10_000 + u16::try_from(number % 20_000).expect("below 20000")
    });
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.by_ref().take(20_000).find(is_free).expect("a port that is free")
}

/// Whether the socket has octets or has ended, within `bound`.
pub(crate) fn readable_within(socket: &TcpStream, bound: Duration) -> bool {
    ready_within(socket, false, bound).0
}

/// Whether the socket is readable, and whether it is writable (asked for by `writing`), within `bound`.
pub(crate) fn ready_within(socket: &TcpStream, writing: bool, bound: Duration) -> (bool, bool) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let interest = if writing { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    let mut set = [PollFd::new(socket, interest)];
    let bound = Timespec::try_from(bound).expect("waits of tests are short");
    if !poll(&mut set, Some(&bound)).is_ok_and(|n| n > 0) {
        return (false, false);
    }
    let found = set[0].revents();
    (found.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR), found.contains(PollFlags::OUT))
}

/// Makes the socket's close a reset.
pub(crate) fn reset_on_close(socket: &TcpStream) {
    let linger = Some(Duration::ZERO);
    socket2::SockRef::from(socket).set_linger(linger).expect("loopback sockets take SO_LINGER");
}
