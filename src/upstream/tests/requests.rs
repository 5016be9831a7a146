//! What an upstream sees of a request: line, fields, framing, octet for octet.

use super::*;
use crate::client::BodyLength;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

/// Tells each head, with so many octets of what follows it.
fn recording(body: usize) -> (Origin, Receiver<String>) {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let origin = Origin::start(move |_, peer| {
        while let Some(head) = peer.head() {
            let body = peer.body(body);
            tell.lock().unwrap().send(head + std::str::from_utf8(&body).unwrap()).unwrap();
            peer.send(OK);
        }
    });
    (origin, told)
}

#[track_caller]
fn check(method: &str, length: BodyLength, steps: Vec<Step>, expected: &str) {
    let (origin, seen) = recording(expected.split_once("\r\n\r\n").map_or(0, |(_, body)| body.len()));
    let server = server(&origin);
    let outcome = call(&server, request(method, "/p?q", &[("x-a", "1")]), &mut TestClient::new(length, steps));
    outcome.unwrap();
    let line = format!("{method} /p?q HTTP/1.1\r\nhost: {}\r\nx-a: 1\r\n{expected}", origin.address);
    assert_eq!(seen.recv().unwrap(), line);
}

/// BODY-02, BODY-03, BODY-12.
#[test]
fn the_framing_is_the_clients_and_there_is_one() {
    for method in ["GET", "HEAD", "DELETE", "OPTIONS", "PROPFIND"] {
        check(method, BodyLength::None, vec![], "\r\n");
        check(method, BodyLength::Exactly(0), vec![], "content-length: 0\r\n\r\n");
    }
    for method in ["POST", "PUT", "PATCH"] {
        check(method, BodyLength::None, vec![], "content-length: 0\r\n\r\n");
        check(method, BodyLength::Exactly(0), vec![], "content-length: 0\r\n\r\n");
    }
    for method in ["GET", "DELETE", "POST", "PROPFIND"] {
        let body = || vec![Step::Data(b"body")];
        check(method, BodyLength::Exactly(4), body(), "content-length: 4\r\n\r\nbody");
        check(method, BodyLength::Chunked, body(), "transfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n");
    }
    let slow = vec![Step::Pause, Step::Data(b"a"), Step::Data(b"bc"), Step::Pause, Step::Data(b"d")];
    check("POST", BodyLength::Exactly(4), slow, "content-length: 4\r\n\r\nabcd");
    let slow = vec![Step::Pause, Step::Data(b"a"), Step::Pause, Step::Data(b"bc"), Step::Pause];
    check("POST", BodyLength::Chunked, slow, "transfer-encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n");
    check("POST", BodyLength::Chunked, vec![], "transfer-encoding: chunked\r\n\r\n0\r\n\r\n");
}

#[test]
fn framing_and_connection_fields_of_the_caller_are_dropped() {
    let (origin, seen) = recording(0);
    let server = server(&origin);
    let fields = [("content-length", "7"), ("x", "1"), ("transfer-encoding", "chunked"), ("connection", "close")];
    call(&server, request("GET", "/", &fields), &mut TestClient::silent()).unwrap();
    assert_eq!(seen.recv().unwrap(), format!("GET / HTTP/1.1\r\nhost: {}\r\nx: 1\r\n\r\n", origin.address));
}

#[test]
fn host_is_the_servers_unless_the_request_brings_its_own() {
    let (origin, seen) = recording(0);
    let server = server(&origin);
    for (host, expected) in [(None, &*origin.address.to_string()), (Some("gw.test"), "gw.test")] {
        let mut asked = request("GET", "/", &[]);
        asked.fields.remove("host");
        host.map(|host| asked.fields.insert("host", host.parse().unwrap()));
        call(&server, asked, &mut TestClient::silent()).unwrap();
        assert_eq!(seen.recv().unwrap(), format!("GET / HTTP/1.1\r\nhost: {expected}\r\n\r\n"));
    }
}

#[test]
fn the_target_arrives_octet_for_octet() {
    let (origin, seen) = recording(0);
    let server = server(&origin);
    for target in [
        "/",
        "*",
        "/?",
        "/a?",
        "/a?b?c",
        "//x//",
        "/a%2Fb%2f%zz%",
        "/a%20b?q=1%2B1&&x=&y",
        "/;a=1/..;/b",
        "/[x]?[]={}",
        "/\u{e5}?\u{e5}",
        "/a|b\\c^d\"",
        "/?match[]=up&k=v==",
    ] {
        call(&server, request("OPTIONS", target, &[]), &mut TestClient::silent()).unwrap();
        let line = seen.recv().unwrap();
        let line = line.split("\r\n").next().unwrap();
        assert_eq!(line, format!("OPTIONS {target} HTTP/1.1"));
    }
}

#[test]
fn a_target_that_cannot_arrive_as_it_is_is_refused() {
    let origin = Origin::answering(OK);
    let server = server(&origin);
    for target in ["", "x", "?q", "/a b", "/a#b", "/<a>", "/?\"", "http://h/", "/a\x7f"] {
        let error =
            fails(call(&server, request("GET", target, &[]), &mut TestClient::silent()), Reason::BadRequest, "target");
        assert_eq!(error.marks.attempts, 0, "{target}");
    }
    fails(call(&server, request("CONNECT", "/", &[]), &mut TestClient::silent()), Reason::BadRequest, "CONNECT");
    assert_eq!(origin.accepted(), 0);
    is_idle(&server, 0);
}

/// HDR-14: field values are octets; HDR-17: nothing is added, nothing remembered.
#[test]
fn fields_pass_as_they_are_and_nothing_is_added() {
    let answer = "HTTP/1.1 302 Found\r\nLocation: /next\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nX: \u{e5}\r\n\
                  Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello";
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let origin = Origin::start(move |_, peer| {
        while let Some(head) = peer.head() {
            tell.lock().unwrap().send(head).unwrap();
            peer.send(answer);
        }
    });
    let server = server(&origin);
    let mut fields = request("GET", "/", &[("host", "shop.test"), ("x-b", "1"), ("x-b", "2")]);
    fields.fields.append("x-latin", http::HeaderValue::from_bytes(b"\xe5").unwrap());
    let mut answer = call(&server, fields, &mut TestClient::silent()).unwrap();
    let expected = "GET / HTTP/1.1\r\nhost: shop.test\r\nx-b: 1\r\nx-b: 2\r\nx-latin: \u{fffd}\r\n\r\n";
    assert_eq!(told.recv().unwrap(), expected);
    assert_eq!(answer.status.as_u16(), 302);
    assert_eq!(answer.fields.get_all("set-cookie").iter().collect::<Vec<_>>(), ["a=1", "b=2"]);
    assert_eq!(answer.fields["x"].as_bytes(), "\u{e5}".as_bytes());
    assert_eq!(answer.fields["content-encoding"], "gzip");
    assert_eq!(drain(&mut answer).unwrap(), "hello");
    get(&server).unwrap();
    assert!(!told.recv().unwrap().contains("cookie"));
    assert!(told.try_recv().is_err(), "a redirect was followed");
}

#[test]
fn octets_beyond_ascii_in_host_and_authorization_pass_but_for_ureq() {
    let origin = Origin::answering(OK);
    let server = server(&origin);
    for name in ["host", "authorization"] {
        let outcome = call(&server, request("GET", "/", &[(name, "\u{e5}")]), &mut TestClient::silent());
        match CLIENT {
            HttpClient::Native => assert_eq!(whole(outcome).0, 200),
            HttpClient::Ureq => drop(fails(outcome, Reason::BadRequest, "")),
        }
    }
    is_idle(&server, usize::from(CLIENT == HttpClient::Native));
}

/// HDR-20: our own limits let through what the front lets through.
#[test]
fn long_targets_and_fields_pass() {
    let (origin, seen) = recording(0);
    let server = server(&origin);
    let target: &'static str = Box::leak(format!("/{}", "x".repeat(40_000)).into_boxed_str());
    let value = "y".repeat(50_000);
    whole(call(&server, request("GET", target, &[("a", &value), ("b", &value)]), &mut TestClient::silent()));
    let seen = seen.recv().unwrap();
    assert!(seen.contains(target) && seen.matches(&value).count() == 2);
}

#[test]
fn head_and_small_body_leave_together() {
    let origin = Origin::start(|_, peer| {
        let mut octets = [0; 4096];
        let count = std::io::Read::read(&mut peer.stream, &mut octets).unwrap();
        let together = octets[..count].ends_with(b"\r\n\r\nbody");
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{together:<5}"));
    });
    let mut client = TestClient::new(BodyLength::Exactly(4), [Step::Data(b"body")]);
    assert_eq!(whole(call(&server(&origin), request("POST", "/", &[]), &mut client)).1, "true ");
}
