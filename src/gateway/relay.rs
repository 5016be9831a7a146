//! The upstream's answer on its way to the client: head first, then the body piece by piece, with bounded memory.
//!
//! What is there is sent together: head, piece and end of a small answer are one write. What is not there is not waited for: a head whose
//! body is still to come goes out at once, unless the backend holds it back (`gateway.compat: zuul1`). An answer that breaks off is never
//! ended as if it were whole.

use super::Failure;
use super::backend::Backend;
use super::record::Record;
use crate::client::{Client, ClientError, Ending, Request};
use crate::exchange;
use crate::reason::{Cause, Reason};
use crate::router::Route;
use crate::upstream::{Answer, AnswerBody, CallError};
use crate::wire::chunked::{self, CHUNK_END, CHUNK_HEAD_ROOM, LAST_CHUNK};
use crate::wire::response::{Framing, HeadWriter, Persistence, Tail, has_body};
use std::io::IoSlice;
use std::time::SystemTime;

/// The size of a piece: what a socket gives at a time.
const PIECE: usize = 16 * 1024;
/// A body of no more octets is copied behind its head.
const SMALL: usize = 1024;

/// A worker's buffers.
pub(super) struct Buffers {
    head: Vec<u8>,
    piece: Box<[u8]>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self { head: Vec::with_capacity(2048), piece: vec![0; PIECE].into() }
    }
}

/// Sends the answer of `backend` to `request` along `route`.
///
/// # Errors
/// Only while nothing was sent: the client can still be told what went wrong.
pub(super) fn relay(
    mut answer: Answer,
    (backend, route, request): (&Backend, &Route, &Request),
    buffers: &mut Buffers,
    client: &mut dyn Client,
    record: &mut Record,
) -> Result<Ending, Failure> {
    let cancel = client.cancel();
    let handle = answer.body.shut_down_handle();
    let _armed = handle.map(|handle| cancel.arm(handle)).transpose().map_err(|_| ClientError::Gone)?;
    let framing = Framing::of(&request.head, answer.status, length(&answer, request));
    let persistence = Persistence::of(&request.head, framing, client.may_persist());
    buffers.head.clear();
    let mut head = HeadWriter::start(&mut buffers.head, answer.status);
    exchange::answer_fields(route, answer.version, &answer.fields, &mut head);
    for (name, value) in record.extra_fields() {
        head.field(name, &value);
    }
    head.finish(Tail { framing, persistence, now: SystemTime::now() });
    record.answering(answer.status);
    let out = Out { backend, client, record, head: &mut buffers.head, framing, body_octets: 0 };
    let ending = if has_body(request.head.method(), answer.status) {
        out.body(&mut answer.body, &mut buffers.piece)?
    } else {
        out.head_alone()?
    };
    Ok(match (ending, persistence) {
        (Ending::Done, Persistence::Close) => Ending::Close,
        (ending, _) => ending,
    })
}

/// The length that the client is told: the body's, or, where none follows, what the upstream's Content-Length says of it.
fn length(answer: &Answer, request: &Request) -> Option<u64> {
    if has_body(request.head.method(), answer.status) {
        return answer.body.length();
    }
    answer.length
}

/// An answer being sent.
struct Out<'a> {
    backend: &'a Backend,
    client: &'a mut dyn Client,
    record: &'a mut Record,
    /// What is still to be sent of the head.
    head: &'a mut Vec<u8>,
    framing: Framing,
    body_octets: u64,
}

/// What a read of the upstream's body came to.
struct Piece {
    length: usize,
    is_last: bool,
}

impl Out<'_> {
    fn head_alone(mut self) -> Result<Ending, Failure> {
        self.write(&mut []).map_or_else(|error| self.lost(error), |()| Ok(Ending::Done))
    }

    fn body(mut self, body: &mut AnswerBody, piece: &mut [u8]) -> Result<Ending, Failure> {
        loop {
            let least = self.held_back();
            if least == 0
                && !body.has_buffered()
                && !self.head.is_empty()
                && let Err(error) = self.write(&mut [])
            {
                return self.lost(error);
            }
            let read = match fill(body, piece, least) {
                Ok(read) => read,
                Err(error) => return self.broken(error),
            };
            if let Err(error) = self.send(&piece[..read.length], read.is_last) {
                return self.lost(error);
            }
            if read.is_last {
                return Ok(self.ended());
            }
        }
    }

    /// How many octets of the body come before its head is sent. What has no length may be a stream of events, which can't wait.
    fn held_back(&self) -> usize {
        match self.framing {
            Framing::Length(_) if !self.head.is_empty() => self.backend.config.held_back,
            _ => 0,
        }
    }

    /// One piece with its framing, and what is left of the head.
    fn send(&mut self, octets: &[u8], is_last: bool) -> Result<(), ClientError> {
        self.body_octets += octets.len() as u64;
        let mut room = [0; CHUNK_HEAD_ROOM];
        let end = if is_last { LAST_CHUNK } else { b"" };
        match self.framing {
            Framing::Chunked if octets.is_empty() => self.write(&mut [IoSlice::new(end)]),
            Framing::Chunked => {
                let start = chunked::chunk_head(octets.len(), &mut room);
                self.write(&mut [IoSlice::new(start), IoSlice::new(octets), IoSlice::new(CHUNK_END), IoSlice::new(end)])
            }
            // One piece is sent with less effort than two.
            _ if octets.len() <= SMALL && !self.head.is_empty() => {
                self.head.extend_from_slice(octets);
                self.write(&mut [])
            }
            _ => self.write(&mut [IoSlice::new(octets)]),
        }
    }

    /// The head, if it is still to be sent, and `parts`.
    fn write(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), ClientError> {
        let sent = if self.head.is_empty() {
            self.client.write(parts)
        } else {
            let mut all = [IoSlice::new(&[]); 5];
            all[0] = IoSlice::new(self.head);
            all[1..=parts.len()].copy_from_slice(parts);
            self.client.write(&mut all[..=parts.len()])
        };
        if sent.is_ok() {
            self.record.sent(self.body_octets);
        }
        self.head.clear();
        sent
    }

    /// Whole, unless the length that the client was told says otherwise.
    fn ended(&self) -> Ending {
        match self.framing {
            Framing::Length(length) if length != self.body_octets => Ending::Abort,
            Framing::UntilClose => Ending::Close,
            _ => Ending::Done,
        }
    }

    /// The upstream broke off: an error answer if nothing was sent, else an abort that the client can notice.
    fn broken(self, error: CallError) -> Result<Ending, Failure> {
        if !self.head.is_empty() {
            return Err(self.backend.failed(Failure { cause: Some(Cause::Body), ..error.into() }));
        }
        self.record.failed(error.reason, error.detail);
        Ok(Ending::Abort)
    }

    /// The client is gone, or does not read.
    fn lost(self, error: ClientError) -> Result<Ending, Failure> {
        self.record.failed(error.reason(), error.message().into());
        Ok(Ending::Abort)
    }
}

/// Reads what can be had without a second wait; waits on while it is less than `least`.
fn fill(body: &mut AnswerBody, into: &mut [u8], least: usize) -> Result<Piece, CallError> {
    let mut length = 0;
    loop {
        match body.read(&mut into[length..]) {
            Ok(0) => return Ok(Piece { length, is_last: true }),
            Ok(more) => length += more,
            // Held back, what broke off is as if it had not come; what fell silent is sent as far as it came, as Zuul does.
            Err(error) if length < least && error.reason != Reason::Timeout => return Err(error),
            Err(error) if length == 0 && least == 0 => return Err(error),
            // What came before the fault is sent; the next read tells the fault again, as the answer's end.
            Err(_) => return Ok(Piece { length, is_last: false }),
        }
        if length == into.len() || length >= least && !body.has_buffered() {
            return Ok(Piece { length, is_last: false });
        }
    }
}
