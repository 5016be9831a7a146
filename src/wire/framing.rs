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

/// A number of octets, in digits and nothing else.
pub(crate) fn parse_length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::request;

    fn head(version: &str, fields: &str) -> RequestHead {
        let lines = format!("POST / {version}\r\nHost: gw.test\r\n{fields}");
        request(lines.trim_end_matches("\r\n"))
    }

    #[track_caller]
    fn check(fields: &str, expected: Result<BodyLength, HeadError>) {
        assert_eq!(body_length(&head("HTTP/1.1", fields)), expected, "{fields}");
    }

    #[test]
    fn lengths_are_decimal_numbers_of_octets() {
        use BodyLength::{Exactly, None};
        check("", Ok(None));
        check("Content-Length: 0\r\n", Ok(Exactly(0)));
        check("content-length: \t5 \r\n", Ok(Exactly(5)));
        check("Content-Length: 0010\r\n", Ok(Exactly(10)));
        check("Content-Length: 18446744073709551615\r\n", Ok(Exactly(u64::MAX)));
        for bad in
            ["+5", "-5", "0x5", "5 5", "", "5.0", "5a", "\u{0665}", "18446744073709551616", "18446744073709551621"]
        {
            check(&format!("Content-Length: {bad}\r\n"), Err(HeadError::LengthInvalid));
        }
    }

    #[test]
    fn a_length_is_told_once() {
        check("Content-Length: 5\r\nContent-Length: 7\r\n", Err(HeadError::LengthRepeated));
        check("Content-Length: 5\r\ncontent-length: 5\r\n", Err(HeadError::LengthRepeated));
        check("Content-Length: 5, 5\r\n", Err(HeadError::LengthRepeated));
        check("Content-Length: 5,\r\n", Err(HeadError::LengthRepeated));
    }

    #[test]
    fn chunked_is_the_only_coding() {
        check("Transfer-Encoding: chunked\r\n", Ok(BodyLength::Chunked));
        check("transfer-encoding: \tCHUNKED\t\r\n", Ok(BodyLength::Chunked));
        check("Transfer-Encoding: gzip, chunked\r\n", Err(HeadError::CodingUnknown));
        check("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", Err(HeadError::CodingUnknown));
        check("Transfer-Encoding: identity, chunked\r\n", Err(HeadError::CodingUnknown));
        for bad in [
            "",
            "gzip",
            "identity",
            "xchunked",
            "chunked, identity",
            "chunked, chunked",
            "chunked,",
            ", chunked",
            "chunked;q=1",
            "\"chunked\"",
            "chunk ed",
            "gzip, chunked, chunked",
            "chunked\u{a0}",
        ] {
            check(&format!("Transfer-Encoding: {bad}\r\n"), Err(HeadError::CodingNotChunked));
        }
        check("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Err(HeadError::CodingNotChunked));
    }

    #[test]
    fn two_kinds_of_framing_are_refused_whatever_they_say() {
        check("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", Err(HeadError::LengthAndCoding));
        check("Transfer-Encoding: identity\r\nContent-Length: x\r\n", Err(HeadError::LengthAndCoding));
    }

    #[test]
    fn old_clients_have_no_transfer_codings() {
        let old = |fields| body_length(&head("HTTP/1.0", fields));
        assert_eq!(old("Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n"), Err(HeadError::CodingInHttp10));
        assert_eq!(old("Content-Length: 5\r\n"), Ok(BodyLength::Exactly(5)));
    }

    #[test]
    fn refused_framing_has_its_status() {
        assert_eq!(HeadError::CodingUnknown.status(), 501);
        for error in [
            HeadError::CodingNotChunked,
            HeadError::LengthAndCoding,
            HeadError::LengthRepeated,
            HeadError::LengthInvalid,
        ] {
            assert_eq!(error.status(), 400);
        }
    }

    #[track_caller]
    fn persists(version: &str, fields: &str, expected: bool) {
        let head = head(version, fields);
        assert_eq!(wants_close(&head), !expected, "{version} {fields}");
        assert_eq!(keep_alive_1_0(&head), expected && version == "HTTP/1.0", "{version} {fields}");
    }

    #[test]
    fn connections_persist_by_version_and_option() {
        persists("HTTP/1.1", "", true);
        persists("HTTP/1.2", "", true);
        persists("HTTP/1.0", "", false);
        persists("HTTP/1.0", "Connection: Keep-Alive\r\n", true);
        persists("HTTP/1.0", "Connection: keep-alive, close\r\n", false);
        persists("HTTP/1.1", "Connection: close\r\n", false);
        persists("HTTP/1.1", "Connection: x-foo\r\nConnection: keep-alive, CLOSE\r\n", false);
        persists("HTTP/1.1", "Connection: not-close, closed\r\n", true);
    }

    #[test]
    fn options_are_gathered_from_every_line() {
        let head = head("HTTP/1.1", "Connection: x-hop-a , X-HOP-B\r\nX-Hop-A: 1\r\nconnection:,\t X-Hop-C,,\r\n");
        let options: Vec<_> = connection_options(&head).collect();
        assert_eq!(options, [b"x-hop-a".as_slice(), b"X-HOP-B", b"X-Hop-C"]);
    }

    #[test]
    fn only_new_clients_wait_for_the_interim_answer() {
        assert!(expects_continue(&head("HTTP/1.1", "Expect: 100-Continue\r\n")));
        assert!(!expects_continue(&head("HTTP/1.0", "Expect: 100-continue\r\n")));
        assert!(!expects_continue(&head("HTTP/1.1", "")));
    }
}
