//! Limits of one in the twin: each is filled, refuses by name, and is whole again afterwards.

use crate::support::client::RawClient;
use crate::support::origin::{TestOrigin, ok};
use crate::support::socket::DEAD;
use crate::support::{TestTwin, assert_reason, twin, wait};
use crossbeam_channel::{Sender, unbounded};

/// An origin that answers only when told to.
fn gated() -> (TestOrigin, Sender<()>) {
    let (release, gate) = unbounded();
    (TestOrigin::gated(gate), release)
}

/// An origin that never answers, until the gateway gives up.
fn silent() -> TestOrigin {
    TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.stall_until_closed();
    })
}

/// A service route to `origin`, patient but for what `more` says.
fn service(origin: &TestOrigin, more: &str) -> TestTwin {
    let servers = origin.address();
    twin(&format!(
        "zuul.routes.up: {{path: /**, serviceId: up}}\nup.ribbon.listOfServers: '{servers}'\nribbon.ReadTimeout: 30000\n{more}"
    ))
}

#[track_caller]
fn occupy(twin: &TestTwin, origin: &TestOrigin) -> RawClient {
    let before = origin.requests().len();
    let mut client = twin.client();
    client.send("GET /held HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(before + 1);
    client
}

#[track_caller]
fn let_go(release: &Sender<()>, twin: &TestTwin, clients: &mut [RawClient]) {
    clients.iter().for_each(|_| release.send(()).expect("the origin waits"));
    for client in clients {
        let answer = client.response();
        assert_eq!((answer.status, answer.text().as_str()), (200, "released"));
    }
    twin.assert_quiet();
}

#[test]
fn a_full_semaphore_refuses_at_once() {
    let (origin, release) = gated();
    let twin = service(&origin, "zuul.semaphore.maxSemaphores: 1\n");
    let first = occupy(&twin, &origin);
    assert_reason(&twin.get("/"), 503, "semaphore_full");
    let_go(&release, &twin, &mut [first]);
    release.send(()).expect("the origin waits");
    assert_eq!(twin.get("/").status, 200);
    twin.assert_quiet();
    assert_eq!(twin.metric("portcullis.semaphore.refused", "up"), 1.0);
}

#[test]
fn places_are_counted_as_a_pool_of_threads_would_count_them() {
    let (origin, release) = gated();
    let pool = "{coreSize: 1, maxQueueSize: 10, queueSizeRejectionThreshold: 1}";
    let twin = service(&origin, &format!("zuul.ribbonIsolationStrategy: THREAD\nhystrix.threadpool.default: {pool}\n"));
    let first = occupy(&twin, &origin);
    let mut queued = twin.client();
    queued.send("GET /queued HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    wait::until("the second is queued", || twin.metric("portcullis.pool.queued", "") == 1.0);
    assert_reason(&twin.get("/"), 503, "pool_full");
    assert_eq!(origin.requests().len(), 1, "who is queued has not started");
    let_go(&release, &twin, &mut [first, queued]);
    assert_eq!(twin.metric("portcullis.pool.refused", ""), 1.0);
}

#[test]
fn a_full_connection_pool_refuses_after_a_bounded_wait() {
    let (origin, release) = gated();
    let more = "ribbon.MaxConnectionsPerHost: 1\nzuul.host.connection-request-timeout-millis: 50\n";
    let twin = service(&origin, more);
    let first = occupy(&twin, &origin);
    assert_reason(&twin.get("/"), 503, "upstream_pool_timeout");
    let_go(&release, &twin, &mut [first]);
    release.send(()).expect("the origin waits");
    assert_eq!(twin.get("/").status, 200);
    assert_eq!(origin.connections(), 1, "the connection is kept and used again");
}

#[test]
fn one_connection_at_a_time_is_served() {
    let (origin, release) = gated();
    let twin = service(&origin, "server.tomcat.max-connections: 1\n");
    let mut first = occupy(&twin, &origin);
    let mut second = twin.client();
    second.send("GET /second HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    release.send(()).expect("the origin waits");
    assert_eq!(first.response().status, 200);
    assert_eq!((origin.requests().len(), twin.metric("portcullis.connections.accepted", "")), (1, 1.0));
    drop(first);
    release.send(()).expect("the origin waits");
    assert_eq!(second.response().status, 200);
    twin.assert_quiet();
}

#[test]
fn what_takes_too_long_is_a_timeout_and_frees_what_it_held() {
    for more in
        ["up.ribbon.ReadTimeout: 50\n", "hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds: 50\n"]
    {
        let origin = silent();
        let twin = service(&origin, more);
        assert_reason(&twin.get("/"), 504, "timeout");
        twin.assert_quiet();
        wait::until("the upstream connection is closed", || origin.open_connections() == 0);
    }
}

#[test]
fn nobody_there_is_a_failed_connect_and_no_server_is_told() {
    let twin =
        twin(&format!("zuul.routes: {{gone: {{path: /gone/**, url: 'http://{DEAD}'}}, none: {{path: /none/**}}}}\n"));
    assert_reason(&twin.get("/gone/x"), 502, "connect_failed");
    assert_reason(&twin.get("/none/x"), 503, "no_server");
    assert_reason(&twin.get("/else"), 404, "no_route");
    twin.assert_quiet();
}

#[test]
fn a_client_that_leaves_gives_its_permit_back() {
    let origin = silent();
    let twin = service(&origin, "zuul.semaphore.maxSemaphores: 1\n");
    occupy(&twin, &origin).reset();
    twin.assert_quiet();
    wait::until("it is counted", || twin.metric("portcullis.requests.failed", "client_aborted") == 1.0);
    wait::until("the upstream connection is closed", || origin.open_connections() == 0);
}

#[test]
fn bodies_that_are_too_long_or_stall_are_refused_by_name() {
    let origin = TestOrigin::echoing();
    let twin = service(&origin, "gateway.client.max-body-size: 4\nserver.tomcat.connection-timeout: 100ms\n");
    assert_reason(&twin.client().request("POST", "/", "", b"12345"), 413, "body_too_large");
    assert!(origin.requests().is_empty());
    let mut chunks = twin.client();
    chunks.send("POST / HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n");
    assert_reason(&chunks.response(), 413, "body_too_large");
    let mut stalls = twin.client();
    stalls.send("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 4\r\n\r\n12");
    assert_reason(&stalls.response(), 408, "body_timeout");
    twin.assert_quiet();
}

#[test]
fn a_kept_connection_that_went_stale_is_replaced() {
    let origin = TestOrigin::echoing();
    let twin = service(&origin, "");
    assert_eq!(twin.get("/1").status, 200);
    twin.assert_quiet();
    origin.close_connections();
    assert_eq!(twin.get("/2").text(), "GET /2");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn a_connection_that_dies_under_a_request_is_replaced_once_where_that_is_harmless() {
    let origin = TestOrigin::scripted(|talk| {
        let first = talk.connection == 0;
        while talk.read_request().is_some() {
            talk.send(ok(b"fine"));
            if first && talk.read_request().is_some() {
                return;
            }
        }
    });
    let twin = service(&origin, "");
    assert_eq!(twin.get("/1").status, 200);
    twin.assert_quiet();
    assert_eq!(twin.get("/2").text(), "fine");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn the_last_request_of_a_connection_is_told_so() {
    let origin = TestOrigin::echoing();
    let twin = service(&origin, "server.tomcat.max-keep-alive-requests: 2\n");
    let mut client = twin.client();
    assert_eq!(client.get("/").field("Connection"), None);
    assert_eq!(client.get("/").field("Connection").as_deref(), Some("close"));
    client.assert_closed();
}
