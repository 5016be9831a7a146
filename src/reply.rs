//! Answers of the gateway's own: errors, pages, JSON, canned refusals.
//!
//! A [`Reply`] is small and whole in memory, so it leaves in one write with its length known. Whether its connection persists is asked of
//! the container when it is sent, never before. What Spring's error controller decides (statuses, JSON or page) is in `error`.

mod accept;
mod error;

pub use error::{ErrorAnswers, Failure, canned_refusal, head_error, retry_after, zuul1_status};

use crate::client::{Client, Ending};
use crate::wire::head::RequestHead;
use crate::wire::response::{self, Framing, HeadWriter, Persistence, Tail};
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use std::io::IoSlice;
use std::time::SystemTime;

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// Fields in order, names as they are to be seen. `Date`, `Content-Length` and `Connection` are added when it is sent.
    pub fields: Vec<(&'static str, HeaderValue)>,
    /// The body; for HEAD only its length is told.
    pub body: Bytes,
}

impl Reply {
    /// An answer without a body.
    pub fn empty(status: StatusCode) -> Self {
        Self { status, fields: Vec::new(), body: Bytes::new() }
    }

    /// An answer with a body of this type.
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..Self::empty(status) }.with("Content-Type", HeaderValue::from_static(content_type))
    }

    /// The same with one field more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.fields.push((name, value));
        self
    }

    /// Sends it as the answer to `head`, in one write.
    pub fn send(self, head: &RequestHead, client: &mut dyn Client) -> Ending {
        let framing = Framing::of(head, self.status, Some(self.body.len() as u64));
        let persistence = Persistence::of(head, framing, client.may_persist());
        let octets = self.head_octets(Tail { framing, persistence, now: SystemTime::now() });
        let body = if response::has_body(head.method(), self.status) { &self.body[..] } else { &[] };
        match client.write(&mut [IoSlice::new(&octets), IoSlice::new(body)]) {
            Ok(()) if persistence == Persistence::Close => Ending::Close,
            Ok(()) => Ending::Done,
            Err(_) => Ending::Abort,
        }
    }

    /// The whole answer as octets, for a connection that is closed after it and whose request is not known.
    fn closing_octets(&self, now: SystemTime) -> Vec<u8> {
        let framing = Framing::Length(self.body.len() as u64);
        let mut octets = self.head_octets(Tail { framing, persistence: Persistence::Close, now });
        octets.extend_from_slice(&self.body);
        octets
    }

    fn head_octets(&self, tail: Tail) -> Vec<u8> {
        let mut octets = Vec::with_capacity(512);
        let mut writer = HeadWriter::start(&mut octets, self.status);
        for (name, value) in &self.fields {
            writer.field(name, value);
        }
        writer.finish(tail);
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancel;
    use crate::client::{BodyLength, ClientError, Downstream, Woken};
    use crate::deadline::Deadline;
    use crate::wire::testing::request as head;
    use http::HeaderMap;
    use std::net::SocketAddr;
    use std::os::fd::BorrowedFd;
    use std::sync::Arc;

    /// Keeps what is written, or fails to.
    struct Recorder {
        writes: Vec<String>,
        may_persist: bool,
        gone: bool,
        cancel: Arc<Cancel>,
    }

    impl Downstream for Recorder {
        fn length(&self) -> BodyLength {
            BodyLength::None
        }

        fn read_now(&mut self, _into: &mut [u8]) -> Result<Option<usize>, ClientError> {
            Ok(Some(0))
        }

        fn wait(&mut self, _other: Option<BorrowedFd<'_>>, _by: Deadline) -> Result<Woken, ClientError> {
            Ok(Woken::Client)
        }

        fn interim(&mut self, _status: StatusCode, _fields: &HeaderMap) -> Result<(), ClientError> {
            Ok(())
        }
    }

    impl Client for Recorder {
        fn peer(&self) -> SocketAddr {
            ([127, 0, 0, 1], 1).into()
        }

        fn local(&self) -> SocketAddr {
            ([127, 0, 0, 1], 2).into()
        }

        fn write(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), ClientError> {
            if self.gone {
                return Err(ClientError::Gone);
            }
            let octets: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
            self.writes.push(String::from_utf8(octets).unwrap());
            Ok(())
        }

        fn may_persist(&mut self) -> bool {
            self.may_persist
        }

        fn cancel(&self) -> Arc<Cancel> {
            self.cancel.clone()
        }
    }

    fn recorder() -> Recorder {
        Recorder { writes: Vec::new(), may_persist: true, gone: false, cancel: Arc::default() }
    }

    /// What is written as the answer to `request`, without the date, and what becomes of the connection.
    fn sent(reply: Reply, request: &str, client: &mut Recorder) -> (String, Ending) {
        let ending = reply.send(&head(request), client);
        assert_eq!(client.writes.len(), 1, "one write");
        let lines: Vec<_> = client.writes[0].split("\r\n").collect();
        assert_eq!(lines.iter().filter(|line| line.starts_with("Date: ")).count(), 1);
        (lines.into_iter().filter(|line| !line.starts_with("Date: ")).collect::<Vec<_>>().join("\r\n"), ending)
    }

    fn hello() -> Reply {
        Reply::new(StatusCode::OK, "text/plain", "hello").with("X-A", HeaderValue::from_static("1"))
    }

    const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A: 1\r\nContent-Length: 5\r\n";

    #[test]
    fn a_reply_leaves_in_one_write_and_the_connection_persists() {
        let (octets, ending) = sent(hello(), "GET / HTTP/1.1\r\nHost: a", &mut recorder());
        assert_eq!(octets, format!("{HELLO}\r\nhello"));
        assert_eq!(ending, Ending::Done);
    }

    #[test]
    fn a_head_request_gets_the_length_and_no_body() {
        let (octets, ending) = sent(hello(), "HEAD / HTTP/1.1\r\nHost: a", &mut recorder());
        assert_eq!(octets, format!("{HELLO}\r\n"));
        assert_eq!(ending, Ending::Done);
    }

    #[test]
    fn the_connection_ends_when_either_side_wants_it() {
        let closing = format!("{HELLO}Connection: close\r\n\r\nhello");
        let mut draining = Recorder { may_persist: false, ..recorder() };
        assert_eq!(sent(hello(), "GET / HTTP/1.1\r\nHost: a", &mut draining), (closing.clone(), Ending::Close));
        let asked = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close";
        assert_eq!(sent(hello(), asked, &mut recorder()), (closing.clone(), Ending::Close));
        assert_eq!(sent(hello(), "GET / HTTP/1.0", &mut recorder()), (closing, Ending::Close));
    }

    #[test]
    fn an_old_client_that_asks_for_it_is_kept_and_told() {
        let (octets, ending) = sent(hello(), "GET / HTTP/1.0\r\nConnection: keep-alive", &mut recorder());
        assert_eq!(octets, format!("{HELLO}Connection: keep-alive\r\n\r\nhello"));
        assert_eq!(ending, Ending::Done);
    }

    #[test]
    fn an_answer_without_content_has_no_length() {
        let (octets, _) = sent(Reply::empty(StatusCode::NO_CONTENT), "GET / HTTP/1.1\r\nHost: a", &mut recorder());
        assert_eq!(octets, "HTTP/1.1 204 No Content\r\n\r\n");
        let (octets, _) = sent(Reply::empty(StatusCode::OK), "GET / HTTP/1.1\r\nHost: a", &mut recorder());
        assert_eq!(octets, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }

    #[test]
    fn a_client_that_is_gone_ends_the_connection() {
        let mut gone = Recorder { gone: true, ..recorder() };
        assert_eq!(hello().send(&head("GET / HTTP/1.1\r\nHost: a"), &mut gone), Ending::Abort);
    }
}
