//! What a head says about the octets after it: how long the body is (RFC 9112 6), whether the connection persists (9.3), and what else
//! `Connection` and `Expect` name.
//!
//! Stricter than the RFC allows wherever two hops could read a message differently: a request that carries both framing fields, or one of
//! them twice, is refused even if the values agree.

use crate::client::BodyLength;
use crate::wire::error::HeadError;
use crate::wire::head::RequestHead;
use crate::wire::octet;
use http::Version;

/// How long the body is. It does not depend on the method.
///
/// # Errors
/// Anything but one valid Content-Length, or one Transfer-Encoding that says `chunked` and nothing else. The connection has to be closed.
pub fn body_length(head: &RequestHead) -> Result<BodyLength, HeadError> {
    let mut lengths = head.values("content-length");
    let length = lengths.next();
    if head.values("transfer-encoding").next().is_some() {
        return check_codings(head, length.is_some()).map(|()| BodyLength::Chunked);
    }
    match (length, lengths.next()) {
        (None, _) => Ok(BodyLength::None),
        (Some(_), Some(_)) => Err(HeadError::LengthRepeated),
        (Some(value), None) if value.contains(&b',') => Err(HeadError::LengthRepeated),
        (Some(value), None) => parse_length(value).map(BodyLength::Exactly).ok_or(HeadError::LengthInvalid),
    }
}

/// Whether the client wants no further answer on this connection: `Connection: close`, or HTTP/1.0 without `keep-alive`.
pub fn wants_close(head: &RequestHead) -> bool {
    has_option(head, b"close") || (head.version() == Version::HTTP_10 && !has_option(head, b"keep-alive"))
}

/// Whether this is an HTTP/1.0 client that asks for a persistent connection: it has to be told so in the answer (RFC 9112 C.2.2).
pub fn keep_alive_1_0(head: &RequestHead) -> bool {
    head.version() == Version::HTTP_10 && !wants_close(head)
}

/// Whether the client waits for `100 Continue` before it sends its body. Never in HTTP/1.0; whether there is a body at all is another
/// question.
pub fn expects_continue(head: &RequestHead) -> bool {
    head.version() == Version::HTTP_11 && head.values("expect").next().is_some()
}

/// The options of every `Connection` line, in order and in the case received (RFC 9110 7.6.1).
pub fn connection_options(head: &RequestHead) -> impl Iterator<Item = &[u8]> {
    head.values("connection").flat_map(elements).filter(|option| !option.is_empty())
}

fn has_option(head: &RequestHead, name: &[u8]) -> bool {
    connection_options(head).any(|option| option.eq_ignore_ascii_case(name))
}

fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&o| o == b',').map(octet::trim)
}

fn check_codings(head: &RequestHead, has_length: bool) -> Result<(), HeadError> {
    if has_length {
        return Err(HeadError::LengthAndCoding);
    }
    if head.version() == Version::HTTP_10 {
        return Err(HeadError::CodingInHttp10);
    }
    let (mut all, mut chunked, mut ends_chunked) = (0, 0, false);
    for coding in head.values("transfer-encoding").flat_map(elements) {
        if coding.is_empty() || !coding.iter().all(|&o| octet::is_token(o)) {
            return Err(HeadError::CodingNotChunked);
        }
        ends_chunked = coding.eq_ignore_ascii_case(b"chunked");
        chunked += usize::from(ends_chunked);
        all += 1;
    }
    match (ends_chunked, chunked, all) {
        (true, 1, 1) => Ok(()),
        (true, 1, _) => Err(HeadError::CodingUnknown),
        _ => Err(HeadError::CodingNotChunked),
    }
}

fn parse_length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}
