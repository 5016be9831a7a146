//! Bodies on the move: octets are passed on as they come, with bounded memory, and an end on either side is an end on the other.

use crate::support::gateway::{Setup, assert_reason};
use crate::support::message::End;
use crate::support::origin::{TestOrigin, answer, ok};
use crate::support::wait;
use crossbeam_channel::unbounded;
use std::io::{Read, Write};
use std::net::Shutdown;

/// BODY-08, BODY-20: an event reaches the client before the next one is sent.
#[test]
fn events_are_passed_on_one_by_one() {
    for framing in ["Transfer-Encoding: chunked\r\n", ""] {
        let (next, gate) = unbounded();
        let origin = TestOrigin::scripted(move |talk| {
            talk.read_request();
            talk.send(format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{framing}\r\n"));
            for i in 0..3 {
                talk.wait_for(&gate);
                let event = format!("data: {i}\n\n");
                let chunk = format!("{:x}\r\n{event}\r\n", event.len());
                talk.send(if framing.is_empty() { event } else { chunk });
            }
            if !framing.is_empty() {
                talk.send("0\r\n\r\n");
            }
        });
        let gateway = Setup::to(&origin).start();
        let mut client = gateway.client();
        client.send("GET /events HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        let head = client.wait_for_head();
        assert_eq!((head.status, head.body.len()), (200, 0), "the head does not wait for a body");
        for i in 0..3 {
            next.send(()).expect("the origin waits");
            client.wait_for_text(&format!("data: {i}\n\n"));
        }
        assert_eq!(client.response().text(), "data: 0\n\ndata: 1\n\ndata: 2\n\n");
        gateway.assert_quiet();
    }
}

/// BODY-08: the upstream has the first part of an upload before the client sends the second.
#[test]
fn uploads_are_passed_on_as_they_come() {
    for chunked in [false, true] {
        let (seen, first) = unbounded();
        let origin = TestOrigin::scripted(move |talk| {
            talk.read_head();
            talk.read_body_up_to(5);
            seen.send(()).expect("the test waits");
            talk.read_body();
            talk.send(ok(b"got it"));
        });
        let gateway = Setup::to(&origin).start();
        let mut client = gateway.client();
        let framing = if chunked { "Transfer-Encoding: chunked" } else { "Content-Length: 10" };
        client.send(format!("POST / HTTP/1.1\r\nHost: gw.test\r\n{framing}\r\n\r\n"));
        client.send(if chunked { "5\r\nfirst\r\n" } else { "first" });
        first.recv_timeout(wait::PATIENCE).expect("the first part reaches the upstream");
        client.send(if chunked { "5\r\n-rest\r\n0\r\n\r\n" } else { "-rest" });
        assert_eq!(client.response().text(), "got it");
        assert_eq!(origin.only_request().text(), "first-rest");
        drop(client);
        gateway.assert_quiet();
    }
}

/// BODY-11: the refusal of an upload reaches the client while it still sends, and the connection then ends in stages.
#[test]
fn an_early_answer_reaches_an_uploading_client() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_head();
        talk.send(answer("413 Content Too Large", "Connection: close\r\n", b"big"));
        talk.half_close();
        talk.stall_until_closed();
    });
    let gateway = Setup::to(&origin).start();
    for framing in ["Content-Length: 104857600", "Transfer-Encoding: chunked"] {
        let mut client = gateway.client();
        client.send(format!("POST / HTTP/1.1\r\nHost: gw.test\r\n{framing}\r\n\r\n"));
        if framing.starts_with('T') {
            client.send("5\r\nfirst\r\n");
        }
        let answer = client.response();
        assert_eq!((answer.status, answer.text().as_str()), (413, "big"), "{framing}");
        assert_eq!(answer.field("Connection").as_deref(), Some("close"), "{framing}");
        drop(client);
    }
    gateway.assert_quiet();
}

/// The same while the upload is in full flow, and the upstream closes without reading it.
#[test]
fn an_early_answer_survives_a_broken_upload() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_head();
        talk.send(answer("401 Unauthorized", "Connection: close\r\n", b"who"));
    });
    let gateway = Setup::to(&origin).start();
    let mut client = gateway.client();
    client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 67108864\r\n\r\n");
    let block = vec![b'x'; 64 * 1024];
    for _ in 0..1024 {
        if client.has_news() || client.try_send(&block).is_err() {
            break;
        }
    }
    let answer = client.response();
    assert!(answer.status == 401 || answer.status == 502, "{}", answer.status);
    assert_eq!(answer.text().as_str() == "who", answer.status == 401);
    drop(client);
    gateway.assert_quiet();
}

/// ISO-12, BODY-20: a client that is gone while the upstream is silent ends the exchange there, long before any timeout.
#[test]
fn a_client_that_leaves_ends_the_upstream_exchange() {
    let (closed, end) = unbounded();
    let origin = TestOrigin::scripted(move |talk| {
        talk.read_request();
        let _ = closed.send(talk.stall_until_closed());
    });
    let gateway = Setup::to(&origin).set("zuul.host.socketTimeoutMillis", "600000").start();
    let mut client = gateway.client();
    client.send("GET /silent HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(1);
    client.reset();
    end.recv_timeout(wait::PATIENCE).expect("the gateway closes the upstream connection");
    gateway.assert_quiet();
}

/// BODY-20: the stream goes on, and the first writes after the client left fail.
#[test]
fn a_client_that_leaves_a_stream_ends_it() {
    let (closed, end) = unbounded();
    let origin = TestOrigin::scripted(move |talk| {
        talk.read_request();
        talk.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        let gone = wait::holds_within(wait::PATIENCE, || talk.is_closed() || !talk.send("5\r\nevent\r\n"));
        let _ = closed.send(gone);
    });
    let gateway = Setup::to(&origin).start();
    let mut client = gateway.client();
    client.send("GET /stream HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    client.wait_for_text("event");
    drop(client);
    assert_eq!(end.recv_timeout(wait::PATIENCE * 2), Ok(true));
    gateway.assert_quiet();
}

/// BODY-21: one that reads nothing is given up, and what it held comes back.
#[test]
fn a_client_that_does_not_read_is_given_up() {
    let (closed, end) = unbounded();
    let origin = TestOrigin::scripted(move |talk| {
        talk.read_request();
        talk.send("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
        let block = vec![b'x'; 64 * 1024];
        while talk.send(&block) {}
        let _ = closed.send(());
    });
    let gateway = Setup::to(&origin).set("server.tomcat.connection-timeout", "300ms").start();
    let mut client = gateway.client();
    client.send("GET /big HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    end.recv_timeout(wait::PATIENCE).expect("the gateway gives up its client");
    gateway.assert_quiet();
    drop(client);
}

/// A reader below the minimum rate, although each of its reads comes in time.
#[test]
fn a_client_that_reads_too_slowly_is_given_up() {
    let (closed, end) = unbounded();
    let origin = TestOrigin::scripted(move |talk| {
        talk.read_request();
        talk.send("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
        let block = vec![b'x'; 64 * 1024];
        while talk.send(&block) {}
        let _ = closed.send(());
    });
    let setup = Setup::to(&origin).set("server.tomcat.connection-timeout", "500ms");
    let gateway = setup.set("gateway.client.min-rate", "100000000").start();
    let mut client = gateway.client();
    client.send("GET /big HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    let mut one = [0; 1024];
    wait::until("the gateway gives up its client", || {
        let _ = client.socket().read(&mut one);
        end.try_recv().is_ok()
    });
    drop(client);
    gateway.assert_quiet();
}

/// BODY-08: a large body both ways, with the memory of the process watched.
#[test]
fn large_bodies_pass_with_flat_memory() {
    const SIZE: usize = 128 << 20;
    let origin = TestOrigin::scripted(|talk| {
        let Some(request) = talk.read_head() else { return };
        if request.method == b"POST" {
            let got = talk.discard(SIZE);
            talk.send(ok(got.to_string()));
            return;
        }
        talk.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n"));
        let block = vec![b'x'; 256 * 1024];
        for _ in 0..SIZE / block.len() {
            if !talk.send(&block) {
                return;
            }
        }
    });
    let gateway = Setup::to(&origin).start();
    gateway.metrics();
    let before = resident_kib(gateway.process.pid());
    let block = vec![b'x'; 256 * 1024];
    let mut client = gateway.client();
    client.send(format!("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: {SIZE}\r\n\r\n"));
    for _ in 0..SIZE / block.len() {
        client.send(&block);
    }
    assert_eq!(client.response().text(), SIZE.to_string());
    let client = gateway.client();
    let mut socket = client.socket();
    socket.write_all(b"GET / HTTP/1.1\r\nHost: gw.test\r\nConnection: close\r\n\r\n").expect("sent");
    let mut got = 0;
    let mut chunk = vec![0; 256 * 1024];
    while let Ok(n @ 1..) = socket.read(&mut chunk) {
        got += n;
    }
    assert!(got > SIZE && got < SIZE + 4096, "{got} octets of {SIZE} and a head");
    let grown = resident_kib(gateway.process.pid()).saturating_sub(before);
    assert!(grown < 24 * 1024, "grown by {grown} KiB over bodies of {} KiB", SIZE / 1024);
    let _ = socket.shutdown(Shutdown::Both);
    gateway.assert_quiet();
}

fn resident_kib(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("Linux tells about processes");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a resident size");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number of KiB")
}

/// SMUG-11: octets after an answer, and an answer that was only half read, are never the next one.
#[test]
fn a_dirty_connection_is_not_used_again() {
    let origin = TestOrigin::scripted(|talk| {
        while let Some(request) = talk.read_request() {
            let poison = &ok(b"POISON")[..];
            talk.send([&ok(&request.target)[..], poison].concat());
        }
    });
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "1").start();
    let mut client = gateway.client();
    for i in 0..4 {
        let target = format!("/{i}");
        assert_eq!(client.get(&target).text(), target);
    }
    assert_eq!(origin.connections(), 4);
    drop(client);
    gateway.assert_quiet();
}

/// CONN-01: the upstream closed the idle connection; the next request must not notice.
#[test]
fn a_stale_connection_is_replaced() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "1").start();
    let mut client = gateway.client();
    for method in ["GET", "POST", "PUT", "DELETE"] {
        assert_eq!(client.request(method, "/1", "", b"").status, 200, "{method}");
        origin.close_connections();
        assert_eq!(client.request(method, "/2", "", b"").status, 200, "{method} on a stale connection");
    }
    assert_eq!(origin.requests().len(), 8);
    drop(client);
    gateway.assert_quiet();
}

/// CONN-01 (3): it dies under the request itself; repeated once, on a new connection, for what is safe to repeat.
#[test]
fn a_connection_that_dies_under_a_get_is_replaced_once() {
    let origin = TestOrigin::scripted(|talk| {
        if talk.read_request().is_some() {
            talk.send(ok(b"first"));
        }
        drop(talk.read_request());
    });
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "1").start();
    let mut client = gateway.client();
    assert_eq!(client.get("/1").text(), "first");
    assert_eq!(client.get("/2").text(), "first");
    let targets: Vec<_> = origin.requests().into_iter().map(|r| (r.connection, r.message.target)).collect();
    assert_eq!(targets, [(0, b"/1".to_vec()), (0, b"/2".to_vec()), (1, b"/2".to_vec())]);
    drop(client);
    gateway.assert_quiet();
}

/// A client that sends neither its body nor anything else is not the upstream's fault.
#[test]
fn a_client_that_resets_its_upload_leaves_no_request() {
    let (closed, end) = unbounded();
    let origin = TestOrigin::scripted(move |talk| {
        talk.read_head();
        let whole = talk.read_body().is_some();
        let _ = closed.send(whole);
    });
    let gateway = Setup::to(&origin).start();
    let mut client = gateway.client();
    client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 1000\r\n\r\nhello");
    origin.wait_for_requests(1);
    client.reset();
    assert_eq!(end.recv_timeout(wait::PATIENCE), Ok(false));
    gateway.assert_quiet();
}

/// The 499 of the access log is counted, and never sent.
#[test]
fn client_aborts_are_counted() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.stall_until_closed();
    });
    let gateway = Setup::to(&origin).start();
    let mut client = gateway.client();
    client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(1);
    client.reset();
    gateway.assert_quiet();
    wait::until("the abort is counted", || {
        gateway.metrics().iter().any(|(key, value)| key.contains("client_aborted") && *value == 1.0)
    });
}

/// An end in order is no error: what a close-delimited answer ends with.
#[test]
fn a_close_delimited_answer_is_whole_when_it_ends_in_order() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.send("HTTP/1.1 200 OK\r\n\r\nto the end");
    });
    let gateway = Setup::to(&origin).start();
    let mut client = gateway.client();
    let answer = client.get("/");
    assert_eq!((answer.status, answer.text().as_str()), (200, "to the end"));
    drop(client);
    gateway.assert_quiet();
}

/// No octet, no answer: an upload over the limit of what is swallowed ends the connection after its answer.
#[test]
fn an_unread_upload_is_swallowed_within_bounds() {
    let gateway = Setup::new().set("server.tomcat.max-swallow-size", "64KB").start();
    let mut small = gateway.client();
    assert_reason(&small.request("POST", "/nowhere", "", &[b'x'; 1024]), 404, "no_route");
    assert_reason(&small.get("/nowhere"), 404, "no_route");
    let mut large = gateway.client();
    large.send("POST /nowhere HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 10000000\r\n\r\n");
    let answer = large.response();
    assert_reason(&answer, 404, "no_route");
    assert_eq!(answer.field("Connection").as_deref(), Some("close"));
    let (_, end) = large.read_to_end();
    assert!(matches!(end, End::Fin | End::Reset));
    drop((small, large));
    gateway.assert_quiet();
}
