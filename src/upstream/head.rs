//! The heads of an exchange as octets: the request written, the answer parsed. No socket, no ureq.
//!
//! ```text
//! GET /list HTTP/1.1 CRLF host: a:80 CRLF x-a: 1 CRLF CRLF   ->   HTTP/1.1 200 OK CRLF Content-Length: 5 CRLF CRLF
//! ```

use super::error::Fault;
use super::framing::{self, RequestFraming};
use crate::wire::framing::parse_length;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use std::mem::MaybeUninit;

/// The most fields of an answer, interim or final.
const FIELDS: usize = 128;

/// A head of so many octets is parsed for every piece that comes of it.
const SHORT: usize = 4096;

/// The head of an answer.
#[derive(Debug)]
pub(super) struct AnswerHead {
    pub(super) status: StatusCode,
    pub(super) version: Version,
    pub(super) fields: HeaderMap,
}

/// Appends the head of a request to `out`; `host` is the server's own, for a request that leaves Host to it.
pub(super) fn write_request(
    out: &mut Vec<u8>,
    (method, target, fields): (&Method, &[u8], &HeaderMap),
    host: &HeaderValue,
    framing: RequestFraming,
) {
    let mut append = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
    append(&[method.as_str().as_bytes(), b" ", target, b" HTTP/1.1\r\n"]);
    let named = fields.get(HOST).filter(|named| !named.is_empty());
    append(&[b"host: ", named.unwrap_or(host).as_bytes(), b"\r\n"]);
    for (name, value) in fields.iter().filter(|(name, _)| *name != HOST && !framing::is_of_the_hop(name)) {
        append(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
    }
    framing::write(out, framing);
    out.extend_from_slice(b"\r\n");
}

/// The head that `octets` begin with and its length; `None` when it is not whole. Lines may end in LF alone (RFC 9112 2.2): unlike a
/// request, an answer is written anew, so that nobody behind can read it in another way.
pub(super) fn parse_answer(octets: &[u8]) -> Result<Option<(usize, AnswerHead)>, Fault> {
    // Not filled in before: four kilobytes of memory that a head of ten fields never touches.
    let mut lines = [const { MaybeUninit::uninit() }; FIELDS];
    let mut head = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(&mut head, octets, &mut lines);
    match parsed {
        Err(error) => Err(Fault::bad_response(format!("head of the answer: {error}"))),
        Ok(httparse::Status::Partial) => Ok(None),
        Ok(httparse::Status::Complete(length)) => Ok(Some((length, answer(&octets[..length], &head)?))),
    }
}

/// Whether it is of use to parse `octets`, of which those up to `from` were not a whole head. A short one is judged early, so that garbage
/// is not waited for; a long one that drips is not parsed for each drop, but when an empty line may have come.
pub(super) fn is_worth_parsing(octets: &[u8], from: usize) -> bool {
    let new = &octets[from.saturating_sub(3)..];
    let has_empty_line =
        |new: &[u8]| new.windows(2).any(|pair| pair == b"\n\n") || new.windows(3).any(|three| three == b"\n\r\n");
    from == 0 || octets.len() <= SHORT || has_empty_line(new)
}

/// What Content-Length says, if it is there: one number, however often it is told (RFC 9112 6.3, rule 5).
pub(super) fn content_length(fields: &HeaderMap) -> Result<Option<u64>, Fault> {
    let mut length = None;
    for line in fields.get_all(CONTENT_LENGTH) {
        for told in line.as_bytes().split(|octet| *octet == b',') {
            let told = parse_length(told.trim_ascii());
            if told.is_none() || length.is_some_and(|length| Some(length) != told) {
                return Err(Fault::bad_response(format!("Content-Length {line:?} is not one number")));
            }
            length = told;
        }
    }
    Ok(length)
}

fn answer(octets: &[u8], head: &httparse::Response<'_, '_>) -> Result<AnswerHead, Fault> {
    let bad = |what: &str| Fault::bad_response(format!("head of the answer: invalid {what}"));
    // One piece of memory for all values.
    let shared = Bytes::copy_from_slice(octets);
    let mut fields = HeaderMap::with_capacity(head.headers.len());
    for line in head.headers.iter() {
        let name = HeaderName::from_bytes(line.name.as_bytes()).map_err(|_| bad("field name"))?;
        let at = line.value.as_ptr() as usize - octets.as_ptr() as usize;
        let value = shared.slice(at..at + line.value.len());
        fields.append(name, HeaderValue::from_maybe_shared(value).map_err(|_| bad("field value"))?);
    }
    let status = StatusCode::from_u16(head.code.unwrap_or_default()).map_err(|_| bad("status"))?;
    let version = if head.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
    Ok(AnswerHead { status, version, fields })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::Random;

    fn fields(lines: &[(&str, &str)]) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in lines {
            fields.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        fields
    }

    #[track_caller]
    fn written(lines: &[(&str, &str)], framing: RequestFraming, expected: &str) {
        let (mut out, host) = (Vec::new(), HeaderValue::from_static("own:80"));
        write_request(&mut out, (&Method::GET, b"/a?b", &fields(lines)), &host, framing);
        assert_eq!(String::from_utf8(out).unwrap(), format!("GET /a?b HTTP/1.1\r\n{expected}\r\n"));
    }

    #[test]
    fn a_request_is_its_line_its_fields_and_one_framing() {
        use RequestFraming::{Chunked, Empty, Exactly, Silent};
        written(&[], Silent, "host: own:80\r\n");
        written(&[("x", "1"), ("x", "2")], Silent, "host: own:80\r\nx: 1\r\nx: 2\r\n");
        written(&[("host", ""), ("x", "1")], Silent, "host: own:80\r\nx: 1\r\n");
        written(&[("x", "1"), ("host", "gw.test"), ("host", "b")], Silent, "host: gw.test\r\nx: 1\r\n");
        written(&[("host", "")], Empty, "host: own:80\r\ncontent-length: 0\r\n");
        written(&[("host", "")], Exactly(u64::MAX), "host: own:80\r\ncontent-length: 18446744073709551615\r\n");
        written(&[("host", "")], Chunked, "host: own:80\r\ntransfer-encoding: chunked\r\n");
        let of_the_hop = [("content-length", "5"), ("expect", "100-continue"), ("connection", "x"), ("upgrade", "h2c")];
        written(&of_the_hop, Silent, "host: own:80\r\n");
        written(&[("transfer-encoding", "gzip")], Chunked, "host: own:80\r\ntransfer-encoding: chunked\r\n");
    }

    const ANSWER: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nX-A: \t1 \r\nx-a: \xe5\r\nEmpty:\r\n\r\nbody";

    #[test]
    fn an_answer_is_parsed_once_it_is_whole() {
        let length = ANSWER.len() - 4;
        for at in 0..length {
            assert!(parse_answer(&ANSWER[..at]).unwrap().is_none(), "{at}");
        }
        let (used, head) = parse_answer(ANSWER).unwrap().unwrap();
        assert_eq!((used, head.status.as_u16(), head.version), (length, 302, Version::HTTP_11));
        assert_eq!(head.fields.get_all("x-a").iter().map(HeaderValue::as_bytes).collect::<Vec<_>>(), [b"1", b"\xe5"]);
        assert_eq!(
            (head.fields.len(), &head.fields["location"], &head.fields["empty"]),
            (4, &"/x".parse().unwrap(), &"".parse().unwrap())
        );
    }

    #[test]
    fn versions_statuses_and_line_ends_that_pass() {
        for (octets, version, status) in [
            ("HTTP/1.0 200 OK\r\n\r\n", Version::HTTP_10, 200),
            ("HTTP/1.1 599\r\n\r\n", Version::HTTP_11, 599),
            ("HTTP/1.1 999 Odd\nX: 1\n\n", Version::HTTP_11, 999),
        ] {
            let (used, head) = parse_answer(octets.as_bytes()).unwrap().unwrap();
            assert_eq!((used, head.version, head.status.as_u16()), (octets.len(), version, status));
        }
    }

    #[test]
    fn what_is_no_head_is_a_bad_response() {
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(FIELDS + 1));
        for octets in [
            "garbage",
            "SSH-2.0-OpenSSH_9\r\n",
            "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 099 No\r\n\r\n",
            "HTTP/1.1 20 No\r\n\r\n",
            "HTTP/1.1 200 OK\r\na b: c\r\n\r\n",
            "HTTP/1.1 200 OK\r\na : c\r\n\r\n",
            "HTTP/1.1 200 OK\r\na: b\r\n folded\r\n\r\n",
            "HTTP/1.1 200 OK\r\na: b\0c\r\n\r\n",
            &many,
        ] {
            let fault = parse_answer(octets.as_bytes()).expect_err(octets);
            assert_eq!(fault.reason, crate::reason::Reason::UpstreamBadResponse);
        }
        assert!(parse_answer(many.replacen("a: b\r\n", "", 1).as_bytes()).unwrap().is_some());
    }

    #[test]
    fn whatever_comes_is_refused_or_lies_within_what_came() {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let mut parsed = 0;
        for _ in 0..20_000 {
            let mut octets = ANSWER.to_vec();
            for _ in 0..=random.below(3) {
                let at = random.below(octets.len());
                octets[at] = [b'\r', b'\n', b' ', b':', b'0', 0, 0x80, random.below(256) as u8][random.below(8)];
            }
            if let Ok(Some((used, head))) = parse_answer(&octets) {
                parsed += 1;
                let held = |value: &HeaderValue| {
                    value.is_empty() || octets[..used].windows(value.len()).any(|part| part == value.as_bytes())
                };
                assert!(head.fields.values().all(held), "{}", octets.escape_ascii());
                assert!(is_worth_parsing(&octets, 0));
            }
        }
        assert!(parsed > 1000, "only {parsed} were parsed: the test shows little");
    }

    #[test]
    fn a_long_head_that_drips_is_parsed_when_it_can_be_whole() {
        for end in ["\r\n\r\n", "\n\n", "\n\r\n"] {
            let head = format!("HTTP/1.1 200 OK\r\nX: {}{end}", "x".repeat(SHORT));
            let octets = head.as_bytes();
            let worth: Vec<_> =
                (SHORT + 1..=octets.len()).filter(|&to| is_worth_parsing(&octets[..to], to - 1)).collect();
            assert_eq!(worth, [octets.len()]);
            assert!(is_worth_parsing(octets, SHORT), "in one piece with other octets");
            assert!(is_worth_parsing(&octets[..octets.len() - 1], 0), "what comes first is judged");
        }
    }

    #[test]
    fn a_length_is_one_number_however_often_it_is_told() {
        let of = |values: &[&str]| {
            let lines: Vec<_> = values.iter().map(|value| ("content-length", *value)).collect();
            content_length(&fields(&lines)).map_err(drop)
        };
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&["5"]), Ok(Some(5)));
        assert_eq!(of(&["5, 5", "05"]), Ok(Some(5)));
        assert_eq!(of(&["18446744073709551615"]), Ok(Some(u64::MAX)));
        for bad in [&["5", "6"][..], &["5,6"], &["+5"], &["-5"], &[""], &["5,"], &["0x5"], &["18446744073709551616"]] {
            assert_eq!(of(bad), Err(()), "{bad:?}");
        }
    }
}
