//! What tests of heads need: a request from its lines, and chance that is the same every time.

use crate::config::model::Relaxed;
use crate::wire::head::{HeadLimits, RequestHead};

/// The head of these lines, which are separated by CRLF and lack the last one.
#[track_caller]
pub(crate) fn request(lines: &str) -> RequestHead {
    relaxed_request(lines, &Relaxed::default())
}

/// The same, with octets relaxed.
#[track_caller]
pub(crate) fn relaxed_request(lines: &str, relaxed: &Relaxed) -> RequestHead {
    let octets = format!("{lines}\r\n\r\n");
    let parsed = RequestHead::parse(octets.as_bytes(), &HeadLimits::of_size(8192), relaxed);
    parsed.expect("a head that is fine").expect("a whole head").0
}

/// A xorshift generator: the same numbers for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number from 0 to `end`, exclusive.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end
    }
}
