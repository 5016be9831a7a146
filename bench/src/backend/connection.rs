//! One connection of the backend: a request that comes in any pieces, an answer that leaves in any.

use super::ask::Ask;
use crate::body::Body;
use rustix::event::epoll::EventFlags;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

const FIELDS: usize = 100;

/// A client's connection.
pub(super) struct Connection {
    stream: TcpStream,
    /// Of a head that is not whole yet.
    inbox: Vec<u8>,
    /// The request whose body is still coming.
    pending: Option<(Ask, Body)>,
    answer: Option<(Arc<[u8]>, usize)>,
    /// Whether the answer may be sent: it may be prepared long before it is due.
    sending: bool,
    /// Whether epoll tells when there is room to write.
    watched: bool,
}

/// What a read came to.
pub(super) enum Progress {
    /// A request is whole.
    Request(Ask),
    /// Not yet.
    More,
    /// The client is gone.
    Ended,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, inbox: Vec::new(), pending: None, answer: None, sending: false, watched: false }
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Reads until nothing is left or a request is whole.
    pub(super) fn read(&mut self) -> io::Result<Progress> {
        let mut piece = [0; 64 * 1024];
        loop {
            let length = match self.stream.read(&mut piece) {
                Ok(0) => return Ok(Progress::Ended),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Progress::More),
                Err(error) => return Err(error),
            };
            if let Some(ask) = self.take(&piece[..length])? {
                return Ok(Progress::Request(ask));
            }
        }
    }

    /// Takes a piece of a request.
    pub(super) fn take(&mut self, piece: &[u8]) -> io::Result<Option<Ask>> {
        if self.pending.is_some() {
            return self.take_body(piece);
        }
        if self.inbox.is_empty() {
            return self.take_head(piece);
        }
        let mut inbox = std::mem::take(&mut self.inbox);
        inbox.extend_from_slice(piece);
        self.take_head(&inbox)
    }

    /// Takes a head and what follows it; keeps it when it is not whole.
    fn take_head(&mut self, head: &[u8]) -> io::Result<Option<Ask>> {
        let mut headers = [httparse::EMPTY_HEADER; FIELDS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(head).map_err(io::Error::other)? {
            httparse::Status::Partial => {
                self.inbox = head.to_vec();
                Ok(None)
            }
            httparse::Status::Complete(end) => {
                let ask = Ask::of(request.path.unwrap_or_default());
                let body = Body::framed(request.headers, Body::Exactly(0));
                self.pending = Some((ask, body.ok_or_else(|| io::Error::other("no such body"))?));
                self.take_body(&head[end..])
            }
        }
    }

    fn take_body(&mut self, piece: &[u8]) -> io::Result<Option<Ask>> {
        let Some((ask, body)) = &mut self.pending else { return Ok(None) };
        let taken = body.take(piece).map_err(io::Error::other)?;
        ask.octets += taken.octets;
        if !taken.ended {
            return Ok(None);
        }
        Ok(self.pending.take().map(|(ask, _)| ask))
    }

    /// What [`Connection::send`] will write.
    pub(super) fn prepare(&mut self, answer: Arc<[u8]>) {
        self.answer = Some((answer, 0));
    }

    /// Begins to write the answer.
    pub(super) fn send(&mut self) -> io::Result<()> {
        self.sending = true;
        self.flush()
    }

    /// Writes as much of the answer as there is room for, if it is due.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let Some((answer, written)) = self.answer.as_mut().filter(|_| self.sending) else { return Ok(()) };
        while *written < answer.len() {
            match self.stream.write(&answer[*written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => *written += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.answer = None;
        self.sending = false;
        Ok(())
    }

    /// What epoll is to tell, when that changed.
    pub(super) fn interest(&mut self) -> Option<EventFlags> {
        let wanted = self.sending;
        (std::mem::replace(&mut self.watched, wanted) != wanted)
            .then(|| if wanted { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN })
    }
}
