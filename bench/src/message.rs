//! Messages as they are on the wire, read whole: start line, fields as spelt, body without its framing.
//!
//! Text is Latin-1 throughout, an octet a character, so that nothing is lost and data files can hold every octet.

use std::io::{self, BufRead, Read};

/// A request or an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) start: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) framing: Framing,
    pub(crate) body: String,
    /// The lines of the trailer section of a chunked body.
    pub(crate) trailers: Vec<String>,
    /// Whether the body came whole.
    pub(crate) whole: bool,
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Framing {
    #[default]
    None,
    Length(u64),
    Chunked,
    /// The connection's end.
    Close,
}

/// What is read: bodies of answers depend on the request, and end with the connection if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Answer { to_head: bool },
}

impl Message {
    pub(crate) fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Reads the body that the head tells of; an answer to HEAD has none, whatever its fields say.
    pub(crate) fn read_body(&mut self, from: &mut impl BufRead, kind: Kind) {
        let mut body = Vec::new();
        let framing = if kind == (Kind::Answer { to_head: true }) { Framing::None } else { self.framing };
        // A connection that failed is one that ended too early.
        self.whole = read_body(from, framing, &mut body, &mut self.trailers).unwrap_or(false);
        self.body = latin1(&body);
    }

    /// Of an answer.
    pub(crate) fn status(&self) -> Option<u16> {
        self.start.split(' ').nth(1)?.parse().ok()
    }
}

/// Octets as text.
pub(crate) fn latin1(octets: &[u8]) -> String {
    octets.iter().map(|&octet| char::from(octet)).collect()
}

/// Text as octets; characters beyond Latin-1, which no octet can be, become `?`.
pub(crate) fn octets(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

/// Reads a message; none at a clean end.
pub(crate) fn read(from: &mut impl BufRead, kind: Kind) -> io::Result<Option<Message>> {
    let Some(mut message) = read_head(from, kind)? else { return Ok(None) };
    message.read_body(from, kind);
    Ok(Some(message))
}

/// Reads up to the empty line; none at a clean end.
pub(crate) fn read_head(from: &mut impl BufRead, kind: Kind) -> io::Result<Option<Message>> {
    let Some(start) = line(from)? else { return Ok(None) };
    let mut message = Message { start, ..Message::default() };
    while let Some(line) = line(from)?.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        message.fields.push((name.to_owned(), value.trim().to_owned()));
    }
    message.framing = framing(&message, kind);
    Ok(Some(message))
}

fn framing(message: &Message, kind: Kind) -> Framing {
    if message.values("transfer-encoding").any(|value| value.eq_ignore_ascii_case("chunked")) {
        return Framing::Chunked;
    }
    let length = message.values("content-length").next().and_then(|value| value.parse().ok());
    match (length, kind, message.status()) {
        (Some(length), ..) => Framing::Length(length),
        (None, Kind::Answer { to_head: true }, _) | (None, Kind::Answer { .. }, Some(100..=199 | 204 | 304)) => {
            Framing::None
        }
        (None, Kind::Answer { .. }, _) => Framing::Close,
        (None, Kind::Request, _) => Framing::None,
    }
}

/// Whether the body came whole; what came of it is in `body` and in `trailers`.
fn read_body(
    from: &mut impl BufRead,
    framing: Framing,
    body: &mut Vec<u8>,
    trailers: &mut Vec<String>,
) -> io::Result<bool> {
    match framing {
        Framing::None => Ok(true),
        Framing::Length(length) => Ok(take(from, length, body)),
        Framing::Close => Ok(from.read_to_end(body).is_ok()),
        Framing::Chunked => loop {
            let Some(size) = line(from)? else { return Ok(false) };
            let Ok(size) = u64::from_str_radix(size.split(';').next().unwrap_or("").trim(), 16) else {
                return Ok(false);
            };
            if !take(from, size, body) {
                return Ok(false);
            }
            // The end of the chunk's line; after the last chunk, the trailer section up to its empty line.
            while let Some(trailer) = line(from)?.filter(|line| size == 0 && !line.is_empty()) {
                trailers.push(trailer);
            }
            if size == 0 {
                return Ok(true);
            }
        },
    }
}

/// Whether as many octets came; those that did are in `body` also when the connection failed.
fn take(from: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> bool {
    let before = body.len() as u64;
    let _ = from.take(length).read_to_end(body);
    body.len() as u64 - before == length
}

/// A line without its end; none at the end of the stream.
fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    while line.last().is_some_and(|octet| matches!(octet, b'\r' | b'\n')) {
        line.pop();
    }
    Ok(Some(latin1(&line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Message {
        read(&mut octets(text).as_slice(), Kind::Answer { to_head: false }).unwrap().unwrap()
    }

    #[test]
    fn bodies_end_where_their_framing_says() {
        for (text, framing, body, whole) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", Framing::Length(2), "ab", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", Framing::Length(9), "abc", false),
            (
                "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
                Framing::Chunked,
                "abc",
                true,
            ),
            ("HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", Framing::Chunked, "a", false),
            ("HTTP/1.1 200 \r\n\r\nab\u{e4}", Framing::Close, "ab\u{e4}", true),
            ("HTTP/1.1 204 \r\n\r\n", Framing::None, "", true),
        ] {
            let message = answer(text);
            assert_eq!((message.framing, message.body.as_str(), message.whole), (framing, body, whole), "{text}");
        }
    }

    #[test]
    fn an_answer_to_head_has_the_fields_of_a_body_and_none() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
        let message = read(&mut octets(text).as_slice(), Kind::Answer { to_head: true }).unwrap().unwrap();
        assert_eq!((message.framing, message.body.as_str(), message.whole), (Framing::Length(9), "", true));
    }

    #[test]
    fn a_message_after_a_chunked_one_is_not_touched() {
        let text = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n";
        let mut from = &text[..];
        let chunked = read(&mut from, Kind::Request).unwrap().unwrap();
        assert_eq!((chunked.body.as_str(), chunked.trailers), ("", vec!["X: 1".to_owned()]));
        assert_eq!(read(&mut from, Kind::Request).unwrap().unwrap().start, "GET /2 HTTP/1.1");
        assert_eq!(read(&mut from, Kind::Request).unwrap(), None);
    }
}
