//! Connections that stand idle while a run lasts: opened before it, and looked at after it.

use super::run::Site;
use crate::load::answer::{Reader, Verdict};
use crate::scenario::Target;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long opening one may take, and its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens connections and has each answered once; ends at the first that is not.
pub(super) fn park(site: &Site<'_>, target: &Target, connections: usize) -> io::Result<Vec<TcpStream>> {
    let request = target.request();
    let mut parked = Vec::with_capacity(connections);
    while parked.len() < connections {
        site.stop.check()?;
        let Ok(stream) = answered_once(site.address, &request) else { break };
        parked.push(stream);
    }
    Ok(parked)
}

fn answered_once(address: SocketAddr, request: &[u8]) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
    let mut reader = Reader::default();
    let mut piece = [0; 4096];
    loop {
        let length = stream.read(&mut piece)?;
        match reader.take(&piece[..length], None)? {
            Some(answer) if answer.keeps && answer.verdict == Verdict::Ok => return Ok(stream),
            Some(_) => return Err(io::Error::other("no right answer on a connection that stays")),
            None if length == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            None => {}
        }
    }
}

/// How many of them are still open, with nothing on them that nobody asked for.
pub(super) fn standing(parked: &[TcpStream]) -> usize {
    parked.iter().filter(|stream| is_idle(stream).unwrap_or(false)).count()
}

/// An end, an error and a parting answer (408) all can be read; of an idle connection nothing can.
fn is_idle(stream: &TcpStream) -> io::Result<bool> {
    stream.set_nonblocking(true)?;
    Ok(stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    /// Both ends of a connection.
    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        (client, listener.accept().expect("accepted").0)
    }

    #[test]
    fn a_connection_stands_until_the_other_side_ends_it_or_speaks() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let [idle, ended, told] = [(); 3].map(|()| pair(&listener));
        drop(ended.1);
        (&told.1).write_all(b"HTTP/1.1 408 Request Timeout\r\n\r\n").expect("written");
        // Blocks until it is there.
        assert_eq!((ended.0.peek(&mut [0]).expect("an end"), told.0.peek(&mut [0]).expect("an answer")), (0, 1));
        assert_eq!(standing(&[idle.0, ended.0, told.0]), 1);
    }
}
