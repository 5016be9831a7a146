//! Heads and bodies that are wrong, too long or too odd: the status each gets, and that nothing of it goes upstream as if it were whole.
//!
//! What the corpus of conformance cases tests already is not repeated; here are limits to the octet, and lists of spellings.

use crate::support::gateway::{Setup, TestGateway, assert_reason};
use crate::support::message::End;
use crate::support::origin::TestOrigin;

fn pair() -> (TestOrigin, TestGateway) {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "1").start();
    (origin, gateway)
}

/// Sends octets that must be refused with this reason, the connection closed, and nothing forwarded.
#[track_caller]
fn check_refused(gateway: &TestGateway, octets: &[u8], status: u16, reason: &str) {
    let mut client = gateway.client();
    client.send(octets);
    assert_reason(&client.response(), status, reason);
    client.assert_closed();
}

/// SMUG-02, SMUG-03, SMUG-05, SMUG-06: one head for each spelling.
#[test]
fn ambiguous_heads_are_refused_and_closed() {
    let (origin, gateway) = pair();
    let fields: [&[u8]; 20] = [
        b"Content-Length: 5\r\nContent-Length: 7",
        b"Content-Length: 5, 7",
        b"Content-Length: +5",
        b"Content-Length: 0x5",
        b"Content-Length: 5 5",
        b"Content-Length: -1",
        b"Content-Length:",
        b"Content-Length: 99999999999999999999",
        b"Transfer-Encoding:\x0bchunked",
        b"Transfer-Encoding : chunked",
        b"Transfer-Encoding: chunked, identity",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding: chunked;q=1",
        b"Content-Length : 5",
        b"X-A: a\rb",
        b"X-A: a\r\n b",
        b"X-A: a\0b",
        b"X(A: 1",
        b": 1",
        b"nonsense",
    ];
    for line in fields {
        let head = [b"POST /p HTTP/1.1\r\nHost: gw.test\r\n", line, b"\r\n\r\nhello"].concat();
        let mut client = gateway.client();
        client.send(head);
        let answer = client.response();
        assert!(matches!(answer.status, 400 | 413 | 501), "{}: {}", line.escape_ascii(), answer.status);
        client.assert_closed();
    }
    assert!(origin.requests().is_empty());
    gateway.assert_quiet();
}

/// SMUG-12 and the versions beyond.
#[test]
fn odd_versions_are_decided() {
    let (origin, gateway) = pair();
    check_refused(
        &gateway,
        b"GET / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "bad_request",
    );
    check_refused(&gateway, b"GET / HTTP/0.9\r\nHost: a\r\n\r\n", 400, "bad_request");
    check_refused(&gateway, b"GET /\r\n\r\n", 400, "bad_request");
    assert!(origin.requests().is_empty());
    let mut client = gateway.client();
    client.send("GET /later HTTP/1.9\r\nHost: gw.test\r\n\r\n");
    assert_eq!(client.response().text(), "GET /later");
}

/// HDR-13.
#[test]
fn the_host_must_be_one_and_a_host() {
    let (origin, gateway) = pair();
    for host in ["", "Host: a\r\nHost: a\r\n", "Host: a b\r\n", "Host: a/b\r\n", "Host: u@a\r\n"] {
        check_refused(&gateway, format!("GET / HTTP/1.1\r\n{host}\r\n").as_bytes(), 400, "bad_request");
    }
    let mut client = gateway.client();
    client.send("GET http://x.test/p?q HTTP/1.1\r\nHost: y.test\r\n\r\n");
    assert_eq!(client.response().text(), "GET /p?q");
    assert_eq!(origin.only_request().field("X-Forwarded-Host").as_deref(), Some("x.test"));
}

/// HDR-19, HDR-20: each limit to the octet. The line and the fields have the limit apiece.
#[test]
fn heads_have_limits() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.max-http-header-size", "8000B").start();
    let line = |len: usize| format!("GET /{} HTTP/1.1", "a".repeat(len - "GET / HTTP/1.1".len()));
    let mut client = gateway.client();
    client.send(format!("{}\r\nHost: gw.test\r\n\r\n", line(8000)));
    assert_eq!(client.response().status, 200);
    check_refused(&gateway, format!("{}\r\nHost: gw.test\r\n\r\n", line(8001)).as_bytes(), 414, "target_too_long");
    check_refused(&gateway, line(100_000).as_bytes(), 414, "target_too_long");
    client.send(format!("{}\r\nHost: gw.test\r\nX-Big: {}\r\n\r\n", line(7000), "b".repeat(7000)));
    assert_eq!(client.response().status, 200);
    let big = format!("GET / HTTP/1.1\r\nHost: gw.test\r\nX-Big: {}\r\n\r\n", "b".repeat(8001));
    check_refused(&gateway, big.as_bytes(), 431, "head_too_large");
    client.send(format!("GET / HTTP/1.1\r\nHost: gw.test\r\n{}\r\n", "X-N: 1\r\n".repeat(99)));
    assert_eq!(client.response().status, 200);
    let many = format!("GET / HTTP/1.1\r\nHost: gw.test\r\n{}\r\n", "X-N: 1\r\n".repeat(100));
    check_refused(&gateway, many.as_bytes(), 431, "head_too_large");
    drop(client);
    gateway.assert_quiet();
}

/// CL-framed and chunked, cut off by the client: the upstream must not take it for whole.
#[test]
fn a_cut_off_upload_is_never_whole_upstream() {
    for (head, part) in [("Content-Length: 50", "hello"), ("Transfer-Encoding: chunked", "5\r\nhello\r\n")] {
        let (seen, end) = crossbeam_channel::bounded(1);
        let origin = TestOrigin::scripted(move |talk| {
            talk.read_head();
            let whole = talk.read_body().is_some();
            let _ = seen.send(whole);
        });
        let gateway = Setup::to(&origin).start();
        let mut client = gateway.client();
        client.send(format!("POST /cut HTTP/1.1\r\nHost: gw.test\r\n{head}\r\n\r\n{part}"));
        origin.wait_for_requests(1);
        drop(client);
        let whole = end.recv_timeout(crate::support::wait::PATIENCE);
        assert_eq!(whole, Ok(false), "{head}");
        gateway.assert_quiet();
    }
}

/// Trailers of a request stay apart from its head.
#[test]
fn trailers_never_become_fields() {
    let (origin, gateway) = pair();
    let mut client = gateway.client();
    client.send("POST /t HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 9\r\nAuthorization: x\r\n\r\n");
    assert_eq!(client.response().status, 200);
    let seen = origin.only_request();
    assert_eq!((seen.field("X-Sum"), seen.field("Authorization"), seen.text().as_str()), (None, None, "hi"));
    client.assert_open();
}

/// Chunk sizes that other parsers read differently.
#[test]
fn broken_chunks_end_the_connection_and_the_upstream_exchange() {
    for chunk in [
        "0x5\r\nhello\r\n",
        "5\nhello\r\n",
        "\r\nhello\r\n",
        "5\r\nhelloX\r\n",
        "fffffffffffffffff\r\nhello\r\n",
        "-5\r\nhello\r\n",
    ] {
        let origin = TestOrigin::scripted(|talk| {
            if talk.read_head().is_some() {
                assert!(talk.read_body().is_none(), "a broken body came whole");
            }
        });
        let gateway = Setup::to(&origin).start();
        let mut client = gateway.client();
        client.send(format!("POST /b HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n"));
        match client.answer_or_end("POST") {
            Ok(answer) => assert_reason(&answer, 400, "bad_request"),
            Err(end) => assert!(matches!(end, End::Fin | End::Reset)),
        }
        client.read_to_end();
        gateway.assert_quiet();
    }
}

/// BODY-12: the gateway answers the expectation itself when the forwarder begins to read, and never forwards it.
#[test]
fn an_expectation_is_answered_here() {
    let (origin, gateway) = pair();
    let mut client = gateway.client();
    for framing in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
        client.send(format!("PUT /e HTTP/1.1\r\nHost: gw.test\r\n{framing}\r\nExpect: 100-continue\r\n\r\n"));
        client.wait_for_interim(100);
        client.send(if framing.starts_with('C') { "hello" } else { "5\r\nhello\r\n0\r\n\r\n" });
        assert_eq!(client.response().status, 200);
        let seen = origin.requests().pop().expect("a request").message;
        assert_eq!((seen.field("Expect"), seen.text().as_str()), (None, "hello"));
    }
    assert_eq!(client.interims().len(), 2);
}
