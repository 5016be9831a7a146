//! The circuit breaker in the twin, which is the library's own: it opens, refuses by name, tests, closes, as portcullis' does.

use crate::support::origin::{TestOrigin, ok};
use crate::support::{TestTwin, assert_reason, twin, wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// An origin that never answers.
fn silent() -> TestOrigin {
    TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.stall_until_closed();
    })
}

/// Judged every 50 ms, over a window that no test outlasts.
fn judged(origin: &TestOrigin, more: &str) -> TestTwin {
    let servers = origin.address();
    twin(&format!(
        "zuul.routes.up: {{path: /**, serviceId: up}}\nup.ribbon.listOfServers: '{servers}'\nribbon.ReadTimeout: 30000\n\
         hystrix.command.up: {{metrics: {{rollingStats.timeInMilliseconds: 600000, healthSnapshot.intervalInMilliseconds: 50}}, \
         circuitBreaker: {{requestVolumeThreshold: 3, sleepWindowInMilliseconds: 200}}}}\n{more}"
    ))
}

/// Waits until the circuit's view holds so many requests.
#[track_caller]
fn wait_for_view(twin: &TestTwin, requests: f64) {
    wait::until("the requests are in view", || twin.metric("hystrix.requests.rolling", "up") == requests);
}

#[test]
fn failures_open_it_and_one_test_closes_it() {
    let works = Arc::new(AtomicBool::new(false));
    let told = works.clone();
    let origin = TestOrigin::scripted(move |talk| {
        while talk.read_request().is_some() && told.load(SeqCst) {
            talk.send(ok(b"well"));
        }
    });
    let twin = judged(&origin, "");
    for failures in 1..=3 {
        assert_reason(&twin.get("/"), 502, "upstream_aborted");
        wait_for_view(&twin, f64::from(failures));
    }
    assert_reason(&twin.get("/"), 503, "circuit_open");
    assert_eq!(origin.requests().len(), 3, "it was not sent");
    assert_eq!(twin.metric("hystrix.circuit.breaker.open", "up"), 1.0);
    works.store(true, SeqCst);
    wait::until("it is tested", || twin.get("/").status == 200);
    assert_eq!(twin.metric("hystrix.circuit.breaker.open", "up"), 0.0);
    twin.assert_quiet();
    let short = twin.metric("hystrix.execution", "SHORT_CIRCUITED");
    assert!(short > 0.0);
    assert_eq!(twin.metric("portcullis.requests.failed", "circuit_open"), short);
    assert_eq!(twin.metric("hystrix.execution", "FALLBACK_MISSING"), short + 3.0, "nothing falls back");
}

#[test]
fn it_can_be_turned_off_and_refusals_of_the_semaphore_count() {
    for (more, reason) in
        [("hystrix.command.up.circuitBreaker.enabled: false\n", "semaphore_full"), ("", "circuit_open")]
    {
        let origin = silent();
        let twin = judged(&origin, &format!("zuul.semaphore.maxSemaphores: 1\n{more}"));
        let mut held = twin.client();
        held.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        origin.wait_for_requests(1);
        for failures in 1..=3 {
            assert_reason(&twin.get("/"), 503, "semaphore_full");
            wait_for_view(&twin, f64::from(failures));
        }
        assert_reason(&twin.get("/"), 503, reason);
        held.reset();
        twin.assert_quiet();
        assert_eq!(origin.requests().len(), 1);
    }
}

/// Hyper drops what it serves for such a client: that is no failure of the service, and no panic.
#[test]
fn clients_that_leave_open_nothing() {
    let origin = silent();
    let twin = judged(&origin, "");
    for leaving in 1..=4 {
        let mut client = twin.client();
        client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        origin.wait_for_requests(leaving);
        client.reset();
        wait::until("it is counted", || twin.metric("hystrix.execution", "CANCELLED") == leaving as f64);
    }
    assert_eq!(twin.metric("hystrix.circuit.breaker.open", "up"), 0.0);
    twin.assert_quiet();
}
