//! The example service: something to route to, for a first try, for tests and for measuring.
//!
//! ```text
//! /product/list            a small JSON list, at once
//! /product/slow?ms=50      the same after a while
//! /product/upload          counts and hashes the body
//! /product/bytes?n=1048576 that many octets
//! /get?ms=0                the request as JSON, after a while
//! ```
//!
//! It is a handler like the gateway and is served by the same fronts, in this process or one of its own.

mod bytes;
mod echo;
mod list;
mod pause;
mod upload;

use crate::client::{Client, Ending, Handler, Refused, Request};
use crate::query::parameter;
use crate::reply::Reply;
use crate::wire::head::RequestHead;
use ::bytes::Bytes;
use http::StatusCode;
use list::List;
use serde_json::json;
use std::time::Duration;

/// The longest pause that can be asked for.
const LONGEST_PAUSE: u64 = 60_000;

/// The largest body that can be asked for.
const MOST_OCTETS: u64 = 1 << 40;

/// The example service.
pub struct Example {
    list: List,
}

impl Example {
    /// The service, its list made.
    pub fn new() -> Self {
        Self { list: List::new() }
    }
}

impl Default for Example {
    fn default() -> Self {
        Self::new()
    }
}

impl Handler for Example {
    /// Where uploads are read into; empty until one comes.
    type Local = Vec<u8>;

    fn local(&self) -> Vec<u8> {
        Vec::new()
    }

    fn serve(&self, buffer: &mut Vec<u8>, request: Request, client: &mut dyn Client) -> Ending {
        let head = &request.head;
        match head.path() {
            b"/product/list" => self.list.send(head, client),
            b"/product/slow" => after_pause(head, client, 50, List::reply),
            b"/product/upload" => upload::answer(head, buffer, client),
            b"/product/bytes" => match number(head, "n", 1 << 20, MOST_OCTETS) {
                Ok(count) => bytes::send(head, client, count),
                Err(refusal) => refusal.send(head, client),
            },
            b"/get" => {
                let peer = client.peer();
                after_pause(head, client, 0, || echo::reply(head, peer))
            }
            _ => problem(StatusCode::NOT_FOUND, "there is nothing here").send(head, client),
        }
    }

    fn refused(&self, _refusal: &Refused) {}
}

/// Answers after `?ms=` milliseconds, unless the client goes away meanwhile.
fn after_pause(head: &RequestHead, client: &mut dyn Client, default: u64, reply: impl FnOnce() -> Reply) -> Ending {
    let pause = match number(head, "ms", default, LONGEST_PAUSE) {
        Ok(pause) => Duration::from_millis(pause),
        Err(refusal) => return refusal.send(head, client),
    };
    match pause::pause(pause, &client.cancel()) {
        Ok(()) => reply().send(head, client),
        Err(_) => Ending::Abort,
    }
}

/// The value of a query parameter; the answer to send when it is no number or too large.
fn number(head: &RequestHead, name: &str, default: u64, most: u64) -> Result<u64, Reply> {
    let Some(value) = parameter(head.query().unwrap_or_default(), name) else { return Ok(default) };
    match value.parse() {
        Ok(number) if number <= most => Ok(number),
        _ => Err(problem(StatusCode::BAD_REQUEST, &format!("{name} must be a number from 0 to {most}"))),
    }
}

fn problem(status: StatusCode, message: &str) -> Reply {
    let error = status.canonical_reason().unwrap_or_default();
    json_reply(status, &json!({ "status": status.as_u16(), "error": error, "message": message }))
}

fn json_reply(status: StatusCode, body: &serde_json::Value) -> Reply {
    Reply::new(status, "application/json", Bytes::from(body.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientError;
    use crate::client::fake::{FakeClient, request};

    fn serve(lines: &str, client: &mut FakeClient) -> Ending {
        Example::new().serve(&mut Vec::new(), request(lines), client)
    }

    #[track_caller]
    fn check(lines: &str, client: &mut FakeClient, expected: &str, ending: Ending) {
        assert_eq!(serve(lines, client), ending, "{lines}");
        assert_eq!(client.text(), expected, "{lines}");
    }

    const LIST: &str = r#"[{"id":1,"name":"Portcullis","price":1250.0},{"id":2,"name":"Drawbridge","price":980.5},{"id":3,"name":"Moat","price":4300.0}]"#;

    #[test]
    fn the_list_leaves_in_one_write() {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 126\r\n";
        let whole = format!("{head}\r\n{LIST}");
        assert_eq!(LIST.len(), 126);
        let mut client = FakeClient::new();
        check("GET /product/list HTTP/1.1\r\nHost: a", &mut client, &whole, Ending::Done);
        assert_eq!(client.writes, 1);
        assert!(String::from_utf8_lossy(&client.written).contains("\r\nDate: "));
        let closing = format!("{head}Connection: close\r\n\r\n{LIST}");
        let draining = || FakeClient { may_persist: false, ..FakeClient::new() };
        check("GET /product/list HTTP/1.1\r\nHost: a", &mut draining(), &closing, Ending::Close);
        let asked = "GET /product/list?x HTTP/1.1\r\nHost: a\r\nConnection: close";
        check(asked, &mut FakeClient::new(), &closing, Ending::Close);
        check("GET /product/list HTTP/1.0", &mut FakeClient::new(), &closing, Ending::Close);
        let no_body = format!("{head}\r\n");
        check("HEAD /product/list HTTP/1.1\r\nHost: a", &mut FakeClient::new(), &no_body, Ending::Done);
        let kept = "GET /product/list HTTP/1.0\r\nConnection: keep-alive";
        let told = format!("{head}Connection: keep-alive\r\n\r\n{LIST}");
        check(kept, &mut FakeClient::new(), &told, Ending::Done);
    }

    #[test]
    fn the_slow_list_is_the_same_list() {
        let mut client = FakeClient::new();
        assert_eq!(serve("GET /product/slow?ms=1 HTTP/1.1\r\nHost: a", &mut client), Ending::Done);
        assert!(client.text().ends_with(LIST));
        let mut gone = FakeClient::new();
        gone.cancel.throw();
        assert_eq!(serve("GET /product/slow?ms=60000 HTTP/1.1\r\nHost: a", &mut gone), Ending::Abort);
        assert_eq!(gone.writes, 0);
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        for target in [
            "/product/slow?ms=x",
            "/product/slow?ms=60001",
            "/get?ms=-1",
            "/product/bytes?n=",
            "/product/bytes?n=9999999999999",
        ] {
            let mut client = FakeClient::new();
            serve(&format!("GET {target} HTTP/1.1\r\nHost: a"), &mut client);
            assert!(client.text().starts_with("HTTP/1.1 400 Bad Request\r\n"), "{target}");
            assert!(client.text().contains("must be a number from 0 to "), "{target}");
        }
    }

    #[test]
    fn a_request_is_echoed() {
        let mut client = FakeClient::new();
        let lines = "DELETE /get?a=1&b=%20&a=2&a=3&c HTTP/1.1\r\nHost: h:81\r\nX-A: 1\r\nx-a: 2";
        serve(lines, &mut client);
        let body = r#"{"method":"DELETE","url":"http://h:81/get?a=1&b=%20&a=2&a=3&c","args":{"a":["1","2","3"],"b":" ","c":""},"headers":{"Host":"h:81","X-A":"1, 2"},"origin":"192.0.2.1"}"#;
        assert_eq!(client.text().split_once("\r\n\r\n").unwrap().1, body);
        let mut client = FakeClient::new();
        serve("GET http://h/get HTTP/1.1\r\nHost: h", &mut client);
        assert!(client.text().contains(r#""url":"http://h/get""#));
    }

    #[test]
    fn an_upload_is_counted_and_hashed_however_it_comes() {
        let sum = r#"{"octets":3,"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}"#;
        let some = |octets: &[u8]| Ok(Some(octets.to_vec()));
        for body in [vec![some(b"abc")], vec![some(b"a"), Ok(None), Ok(None), some(b"bc"), Ok(None)]] {
            let waits = body.iter().filter(|piece| **piece == Ok(None)).count();
            let mut client = FakeClient { body: body.into(), ..FakeClient::new() };
            assert_eq!(serve("POST /product/upload HTTP/1.1\r\nHost: a", &mut client), Ending::Done);
            assert!(client.text().ends_with(sum), "{}", client.text());
            assert_eq!(client.waits, waits);
        }
        let mut client = FakeClient::new();
        serve("POST /product/upload HTTP/1.1\r\nHost: a", &mut client);
        assert!(client.text().contains(r#"{"octets":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb924"#));
    }

    #[test]
    fn a_cut_upload_is_not_answered_as_if_whole() {
        for (error, status) in [
            (ClientError::BodyTimeout, "408"),
            (ClientError::BadBody, "400"),
            (ClientError::TooLarge, "413"),
            (ClientError::Gone, ""),
        ] {
            let body = [Ok(Some(b"abc".to_vec())), Err(error)].into();
            let mut client = FakeClient { body, may_persist: false, ..FakeClient::new() };
            let ending = serve("POST /product/upload HTTP/1.1\r\nHost: a", &mut client);
            assert_eq!(client.text().get(9..12).unwrap_or_default(), status);
            assert_eq!(ending, if status.is_empty() { Ending::Abort } else { Ending::Close });
        }
    }

    #[test]
    fn bytes_are_as_many_as_asked_for() {
        for count in [0, 1, 65_536, 65_537, 1_000_000] {
            let mut client = FakeClient::new();
            let lines = format!("GET /product/bytes?n={count} HTTP/1.1\r\nHost: a");
            assert_eq!(serve(&lines, &mut client), Ending::Done);
            let text = client.text();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.ends_with(&format!("Content-Length: {count}")) && body.len() == count, "{count}: {head}");
        }
        let mut client = FakeClient::new();
        serve("HEAD /product/bytes HTTP/1.1\r\nHost: a", &mut client);
        assert!(client.text().ends_with("Content-Length: 1048576\r\n\r\n"));
        let mut gone = FakeClient { fails_after: Some(100_000), ..FakeClient::new() };
        assert_eq!(serve("GET /product/bytes HTTP/1.1\r\nHost: a", &mut gone), Ending::Abort);
        assert!(gone.writes < 4, "a client that is gone is not written to");
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let expected = r#"{"status":404,"error":"Not Found","message":"there is nothing here"}"#;
        let mut client = FakeClient::new();
        assert_eq!(serve("GET /product HTTP/1.1\r\nHost: a", &mut client), Ending::Done);
        assert!(client.text().starts_with("HTTP/1.1 404 ") && client.text().ends_with(expected));
    }
}
