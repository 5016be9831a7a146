//! What is left of a request's body: octets in, body octets out, both framings.
//!
//! Pure; `native_client` brings the octets. A body that was not asked for is not read: `Expect: 100-continue` stays pending here until the
//! first read, and then is answered once.

use crate::client::{BodyLength, ClientError};
use crate::deadline::Deadline;
use crate::wire::chunked::{ChunkDecoder, Decoded};
use crate::wire::framing;
use crate::wire::head::RequestHead;

pub(super) struct Body {
    length: BodyLength,
    left: Left,
    /// The client waits for `100 Continue`.
    pub(super) continue_due: bool,
}

enum Left {
    Sized(u64),
    Chunked(Box<ChunkDecoder>),
    Ended,
}

impl Body {
    pub(super) fn new(head: &RequestHead, length: BodyLength) -> Self {
        let left = match length {
            BodyLength::None | BodyLength::Exactly(0) => Left::Ended,
            BodyLength::Exactly(octets) => Left::Sized(octets),
            BodyLength::Chunked => Left::Chunked(Box::default()),
        };
        let continue_due = !matches!(left, Left::Ended) && framing::expects_continue(head);
        Self { length, left, continue_due }
    }

    pub(super) fn length(&self) -> BodyLength {
        self.length
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.left, Left::Ended)
    }

    /// How many octets of the socket may go straight to the reader, when the buffer is empty.
    pub(super) fn direct(&self) -> Option<u64> {
        match self.left {
            Left::Sized(left) => Some(left),
            Left::Chunked(_) | Left::Ended => None,
        }
    }

    /// So many octets went straight to the reader.
    pub(super) fn took_directly(&mut self, octets: usize) {
        if let Left::Sized(left) = &mut self.left {
            *left = left.saturating_sub(octets as u64);
            if *left == 0 {
                self.left = Left::Ended;
            }
        }
    }

    /// Moves body octets from `input` to `out`.
    ///
    /// # Errors
    /// [`ClientError::BadBody`].
    pub(super) fn take(&mut self, input: &[u8], out: &mut [u8]) -> Result<Decoded, ClientError> {
        let decoded = match &mut self.left {
            Left::Ended => Decoded { used: 0, written: 0, ended: true },
            Left::Sized(left) => {
                let length = input.len().min(out.len()).min(usize::try_from(*left).unwrap_or(usize::MAX));
                out[..length].copy_from_slice(&input[..length]);
                *left -= length as u64;
                Decoded { used: length, written: length, ended: *left == 0 }
            }
            Left::Chunked(decoder) => decoder.decode(input, out).map_err(|_| ClientError::BadBody)?,
        };
        if decoded.ended {
            self.left = Left::Ended;
        }
        Ok(decoded)
    }

    /// Whether the rest may have arrived although its length is not known.
    pub(super) fn may_be_here(&self) -> bool {
        matches!(self.left, Left::Chunked(_)) && !self.continue_due
    }

    /// Whether the rest can be read for the sake of the next request: not more than `most` octets, as far as that is known, and no
    /// client that still waits to be asked for it.
    pub(super) fn is_swallowable(&self, most: Option<u64>) -> bool {
        match (&self.left, most) {
            (Left::Ended, _) => true,
            _ if self.continue_due => false,
            (Left::Sized(left), Some(most)) => *left <= most,
            // How much is to come is not known: the client is told at once that the connection ends, instead of being cut later.
            (Left::Chunked(_), Some(_)) => false,
            (_, None) => true,
        }
    }
}

/// What bounds the unread rest of a body that is thrown away: so many octets, or, where those have no bound, a time. Somebody who sends
/// without pause is never waited for, and would hold the worker for as long as he likes.
pub(super) struct SwallowBound {
    left: u64,
    by: Deadline,
}

impl SwallowBound {
    pub(super) fn new(most: Option<u64>, by: Deadline) -> Self {
        Self { left: most.unwrap_or(u64::MAX), by: most.map_or(by, |_| Deadline::NEVER) }
    }

    /// Whether the worker may go on after so many octets more.
    pub(super) fn allows(&mut self, octets: usize) -> bool {
        let left = self.left.checked_sub(octets as u64);
        self.left = left.unwrap_or(0);
        left.is_some() && !self.by.has_passed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_swallowed_is_bounded_by_octets_or_else_by_time() {
        let (past, future) = (Deadline::after(Duration::ZERO), Deadline::after(Duration::from_secs(1000)));
        let mut bound = SwallowBound::new(Some(10), past);
        assert_eq!([4, 6, 1].map(|octets| bound.allows(octets)), [true, true, false]);
        assert!(SwallowBound::new(None, future).allows(usize::MAX));
        assert!(!SwallowBound::new(None, past).allows(1));
    }
}
