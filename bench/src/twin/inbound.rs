//! From hyper's request to the head that the library reads: written anew and parsed, so that it is judged by the same rules.
//!
//! hyper has parsed it before, more leniently: what it repaired on the way (a bare LF, a fragment, the case of names) cannot be seen any
//! more, and what it refused never came here. Writing and reading a head once more costs well under a microsecond.

use http::Version;
use http::request::Parts;
use portcullis::client::BodyLength;
use portcullis::config::Config;
use portcullis::config::model::Relaxed;
use portcullis::wire::HeadError;
use portcullis::wire::framing::body_length;
use portcullis::wire::head::{HeadLimits, RequestHead};
use std::io::Write;

/// How heads are judged.
pub(super) struct Judge {
    limits: HeadLimits,
    relaxed: Relaxed,
}

impl Judge {
    /// As the configuration wants it.
    pub(super) fn new(config: &Config) -> Self {
        Self { limits: HeadLimits::of_size(config.server.max_http_header_size), relaxed: config.server.relaxed.clone() }
    }

    /// The head of the request and the length of its body.
    pub(super) fn head(&self, parts: &Parts) -> Result<(RequestHead, BodyLength), HeadError> {
        let octets = octets(parts);
        let (head, _) = RequestHead::parse(&octets, &self.limits, &self.relaxed)?.ok_or(HeadError::BadRequestLine)?;
        let length = body_length(&head)?;
        Ok((head, length))
    }
}

fn octets(parts: &Parts) -> Vec<u8> {
    let mut octets = Vec::with_capacity(1024);
    octets.extend_from_slice(parts.method.as_str().as_bytes());
    octets.push(b' ');
    match (parts.uri.scheme(), parts.uri.path_and_query()) {
        (None, Some(target)) => octets.extend_from_slice(target.as_str().as_bytes()),
        // Writing to a vector cannot fail.
        _ => drop(write!(octets, "{}", parts.uri)),
    }
    octets.extend_from_slice(if parts.version == Version::HTTP_10 { b" HTTP/1.0\r\n" } else { b" HTTP/1.1\r\n" });
    for (name, value) in &parts.headers {
        octets.extend_from_slice(name.as_str().as_bytes());
        octets.extend_from_slice(b": ");
        octets.extend_from_slice(value.as_bytes());
        octets.extend_from_slice(b"\r\n");
    }
    octets.extend_from_slice(b"\r\n");
    octets
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    #[track_caller]
    fn check(request: http::request::Builder, expected: Result<(&str, BodyLength), HeadError>) {
        let judge = Judge::new(&Config::default());
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let found = judge.head(&parts).map(|(head, length)| (head.target().to_vec(), length));
        assert_eq!(found, expected.map(|(target, length)| (target.as_bytes().to_vec(), length)));
    }

    #[test]
    fn heads_are_judged_as_in_portcullis() {
        let get = |target: &str| Request::builder().uri(target).header("Host", "gw.test");
        check(get("/a%20b?x=1"), Ok(("/a%20b?x=1", BodyLength::None)));
        check(get("http://gw.test/abs?x"), Ok(("http://gw.test/abs?x", BodyLength::None)));
        check(get("/").header("Content-Length", "5"), Ok(("/", BodyLength::Exactly(5))));
        check(get("/").header("Transfer-Encoding", "chunked"), Ok(("/", BodyLength::Chunked)));
        check(get("/").header("Host", "gw.test"), Err(HeadError::HostRepeated));
        check(Request::builder().uri("/"), Err(HeadError::HostMissing));
        check(get("/").header("Expect", "a-pony"), Err(HeadError::Expectation));
        let both = get("/").header("Content-Length", "5").header("Transfer-Encoding", "chunked");
        check(both, Err(HeadError::LengthAndCoding));
        let long = format!("/{}", "a".repeat(9000));
        check(get(&long), Err(HeadError::LineTooLong { limit: 8192 }));
    }
}
