//! From the upstream's answer head to the client's: which fields pass, and how the body is framed on this hop.
//!
//! Field lines are appended straight to the octets of the head, without a map in between. Status line, Date, Connection and the framing
//! lines are `wire::response`'s.

use super::{Named, via};
use crate::router::Route;
use http::header::{CONNECTION, DATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};

/// What decides how an answer is framed.
#[derive(Clone, Copy, Debug)]
pub struct AnswerFacts<'a> {
    /// The request's method.
    pub method: &'a Method,
    /// The client's version.
    pub version: Version,
    /// The answer's status.
    pub status: StatusCode,
}

/// How the client is told where the body ends (RFC 9112 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFraming {
    /// No framing field, and no body.
    None,
    /// Content-Length. For HEAD and 304 it tells the length that a GET would have had, and no body follows.
    Length(u64),
    /// Transfer-Encoding: chunked.
    Chunked,
    /// The body ends with the connection: HTTP/1.0 clients that get a body of unknown length.
    UntilClose,
}

impl AnswerFacts<'_> {
    /// Whether body octets may follow the head; otherwise those that the upstream sends are discarded.
    pub fn has_body(&self) -> bool {
        *self.method != Method::HEAD && !matches!(self.status.as_u16(), 100..=199 | 204 | 205 | 304)
    }
}

/// Appends the lines of the upstream's fields that the client sees, and `Via`; `received` is the upstream's version.
/// Tells whether there was a Date, which the gateway otherwise has to add (RFC 9110 6.6.1).
pub fn answer_fields(route: &Route, received: Version, upstream: &HeaderMap, out: &mut Vec<u8>) -> bool {
    let mut has_date = false;
    for (name, value) in passing(route, upstream) {
        has_date |= *name == DATE;
        line(out, name.as_str(), value.as_bytes());
    }
    if !route.answer_fields.drops(b"via") {
        line(out, "via", via::member(received).as_bytes());
    }
    has_date
}

/// The fields of an interim (1xx) answer that the client sees: what is dropped from a final one must not get out this way.
pub fn interim_fields(route: &Route, upstream: &HeaderMap) -> HeaderMap {
    let mut fields = HeaderMap::with_capacity(upstream.len());
    for (name, value) in passing(route, upstream) {
        fields.append(name, value.clone());
    }
    fields
}

/// How to frame the answer: `length` is that of the upstream's body, or for HEAD and 304 what its Content-Length says; `None` if unknown.
pub fn client_framing(facts: &AnswerFacts<'_>, length: Option<u64>) -> ClientFraming {
    match (facts.status.as_u16(), length) {
        (100..=199 | 204, _) => ClientFraming::None,
        (205, _) => ClientFraming::Length(0),
        (_, Some(length)) => ClientFraming::Length(length),
        _ if !facts.has_body() => ClientFraming::None,
        _ if facts.version == Version::HTTP_10 => ClientFraming::UntilClose,
        _ => ClientFraming::Chunked,
    }
}

fn passing<'a>(route: &'a Route, upstream: &'a HeaderMap) -> impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)> {
    let table = &route.answer_fields;
    let options = upstream.get_all(CONNECTION).iter().flat_map(|value| value.as_bytes().split(|&octet| octet == b','));
    let named = Named::of(options.map(<[u8]>::trim_ascii).filter(|option| !option.is_empty()), table);
    let passes = move |name: &[u8]| !table.drops(name) && !named.contains(name);
    upstream.iter().filter(move |(name, _)| passes(name.as_str().as_bytes()))
}

fn line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.reserve(name.len() + value.len() + 4);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
