//! How bodies are delimited on the way up and on the way back (RFC 9112 6): pure, no socket.

use super::error::Fault;
use crate::client::BodyLength;
use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use std::time::Duration;

/// How a request says what body it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestFraming {
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
    pub(super) fn of(method: &Method, length: BodyLength) -> Self {
        match length {
            BodyLength::Chunked => Self::Chunked,
            BodyLength::Exactly(0) => Self::Empty,
            BodyLength::Exactly(length) => Self::Exactly(length),
            BodyLength::None if [Method::POST, Method::PUT, Method::PATCH].contains(method) => Self::Empty,
            BodyLength::None => Self::Silent,
        }
    }

    /// Whether there are octets to send after the head.
    pub(super) fn has_body(self) -> bool {
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
    /// The connection must not be used again, whatever ureq thinks.
    pub(super) must_close: bool,
    /// `Keep-Alive: timeout=`.
    pub(super) keep_alive: Option<Duration>,
}

impl AnswerKind {
    /// Judges a head. ureq checked Content-Length by then, and that it is one number; `length` is what it found.
    pub(super) fn of(method: &Method, head: &http::response::Parts, length: Option<u64>) -> Result<Self, Fault> {
        let codings = transfer_codings(&head.headers)?;
        if codings && head.version == Version::HTTP_10 {
            return Err(Fault::bad_response("Transfer-Encoding in an HTTP/1.0 answer"));
        }
        let bodiless = *method == Method::HEAD
            || [StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT, StatusCode::NOT_MODIFIED].contains(&head.status);
        let framing = match (bodiless, codings, length) {
            (true, ..) | (false, false, Some(0)) => AnswerFraming::None,
            (false, true, _) => AnswerFraming::Chunked,
            (false, false, Some(length)) => AnswerFraming::Exactly(length),
            (false, false, None) if zero_length(&head.headers) => AnswerFraming::None,
            (false, false, None) => AnswerFraming::UntilClose,
        };
        let both = codings && head.headers.contains_key(CONTENT_LENGTH);
        Ok(Self { framing, must_close: both, keep_alive: keep_alive(&head.headers) })
    }
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

/// ureq tells no length of a body that it knows to be empty.
fn zero_length(fields: &HeaderMap) -> bool {
    fields.get(CONTENT_LENGTH).is_some_and(|value| {
        let digits = value.as_bytes().split(|octet| *octet == b',').next().unwrap_or_default().trim_ascii();
        !digits.is_empty() && digits.iter().all(|digit| *digit == b'0')
    })
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

/// Removes what callers must not send: framing, of which there is never more than one, and what asks for something of the connection.
pub(super) fn strip(fields: &mut HeaderMap) {
    for name in [CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION, EXPECT, UPGRADE] {
        fields.remove(name);
    }
}

/// The field by which ureq sends no body of its own. It comes last, and [`announce`] replaces it.
pub(super) fn placeholder(fields: &mut HeaderMap) {
    fields.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
}

/// Replaces the placeholder at the end of a request head by the framing of a body.
pub(super) fn announce(head: &mut Vec<u8>, framing: RequestFraming) -> Result<(), Fault> {
    const PLACEHOLDER: &[u8] = b"content-length: 0\r\n\r\n";
    let line = match framing {
        RequestFraming::Silent | RequestFraming::Empty => return Ok(()),
        RequestFraming::Exactly(length) => format!("content-length: {length}\r\n\r\n"),
        RequestFraming::Chunked => "transfer-encoding: chunked\r\n\r\n".into(),
    };
    if !head.ends_with(PLACEHOLDER) {
        return Err(Fault::new(crate::reason::Reason::Internal, "the framing field is not the last of the head"));
    }
    head.truncate(head.len() - PLACEHOLDER.len());
    head.extend_from_slice(line.as_bytes());
    Ok(())
}
