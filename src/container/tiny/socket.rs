//! The client's socket behind a `tiny_http` request, which the crate neither lends nor closes on demand.
//!
//! It is found among the process's own descriptors by its two ends and taken a copy of (`pidfd_getfd`, Linux 5.6). That costs a walk over
//! all descriptors, so it is done where something has to be cut off or bounded, not for every request. Where the system refuses, nothing
//! is found, and the caller is left with what the crate does.

use rustix::io::Errno;
use rustix::net::RecvFlags;
use socket2::Socket;
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

/// A second descriptor of a client's socket. Closing it closes nothing; what is set or shut down holds for the socket.
#[derive(Debug)]
pub(super) struct ClientSocket(Socket);

impl ClientSocket {
    /// The connected socket of this process that listens at `port` and has `peer` at its other end.
    pub(super) fn find(port: u16, peer: SocketAddr) -> Option<Self> {
        Self::all(port).find(|(_, other)| *other == peer).map(|(socket, _)| socket)
    }

    /// Every connection that came in at `port`, with its other end; most come twice, since the crate holds two descriptors of each.
    pub(super) fn all(port: u16) -> impl Iterator<Item = (Self, SocketAddr)> {
        copies_of_sockets().filter_map(move |socket| {
            let peer = socket.peer_addr().ok()?.as_socket()?;
            let local = socket.local_addr().ok()?.as_socket()?;
            (local.port() == port).then_some((Self(socket), peer))
        })
    }

    /// The kernel's own number of the socket, never given twice.
    pub(super) fn cookie(&self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        return rustix::net::sockopt::socket_cookie(&self.0).ok();
        #[cfg(not(target_os = "linux"))]
        return None;
    }

    /// Bounds every further read, those of the crate included: it gives up the connection when one takes longer.
    pub(super) fn limit_reads(&self, by: Duration) {
        let _ = self.0.set_read_timeout(Some(by));
    }

    /// Whether the client has shut down its sending side, or is gone, and every octet has been read.
    pub(super) fn is_at_end(&self) -> bool {
        let peeked = rustix::net::recv(&self.0, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        !matches!(peeked, Ok((1.., _)) | Err(Errno::AGAIN))
    }

    /// Ends what the crate reads, once the octets that have arrived are used up; an answer can still be sent.
    pub(super) fn shut_reading(&self) {
        let _ = self.0.shutdown(Shutdown::Read);
    }

    /// An end that the client sees as one: octets sent before arrive, then the end of the stream.
    pub(super) fn close(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }

    /// An end that no client takes for the end of a message: a reset.
    pub(super) fn reset(&self) {
        // Dissolving the association is the one way to a reset while others hold descriptors of the socket, too. Some kernels (6.4 to 6.6)
        // refuse while a thread waits to read, which the end of the stream lets go.
        for _ in 0..20 {
            match rustix::net::connect_unspec(&self.0) {
                Ok(()) => return,
                Err(Errno::BUSY) => self.shut_reading(),
                Err(_) => break,
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.close();
    }
}

#[cfg(target_os = "linux")]
fn copies_of_sockets() -> impl Iterator<Item = Socket> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    let process = pidfd_open(getpid(), PidfdFlags::empty()).ok();
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let is_socket = std::fs::read_link(entry.path()).ok()?.to_str()?.starts_with("socket:");
        let number = entry.file_name().to_str()?.parse().ok().filter(|_| is_socket)?;
        Some(Socket::from(pidfd_getfd(process.as_ref()?, number, PidfdGetfdFlags::empty()).ok()?))
    })
}

#[cfg(not(target_os = "linux"))]
fn copies_of_sockets() -> impl Iterator<Item = Socket> {
    std::iter::empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (server, _) = listener.accept().unwrap();
        (client, server, port)
    }

    #[test]
    fn a_socket_is_found_by_its_ends_and_closed_through_its_copy() {
        let ((mut client, mut server, port), (other, _server, other_port)) = (pair(), pair());
        let peer = client.local_addr().unwrap();
        let found = ClientSocket::find(port, peer).unwrap();
        assert!(ClientSocket::find(other_port, peer).is_none());
        let elsewhere = ClientSocket::find(other_port, other.local_addr().unwrap()).unwrap();
        assert_ne!(found.cookie().unwrap(), elsewhere.cookie().unwrap());
        assert!(!found.is_at_end());
        client.write_all(b"x").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert!(!found.is_at_end(), "not all read");
        assert_eq!(server.read(&mut [0; 9]).unwrap(), 1);
        assert!(found.is_at_end());
        server.write_all(b"last words").unwrap();
        found.close();
        let mut heard = String::new();
        client.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "last words");
        assert_eq!(server.read(&mut [0; 1]).unwrap(), 0);
    }

    #[test]
    fn a_reset_is_one_while_another_thread_reads() {
        let (mut client, mut server, port) = pair();
        let found = ClientSocket::find(port, client.local_addr().unwrap()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let reading = std::thread::spawn(move || server.read(&mut [0; 1]).unwrap_or(0));
        found.reset();
        assert_eq!(reading.join().unwrap(), 0);
        let error = client.read(&mut [0; 1]).map_err(|e| e.kind());
        assert_eq!(error, Err(ErrorKind::ConnectionReset));
    }
}
