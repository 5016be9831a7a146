//! One client of the stream, and how far behind it is. Nothing here waits: what the system does not take now is kept for the next look.

use super::Place;
use crate::client::{ClientError, EventConnection};
use crate::wire::chunked::{CHUNK_END, CHUNK_HEAD_ROOM, LAST_CHUNK, chunk_head};
use bytes::Bytes;

/// Periods that a client's buffer may stay full.
const PATIENCE: u32 = 2;

pub(super) struct Viewer {
    connection: Box<dyn EventConnection>,
    is_chunked: bool,
    /// What is left of the last text that was begun: never more than one.
    unsent: Bytes,
    /// Periods since it was begun.
    behind: u32,
    _place: Place,
}

/// Why a viewer is not looked after any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It went away.
    Left,
    /// It reads too slowly.
    TooSlow,
}

/// A text as one chunk, and as it is.
pub(super) struct Framed {
    pub(super) chunk: Bytes,
    text: std::ops::Range<usize>,
}

impl Framed {
    pub(super) fn text(&self) -> &[u8] {
        &self.chunk[self.text.clone()]
    }
}

pub(super) fn framed(text: &str) -> Framed {
    let mut room = [0; CHUNK_HEAD_ROOM];
    let head = chunk_head(text.len(), &mut room);
    let begin = head.len();
    let chunk = [head, text.as_bytes(), CHUNK_END].concat().into();
    Framed { chunk, text: begin..begin + text.len() }
}

impl Viewer {
    pub(super) fn new(connection: Box<dyn EventConnection>, is_chunked: bool, place: Place) -> Self {
        Self { connection, is_chunked, unsent: Bytes::new(), behind: 0, _place: place }
    }

    /// A period is over: sends the text, unless the one before is still not out. That is no loss, since each tells all there is.
    pub(super) fn tell(&mut self, text: &Framed) -> Result<(), Lost> {
        self.flush()?;
        if !self.unsent.is_empty() {
            self.behind += 1;
            return if self.behind < PATIENCE { Ok(()) } else { Err(Lost::TooSlow) };
        }
        self.behind = 0;
        self.unsent = if self.is_chunked { text.chunk.clone() } else { text.chunk.slice(text.text.clone()) };
        self.flush()
    }

    /// Whether its listener takes leave of its clients.
    pub(super) fn is_draining(&self) -> bool {
        self.connection.is_draining()
    }

    /// Ends the answer as a whole one, if it is not in the middle of a text.
    pub(super) fn end(mut self) {
        let is_whole = self.flush().is_ok() && self.unsent.is_empty();
        let ended = !self.is_chunked || self.connection.send_now(LAST_CHUNK) == Ok(LAST_CHUNK.len());
        if is_whole && ended {
            self.connection.finish();
        }
    }

    fn flush(&mut self) -> Result<(), Lost> {
        let sent = self.connection.send_now(&self.unsent).map_err(|error| match error {
            ClientError::WriteTimeout => Lost::TooSlow,
            _ => Lost::Left,
        })?;
        drop(self.unsent.split_to(sent));
        Ok(())
    }
}
