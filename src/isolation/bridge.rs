//! The client's side as a pool thread sees it: a [`Downstream`] whose octets come from the worker.
//!
//! It never touches the client's socket. When the worker has left, everything fails with [`ClientError::Gone`], which ends the call. Made
//! by [`super::Place::call`] for the call it runs.

use super::meeting::{Chunk, Meeting};
use crate::client::{BodyLength, ClientError, Downstream, Woken};
use crate::deadline::Deadline;
use http::{HeaderMap, StatusCode};
use std::os::fd::BorrowedFd;

/// The pool thread's end of an upload.
pub(super) struct Bridge<'a> {
    meeting: &'a Meeting,
    length: BodyLength,
    chunk: Chunk,
    /// How much of the chunk was read.
    read: usize,
    ended: bool,
}

impl<'a> Bridge<'a> {
    /// Of a request whose body has this length.
    pub(super) fn new(meeting: &'a Meeting, length: BodyLength) -> Self {
        let ended = matches!(length, BodyLength::None | BodyLength::Exactly(0));
        Self { meeting, length, chunk: Chunk::default(), read: 0, ended }
    }

    fn unread(&self) -> &[u8] {
        &self.chunk.filled()[self.read..]
    }
}

impl Downstream for Bridge<'_> {
    fn length(&self) -> BodyLength {
        self.length
    }

    fn read_now(&mut self, into: &mut [u8]) -> Result<Option<usize>, ClientError> {
        if self.unread().is_empty() && !self.ended {
            self.read = 0;
            if self.meeting.take(&mut self.chunk)?.is_none() {
                return Ok(None);
            }
            self.ended = self.chunk.filled().is_empty();
        }
        let octets = self.unread().len().min(into.len());
        into[..octets].copy_from_slice(&self.unread()[..octets]);
        self.read += octets;
        Ok(Some(octets))
    }

    fn wait(&mut self, other: Option<BorrowedFd<'_>>, by: Deadline) -> Result<Woken, ClientError> {
        if self.ended || !self.unread().is_empty() {
            return Ok(Woken::Client);
        }
        self.meeting.wait_for_octets(other, by)
    }

    fn interim(&mut self, status: StatusCode, fields: &HeaderMap) -> Result<(), ClientError> {
        self.meeting.tell(status, fields)
    }
}
