//! Answers of the gateway's own: errors, pages, JSON, canned refusals.
//!
//! A [`Reply`] is small and whole in memory, so it leaves in one write with its length known. Whether its connection persists is asked of
//! the container when it is sent, never before. What Spring's error controller decides (JSON or page) is in `error`,
//! what Zuul 1 would say in `zuul1`.

mod accept;
mod error;
mod zuul1;

pub use error::{ErrorAnswers, Failure, canned_refusal, head_error, head_reply, retry_after};

use crate::client::{Client, Ending};
use crate::wire::head::RequestHead;
use crate::wire::response::{self, Framing, HeadWriter, Persistence, Tail};
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use std::borrow::Cow;
use std::io::IoSlice;
use std::time::SystemTime;

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// Fields in order, names as they are to be seen. `Date`, `Content-Length` and `Connection` are added when it is sent.
    pub fields: Vec<(Cow<'static, str>, HeaderValue)>,
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
        self.fields.push((name.into(), value));
        self
    }

    /// Sends it as the answer to `head`, in one write.
    pub fn send(self, head: &RequestHead, client: &mut dyn Client) -> Ending {
        let may_persist = client.may_persist();
        self.send_on(head, client, may_persist)
    }

    /// The same on a connection of which the caller knows whether it may persist.
    pub fn send_on(self, head: &RequestHead, client: &mut dyn Client, may_persist: bool) -> Ending {
        let framing = Framing::of(head, self.status, Some(self.body.len() as u64));
        let persistence = Persistence::of(head, framing, may_persist);
        let octets = self.head_octets(Tail { framing, persistence, now: SystemTime::now() });
        let body = if response::has_body(head.method(), self.status) { &self.body[..] } else { &[] };
        match client.write(&mut [IoSlice::new(&octets), IoSlice::new(body)]) {
            Ok(()) if persistence == Persistence::Close => Ending::Close,
            Ok(()) => Ending::Done,
            Err(_) => Ending::Abort,
        }
    }

    /// Begins an answer that goes on without a worker: this head, and the first octets of a body whose end is not known. No request can
    /// follow on the connection.
    pub fn begin(&self, framing: Framing, body: &[u8], client: &mut dyn Client) -> Ending {
        let octets = self.head_octets(Tail { framing, persistence: Persistence::Close, now: SystemTime::now() });
        match client.write(&mut [IoSlice::new(&octets), IoSlice::new(body)]) {
            Ok(()) => Ending::Subscribe,
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
    use crate::client::fake::FakeClient;
    use crate::wire::testing::request as head;

    /// What is written as the answer to `request`, without the date, and what becomes of the connection.
    fn sent(reply: Reply, request: &str, client: &mut FakeClient) -> (String, Ending) {
        let ending = reply.send(&head(request), client);
        assert_eq!(client.writes, 1, "one write");
        assert_eq!(String::from_utf8_lossy(&client.written).matches("\r\nDate: ").count(), 1);
        (client.text(), ending)
    }

    fn hello() -> Reply {
        Reply::new(StatusCode::OK, "text/plain", "hello").with("X-A", HeaderValue::from_static("1"))
    }

    const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A: 1\r\nContent-Length: 5\r\n";

    #[test]
    fn a_reply_leaves_in_one_write_and_the_connection_persists() {
        let (octets, ending) = sent(hello(), "GET / HTTP/1.1\r\nHost: a", &mut FakeClient::new());
        assert_eq!(octets, format!("{HELLO}\r\nhello"));
        assert_eq!(ending, Ending::Done);
    }

    #[test]
    fn a_head_request_gets_the_length_and_no_body() {
        let (octets, ending) = sent(hello(), "HEAD / HTTP/1.1\r\nHost: a", &mut FakeClient::new());
        assert_eq!(octets, format!("{HELLO}\r\n"));
        assert_eq!(ending, Ending::Done);
    }

    #[test]
    fn the_connection_ends_when_either_side_wants_it() {
        let closing = format!("{HELLO}Connection: close\r\n\r\nhello");
        let mut draining = FakeClient { may_persist: false, ..FakeClient::new() };
        assert_eq!(sent(hello(), "GET / HTTP/1.1\r\nHost: a", &mut draining), (closing.clone(), Ending::Close));
        let asked = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close";
        assert_eq!(sent(hello(), asked, &mut FakeClient::new()), (closing.clone(), Ending::Close));
        assert_eq!(sent(hello(), "GET / HTTP/1.0", &mut FakeClient::new()), (closing, Ending::Close));
    }

    #[test]
    fn an_old_client_that_asks_for_it_is_kept_and_told() {
        let (octets, ending) = sent(hello(), "GET / HTTP/1.0\r\nConnection: keep-alive", &mut FakeClient::new());
        assert_eq!(octets, format!("{HELLO}Connection: keep-alive\r\n\r\nhello"));
        assert_eq!(ending, Ending::Done);
    }

    #[test]
    fn an_answer_without_content_has_no_length() {
        let (octets, _) =
            sent(Reply::empty(StatusCode::NO_CONTENT), "GET / HTTP/1.1\r\nHost: a", &mut FakeClient::new());
        assert_eq!(octets, "HTTP/1.1 204 No Content\r\n\r\n");
        let (octets, _) = sent(Reply::empty(StatusCode::OK), "GET / HTTP/1.1\r\nHost: a", &mut FakeClient::new());
        assert_eq!(octets, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }

    #[test]
    fn a_client_that_is_gone_ends_the_connection() {
        let mut gone = FakeClient { fails_after: Some(0), ..FakeClient::new() };
        assert_eq!(hello().send(&head("GET / HTTP/1.1\r\nHost: a"), &mut gone), Ending::Abort);
    }
}
