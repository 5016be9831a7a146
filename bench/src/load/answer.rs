//! Answers, read as they come and judged: right, refused for a reason, or wrong.

use crate::body::{Body, field};
use std::io;

/// The longest head of an answer that is read.
const LONGEST_HEAD: usize = 64 * 1024;
const FIELDS: usize = 100;

/// What an answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// 2xx, with as many octets as were asked for.
    Ok,
    /// It carries `X-Gateway-Reason`.
    Refused(String),
    /// Another status.
    Status(u16),
    /// 2xx, but so many octets.
    WrongBody(u64),
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    /// Whether the connection can carry another request.
    pub(crate) keeps: bool,
}

/// Reads one answer after the other from pieces of a connection's input.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    inbox: Vec<u8>,
    begun: Option<Begun>,
}

/// An answer whose head is through.
#[derive(Debug)]
struct Begun {
    status: u16,
    reason: Option<String>,
    keeps: bool,
    body: Body,
    octets: u64,
}

impl Reader {
    /// Takes a piece; the answer, once it is whole. `expected` is the length of the right body, when it is known.
    pub(crate) fn take(&mut self, piece: &[u8], expected: Option<u64>) -> io::Result<Option<Answer>> {
        if self.begun.is_some() {
            return self.take_body(piece, expected);
        }
        if self.inbox.is_empty() {
            return self.take_head(piece, expected);
        }
        let mut inbox = std::mem::take(&mut self.inbox);
        inbox.extend_from_slice(piece);
        self.take_head(&inbox, expected)
    }

    /// The connection ended: the end of an answer that says so, or of one that is cut off.
    pub(crate) fn closed(&mut self, expected: Option<u64>) -> Option<Answer> {
        let begun = self.begun.take()?;
        matches!(begun.body, Body::UntilClose).then(|| Answer { keeps: false, ..begun.judge(expected) })
    }

    fn take_head(&mut self, input: &[u8], expected: Option<u64>) -> io::Result<Option<Answer>> {
        let mut headers = [httparse::EMPTY_HEADER; FIELDS];
        let mut response = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(end) = response.parse(input).map_err(io::Error::other)? else {
            if input.len() > LONGEST_HEAD {
                return Err(io::Error::other("a head without end"));
            }
            self.inbox = input.to_vec();
            return Ok(None);
        };
        let status = response.code.unwrap_or(0);
        if (100..200).contains(&status) {
            return self.take(&input[end..], expected);
        }
        self.begun = Some(Begun::new(status, &response).ok_or_else(|| io::Error::other("no such body"))?);
        self.take_body(&input[end..], expected)
    }

    fn take_body(&mut self, piece: &[u8], expected: Option<u64>) -> io::Result<Option<Answer>> {
        let Some(begun) = &mut self.begun else { return Ok(None) };
        let taken = begun.body.take(piece).map_err(io::Error::other)?;
        begun.octets += taken.octets;
        if !taken.ended {
            return Ok(None);
        }
        if taken.used < piece.len() {
            return Err(io::Error::other("more came than was asked for"));
        }
        Ok(self.begun.take().map(|begun| begun.judge(expected)))
    }
}

impl Begun {
    fn new(status: u16, response: &httparse::Response<'_, '_>) -> Option<Self> {
        let connection = field(response.headers, "connection").unwrap_or("");
        let otherwise = if matches!(status, 204 | 304) { Body::Exactly(0) } else { Body::UntilClose };
        Some(Self {
            status,
            reason: field(response.headers, "x-gateway-reason").map(str::to_owned),
            keeps: response.version == Some(1) && !connection.eq_ignore_ascii_case("close"),
            body: Body::framed(response.headers, otherwise)?,
            octets: 0,
        })
    }

    fn judge(self, expected: Option<u64>) -> Answer {
        let verdict = match (self.reason, self.status) {
            (Some(reason), _) => Verdict::Refused(reason),
            (None, 200..300) if expected.is_none_or(|expected| expected == self.octets) => Verdict::Ok,
            (None, 200..300) => Verdict::WrongBody(self.octets),
            (None, status) => Verdict::Status(status),
        };
        Answer { verdict, keeps: self.keeps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer, with the input in pieces of `size`; then what the end of the connection brings.
    fn read(input: &str, size: usize) -> (Option<Answer>, Option<Answer>) {
        let mut reader = Reader::default();
        let mut answer = None;
        for piece in input.as_bytes().chunks(size) {
            answer = answer.or(reader.take(piece, Some(5)).expect("an answer"));
        }
        (answer, reader.closed(Some(5)))
    }

    fn answer(verdict: Verdict, keeps: bool) -> Option<Answer> {
        Some(Answer { verdict, keeps })
    }

    #[test]
    fn answers_are_judged_however_they_arrive() {
        let refused = || Verdict::Refused("queue_full".into());
        let table = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", answer(Verdict::Ok, true), None),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                answer(Verdict::Ok, true),
                None,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                answer(Verdict::Ok, true),
                None,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: Close\r\n\r\nhello",
                answer(Verdict::Ok, false),
                None,
            ),
            ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", answer(Verdict::Ok, false), None),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhe", answer(Verdict::WrongBody(2), true), None),
            (
                "HTTP/1.1 503 S\r\nX-Gateway-Reason: queue_full\r\nContent-Length: 0\r\n\r\n",
                answer(refused(), true),
                None,
            ),
            ("HTTP/1.1 502 Bad\r\nContent-Length: 3\r\n\r\nbad", answer(Verdict::Status(502), true), None),
            ("HTTP/1.1 204 None\r\n\r\n", answer(Verdict::WrongBody(0), true), None),
            ("HTTP/1.1 200 OK\r\n\r\nhello", None, answer(Verdict::Ok, false)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", None, None),
            ("HTTP/1.1 200 OK\r\nCont", None, None),
        ];
        for (input, whole, at_close) in table {
            for size in [1, 2, 7, input.len()] {
                assert_eq!(read(input, size), (whole.clone(), at_close.clone()), "{input:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for input in ["SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxx"] {
            assert!(Reader::default().take(input.as_bytes(), None).is_err(), "{input:?}");
        }
    }
}
