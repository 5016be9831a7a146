//! Response heads as octets: status line, fields, and what this hop adds: `Date`, framing, `Connection`.
//!
//! ```text
//! HeadWriter::start(out, status)  ->  field(..) for each field  ->  finish(tail)
//! ```
//!
//! It only appends to a buffer. Which fields are forwarded is the caller's choice, but framing, `Connection` and a second `Date` never come
//! from it: whatever it hands over of those is left out, so that a message has one length and says once whether it is the last.

use crate::wire::date;
use crate::wire::framing;
use crate::wire::head::RequestHead;
use http::{HeaderValue, Method, StatusCode, Version};
use std::time::SystemTime;

/// How the end of the body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length`; for HEAD and 304 it is the length that is not sent.
    Length(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// By the end of the connection, for HTTP/1.0 clients.
    UntilClose,
    /// No framing field: 1xx, 204, or an unknown length that is not sent.
    None,
}

impl Framing {
    /// What fits an answer with `status` to `head`, of which `length` octets are to come if that is known.
    pub fn of(head: &RequestHead, status: StatusCode, length: Option<u64>) -> Self {
        let never_sized = status.is_informational() || status == StatusCode::NO_CONTENT;
        match length {
            _ if never_sized => Self::None,
            Some(length) => Self::Length(length),
            None if !has_body(head.method(), status) => Self::None,
            None if head.version() == Version::HTTP_10 => Self::UntilClose,
            None => Self::Chunked,
        }
    }
}

/// Whether octets follow the head of an answer with `status` to `method` (RFC 9112 6.3, rule 1).
pub fn has_body(method: &Method, status: StatusCode) -> bool {
    let never = status.is_informational() || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    method != Method::HEAD && !never
}

/// What the answer says about the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// It persists, as HTTP/1.1 does by itself.
    Keep,
    /// It persists, and an HTTP/1.0 client is told so.
    KeepTold,
    /// This answer is the last.
    Close,
}

impl Persistence {
    /// What becomes of the connection after the answer to `head`, when it `may_persist` as far as the container is concerned.
    pub fn of(head: &RequestHead, framing: Framing, may_persist: bool) -> Self {
        if !may_persist || framing == Framing::UntilClose || framing::wants_close(head) {
            Self::Close
        } else if head.version() == Version::HTTP_10 {
            Self::KeepTold
        } else {
            Self::Keep
        }
    }
}

/// What this hop adds at the end of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The end of the body.
    pub framing: Framing,
    /// The end of the connection.
    pub persistence: Persistence,
    /// For `Date`, if no field brought one.
    pub now: SystemTime,
}

/// Writes one head.
#[derive(Debug)]
pub struct HeadWriter<'a> {
    out: &'a mut Vec<u8>,
    has_date: bool,
}

impl<'a> HeadWriter<'a> {
    /// Appends the status line, always HTTP/1.1 and with the registered reason phrase, or none.
    pub fn start(out: &'a mut Vec<u8>, status: StatusCode) -> Self {
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(status.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
        out.extend_from_slice(b"\r\n");
        Self { out, has_date: false }
    }

    /// Appends a field, unless it is one of this hop's own: `Connection`, `Content-Length`, `Transfer-Encoding`, or a second `Date`.
    /// `name` is a token: a header name, or a literal.
    pub fn field(&mut self, name: &str, value: &HeaderValue) {
        let is = |own: &str| name.eq_ignore_ascii_case(own);
        let is_date = is("date");
        if is("connection") || is("content-length") || is("transfer-encoding") || (is_date && self.has_date) {
            return;
        }
        self.has_date |= is_date;
        self.append(name, value.as_bytes());
    }

    /// Appends what this hop adds, and the empty line.
    pub fn finish(mut self, tail: Tail) {
        if !self.has_date {
            self.append("Date", &date::http_date(tail.now));
        }
        match tail.framing {
            Framing::Length(length) => self.append_number("Content-Length", length),
            Framing::Chunked => self.append("Transfer-Encoding", b"chunked"),
            Framing::UntilClose | Framing::None => {}
        }
        match tail.persistence {
            Persistence::Keep => {}
            Persistence::KeepTold => self.append("Connection", b"keep-alive"),
            Persistence::Close => self.append("Connection", b"close"),
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// Ends an interim (1xx) head, to which this hop adds nothing.
    pub fn finish_interim(self) {
        self.out.extend_from_slice(b"\r\n");
    }

    fn append(&mut self, name: &str, value: &[u8]) {
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b"\r\n");
    }

    fn append_number(&mut self, name: &str, mut number: u64) {
        let mut digits = [b'0'; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return self.append(name, &digits[at..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::request;
    use std::time::{Duration, UNIX_EPOCH};

    const DATE: &str = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";

    fn written(status: u16, fields: &[(&str, &'static str)], framing: Framing, persistence: Persistence) -> String {
        let mut out = Vec::new();
        let mut head = HeadWriter::start(&mut out, StatusCode::from_u16(status).unwrap());
        for (name, value) in fields {
            head.field(name, &HeaderValue::from_static(value));
        }
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        head.finish(Tail { framing, persistence, now });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn heads_carry_date_framing_and_persistence() {
        use Framing::{Chunked, Length, UntilClose};
        use Persistence::{Close, Keep, KeepTold};
        let check = |framing, persistence, tail: &str| {
            let expected = format!("HTTP/1.1 200 OK\r\nx-a: 1\r\n{DATE}{tail}\r\n");
            assert_eq!(written(200, &[("x-a", "1")], framing, persistence), expected);
        };
        check(Length(0), Keep, "Content-Length: 0\r\n");
        check(Length(u64::MAX), Keep, "Content-Length: 18446744073709551615\r\n");
        check(Length(1020), KeepTold, "Content-Length: 1020\r\nConnection: keep-alive\r\n");
        check(Chunked, Close, "Transfer-Encoding: chunked\r\nConnection: close\r\n");
        check(UntilClose, Close, "Connection: close\r\n");
        check(Framing::None, Keep, "");
    }

    #[test]
    fn the_first_date_that_was_given_stays() {
        let fields = [("date", "Mon, 07 Nov 1994 08:49:37 GMT"), ("Date", "x")];
        let expected = "HTTP/1.1 204 No Content\r\ndate: Mon, 07 Nov 1994 08:49:37 GMT\r\n\r\n";
        assert_eq!(written(204, &fields, Framing::None, Persistence::Keep), expected);
    }

    #[test]
    fn fields_of_this_hop_are_never_taken_over() {
        let fields = [("Content-Length", "3"), ("transfer-encoding", "gzip"), ("CONNECTION", "x-hop")];
        let expected = format!("HTTP/1.1 200 OK\r\n{DATE}Content-Length: 5\r\n\r\n");
        assert_eq!(written(200, &fields, Framing::Length(5), Persistence::Keep), expected);
    }

    #[test]
    fn a_status_without_a_registered_phrase_keeps_its_space() {
        assert!(written(299, &[], Framing::None, Persistence::Keep).starts_with("HTTP/1.1 299 \r\n"));
    }

    #[test]
    fn interim_heads_carry_nothing_of_ours() {
        let mut out = Vec::new();
        let mut head = HeadWriter::start(&mut out, StatusCode::EARLY_HINTS);
        head.field("link", &HeaderValue::from_static("</a>"));
        head.finish_interim();
        assert_eq!(out, b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
    }

    #[track_caller]
    fn frames(line: &str, status: u16, length: Option<u64>, expected: Framing, body: bool) {
        let head = request(&format!("{line}\r\nHost: gw.test"));
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(Framing::of(&head, status, length), expected);
        assert_eq!(has_body(head.method(), status), body);
    }

    #[test]
    fn framing_follows_method_status_and_version() {
        frames("GET / HTTP/1.1", 200, Some(5), Framing::Length(5), true);
        frames("GET / HTTP/1.1", 200, None, Framing::Chunked, true);
        frames("GET / HTTP/1.0", 200, None, Framing::UntilClose, true);
        frames("GET / HTTP/1.0", 200, Some(5), Framing::Length(5), true);
        frames("HEAD / HTTP/1.1", 200, Some(1000), Framing::Length(1000), false);
        frames("HEAD / HTTP/1.1", 200, None, Framing::None, false);
        frames("HEAD / HTTP/1.0", 200, None, Framing::None, false);
        frames("GET / HTTP/1.1", 304, Some(1000), Framing::Length(1000), false);
        frames("GET / HTTP/1.1", 304, None, Framing::None, false);
        frames("GET / HTTP/1.1", 204, Some(0), Framing::None, false);
        frames("GET / HTTP/1.1", 103, Some(5), Framing::None, false);
        frames("GET / HTTP/1.1", 205, Some(0), Framing::Length(0), true);
    }

    #[test]
    fn connections_persist_when_both_sides_can() {
        let of = |text: &str, framing, may| Persistence::of(&request(text), framing, may);
        assert_eq!(of("GET / HTTP/1.1\r\nHost: a", Framing::Chunked, true), Persistence::Keep);
        assert_eq!(of("GET / HTTP/1.1\r\nHost: a", Framing::Chunked, false), Persistence::Close);
        assert_eq!(of("GET / HTTP/1.1\r\nHost: a\r\nConnection: close", Framing::Chunked, true), Persistence::Close);
        assert_eq!(of("GET / HTTP/1.0", Framing::Length(1), true), Persistence::Close);
        assert_eq!(of("GET / HTTP/1.0\r\nConnection: keep-alive", Framing::Length(1), true), Persistence::KeepTold);
        assert_eq!(of("GET / HTTP/1.0\r\nConnection: keep-alive", Framing::UntilClose, true), Persistence::Close);
    }
}
