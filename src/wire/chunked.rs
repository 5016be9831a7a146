//! The chunked transfer coding (RFC 9112 7.1): a decoder that takes its input in any pieces, and what an encoder needs.
//!
//! ```text
//! 5;ext=1 CRLF hello CRLF 0 CRLF X-Trailer: 1 CRLF CRLF
//! ```
//!
//! Strict, because hops that disagree about where a chunk ends can be played against each other: hex digits from the first octet on, CRLF
//! and nothing else as a line end, no controls in extensions. Extensions are ignored and trailers dropped (never merged into the fields),
//! both within bounds. The decoder never holds body octets: they go from `input` to `out`.

use crate::wire::octet;
use std::fmt::{Display, Formatter};

/// The last chunk, and an empty trailer section.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// What stands behind the data of each chunk.
pub const CHUNK_END: &[u8] = b"\r\n";

/// Room for [`chunk_head`]: 16 hex digits and CRLF.
pub const CHUNK_HEAD_ROOM: usize = 18;

/// The longest size line, extensions included.
const SIZE_LINE: usize = 1024;

/// Octets of size lines that are forgiven over a whole body, beyond 16 and twice the data for each chunk. More is a flood: extensions that
/// cost work and carry nothing.
const EXCESS: u64 = 16 * 1024;

/// The longest trailer section, and the most fields in it.
const TRAILER_SECTION: usize = 8 * 1024;
const TRAILER_FIELDS: usize = 100;

/// What one call of [`ChunkDecoder::decode`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Octets of the input that are done with.
    pub used: usize,
    /// Body octets that were put into the output.
    pub written: usize,
    /// The last chunk and its trailers are through: what follows in the input belongs to the next message.
    pub ended: bool,
}

/// Why a body is no chunked body. The connection is out of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkError {
    /// The size does not begin with a hex digit, or goes on with something else.
    Size,
    /// The size is beyond 64 bits.
    SizeOverflow,
    /// A control octet in an extension.
    Extension,
    /// A size line is too long, or all of them together far too long for their data.
    ExtensionsTooLong,
    /// The data of a chunk is not followed by CRLF.
    DataEnd,
    /// CR without LF.
    BareCr,
    /// A trailer is no field line.
    Trailer,
    /// The trailers are too long or too many.
    TrailersTooLarge,
}

impl std::error::Error for ChunkError {}

impl Display for ChunkError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Size => "chunk size is not hexadecimal",
            Self::SizeOverflow => "chunk size beyond 64 bits",
            Self::Extension => "control octet in a chunk extension",
            Self::ExtensionsTooLong => "chunk extensions too long",
            Self::DataEnd => "no CRLF after the data of a chunk",
            Self::BareCr => "CR without LF in chunked framing",
            Self::Trailer => "trailer is no field line",
            Self::TrailersTooLarge => "trailers too large",
        })
    }
}

/// Reads one chunked body.
#[derive(Clone, Debug, Default)]
pub struct ChunkDecoder {
    state: State,
    /// Whether blanks may stand between a size and its CRLF.
    padded: bool,
    /// Of the size that is being read, then of the data that is still to come.
    size: u64,
    /// Octets of the size line so far, or of the trailer section.
    line: usize,
    trailers: usize,
    excess: u64,
}

/// What the next octet has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    FirstDigit,
    Digits,
    /// White space after the size: only an extension may follow.
    BeforeExtension,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Ended,
}

impl ChunkDecoder {
    /// One for the body of an upstream's answer, whose size lines may end in blanks: old servers pad them to one length, and what is read is
    /// framed anew. (A request's may not: the hop before has read it too.)
    pub fn of_answer() -> Self {
        Self { padded: true, ..Self::default() }
    }

    /// Takes what it can of `input` and puts body octets into `out`. It stops at the end of either, or of the body; what is not `used` has
    /// to be given again. An empty `out` is fine: framing is taken as far as the next data.
    ///
    /// # Errors
    /// What is wrong. The body octets before it may have been written to `out`, but are not counted; nothing more can be read.
    pub fn decode(&mut self, input: &[u8], out: &mut [u8]) -> Result<Decoded, ChunkError> {
        let (mut used, mut written) = (0, 0);
        while used < input.len() && self.state != State::Ended {
            if self.state == State::Data {
                let length = self.copy(&input[used..], &mut out[written..]);
                if length == 0 {
                    break;
                }
                used += length;
                written += length;
            } else {
                self.step(input[used])?;
                used += 1;
            }
        }
        Ok(Decoded { used, written, ended: self.ended() })
    }

    /// Whether the body is through.
    pub fn ended(&self) -> bool {
        self.state == State::Ended
    }

    fn copy(&mut self, input: &[u8], out: &mut [u8]) -> usize {
        let most = usize::try_from(self.size).unwrap_or(usize::MAX);
        let length = most.min(input.len()).min(out.len());
        out[..length].copy_from_slice(&input[..length]);
        self.size -= length as u64;
        if self.size == 0 {
            self.state = State::DataCr;
        }
        length
    }

    fn step(&mut self, octet: u8) -> Result<(), ChunkError> {
        self.state = match self.state {
            State::FirstDigit | State::Digits | State::BeforeExtension | State::Extension => self.size_line(octet)?,
            State::SizeLf if octet == b'\n' => self.size_line_end()?,
            State::DataCr if octet == b'\r' => State::DataLf,
            State::DataLf if octet == b'\n' => State::FirstDigit,
            State::DataCr | State::DataLf => return Err(ChunkError::DataEnd),
            State::TrailerStart | State::TrailerName | State::TrailerValue => self.trailer(octet)?,
            State::TrailerLf if octet == b'\n' => State::TrailerStart,
            State::EndLf if octet == b'\n' => State::Ended,
            State::SizeLf | State::TrailerLf | State::EndLf => return Err(ChunkError::BareCr),
            State::Data | State::Ended => self.state,
        };
        Ok(())
    }

    fn size_line(&mut self, octet: u8) -> Result<State, ChunkError> {
        if self.state == State::FirstDigit {
            (self.size, self.line) = (0, 0);
        }
        self.line += 1;
        if self.line > SIZE_LINE {
            return Err(ChunkError::ExtensionsTooLong);
        }
        let digit = (octet as char).to_digit(16);
        match (self.state, octet, digit) {
            (State::FirstDigit | State::Digits, _, Some(digit)) => self.digit(digit),
            (State::Digits | State::Extension, b'\r', _) => Ok(State::SizeLf),
            (State::BeforeExtension, b'\r', _) if self.padded => Ok(State::SizeLf),
            (State::Digits | State::BeforeExtension, b';', _) => Ok(State::Extension),
            (State::Digits | State::BeforeExtension, b' ' | b'\t', _) => Ok(State::BeforeExtension),
            (State::Extension, _, _) if octet::is_value(octet) => Ok(State::Extension),
            (State::Extension, _, _) => Err(ChunkError::Extension),
            _ => Err(ChunkError::Size),
        }
    }

    fn digit(&mut self, digit: u32) -> Result<State, ChunkError> {
        let shifted = self.size.checked_mul(16).ok_or(ChunkError::SizeOverflow)?;
        self.size = shifted | u64::from(digit);
        Ok(State::Digits)
    }

    fn size_line_end(&mut self) -> Result<State, ChunkError> {
        let fair = self.size.saturating_mul(2).saturating_add(16);
        self.excess = (self.excess + self.line as u64).saturating_sub(fair);
        if self.excess > EXCESS {
            return Err(ChunkError::ExtensionsTooLong);
        }
        self.line = 0;
        Ok(if self.size == 0 { State::TrailerStart } else { State::Data })
    }

    fn trailer(&mut self, octet: u8) -> Result<State, ChunkError> {
        self.line += 1;
        if self.line > TRAILER_SECTION {
            return Err(ChunkError::TrailersTooLarge);
        }
        match (self.state, octet) {
            (State::TrailerStart, b'\r') => Ok(State::EndLf),
            (State::TrailerStart, _) if octet::is_token(octet) => self.trailer_begins(),
            (State::TrailerName, b':') => Ok(State::TrailerValue),
            (State::TrailerName, _) if octet::is_token(octet) => Ok(State::TrailerName),
            (State::TrailerValue, b'\r') => Ok(State::TrailerLf),
            (State::TrailerValue, _) if octet::is_value(octet) => Ok(State::TrailerValue),
            _ => Err(ChunkError::Trailer),
        }
    }

    fn trailer_begins(&mut self) -> Result<State, ChunkError> {
        self.trailers += 1;
        if self.trailers > TRAILER_FIELDS { Err(ChunkError::TrailersTooLarge) } else { Ok(State::TrailerName) }
    }
}

/// The size line of a chunk of `length` octets, written into `room`. The data and [`CHUNK_END`] follow. `length` is never 0: that would be
/// the last chunk.
pub fn chunk_head(length: usize, room: &mut [u8; CHUNK_HEAD_ROOM]) -> &[u8] {
    debug_assert_ne!(length, 0, "a chunk without data ends the body");
    let mut at = CHUNK_HEAD_ROOM - 2;
    room[at..].copy_from_slice(b"\r\n");
    let mut rest = length;
    while rest > 0 {
        at -= 1;
        room[at] = b"0123456789abcdef"[rest % 16];
        rest /= 16;
    }
    &room[at..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::Random;

    /// Decodes `input` in pieces of `step` octets into outputs of `room`: the body, and what was left behind its end.
    fn decode_in(input: &[u8], step: usize, room: usize) -> Result<Option<(Vec<u8>, usize)>, ChunkError> {
        let (mut decoder, mut body, mut at) = (ChunkDecoder::default(), Vec::new(), 0);
        let mut out = vec![0; room];
        while at < input.len() {
            let end = input.len().min(at + step);
            let done = decoder.decode(&input[at..end], &mut out)?;
            body.extend_from_slice(&out[..done.written]);
            at += done.used;
            if done.ended {
                return Ok(Some((body, input.len() - at)));
            }
            assert!(done.used > 0, "no progress at {at}");
        }
        Ok(None)
    }

    /// The input whole, in every size of pieces, and cut in two at every octet, with every size of output that matters.
    #[track_caller]
    fn check(input: &[u8], expected: Result<Option<(&[u8], usize)>, ChunkError>) {
        let expected = expected.map(|found| found.map(|(body, left)| (body.to_vec(), left)));
        for room in 1..=input.len().min(24) {
            for step in 1..=input.len() {
                assert_eq!(decode_in(input, step, room), expected, "pieces of {step}, output of {room}");
            }
        }
        for cut in 0..input.len() {
            assert_eq!(decode_cut(input, cut), expected, "cut at {cut}");
        }
    }

    fn decode_cut(input: &[u8], cut: usize) -> Result<Option<(Vec<u8>, usize)>, ChunkError> {
        let (mut decoder, mut out) = (ChunkDecoder::default(), vec![0; input.len()]);
        let first = decoder.decode(&input[..cut], &mut out)?;
        let second = decoder.decode(&input[first.used..], &mut out[first.written..])?;
        out.truncate(first.written + second.written);
        Ok(second.ended.then_some((out, input.len() - first.used - second.used)))
    }

    #[test]
    fn chunks_are_joined_however_they_are_cut() {
        check(b"A\r\n0123456789\r\nb\r\nabcdefghijk\r\n0\r\n\r\n", Ok(Some((b"0123456789abcdefghijk", 0))));
        check(b"0\r\n\r\n", Ok(Some((b"", 0))));
        check(b"3\r\nfoo\r\n1\r\n!\r\n0\r\nX-T: 1\r\n\r\nGET /", Ok(Some((b"foo!", 5))));
        check(b"0005\r\nhello\r\n000\r\n\r\n", Ok(Some((b"hello", 0))));
    }

    #[test]
    fn sizes_of_answers_may_be_padded() {
        let input = b"5  \t\r\nhello\r\n0 \r\n\r\n";
        for cut in 0..input.len() {
            let (mut decoder, mut out) = (ChunkDecoder::of_answer(), [0; 9]);
            let first = decoder.decode(&input[..cut], &mut out).unwrap();
            let second = decoder.decode(&input[first.used..], &mut out[first.written..]).unwrap();
            assert_eq!((second.ended, &out[..first.written + second.written]), (true, &b"hello"[..]), "cut at {cut}");
        }
        check(input, Err(ChunkError::Size));
    }

    #[test]
    fn extensions_are_ignored() {
        check(b"5;a=b;c=\"d e\"\r\nhello\r\n0;last\r\n\r\n", Ok(Some((b"hello", 0))));
        check(b"5 ; a = b\r\nhello\r\n0\r\n\r\n", Ok(Some((b"hello", 0))));
        check(b"5;\xe9\t\r\nhello\r\n0\r\n\r\n", Ok(Some((b"hello", 0))));
        check(b"5;a\nb\r\nhello\r\n0\r\n\r\n", Err(ChunkError::Extension));
        check(b"5;a\0\r\nhello\r\n0\r\n\r\n", Err(ChunkError::Extension));
        check(b"5;a\rb\r\nhello\r\n0\r\n\r\n", Err(ChunkError::BareCr));
    }

    #[test]
    fn sizes_are_hexadecimal_and_nothing_else() {
        for bad in [
            "\r\n", "g\r\n", "0x5\r\n", "+5\r\n", "-5\r\n", " 5\r\n", "5 \r\n", "5\t\r\n", "5_0\r\n", "5h\r\n", "5\n",
            ";a\r\n",
        ] {
            check(format!("{bad}hello\r\n0\r\n\r\n").as_bytes(), Err(ChunkError::Size));
        }
        check(b"5\r\nhello\r\n\r\n\r\nGET /smuggled HTTP/1.1\r\n", Err(ChunkError::Size));
        check(b"5\rXhello\r\n", Err(ChunkError::BareCr));
    }

    #[test]
    fn sizes_do_not_wrap() {
        check(b"10000000000000006\r\nLEAKED\r\n0\r\n\r\n", Err(ChunkError::SizeOverflow));
        check(b"0000000000000000005\r\nhello\r\n0\r\n\r\n", Ok(Some((b"hello", 0))));
        check(b"ffffffffffffffff\r\nhel", Ok(None));
    }

    #[test]
    fn data_ends_where_the_size_says() {
        check(b"5\r\nhelloXX\r\n0\r\n\r\n", Err(ChunkError::DataEnd));
        check(b"5\r\nhello\n0\r\n\r\n", Err(ChunkError::DataEnd));
        check(b"5\r\nhello\r0\r\n\r\n", Err(ChunkError::DataEnd));
        check(b"5\r\nhell\r\n0\r\n\r\n", Err(ChunkError::DataEnd));
    }

    #[test]
    fn a_body_that_is_cut_off_has_not_ended() {
        let whole = b"5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n";
        for end in 1..whole.len() {
            assert_eq!(decode_in(&whole[..end], 7, 7), Ok(None), "{end} octets");
        }
    }

    #[test]
    fn trailers_are_fields_and_are_dropped() {
        check(b"0\r\nX-Sum: 99\r\nX-Empty:\r\nX: \xff\r\n\r\nrest", Ok(Some((b"", 4))));
        for bad in ["X: a\0\r\n", " X: 1\r\n", "X : 1\r\n", "nonsense\r\n", ": 1\r\n", "X: 1\n", "X[]: 1\r\n", "\n"] {
            check(format!("0\r\n{bad}\r\n").as_bytes(), Err(ChunkError::Trailer));
        }
        check(b"0\r\nX: a\rb\r\n\r\n", Err(ChunkError::BareCr));
        check(b"0\r\n\rX", Err(ChunkError::BareCr));
    }

    #[test]
    fn extensions_and_trailers_have_bounds() {
        let decode = |input: String| decode_in(input.as_bytes(), 4096, 4096).map(|found| found.is_some());
        let extension = |length: usize| format!("5;{}\r\nhello\r\n0\r\n\r\n", "e".repeat(length));
        assert_eq!(decode(extension(SIZE_LINE - 3)), Ok(true));
        assert_eq!(decode(extension(SIZE_LINE - 2)), Err(ChunkError::ExtensionsTooLong));
        let endless = format!("5;{}", "e".repeat(SIZE_LINE));
        assert_eq!(decode(endless), Err(ChunkError::ExtensionsTooLong));
        let flood = |chunks| format!("1;{}\r\n!\r\n", "e".repeat(500)).repeat(chunks) + "0\r\n\r\n";
        assert_eq!(decode(flood(30)), Ok(true));
        assert_eq!(decode(flood(40)), Err(ChunkError::ExtensionsTooLong));
        assert_eq!(decode("1\r\n!\r\n".repeat(20_000) + "0\r\n\r\n"), Ok(true), "small chunks alone are no flood");

        let trailer = |length: usize| format!("0\r\nX: {}\r\n\r\n", "t".repeat(length));
        assert_eq!(decode(trailer(8000)), Ok(true));
        assert_eq!(decode(trailer(TRAILER_SECTION)), Err(ChunkError::TrailersTooLarge));
        let trailers = |count| format!("0\r\n{}\r\n", "X: 1\r\n".repeat(count));
        assert_eq!(decode(trailers(TRAILER_FIELDS)), Ok(true));
        assert_eq!(decode(trailers(TRAILER_FIELDS + 1)), Err(ChunkError::TrailersTooLarge));
    }

    #[test]
    fn without_room_only_framing_is_taken() {
        let mut decoder = ChunkDecoder::default();
        let done = decoder.decode(b"5\r\nhello\r\n", &mut []).unwrap();
        assert_eq!(done, Decoded { used: 3, written: 0, ended: false });
        let mut out = [0; 5];
        let done = decoder.decode(b"hello\r\n0\r\n\r\n0", &mut out).unwrap();
        assert_eq!(done, Decoded { used: 12, written: 5, ended: true });
        assert_eq!(decoder.decode(b"0\r\n", &mut out), Ok(Decoded { used: 0, written: 0, ended: true }));
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for length in [1, 9, 15, 16, 255, 4096, 70_000] {
            let data = vec![b'x'; length];
            let mut room = [0; CHUNK_HEAD_ROOM];
            let octets = [chunk_head(length, &mut room), &data, CHUNK_END, LAST_CHUNK].concat();
            assert_eq!(decode_in(&octets, 999, 1000), Ok(Some((data, 0))));
        }
        assert_eq!(chunk_head(usize::MAX, &mut [0; CHUNK_HEAD_ROOM]), b"ffffffffffffffff\r\n");
    }

    /// Random octets in place of good ones (the seed is fixed): never a panic, and never more data than input.
    #[test]
    fn mutated_bodies_are_refused_or_decoded() {
        let seed = b"a;x=\"y\"\r\n0123456789\r\n1f\r\nabcdefghijklmnopqrstuvwxyz01234\r\n0\r\nX-T: 1\r\n\r\n";
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        for _ in 0..20_000 {
            let mut octets = seed.to_vec();
            for _ in 0..=random.below(3) {
                let at = random.below(octets.len());
                octets[at] = [b'\r', b'\n', b'0', b'f', b';', b':', 0, random.below(256) as u8][random.below(8)];
            }
            let (step, room) = (1 + random.below(20), 1 + random.below(20));
            let whole = decode_in(&octets, octets.len(), octets.len());
            assert_eq!(decode_in(&octets, step, room), whole, "{}", octets.escape_ascii());
        }
    }
}
