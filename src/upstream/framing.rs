//! How bodies are delimited on the way up and on the way back (RFC 9112 6): pure, no socket.

use super::error::Fault;
use super::head::AnswerHead;
use crate::client::BodyLength;
use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use std::time::Duration;

/// How a request says what body it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFraming {
    /// No framing field: no body.
    Silent,
    /// `Content-Length: 0`.
    Empty,
    /// `Content-Length`, not 0.
    Exactly(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
}

impl RequestFraming {
    /// No field came in: none goes out, but for methods whose meaning anticipates content (RFC 9110 8.6).
    pub fn of(method: &Method, length: BodyLength) -> Self {
        match length {
            BodyLength::Chunked => Self::Chunked,
            BodyLength::Exactly(0) => Self::Empty,
            BodyLength::Exactly(length) => Self::Exactly(length),
            BodyLength::None if [Method::POST, Method::PUT, Method::PATCH].contains(method) => Self::Empty,
            BodyLength::None => Self::Silent,
        }
    }

    /// Whether there are octets to send after the head.
    pub fn has_body(self) -> bool {
        matches!(self, Self::Exactly(_) | Self::Chunked)
    }
}

/// Where the body of an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerFraming {
    /// There is none.
    None,
    /// After so many octets.
    Exactly(u64),
    /// With the last chunk.
    Chunked,
    /// When the upstream closes.
    UntilClose,
}

/// What of an answer's head concerns its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnswerKind {
    pub(super) framing: AnswerFraming,
    /// The connection must not be used again, whatever the client thinks.
    pub(super) must_close: bool,
    /// `Keep-Alive: timeout=`.
    pub(super) keep_alive: Option<Duration>,
}

impl AnswerKind {
    /// Judges a head, in which Content-Length says `length`.
    pub(super) fn of(method: &Method, head: &AnswerHead, length: Option<u64>) -> Result<Self, Fault> {
        if head.status.is_informational() {
            return Err(Fault::bad_response(format!("{} where the final head should be", head.status.as_u16())));
        }
        let codings = transfer_codings(&head.fields)?;
        if codings && head.version == Version::HTTP_10 {
            return Err(Fault::bad_response("Transfer-Encoding in an HTTP/1.0 answer"));
        }
        let bodiless = *method == Method::HEAD
            || [StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT, StatusCode::NOT_MODIFIED].contains(&head.status);
        let framing = match (bodiless, codings, length) {
            (true, ..) | (false, false, Some(0)) => AnswerFraming::None,
            (false, true, _) => AnswerFraming::Chunked,
            (false, false, Some(length)) => AnswerFraming::Exactly(length),
            (false, false, None) => AnswerFraming::UntilClose,
        };
        let both = codings && length.is_some();
        let must_close = both || says_that_more_follows(head.status, codings, length) || !persists(head);
        Ok(Self { framing, must_close, keep_alive: keep_alive(&head.fields) })
    }
}

/// Whether an answer that can have no body says, or lets it open, that octets follow: then they may.
fn says_that_more_follows(status: StatusCode, codings: bool, length: Option<u64>) -> bool {
    match status {
        StatusCode::NO_CONTENT => codings || length.is_some_and(|length| length > 0),
        // RFC 9110 15.3.6: it has to say that nothing follows.
        StatusCode::RESET_CONTENT => codings || length != Some(0),
        _ => false,
    }
}

/// Whether the server will serve another request on the connection (RFC 9112 9.3).
fn persists(head: &AnswerHead) -> bool {
    let mut options =
        head.fields.get_all(CONNECTION).iter().flat_map(|line| line.as_bytes().split(|octet| *octet == b','));
    let mut keep_alive = head.version != Version::HTTP_10;
    let closes = options.any(|option| {
        keep_alive |= option.trim_ascii().eq_ignore_ascii_case(b"keep-alive");
        option.trim_ascii().eq_ignore_ascii_case(b"close")
    });
    keep_alive && !closes
}

/// Whether the body is chunked. Any other coding would have to be undone before the body may be passed on, and nobody asked for it.
fn transfer_codings(fields: &HeaderMap) -> Result<bool, Fault> {
    let mut lines = fields.get_all(TRANSFER_ENCODING).iter();
    match (lines.next(), lines.next()) {
        (None, _) => Ok(false),
        (Some(only), None) if only.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") => Ok(true),
        (Some(first), _) => Err(Fault::bad_response(format!("Transfer-Encoding {first:?} is not understood"))),
    }
}

fn keep_alive(fields: &HeaderMap) -> Option<Duration> {
    let parameters = fields.get_all("keep-alive").iter().filter_map(|value| value.to_str().ok());
    let seconds = parameters
        .flat_map(|line| line.split(','))
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("timeout"))
        .and_then(|(_, value)| value.trim().trim_matches('"').parse().ok())?;
    Some(Duration::from_secs(seconds))
}

/// What callers must not send: framing, of which there is never more than one, and what asks for something of the connection.
const OF_THE_HOP: [HeaderName; 5] = [CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION, EXPECT, UPGRADE];

/// Whether a field is this hop's own affair, whatever a caller says.
pub(super) fn is_of_the_hop(name: &HeaderName) -> bool {
    OF_THE_HOP.contains(name)
}

/// Removes what is this hop's own affair.
pub fn strip(fields: &mut HeaderMap) {
    for name in OF_THE_HOP {
        fields.remove(name);
    }
}

/// Appends the field line of a body, if it has one.
pub(super) fn write(head: &mut Vec<u8>, framing: RequestFraming) {
    let length = match framing {
        RequestFraming::Silent => return,
        RequestFraming::Chunked => return head.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        RequestFraming::Empty => 0,
        RequestFraming::Exactly(length) => length,
    };
    head.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
}

/// The field by which ureq sends no body of its own. It comes last, and [`announce`] replaces it.
pub(super) fn placeholder(fields: &mut HeaderMap) {
    fields.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
}

/// Replaces the placeholder at the end of a request head by the framing of a body.
pub(super) fn announce(head: &mut Vec<u8>, framing: RequestFraming) -> Result<(), Fault> {
    const PLACEHOLDER: &[u8] = b"content-length: 0\r\n\r\n";
    if !framing.has_body() {
        return Ok(());
    }
    if !head.ends_with(PLACEHOLDER) {
        return Err(Fault::new(crate::reason::Reason::Internal, "the framing field is not the last of the head"));
    }
    head.truncate(head.len() - PLACEHOLDER.len());
    write(head, framing);
    head.extend_from_slice(b"\r\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(version: Version, status: u16, told: &[(&str, &str)]) -> AnswerHead {
        let mut fields = HeaderMap::new();
        for (name, value) in told {
            fields.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        AnswerHead { status: StatusCode::from_u16(status).unwrap(), version, fields }
    }

    #[track_caller]
    fn check(method: Method, status: u16, fields: &[(&str, &str)], length: Option<u64>, expected: AnswerFraming) {
        let kind = AnswerKind::of(&method, &head(Version::HTTP_11, status, fields), length).unwrap();
        assert_eq!(kind.framing, expected, "{status} {fields:?}");
        let open_end = status == 205 || (status == 204 && length.is_some());
        assert_eq!(kind.must_close, fields.len() == 2 || open_end, "{status} {fields:?}");
    }

    #[test]
    fn a_head_tells_whether_its_connection_persists() {
        let check = |version, options: &[&str], expected| {
            let fields: Vec<_> = options.iter().map(|option| ("connection", *option)).collect();
            assert_eq!(persists(&head(version, 200, &fields)), expected, "{version:?} {options:?}");
        };
        check(Version::HTTP_11, &[], true);
        check(Version::HTTP_11, &["keep-alive"], true);
        check(Version::HTTP_11, &["x-a, Close"], false);
        check(Version::HTTP_11, &["keep-alive", "close"], false);
        check(Version::HTTP_11, &["closed"], true);
        check(Version::HTTP_10, &[], false);
        check(Version::HTTP_10, &["x-a", "Keep-Alive"], true);
        check(Version::HTTP_10, &["keep-alive, close"], false);
    }

    #[test]
    fn a_head_tells_where_its_body_ends() {
        use AnswerFraming::{Chunked, Exactly, None as Nothing, UntilClose};
        let (length, chunked) = (("content-length", "5"), ("transfer-encoding", "Chunked "));
        check(Method::GET, 200, &[length], Some(5), Exactly(5));
        check(Method::GET, 200, &[chunked], None, Chunked);
        check(Method::GET, 200, &[], None, UntilClose);
        check(Method::GET, 200, &[("content-length", "0, 00")], Some(0), Nothing);
        check(Method::GET, 200, &[length, chunked], Some(5), Chunked);
        for status in [204, 205, 304] {
            check(Method::GET, status, &[length], Some(5), Nothing);
            check(Method::GET, status, &[], None, Nothing);
        }
        check(Method::HEAD, 200, &[chunked], None, Nothing);
        for status in [100, 101, 103, 199] {
            assert!(AnswerKind::of(&Method::GET, &head(Version::HTTP_11, status, &[]), None).is_err(), "{status}");
        }
        let empty = head(Version::HTTP_11, 205, &[("content-length", "0")]);
        assert!(!AnswerKind::of(&Method::GET, &empty, Some(0)).unwrap().must_close);
    }

    #[test]
    fn codings_that_cannot_be_undone_are_faults() {
        for value in ["gzip", "gzip, chunked", "chunked, gzip", "identity", "", "x-chunked", "chunked;q=1"] {
            let head = head(Version::HTTP_11, 200, &[("transfer-encoding", value)]);
            assert!(AnswerKind::of(&Method::GET, &head, None).is_err(), "{value:?}");
        }
        let twice = head(Version::HTTP_11, 200, &[("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")]);
        assert!(AnswerKind::of(&Method::GET, &twice, None).is_err());
        let old = head(Version::HTTP_10, 200, &[("transfer-encoding", "chunked")]);
        assert!(AnswerKind::of(&Method::GET, &old, None).is_err());
    }

    #[test]
    fn keep_alive_parameters_are_read_leniently() {
        for (value, expected) in [
            ("timeout=5", Some(5)),
            ("max=100, Timeout = 20", Some(20)),
            ("timeout=\"7\"", Some(7)),
            ("timeout", None),
            ("timeout=", None),
            ("timeout=-1", None),
            ("", None),
            ("max=5", None),
        ] {
            let head = head(Version::HTTP_11, 200, &[("keep-alive", value)]);
            assert_eq!(keep_alive(&head.fields), expected.map(Duration::from_secs), "{value:?}");
        }
    }

    #[test]
    fn the_placeholder_gives_way_to_the_framing() {
        let announced = |head: &str, framing| {
            let mut head = head.as_bytes().to_vec();
            announce(&mut head, framing).map(|()| String::from_utf8(head).unwrap()).ok()
        };
        let head = "POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(announced(head, RequestFraming::Empty).unwrap(), head);
        let sized = announced(head, RequestFraming::Exactly(u64::MAX)).unwrap();
        assert_eq!(sized, "POST / HTTP/1.1\r\ncontent-length: 18446744073709551615\r\n\r\n");
        let chunked = announced(head, RequestFraming::Chunked).unwrap();
        assert_eq!(chunked, "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n");
        assert_eq!(announced("POST / HTTP/1.1\r\n\r\n", RequestFraming::Chunked), None);
    }
}
