//! The listening socket, with the options that accepted sockets inherit and that do not disturb accepting.
//!
//! Never a read timeout: it would end `accept` too, and with it the crate's accepting thread for good.

use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

/// Binds and listens. A write that makes no progress for `patience` fails, and so does a connection that stops acknowledging.
pub(super) fn bind(address: SocketAddr, backlog: usize, patience: Duration) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_tcp_nodelay(true)?;
    // Whole seconds, as many as the system takes.
    let quiet = patience.clamp(Duration::from_secs(1), Duration::from_secs(32_767));
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(quiet))?;
    socket.set_write_timeout(Some(patience))?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(patience))?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn accepted_sockets_inherit_the_options_and_accepting_has_no_timeout() {
        let patience = Duration::from_secs(7);
        let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0)), 3, patience).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepted = Socket::from(listener.accept().unwrap().0);
        assert!(accepted.tcp_nodelay().unwrap() && accepted.keepalive().unwrap());
        assert_eq!(accepted.write_timeout().unwrap(), Some(patience));
        assert_eq!(accepted.read_timeout().unwrap(), None);
        #[cfg(target_os = "linux")]
        assert_eq!(accepted.tcp_user_timeout().unwrap(), Some(patience));
    }
}
