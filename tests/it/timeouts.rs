//! Time has a name: which of the times binds, for clients and for upstreams, and what each leaves behind. Times are short, and only their
//! order is tested, never how long a thing took.

use crate::support::gateway::{Setup, assert_reason};
use crate::support::message::End;
use crate::support::origin::{TestOrigin, ok};
use crate::support::wait;
use std::time::Duration;

/// Under both names of the key.
#[test]
fn half_a_head_gets_408_and_silence_gets_a_silent_close() {
    for key in ["server.tomcat.connection-timeout", "server.connection-timeout"] {
        let origin = TestOrigin::echoing();
        let gateway = Setup::to(&origin).set(key, "200ms").start();
        let (mut half, mut silent) = (gateway.client(), gateway.client());
        half.send("GET / HTTP/1.1\r\nHost: gw.");
        assert_reason(&half.response(), 408, "head_timeout");
        half.assert_closed();
        silent.assert_closed();
        assert!(origin.requests().is_empty(), "{key}");
        gateway.assert_quiet();
    }
}

#[test]
fn a_body_that_stalls_gets_408() {
    let origin = TestOrigin::scripted(|talk| {
        if talk.read_head().is_some() {
            assert!(talk.read_body().is_none(), "half a body came whole");
        }
    });
    let gateway = Setup::to(&origin).set("server.tomcat.connection-timeout", "200ms").start();
    let mut client = gateway.client();
    client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 50\r\n\r\nhello");
    assert_reason(&client.response(), 408, "body_timeout");
    client.assert_closed();
    gateway.assert_quiet();
}

/// Rule 10 of the front: each octet comes within its time, but all of them never do.
#[test]
fn a_body_below_the_minimum_rate_gets_408() {
    let origin = TestOrigin::scripted(|talk| {
        if talk.read_head().is_some() {
            assert!(talk.read_body().is_none(), "a dripping body came whole");
        }
    });
    let setup = Setup::to(&origin).set("server.tomcat.connection-timeout", "300ms");
    let gateway = setup.set("gateway.client.min-rate", "5000").start();
    let mut client = gateway.client();
    client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 5000\r\n\r\n");
    wait::until("the dripping upload is cut off", || client.try_send("x").is_err() || client.has_news());
    match client.answer_or_end("POST") {
        Ok(answer) => assert_reason(&answer, 408, "body_timeout"),
        Err(end) => assert_eq!(end, End::Reset, "an end in order would look like an answer"),
    }
    gateway.assert_quiet();
}

/// The read timeout is the longest gap, not the whole time: a slow but steady answer is no timeout.
#[test]
fn a_steady_answer_may_take_longer_than_the_read_timeout() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n");
        talk.drip("x".repeat(20), Duration::from_millis(30));
    });
    let gateway = Setup::to(&origin).set("zuul.host.socketTimeoutMillis", "300").start();
    assert_eq!(gateway.get("/").text(), "x".repeat(20));
    gateway.assert_quiet();
}

/// After the head, silence is an abort: a second status cannot be sent.
#[test]
fn an_answer_that_stalls_in_its_body_is_cut() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\npart");
        talk.stall_until_closed();
    });
    let gateway = Setup::to(&origin).set("zuul.host.socketTimeoutMillis", "200").start();
    let mut client = gateway.client();
    client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    assert!(client.answer_or_end("GET").is_err());
    gateway.assert_quiet();
}

/// ISO-08: the deadline covers all attempts; the nearer of deadline and read timeout binds.
#[test]
fn the_nearer_of_deadline_and_read_timeout_binds() {
    for (deadline, read) in [("150", "60000"), ("60000", "150")] {
        let origin = TestOrigin::scripted(|talk| {
            talk.read_request();
            talk.stall_until_closed();
        });
        let setup = Setup::to_service(&origin).set("up.ribbon.ReadTimeout", read);
        let key = "hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds";
        let gateway = setup.set(key, deadline).start();
        assert_reason(&gateway.get("/"), 504, "timeout");
        assert_eq!(origin.requests().len(), 1);
        gateway.assert_quiet();
    }
}

/// Rule of the deadline: it stands still while the gateway waits for the client's own upload.
#[test]
fn a_slow_upload_does_not_use_up_the_deadline() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.send(ok(b"thanks"));
    });
    let setup = Setup::to_service(&origin).set("gateway.client.min-rate", "0");
    let key = "hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds";
    let gateway = setup.set(key, "300").set("up.ribbon.ReadTimeout", "300").start();
    let mut client = gateway.client();
    client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 12\r\n\r\n");
    client.drip("0123456789ab", Duration::from_millis(60));
    assert_eq!(client.response().text(), "thanks");
    drop(client);
    gateway.assert_quiet();
}

/// CONN-17: nobody answers the handshake; the connect budget is one for all of it.
#[test]
fn a_connect_that_goes_nowhere_is_504() {
    let stuck = FullBacklog::new();
    let setup = Setup::new().url_route("up", "/**", &format!("http://{}", stuck.address()));
    let gateway = setup.set("zuul.host.connectTimeoutMillis", "200").start();
    assert_reason(&gateway.get("/"), 504, "connect_timeout");
    gateway.assert_quiet();
}

/// TLS counts as connecting.
#[test]
fn a_handshake_that_goes_nowhere_is_504() {
    let origin = TestOrigin::scripted(|talk| {
        talk.stall_until_closed();
    });
    let setup = Setup::new().url_route("up", "/**", &format!("https://{}", origin.address()));
    let gateway = setup.set("zuul.host.connectTimeoutMillis", "200").start();
    assert_reason(&gateway.get("/"), 504, "connect_timeout");
    gateway.assert_quiet();
}

/// A listener that never accepts and whose backlog is full: connects to it neither succeed nor fail.
struct FullBacklog {
    listener: socket2::Socket,
    _waiting: Vec<socket2::Socket>,
}

impl FullBacklog {
    fn new() -> Self {
        use socket2::{Domain, SockAddr, Socket, Type};
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        listener.bind(&SockAddr::from(any)).expect("a loopback port");
        listener.listen(0).expect("a bound socket listens");
        let address = listener.local_addr().expect("a bound socket has an address");
        let waiting = (0..4).map(|_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.set_nonblocking(true).expect("sockets can be non-blocking");
            let _ = socket.connect(&address);
            socket
        });
        let _waiting = waiting.collect();
        Self { listener, _waiting }
    }

    fn address(&self) -> std::net::SocketAddr {
        self.listener.local_addr().ok().and_then(|address| address.as_socket()).expect("an IPv4 address")
    }
}
