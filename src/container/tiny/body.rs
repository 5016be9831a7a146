//! How far a request's body has been read: what `tiny_http` calls the end of one is not believed.
//!
//! The crate reports a body that was cut off as ended. With a declared length the missing octets tell; the end of a chunked body is
//! believed only while the client has not shut down its sending side.

use crate::client::{BodyLength, ClientError};
use std::io;

/// A body on its way in.
#[derive(Debug)]
pub(super) struct Body {
    length: BodyLength,
    taken: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Ended,
    Failed(ClientError),
}

impl Body {
    /// Nothing of it has been read.
    pub(super) fn new(length: BodyLength) -> Self {
        let empty = matches!(length, BodyLength::None | BodyLength::Exactly(0));
        Self { length, taken: 0, state: if empty { State::Ended } else { State::Open } }
    }

    /// The length that the client announced.
    pub(super) fn length(&self) -> BodyLength {
        self.length
    }

    /// Whether all of it has been read.
    pub(super) fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Octets that have been read.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Octets that may still be read: no more than were declared, since the crate may lend the bare stream.
    pub(super) fn left(&self) -> u64 {
        match self.length {
            BodyLength::None => 0,
            BodyLength::Exactly(all) => all - self.taken,
            BodyLength::Chunked => u64::MAX,
        }
    }

    /// What ended it already; `None` while it is open.
    pub(super) fn outcome(&self) -> Option<Result<(), ClientError>> {
        match self.state {
            State::Open => None,
            State::Ended => Some(Ok(())),
            State::Failed(error) => Some(Err(error)),
        }
    }

    /// Takes note of a read into a buffer that was not empty. `has_shut_down` tells whether the client's stream is at its end.
    pub(super) fn note(
        &mut self,
        read: io::Result<usize>,
        has_shut_down: impl FnOnce() -> bool,
    ) -> Result<usize, ClientError> {
        let failed = match read {
            Ok(0) if self.length == BodyLength::Chunked && !has_shut_down() => {
                self.state = State::Ended;
                return Ok(0);
            }
            Ok(0) => ClientError::Gone,
            Ok(count) => {
                self.taken += count as u64;
                if self.left() == 0 {
                    self.state = State::Ended;
                }
                return Ok(count);
            }
            Err(error) => client_error(&error),
        };
        self.state = State::Failed(failed);
        Err(failed)
    }
}

/// The chunk decoder calls broken framing invalid input; a read that took too long would block.
fn client_error(error: &io::Error) -> ClientError {
    match error.kind() {
        io::ErrorKind::InvalidInput => ClientError::BadBody,
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::BodyTimeout,
        _ => ClientError::Gone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn a_sized_body_ends_with_its_last_octet_and_not_before() {
        let mut body = Body::new(BodyLength::Exactly(5));
        assert_eq!(body.note(Ok(3), || false), Ok(3));
        assert_eq!((body.left(), body.has_ended()), (2, false));
        assert_eq!(body.note(Ok(2), || false), Ok(2));
        assert!(body.has_ended());
        let mut cut = Body::new(BodyLength::Exactly(5));
        assert_eq!(cut.note(Ok(3), || false), Ok(3));
        assert_eq!(cut.note(Ok(0), || false), Err(ClientError::Gone));
        assert_eq!(cut.outcome(), Some(Err(ClientError::Gone)));
    }

    #[test]
    fn a_chunked_body_that_ends_with_the_stream_is_cut() {
        let mut whole = Body::new(BodyLength::Chunked);
        assert_eq!(whole.note(Ok(3), || true), Ok(3));
        assert_eq!(whole.note(Ok(0), || false), Ok(0));
        assert!(whole.has_ended());
        let mut cut = Body::new(BodyLength::Chunked);
        assert_eq!(cut.note(Ok(0), || true), Err(ClientError::Gone));
        assert!(!cut.has_ended());
    }

    #[test]
    fn failures_have_their_names() {
        for (kind, expected) in [
            (ErrorKind::InvalidInput, ClientError::BadBody),
            (ErrorKind::WouldBlock, ClientError::BodyTimeout),
            (ErrorKind::TimedOut, ClientError::BodyTimeout),
            (ErrorKind::ConnectionReset, ClientError::Gone),
        ] {
            let mut body = Body::new(BodyLength::Chunked);
            assert_eq!(body.note(Err(kind.into()), || false), Err(expected));
        }
        assert!(Body::new(BodyLength::None).has_ended() && Body::new(BodyLength::Exactly(0)).has_ended());
    }
}
