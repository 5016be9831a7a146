//! Where the lines of a head are, how large it is, and whether it is whole: the one pass that an incomplete head gets.
//!
//! A dripped head is looked through once in all, whoever keeps the [`Scan`] beside its octets; only a whole head is parsed. Every line must
//! end in CRLF, and limits strike as soon as they are exceeded, whether or not the line ever ends.

use crate::wire::error::HeadError;
use crate::wire::head::HeadLimits;
use crate::wire::octet;
use std::ops::Range;

/// Empty lines before the request line that are forgiven (RFC 9112 2.2: some clients send one after a body).
pub const EMPTY_LINES: usize = 4;

/// Spans count in 32 bits; no configured limit may lead beyond.
const CEILING: usize = 1 << 30;

/// How far an incomplete head was looked through; new for each head.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    line: Option<Range<usize>>,
    line_start: usize,
    seen: usize,
    empty: usize,
    fields: usize,
}

impl Scan {
    /// Where the request line is, without its CRLF, once it is whole.
    pub(super) fn request_line(
        &mut self,
        octets: &[u8],
        limits: &HeadLimits,
    ) -> Result<Option<Range<usize>>, HeadError> {
        while self.line.is_none() {
            let line = match self.next_line(octets, 0)? {
                Some(line) => line,
                None => {
                    check_line(&octets[self.line_start..open_end(octets)], limits)?;
                    return Ok(None);
                }
            };
            check_line(&octets[line.clone()], limits)?;
            if !line.is_empty() {
                self.line = Some(line);
            } else if self.empty == EMPTY_LINES {
                return Err(HeadError::EmptyLines);
            } else {
                self.empty += 1;
            }
        }
        Ok(self.line.clone())
    }

    /// Where the field lines are, the empty line after them included, once that is there. `start` is where the first begins.
    pub(super) fn field_lines(
        &mut self,
        octets: &[u8],
        start: usize,
        limits: &HeadLimits,
    ) -> Result<Option<Range<usize>>, HeadError> {
        while let Some(line) = self.next_line(octets, self.fields + 1)? {
            if line.is_empty() {
                return Ok(Some(start..self.line_start));
            }
            self.fields += 1;
            if self.fields > limits.count {
                return Err(HeadError::TooManyFields { limit: limits.count });
            }
            check_fields(self.line_start - start, limits)?;
        }
        check_fields(open_end(octets).saturating_sub(start), limits)?;
        Ok(None)
    }

    /// Whether the request line was found at an earlier call.
    pub(super) fn knows_request_line(&self) -> bool {
        self.line.is_some()
    }

    /// How many field lines there are so far.
    pub(super) fn fields(&self) -> usize {
        self.fields
    }

    fn next_line(&mut self, octets: &[u8], number: usize) -> Result<Option<Range<usize>>, HeadError> {
        let Some(distance) = memchr::memchr(b'\n', &octets[self.seen..]) else {
            self.seen = octets.len();
            return Ok(None);
        };
        let end = self.seen + distance;
        let line = match &octets[self.line_start..end] {
            [.., b'\r'] => self.line_start..end - 1,
            // What clients of old send behind a body is an empty line too (RFC 9112 2.2), and nothing can hide in it.
            [] if number == 0 => end..end,
            _ => return Err(HeadError::BareLf { line: number }),
        };
        self.line_start = end + 1;
        self.seen = self.line_start;
        Ok(Some(line))
    }
}

/// Where the line that has no end yet stops; a CR at its end may be half of one.
fn open_end(octets: &[u8]) -> usize {
    octets.len() - usize::from(octets.ends_with(b"\r"))
}

/// A first octet that begins no method is refused at once: TLS on a plain port should not have to wait for a timeout.
fn check_line(line: &[u8], limits: &HeadLimits) -> Result<(), HeadError> {
    let limit = limits.line.min(CEILING);
    match line.first() {
        Some(&first) if !octet::is_token(first) => Err(HeadError::BadMethod),
        _ if line.len() > limit => Err(HeadError::LineTooLong { limit }),
        _ => Ok(()),
    }
}

fn check_fields(size: usize, limits: &HeadLimits) -> Result<(), HeadError> {
    let limit = limits.fields.min(CEILING);
    if size > limit { Err(HeadError::FieldsTooLarge { limit }) } else { Ok(()) }
}
