//! A head as `tiny_http` read it, written out again and read strictly: what the crate is lenient about and left a trace of is refused.
//!
//! The crate has framed the body by then, so a head passes only if the crate's framing is ours; the dispatcher calls this.

use crate::client::BodyLength;
use crate::config::model::Relaxed;
use crate::wire::HeadError;
use crate::wire::framing;
use crate::wire::head::{HeadLimits, RequestHead};
use http::Version;

/// The head and the length of the body that follows it.
///
/// # Errors
/// What is wrong with it; the connection is out of step then.
pub(super) fn read(
    request: &tiny_http::Request,
    limits: &HeadLimits,
    relaxed: &Relaxed,
) -> Result<(RequestHead, BodyLength), HeadError> {
    read_octets(&write_out(request), limits, relaxed)
}

fn read_octets(octets: &[u8], limits: &HeadLimits, relaxed: &Relaxed) -> Result<(RequestHead, BodyLength), HeadError> {
    let (head, used) = RequestHead::parse(octets, limits, relaxed)?.ok_or(HeadError::BadRequestLine)?;
    if used != octets.len() {
        return Err(HeadError::BadRequestLine);
    }
    let length = framing::body_length(&head)?;
    if length == BodyLength::Chunked && hands_over_the_stream(&head) {
        return Err(HeadError::CodingUnknown);
    }
    Ok((head, length))
}

/// Whether the crate closes the connection after the answer by itself: it looks for substrings of the first `Connection` field alone.
pub(super) fn ends_by_itself(head: &RequestHead) -> bool {
    let says = |what: &[u8]| connection_says(head, what);
    says(b"close") || says(b"upgrade") || (head.version() == Version::HTTP_10 && !says(b"keep-alive"))
}

/// Whether the crate lends the bare stream for the body, framing and all.
fn hands_over_the_stream(head: &RequestHead) -> bool {
    connection_says(head, b"upgrade")
}

fn connection_says(head: &RequestHead, what: &[u8]) -> bool {
    let first = head.values("connection").next().unwrap_or_default();
    first.windows(what.len()).any(|window| window.eq_ignore_ascii_case(what))
}

fn write_out(request: &tiny_http::Request) -> Vec<u8> {
    let version = request.http_version();
    let mut octets = Vec::with_capacity(1024);
    octets.extend_from_slice(
        format!("{} {} HTTP/{}.{}\r\n", request.method(), request.url(), version.0, version.1).as_bytes(),
    );
    for header in request.headers() {
        octets.extend_from_slice(header.field.as_str().as_bytes());
        octets.extend_from_slice(b": ");
        octets.extend_from_slice(header.value.as_bytes());
        octets.extend_from_slice(b"\r\n");
    }
    octets.extend_from_slice(b"\r\n");
    octets
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiny_http::{Header, Method, TestRequest};

    #[track_caller]
    fn check(octets: &str, expected: Result<BodyLength, u16>) {
        let found = read_octets(octets.as_bytes(), &HeadLimits::of_size(1024), &Relaxed::default());
        assert_eq!(found.map(|(_, length)| length).map_err(|e| e.status().as_u16()), expected, "{octets:?}");
    }

    fn post(fields: &str) -> String {
        format!("POST /a?b HTTP/1.1\r\nHost: x\r\n{fields}\r\n")
    }

    #[test]
    fn framing_that_the_crate_and_we_read_alike_passes() {
        check(&post(""), Ok(BodyLength::None));
        check(&post("content-length: 7\r\n"), Ok(BodyLength::Exactly(7)));
        check(&post("TRANSFER-ENCODING: chunked\r\n"), Ok(BodyLength::Chunked));
        check(&post("Connection: Upgrade\r\nContent-Length: 7\r\n"), Ok(BodyLength::Exactly(7)));
    }

    #[test]
    fn every_leniency_that_left_a_trace_is_refused() {
        for (fields, status) in [
            ("Content-Length: 5, 5\r\n", 400),
            ("Content-Length: +5\r\n", 400),
            ("Content-Length: 0x5\r\n", 400),
            ("Content-Length: -1\r\n", 400),
            ("Content-Length: 99999999999999999999\r\n", 400),
            ("Content-Length: 5\r\nContent-Length: 5\r\n", 400),
            ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
            ("Transfer-Encoding: xchunked\r\n", 400),
            ("Transfer-Encoding: chunked, chunked\r\n", 400),
            ("Transfer-Encoding: gzip, chunked\r\n", 501),
            ("Transfer-Encoding: chunked\r\nConnection: x-upgrade\r\n", 501),
            ("X: a\nTransfer-Encoding: chunked\r\n", 400),
            ("X: a\rb\r\n", 400),
            ("X: a\0b\r\n", 400),
            (": x\r\n", 400),
            ("a\u{1}: x\r\n", 400),
            ("Host: y\r\n", 400),
        ] {
            check(&post(fields), Err(status));
        }
        check("GET / HTTP/1.1\r\n\r\n", Err(400));
        check("GET  HTTP/1.1\r\nHost: x\r\n\r\n", Err(400));
        check("GET /a\nb HTTP/1.1\r\nHost: x\r\n\r\n", Err(400));
        check("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Err(400));
        check(&format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(1100)), Err(414));
        check(&post(&format!("X: {}\r\n", "a".repeat(1100))), Err(431));
    }

    #[test]
    fn a_head_is_written_out_as_it_was() {
        let header = |name: &str, value: &str| Header::from_bytes(name, value).unwrap();
        let request = TestRequest::new().with_method(Method::Post).with_path("/a%20b?c");
        let request = request.with_header(header("hOst", "x")).with_header(header("Content-Length", "0"));
        let expected = b"POST /a%20b?c HTTP/1.1\r\nhOst: x\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(write_out(&request.into()), expected);
    }

    #[test]
    fn what_the_crate_does_after_the_answer_is_known() {
        for (field, ends) in [
            ("Connection: keep-alive", false),
            ("Connection: Close", true),
            ("Connection: not-close", true),
            ("Connection: upgrade", true),
            ("Connection: x\r\nConnection: close", false),
            ("X: close", false),
        ] {
            let octets = post(&format!("{field}\r\n"));
            let (head, _) = read_octets(octets.as_bytes(), &HeadLimits::of_size(1024), &Relaxed::default()).unwrap();
            assert_eq!(ends_by_itself(&head), ends, "{field:?}");
        }
    }
}
