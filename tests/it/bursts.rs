//! One burst of requests against the limits out of the box and against tuned ones: the rows of A8, which a running Zuul 1 was seen to
//! pass. Who is refused gets 503 here and 500 there; url routes have a semaphore here, whose 100 permits are more than the burst.

use crate::support::gateway::{Setup, assert_reason};
use crate::support::origin::TestOrigin;
use crate::support::wait;
use crossbeam_channel::unbounded;

/// What becomes of a burst while nobody answers.
#[derive(Debug, PartialEq)]
struct Burst {
    /// Sent upstream.
    at_once: usize,
    /// Waiting for a connection: the second wave.
    second_wave: usize,
    refused: usize,
}

#[track_caller]
fn check(setup: impl Fn(&TestOrigin) -> Setup, expected: Burst) {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    // Zuul waits for a connection as long as it takes.
    let setup = setup(&origin).set("zuul.host.connectionRequestTimeoutMillis", "-1");
    let setup = setup.set("hystrix.command.default.execution.timeout.enabled", "false");
    let gateway = setup.start();
    let Burst { at_once, second_wave, refused } = expected;
    let all = at_once + second_wave + refused;
    let mut clients: Vec<_> = (0..all).map(|_| gateway.client()).collect();
    clients.iter_mut().for_each(|client| client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n"));
    let mut seen = None;
    let settled = wait::holds_within(wait::PATIENCE, || {
        let metric = |name: &str| gateway.metric(name, "up") as usize;
        seen = Some(Burst {
            at_once: origin.requests().len(),
            second_wave: metric("portcullis_upstream_connections_pending"),
            refused: metric("portcullis_semaphore_refused_total"),
        });
        seen == Some(Burst { at_once, second_wave, refused })
    });
    assert!(settled, "{seen:?}");
    assert_eq!(origin.connections(), at_once);
    (0..all).for_each(|_| release.send(()).expect("the origin waits"));
    let answers: Vec<_> = clients.iter_mut().map(|client| client.response()).collect();
    let (served, others): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!((served.len(), others.len()), (at_once + second_wave, refused));
    others.into_iter().for_each(|answer| assert_reason(answer, 503, "semaphore_full"));
    drop(clients);
    gateway.assert_quiet();
}

fn burst(at_once: usize, second_wave: usize, refused: usize) -> Burst {
    Burst { at_once, second_wave, refused }
}

fn tuned(setup: Setup) -> Setup {
    let setup = setup.set("zuul.host.maxPerRouteConnections", "200").set("ribbon.MaxConnectionsPerHost", "200");
    setup.set("zuul.semaphore.maxSemaphores", "500")
}

fn threads(setup: Setup) -> Setup {
    setup.set("zuul.ribbonIsolationStrategy", "THREAD").set("hystrix.threadpool.default.coreSize", "100")
}

#[test]
fn url_routes_have_twenty_connections_unless_tuned() {
    check(Setup::to, burst(20, 10, 0));
    check(|origin| tuned(Setup::to(origin)), burst(30, 0, 0));
}

#[test]
fn services_have_fifty_connections_and_a_hundred_permits_unless_tuned() {
    check(Setup::to_service, burst(50, 10, 0));
    check(Setup::to_service, burst(50, 50, 10));
    check(|origin| tuned(Setup::to_service(origin)), burst(60, 0, 0));
    check(|origin| tuned(Setup::to_service(origin)), burst(110, 0, 0));
}

#[test]
fn threads_wait_for_the_same_connections() {
    check(|origin| threads(Setup::to_service(origin)), burst(50, 10, 0));
    check(|origin| threads(tuned(Setup::to_service(origin))), burst(60, 0, 0));
}
