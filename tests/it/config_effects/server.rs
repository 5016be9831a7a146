//! `server.*`: the front, in Tomcat's words.

use crate::support::client::RawClient;
use crate::support::gateway::{Setup, TestGateway, assert_reason};
use crate::support::origin::TestOrigin;
use crate::support::socket::free_port;
use crate::support::wait;
use crossbeam_channel::{Sender, unbounded};
use std::net::SocketAddr;
use std::time::Duration;

fn gated(set: impl FnOnce(Setup) -> Setup) -> (TestOrigin, Sender<()>, TestGateway) {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    let gateway = set(Setup::to(&origin)).start();
    (origin, release, gateway)
}

#[track_caller]
fn send_get(gateway: &TestGateway) -> RawClient {
    let mut client = gateway.client();
    client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    client
}

/// Lets every request go and checks that each is answered.
#[track_caller]
fn release_all(release: &Sender<()>, clients: &mut [RawClient]) {
    clients.iter().for_each(|_| release.send(()).expect("the origin waits"));
    for client in clients {
        assert_eq!(client.response().text(), "released");
    }
}

#[test]
fn port_and_address_are_where_it_listens() {
    let port = free_port();
    let setup = Setup::new().set("server.port", port.to_string()).set("server.address", "127.0.0.2");
    let gateway = setup.start();
    assert_eq!(gateway.address(), SocketAddr::from(([127, 0, 0, 2], port)));
    assert_eq!(gateway.get("/").status, 404);
    assert!(RawClient::try_connect(SocketAddr::from(([127, 0, 0, 1], port))).is_err());
}

/// A port that is taken is a failed start, with its own exit code and a word about why.
#[test]
fn a_taken_port_is_a_failed_start() {
    let (taken, address) = crate::support::socket::listen();
    let finished = Setup::new().set("server.port", address.port().to_string()).run_to_end(&[]);
    assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains(&address.port().to_string()), "{}", finished.stderr);
    drop(taken);
}

/// As many requests upstream at once as there are workers, under both names of the key; the next waits for its turn.
#[test]
fn max_threads_bounds_what_is_served_at_once() {
    for key in ["server.tomcat.max-threads", "server.tomcat.threads.max"] {
        let (origin, release, gateway) = gated(|setup| setup.set(key, "2"));
        let mut clients: Vec<_> = (0..3).map(|_| send_get(&gateway)).collect();
        origin.wait_for_requests(2);
        wait::until("the third waits", || gateway.metric("portcullis_queue_waiting", "") == 1.0);
        assert_eq!(origin.requests().len(), 2, "{key}");
        release_all(&release, &mut clients);
        drop(clients);
        gateway.assert_quiet();
    }
}

/// So many threads stand ready before the first request.
#[test]
fn min_spare_threads_stand_ready() {
    for key in ["server.tomcat.min-spare-threads", "server.tomcat.threads.min-spare"] {
        let count = |spare: &str| {
            let gateway = Setup::new().set(key, spare).start();
            gateway.metrics();
            std::fs::read_dir(format!("/proc/{}/task", gateway.process.pid())).expect("Linux lists threads").count()
        };
        assert_eq!(count("30") - count("20"), 10, "{key}");
    }
}

/// Refused only while every worker is busy, and by name.
#[test]
fn the_queue_has_a_capacity() {
    let set =
        |setup: Setup| setup.set("server.tomcat.max-threads", "1").set("server.tomcat.threads.max-queue-capacity", "2");
    let (origin, release, gateway) = gated(set);
    let mut clients = vec![send_get(&gateway)];
    origin.wait_for_requests(1);
    clients.extend([send_get(&gateway), send_get(&gateway)]);
    wait::until("the queue is full", || gateway.metric("portcullis_queue_waiting", "") == 2.0);
    let mut refused = send_get(&gateway);
    let answer = refused.response();
    assert_reason(&answer, 503, "queue_full");
    assert_eq!(answer.field("Connection").as_deref(), Some("close"));
    refused.assert_closed();
    release_all(&release, &mut clients);
    drop(clients);
    gateway.assert_quiet();
}

#[test]
fn the_queue_has_a_timeout() {
    let set = |setup: Setup| setup.set("server.tomcat.max-threads", "1").set("gateway.queue.timeout", "150ms");
    let (origin, release, gateway) = gated(set);
    let mut first = send_get(&gateway);
    origin.wait_for_requests(1);
    let mut late = send_get(&gateway);
    assert_reason(&late.response(), 503, "queue_timeout");
    late.assert_closed();
    release.send(()).expect("the origin waits");
    assert_eq!(first.response().text(), "released");
    assert_eq!(origin.requests().len(), 1, "a refused request goes nowhere");
    drop(first);
    gateway.assert_quiet();
}

/// Beyond it the acceptor stops accepting; the next connection waits in the backlog until one ends.
#[test]
fn max_connections_bounds_open_connections() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-connections", "2").start();
    let (mut first, mut second) = (gateway.client(), gateway.client());
    assert_eq!((first.get("/1").status, second.get("/2").status), (200, 200));
    let mut third = send_get(&gateway);
    wait::stays("the third connection is not served", Duration::from_millis(150), || !third.has_news());
    drop(first);
    assert_eq!(third.response().status, 200);
    drop((second, third));
    gateway.assert_quiet();
}

/// With the acceptor stopped, so many connections wait in the kernel, and no more.
#[test]
fn accept_count_is_the_backlog() {
    let waiting = |count: &str| {
        let origin = TestOrigin::echoing();
        let setup = Setup::to(&origin).set("server.tomcat.max-connections", "1");
        let gateway = setup.set("server.tomcat.accept-count", count).start();
        let mut held = gateway.client();
        assert_eq!(held.get("/").status, 200);
        let connect = |_| std::net::TcpStream::connect_timeout(&gateway.address(), Duration::from_millis(200)).ok();
        (0..40).map_while(connect).collect::<Vec<_>>().len()
    };
    let (few, many) = (waiting("2"), waiting("30"));
    assert!((1..10).contains(&few) && (25..40).contains(&many), "{few} and {many} wait");
}

/// How the matcher reads octets above ASCII; what is forwarded stays as it was.
#[test]
fn uri_encoding_is_for_matching() {
    for (encoding, hit, miss) in [("UTF-8", "/caf%C3%A9/1", "/caf%E9/1"), ("ISO-8859-1", "/caf%E9/1", "/caf%C3%A9/1")] {
        let origin = TestOrigin::echoing();
        let setup = Setup::new().url_route("cafe", "/caf\u{e9}/**", &origin.url());
        let setup = setup.set("zuul.routes.cafe.stripPrefix", "false");
        let gateway = setup.set("server.tomcat.uri-encoding", encoding).start();
        assert_eq!(gateway.get(hit).text(), format!("GET {hit}"), "{encoding}");
        assert_reason(&gateway.get(miss), 404, "no_route");
    }
}

/// PATH-08: octets that no URI may hold are 400 unless they are let through, each in its part of the target.
#[test]
fn relaxed_characters_are_let_through() {
    let origin = TestOrigin::echoing();
    let strict = Setup::to(&origin).start();
    for target in ["/a|b", "/a?b=|", "/a^b", "/a?b=<c>"] {
        assert_reason(&strict.get(target), 400, "bad_request");
    }
    let setup = Setup::to(&origin).set("server.tomcat.relaxed-path-chars", "|,{,}");
    let relaxed = setup.set("server.tomcat.relaxed-query-chars", "[,],{,},|").start();
    for target in ["/a|b", "/a?b=|&c={d}"] {
        assert_eq!(relaxed.get(target).text(), format!("GET {target}"));
    }
    assert_reason(&relaxed.get("/a^b"), 400, "bad_request");
}

/// HDR-20: what the front lets in, the upstream client lets out.
#[test]
fn a_larger_head_limit_is_no_trap_further_on() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.max-http-header-size", "64KB").start();
    let target = format!("/{}", "a".repeat(40_000));
    let mut client = gateway.client();
    let answer = client.request("GET", &target, &format!("X-Big: {}\r\n", "b".repeat(40_000)), b"");
    assert_eq!(answer.status, 200);
    assert_eq!(origin.only_request().target.len(), target.len());
}

#[test]
fn the_container_can_be_swapped() {
    for (container, native) in [("native", true), ("tiny-http", false)] {
        let finished = Setup::new().set("server.container", container).run_to_end(&["check"]);
        assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
        let said = [finished.stdout, finished.stderr].concat();
        assert_eq!(!said.contains("not hardened"), native, "{said}");
    }
}
