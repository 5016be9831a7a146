//! The client's connection over its life: how many requests it carries, in what order, and when it ends.

use crate::support::client::RawClient;
use crate::support::gateway::Setup;
use crate::support::message::latin1;
use crate::support::origin::{TestOrigin, answer};
use crate::support::wait;
use std::time::Duration;

/// Also more of them than Tomcat's hundred.
#[test]
fn a_connection_carries_many_requests() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "1").start();
    let mut client = gateway.client();
    for i in 0..150 {
        let answer = client.get(&format!("/{i}"));
        assert_eq!((answer.status, answer.text(), answer.field("Connection")), (200, format!("GET /{i}"), None));
    }
    drop(client);
    assert_eq!(origin.connections(), 1);
    gateway.assert_quiet();
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "1").start();
    let mut client = gateway.client();
    let mut octets = String::new();
    for i in 0..40 {
        octets += &format!("POST /{i} HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 2\r\n\r\nhi");
        octets +=
            &format!("PUT /{i} HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nho\r\n0\r\n\r\n");
    }
    client.send(octets);
    for i in 0..40 {
        assert_eq!(client.response().text(), format!("POST /{i}"));
        assert_eq!(client.response().text(), format!("PUT /{i}"));
    }
    client.assert_open();
    drop(client);
    gateway.assert_quiet();
}

/// Rule 5 of the front: one connection that never pauses does not starve another, with a single worker.
#[test]
fn a_pipelining_client_leaves_room_for_others() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "1").start();
    let mut greedy = gateway.client();
    greedy.send("GET /greedy HTTP/1.1\r\nHost: gw.test\r\n\r\n".repeat(400));
    assert_eq!(gateway.get("/modest").text(), "GET /modest");
    let modest = origin.requests().iter().position(|r| r.message.target == b"/modest");
    assert!(modest.is_some_and(|place| place < 400), "served after all of the other client's requests: {modest:?}");
    for _ in 0..400 {
        assert_eq!(greedy.response().status, 200);
    }
    drop(greedy);
    gateway.assert_quiet();
}

/// BODY-17: closes unless asked not to, de-chunks, and keeps the connection only with a length.
#[test]
fn http_1_0_clients_are_served_in_their_own_way() {
    let origin = TestOrigin::answering(|request| match &request.target[..] {
        b"/chunked" => crate::support::origin::chunked(&["hello", " world"]),
        _ => crate::support::origin::ok(b"sized"),
    });
    let gateway = Setup::to(&origin).start();
    let get = |client: &mut RawClient, target: &str, fields: &str| {
        client.send(format!("GET {target} HTTP/1.0\r\nHost: gw.test\r\n{fields}\r\n"));
        client.response()
    };
    let mut client = gateway.client();
    let plain = get(&mut client, "/sized", "");
    assert_eq!((plain.text().as_str(), plain.field("Content-Length").as_deref()), ("sized", Some("5")));
    client.assert_closed();
    let mut client = gateway.client();
    let chunked = get(&mut client, "/chunked", "Connection: keep-alive\r\n");
    assert_eq!((chunked.text().as_str(), chunked.field("Transfer-Encoding")), ("hello world", None));
    client.assert_closed();
    let mut client = gateway.client();
    for _ in 0..2 {
        let kept = get(&mut client, "/sized", "Connection: keep-alive\r\n");
        assert_eq!(kept.field("Connection").map(|v| v.to_ascii_lowercase()).as_deref(), Some("keep-alive"));
    }
    drop(client);
    gateway.assert_quiet();
}

/// BODY-14, BODY-15: and the connection stays in step.
#[test]
fn bodiless_answers_keep_the_connection_in_step() {
    let origin = TestOrigin::answering(|request| match &request.target[..] {
        b"/204" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        b"/304" => b"HTTP/1.1 304 Not Modified\r\nContent-Length: 120\r\nETag: \"v\"\r\n\r\n".to_vec(),
        b"/205" => answer("205 Reset Content", "", b""),
        _ => b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n".to_vec(),
    });
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "1").start();
    let mut client = gateway.client();
    for _ in 0..2 {
        let head = client.request("HEAD", "/head", "", b"");
        assert_eq!((head.status, head.field("Content-Length").as_deref()), (200, Some("5000")));
        let none = client.get("/204");
        assert_eq!((none.status, none.field("Content-Length"), none.field("Transfer-Encoding")), (204, None, None));
        assert_eq!(client.get("/304").field("ETag").as_deref(), Some("\"v\""));
        let reset = client.get("/205");
        assert_eq!((reset.status, reset.field("Content-Length").as_deref()), (205, Some("0")));
    }
    assert_eq!(origin.connections(), 1);
}

/// ISO-09: four times as many idle connections as workers, and the one that speaks is served at once.
#[test]
fn idle_connections_hold_no_worker() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "2").start();
    let mut idle: Vec<_> = (0..8).map(|_| gateway.client()).collect();
    for client in &mut idle {
        client.get("/warm");
    }
    assert_eq!(gateway.get("/now").status, 200);
    for client in &mut idle {
        client.assert_open();
    }
    drop(idle);
    gateway.assert_quiet();
}

/// A half-sent head holds no worker either.
#[test]
fn slow_heads_hold_no_worker() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "1").start();
    let mut slow: Vec<_> = (0..5).map(|_| gateway.client()).collect();
    for client in &mut slow {
        client.send("GET /slow HTTP/1.1\r\nHost: gw.");
    }
    assert_eq!(gateway.get("/now").status, 200);
    for client in &mut slow {
        client.send("test\r\n\r\n");
        assert_eq!(client.response().text(), "GET /slow");
    }
    drop(slow);
    gateway.assert_quiet();
}

#[test]
fn an_idle_connection_is_closed_silently_in_time() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.keep-alive-timeout", "200ms").start();
    let mut client = gateway.client();
    assert_eq!(client.get("/").status, 200);
    client.assert_closed();
    gateway.assert_quiet();
}

/// CONN-02: how long a connection may idle does not depend on the other times, so it can be longer than a balancer keeps one.
#[test]
fn an_idle_connection_can_outlive_every_other_timeout() {
    let origin = TestOrigin::echoing();
    let setup = Setup::to(&origin).set("server.tomcat.connection-timeout", "100ms");
    for longer in ["75s", "-1"] {
        let gateway = setup.clone().set("server.tomcat.keep-alive-timeout", longer).start();
        let (mut kept, mut silent) = (gateway.client(), gateway.client());
        assert_eq!(kept.get("/").status, 200);
        // It came first, said nothing, and is closed for it.
        silent.assert_closed();
        wait::pace(Duration::from_millis(200));
        kept.assert_open();
    }
}

/// CONN-02: who is told beforehand does not send another request into a connection that is about to end. In a drain too: see `shutdown`.
#[test]
fn the_last_request_that_a_connection_may_carry_says_so() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-keep-alive-requests", "3").start();
    let mut client = gateway.client();
    assert_eq!(client.get("/1").field("Connection"), None);
    assert_eq!(client.get("/2").field("Connection"), None);
    assert_eq!(client.get("/3").field("Connection").as_deref(), Some("close"));
    client.assert_closed();
}

/// A client that half-closes after its request still gets its answer (RFC 9112 9.6).
#[test]
fn a_half_closed_client_gets_its_answer() {
    let (release, gate) = crossbeam_channel::unbounded();
    let origin = TestOrigin::gated(gate);
    let gateway = Setup::to(&origin).start();
    let mut client = gateway.client();
    client.send("GET /half HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    client.half_close();
    origin.wait_for_requests(1);
    release.send(()).expect("the origin waits");
    assert_eq!(client.response().text(), "released");
    client.assert_closed();
    gateway.assert_quiet();
}

/// A head that comes octet by octet, and one cut in two at every place.
#[test]
fn heads_come_in_any_pieces() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).start();
    let octets = b"POST /p HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nfoo\r\n0\r\n\r\n";
    let mut client = gateway.client();
    for cut in 1..octets.len() {
        client.send(&octets[..cut]);
        wait::pace(Duration::from_millis(1));
        client.send(&octets[cut..]);
        assert_eq!(client.response().text(), "POST /p", "cut at {cut}: {}", latin1(&octets[..cut]));
    }
    client.drip(octets, Duration::from_micros(200));
    assert_eq!(client.response().text(), "POST /p");
    assert!(origin.requests().iter().all(|recorded| recorded.message.body == b"foo"));
    drop(client);
    gateway.assert_quiet();
}
