//! One connection of the open loop: it is opened, carries one request at a time, and says how that ended.

use super::record::End;
use crate::load::answer::{Answer, Reader};
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A connection to the contestant.
pub(super) struct Connection {
    stream: TcpStream,
    connected: bool,
    /// What epoll is asked for.
    interest: EventFlags,
    request: Option<UnderWay>,
    reader: Reader,
}

/// A request that has the connection.
struct UnderWay {
    due: Duration,
    /// When the first octet was written.
    sent: Option<Instant>,
    written: usize,
    whole: bool,
}

/// What an event came to.
pub(super) enum Progress {
    /// Nothing yet.
    More,
    /// The request is answered.
    Answered(Answer),
    /// The connection is of no use any more.
    Failed(End),
}

impl Connection {
    /// Begins to connect.
    pub(super) fn open(address: SocketAddr, epoll: &OwnedFd, id: u64) -> io::Result<Self> {
        let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&address.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
        let interest = EventFlags::IN | EventFlags::OUT;
        epoll::add(epoll, &socket, EventData::new_u64(id), interest)?;
        let stream = socket.into();
        Ok(Self { stream, connected: false, interest, request: None, reader: Reader::default() })
    }

    /// Gives it a request that was due then; [`Connection::go_on`] writes it.
    pub(super) fn begin(&mut self, due: Duration) {
        self.request = Some(UnderWay { due, sent: None, written: 0, whole: false });
    }

    /// Takes the request away: when it was due, and when it was sent.
    pub(super) fn end(&mut self) -> Option<(Duration, Option<Instant>)> {
        self.request.take().map(|request| (request.due, request.sent.filter(|_| request.whole)))
    }

    /// Whether the request went out whole.
    pub(super) fn is_written(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.whole)
    }

    /// Writes and reads as far as that goes.
    pub(super) fn go_on(&mut self, request: &[u8], expected: Option<u64>, epoll: &OwnedFd, id: u64) -> Progress {
        if !self.connected {
            match self.is_connected() {
                Ok(true) => self.connected = true,
                Ok(false) => return Progress::More,
                Err(_) => return Progress::Failed(End::ConnectError),
            }
        }
        let outcome = self.write(request).and_then(|()| {
            self.watch(epoll, id)?;
            self.read(expected)
        });
        outcome.unwrap_or(Progress::Failed(End::SocketError))
    }

    fn is_connected(&self) -> io::Result<bool> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        match self.stream.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, request: &[u8]) -> io::Result<()> {
        let Some(under_way) = self.request.as_mut().filter(|under_way| !under_way.whole) else { return Ok(()) };
        under_way.sent.get_or_insert_with(Instant::now);
        while under_way.written < request.len() {
            match self.stream.write(&request[under_way.written..]) {
                Ok(length) => under_way.written += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        under_way.whole = true;
        Ok(())
    }

    /// Room to write is of interest only while there is something to write.
    fn watch(&mut self, epoll: &OwnedFd, id: u64) -> io::Result<()> {
        let writes = self.request.as_ref().is_some_and(|request| !request.whole);
        let wanted = if writes { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        if wanted != self.interest {
            epoll::modify(epoll, &self.stream, EventData::new_u64(id), wanted)?;
            self.interest = wanted;
        }
        Ok(())
    }

    fn read(&mut self, expected: Option<u64>) -> io::Result<Progress> {
        let mut piece = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => {
                    let answer = self.reader.closed(expected);
                    return Ok(answer.map_or(Progress::Failed(End::SocketError), Progress::Answered));
                }
                // Nothing was asked for: a server that speaks first is out of step.
                Ok(_) if self.request.is_none() => return Err(ErrorKind::InvalidData.into()),
                Ok(length) => {
                    if let Some(answer) = self.reader.take(&piece[..length], expected)? {
                        // An answer before the request was whole leaves the rest of it in the way.
                        let keeps = answer.keeps && self.is_written();
                        return Ok(Progress::Answered(Answer { keeps, ..answer }));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::More),
                Err(error) => return Err(error),
            }
        }
    }
}
