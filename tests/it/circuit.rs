//! The circuit breaker over sockets: when it opens, what is refused meanwhile, how it closes. The rows of `zuul-observed.md` A7 that are
//! about it; what differs on purpose is the status (503 and not 500, unless `gateway.compat: zuul1`).

use crate::support::client::RawClient;
use crate::support::gateway::{Container, Setup, TestGateway, assert_reason, for_both_containers};
use crate::support::origin::{TestOrigin, answer, ok};
use crate::support::wait;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

for_both_containers!(
    three_failures_open_it_and_one_test_closes_it,
    timeouts_and_refusals_open_it_too,
    refusals_of_a_semaphore_open_it_and_who_was_admitted_closes_it,
    a_test_that_ends_without_an_answer_is_followed_by_another,
    who_was_on_the_way_before_decides_under_single_test_alone,
    all_attempts_of_a_request_are_one_to_it,
    answers_of_the_upstream_do_not_open_it,
    what_is_a_clients_fault_does_not_open_it,
    url_routes_have_one_where_a_key_names_them,
    compat_mode_says_what_hystrix_said,
    health_names_open_circuits_and_stays_up,
);

/// Judged every 50 ms, over a window that no test outlasts.
pub(crate) fn judged(setup: Setup, id: &str, volume: u32) -> Setup {
    let key = |rest: &str| format!("hystrix.command.{id}.{rest}");
    setup
        .set(key("metrics.rollingStats.timeInMilliseconds"), "600000")
        .set(key("metrics.healthSnapshot.intervalInMilliseconds"), "50")
        .set(key("circuitBreaker.requestVolumeThreshold"), volume.to_string())
}

/// Waits until the circuit's view holds so many requests.
#[track_caller]
pub(crate) fn wait_for_view(gateway: &TestGateway, id: &str, requests: f64) {
    wait::until("the requests are in view", || gateway.metric("hystrix_requests_rolling", id) == requests);
}

/// Closes without an answer until it is told to work.
fn failing() -> (TestOrigin, Arc<AtomicBool>) {
    let works = Arc::new(AtomicBool::new(false));
    let told = works.clone();
    let origin = TestOrigin::scripted(move |talk| {
        while talk.read_request().is_some() && told.load(SeqCst) {
            talk.send(ok(b"well"));
        }
    });
    (origin, works)
}

/// A7: it opens after 3 failed calls, the 4th is short-circuited and not sent; after the sleep window one test, then closed.
fn three_failures_open_it_and_one_test_closes_it(container: Container) {
    for mode in ["single-test", "half-open"] {
        let (origin, works) = failing();
        let setup = judged(Setup::to_service(&origin), "up", 3).container(container);
        let setup = setup.set("hystrix.command.default.circuitBreaker.sleepWindowInMilliseconds", "200");
        let gateway = setup.set("gateway.circuit-breaker.mode", mode).start();
        for failures in 1..=3 {
            assert_reason(&gateway.get("/"), 502, "upstream_aborted");
            wait_for_view(&gateway, "up", f64::from(failures));
        }
        let refused = gateway.get("/");
        assert_reason(&refused, 503, "circuit_open");
        assert!(refused.field("Retry-After").is_some());
        assert_eq!(origin.requests().len(), 3, "it was not sent");
        assert_eq!(gateway.metric("hystrix_circuit_breaker_open", "up"), 1.0);
        // It tests, which fails, and stays open.
        wait::until("it was tested", || gateway.get("/").status == 502);
        assert_eq!(origin.requests().len(), 4);
        assert_eq!(gateway.metric("hystrix_circuit_breaker_open", "up"), 1.0);
        works.store(true, SeqCst);
        wait::until("it is tested again", || gateway.get("/").status == 200);
        assert_eq!(gateway.metric("hystrix_circuit_breaker_open", "up"), 0.0);
        assert_eq!(gateway.get("/").status, 200, "{mode}");
        let refused = gateway.metric("hystrix_execution_total", "event=\"SHORT_CIRCUITED\"");
        assert!(refused > 0.0);
        gateway.assert_quiet();
        assert_eq!(gateway.metric("portcullis_requests_failed_total", "circuit_open"), refused);
    }
}

/// A7 (timeouts, refusals), and what Hystrix counts beside them: rejections.
fn timeouts_and_refusals_open_it_too(container: Container) {
    let cases = [
        (("hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds", "50"), 504, "timeout", "TIMEOUT"),
        (("ribbon.ReadTimeout", "50"), 504, "timeout", "FAILURE"),
        (("up.ribbon.listOfServers", "127.0.0.1:1"), 502, "connect_failed", "FAILURE"),
        (("up.ribbon.listOfServers", ""), 503, "no_server", "FAILURE"),
    ];
    for ((key, value), status, reason, event) in cases {
        let origin = TestOrigin::scripted(|talk| {
            talk.read_request();
            talk.stall_until_closed();
        });
        let setup = judged(Setup::to_service(&origin), "up", 1).container(container);
        let gateway = setup.set(key, value).start();
        assert_reason(&gateway.get("/"), status, reason);
        assert_eq!(gateway.metric("hystrix_execution_total", &format!("event=\"{event}\"")), 1.0);
        wait_for_view(&gateway, "up", 1.0);
        assert_reason(&gateway.get("/"), 503, "circuit_open");
        gateway.assert_quiet();
    }
}

/// CB-03: refusals of our own count, as in Hystrix (the README says so). Whose success closes the circuit again, though it was on its way before: the algorithm of 1.5.18.
fn refusals_of_a_semaphore_open_it_and_who_was_admitted_closes_it(container: Container) {
    let (release, gate) = crossbeam_channel::unbounded();
    let origin = TestOrigin::gated(gate);
    let setup = judged(Setup::to_service(&origin), "up", 1).container(container);
    let gateway = setup.set("hystrix.command.up.execution.isolation.semaphore.maxConcurrentRequests", "1").start();
    let mut first = gateway.client();
    first.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(1);
    assert_reason(&gateway.get("/"), 503, "semaphore_full");
    assert_eq!(gateway.metric("hystrix_execution_total", "event=\"SEMAPHORE_REJECTED\""), 1.0);
    wait_for_view(&gateway, "up", 1.0);
    assert_reason(&gateway.get("/"), 503, "circuit_open");
    release.send(()).expect("the origin waits");
    assert_eq!(first.response().text(), "released");
    assert_eq!(gateway.metric("hystrix_circuit_breaker_open", "up"), 0.0);
    drop(first);
    gateway.assert_quiet();
}

/// CB-05, over sockets: the test meets a full semaphore, waits for a permit in vain, meets silence, or its client leaves; each time a
/// sleep window later another one passes. (A panic: `src/command/tests.rs`.)
fn a_test_that_ends_without_an_answer_is_followed_by_another(container: Container) {
    let key = |rest: &str| format!("hystrix.command.up.{rest}");
    let cases = [("half-open", "0"), ("half-open", "20ms"), ("single-test", "0"), ("single-test", "20ms")];
    for (mode, max_wait) in cases {
        let (release, gate) = crossbeam_channel::unbounded();
        let origin = moody(gate);
        let setup = judged(Setup::to_service(&origin), "up", 1).container(container);
        let setup = setup.set("gateway.circuit-breaker.mode", mode).set("gateway.isolation.max-wait", max_wait);
        let setup = setup.set(key("circuitBreaker.sleepWindowInMilliseconds"), "100");
        let setup = setup.set(key("execution.isolation.thread.timeoutInMilliseconds"), "300");
        let setup = setup.set("zuul.semaphore.maxSemaphores", "1");
        let gateway = setup.start();
        let rejected = || gateway.metric("hystrix_execution_total", "event=\"SEMAPHORE_REJECTED\"");
        let is_open = || gateway.metric("hystrix_circuit_breaker_open", "up") == 1.0;
        assert_reason(&gateway.get("/silent"), 504, "timeout");
        wait_for_view(&gateway, "up", 1.0);
        assert_reason(&gateway.get("/"), 503, "circuit_open");
        // A slow reader of an answer that was let through as a test holds the permit; its head closed the circuit.
        let mut slow = until_it_passes(&gateway, "/slow");
        assert!(!is_open(), "{mode}");
        assert_reason(&gateway.get("/"), 503, "semaphore_full");
        wait::until("the refusal opened it", || {
            gateway.get("/").field("X-Gateway-Reason").as_deref() == Some("circuit_open")
        });
        let before = rejected();
        wait::until("a test is refused, and then another", || {
            gateway.get("/");
            rejected() >= before + 2.0
        });
        assert!(is_open(), "{mode}");
        release.send(()).expect("the origin waits");
        assert_eq!(slow.response().text(), "headtail");
        wait::until("the permit is back", || gateway.metric("portcullis_semaphore_in_use", "up") == 0.0);
        wait::until("a test meets silence", || gateway.get("/silent").status == 504);
        assert!(is_open(), "{mode}");
        if container == Container::Native {
            let before = origin.requests().len();
            wait::until("a test is left by its client", || {
                let mut leaving = gateway.client();
                leaving.send("GET /hold HTTP/1.1\r\nHost: gw.test\r\n\r\n");
                wait::until("it is sent or refused", || origin.requests().len() > before || leaving.has_news());
                let is_sent = !leaving.has_news();
                leaving.reset();
                is_sent
            });
            wait::until("it is counted", || gateway.metric("hystrix_execution_total", "event=\"CANCELLED\"") == 1.0);
            assert!(is_open(), "{mode}");
        }
        wait::until("a test is answered", || gateway.get("/").status == 200);
        assert!(!is_open(), "{mode}");
        gateway.assert_quiet();
    }
}

/// Never answers `/silent`, answers `/slow` by half and `/hold` not at all until it is told to, and anything else at once.
fn moody(gate: crossbeam_channel::Receiver<()>) -> TestOrigin {
    TestOrigin::scripted(move |talk| {
        while let Some(request) = talk.read_request() {
            match &request.target[..] {
                b"/silent" | b"/hold" => {
                    talk.stall_until_closed();
                    return;
                }
                b"/slow" => {
                    talk.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhead");
                    talk.wait_for(&gate);
                    talk.send("tail")
                }
                _ => talk.send(ok(b"well")),
            };
        }
    })
}

/// Asks until the circuit lets it through as far as a part of the answer's body.
#[track_caller]
fn until_it_passes(gateway: &TestGateway, target: &str) -> RawClient {
    wait::until_some("it passes", || {
        let mut client = gateway.client();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\n\r\n"));
        (client.wait_for_head().status == 200).then_some(client)
    })
}

/// CB-06: a success of before the circuit opened. Under `single-test` it closes the circuit, as in Hystrix 1.5.18; under `half-open` it
/// says nothing.
fn who_was_on_the_way_before_decides_under_single_test_alone(container: Container) {
    for (mode, open) in [("single-test", 0.0), ("half-open", 1.0)] {
        let (release, gate) = crossbeam_channel::unbounded();
        let origin = TestOrigin::scripted(move |talk| {
            while let Some(request) = talk.read_request() {
                match &request.target[..] {
                    b"/fail" => return,
                    _ => drop((talk.wait_for(&gate), talk.send(ok(b"late")))),
                }
            }
        });
        let setup = judged(Setup::to_service(&origin), "up", 1).container(container);
        let setup = setup.set("hystrix.command.up.circuitBreaker.sleepWindowInMilliseconds", "600000");
        let gateway = setup.set("gateway.circuit-breaker.mode", mode).start();
        let mut before = gateway.client();
        before.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        origin.wait_for_requests(1);
        assert_reason(&gateway.get("/fail"), 502, "upstream_aborted");
        wait_for_view(&gateway, "up", 1.0);
        assert_reason(&gateway.get("/"), 503, "circuit_open");
        release.send(()).expect("the origin waits");
        assert_eq!(before.response().text(), "late");
        drop(before);
        gateway.assert_quiet();
        assert_eq!(gateway.metric("hystrix_circuit_breaker_open", "up"), open, "{mode}");
    }
}

/// As in Zuul, where retries happen inside the command: one success or one failure, whatever it took.
fn all_attempts_of_a_request_are_one_to_it(container: Container) {
    for strategy in ["SEMAPHORE", "THREAD"] {
        let (origin, works) = failing();
        let setup = judged(Setup::to_service(&origin), "up", 100).container(container).set("zuul.retryable", "true");
        let setup = setup.set("up.ribbon.MaxAutoRetries", "2").set("up.ribbon.MaxAutoRetriesNextServer", "0");
        let gateway = setup.set("zuul.ribbonIsolationStrategy", strategy).start();
        let counted = |event: &str| gateway.metric("hystrix_execution_total", &format!("event=\"{event}\""));
        assert_reason(&gateway.get("/"), 502, "upstream_aborted");
        assert_eq!((origin.requests().len(), counted("FAILURE"), counted("SUCCESS")), (3, 1.0, 0.0));
        works.store(true, SeqCst);
        assert_eq!(gateway.get("/").status, 200);
        gateway.assert_quiet();
        assert_eq!((counted("FAILURE"), counted("SUCCESS")), (1.0, 1.0), "{strategy}");
        wait_for_view(&gateway, "up", 2.0);
    }
}

/// A7: 5xx answers are passed on and never count as failures, unless they are said to.
fn answers_of_the_upstream_do_not_open_it(container: Container) {
    for counts in [false, true] {
        let origin = TestOrigin::answering(|_| answer("500 Broken", "", b"own words"));
        let setup = judged(Setup::to_service(&origin), "up", 1).container(container);
        let gateway = setup.set("gateway.circuit-breaker.count-5xx", counts.to_string()).start();
        let first = gateway.get("/");
        assert_eq!((first.status, first.text().as_str()), (500, "own words"), "passed on all the same");
        wait_for_view(&gateway, "up", 1.0);
        let event = if counts { "FAILURE" } else { "SUCCESS" };
        assert_eq!(gateway.metric("hystrix_execution_total", &format!("event=\"{event}\"")), 1.0);
        match counts {
            false => assert_eq!(gateway.get("/").text(), "own words"),
            true => assert_reason(&gateway.get("/"), 503, "circuit_open"),
        }
        gateway.assert_quiet();
    }
}

/// CB-02. A broken body, a body that is too long, and a client that leaves.
fn what_is_a_clients_fault_does_not_open_it(container: Container) {
    let (release, gate) = crossbeam_channel::unbounded();
    let origin = TestOrigin::gated(gate);
    let setup = judged(Setup::to_service(&origin), "up", 1).container(container);
    let gateway = setup.set("gateway.client.max-body-size", "3").start();
    let mut client = gateway.client();
    client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    assert_reason(&client.response(), 413, "body_too_large");
    wait::until("it is counted", || gateway.metric("hystrix_execution_total", "event=\"BAD_REQUEST\"") == 1.0);
    if container == Container::Native {
        let before = origin.requests().len();
        let mut leaving = gateway.client();
        leaving.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        origin.wait_for_requests(before + 1);
        leaving.reset();
        wait::until("it is counted", || gateway.metric("hystrix_execution_total", "event=\"CANCELLED\"") == 1.0);
    }
    wait::stays("none of it is in view", Duration::from_millis(200), || {
        gateway.metric("hystrix_requests_rolling", "up") == 0.0
    });
    release.send(()).expect("the origin waits");
    release.send(()).expect("the origin waits");
    assert_eq!(gateway.get("/").text(), "released");
    gateway.assert_quiet();
}

fn url_routes_have_one_where_a_key_names_them(container: Container) {
    let (origin, _) = failing();
    let setup = Setup::new().container(container).url_route("guarded", "/guarded/**", &origin.url());
    let setup = setup.url_route("bare", "/bare/**", &origin.url());
    let setup = judged(setup, "default", 1).set("hystrix.command.guarded.circuitBreaker.enabled", "true");
    let gateway = setup.clone().start();
    for (id, status, reason) in [("guarded", 503, "circuit_open"), ("bare", 502, "upstream_aborted")] {
        assert_reason(&gateway.get(&format!("/{id}/1")), 502, "upstream_aborted");
        wait_for_view(&gateway, id, 1.0);
        assert_reason(&gateway.get(&format!("/{id}/2")), status, reason);
    }
    gateway.assert_quiet();
    // Zuul has none for them, whatever names them.
    let gateway = setup.set("gateway.compat", "zuul1").start();
    assert_eq!(gateway.get("/guarded/1").status, 500);
    wait_for_view(&gateway, "guarded", 1.0);
    assert_eq!(gateway.get("/guarded/2").field("X-Gateway-Reason").as_deref(), Some("upstream_aborted"));
}

/// A7: 500 `SHORTCIRCUIT`, at once.
fn compat_mode_says_what_hystrix_said(container: Container) {
    let (origin, _) = failing();
    let setup = judged(Setup::to_service(&origin), "up", 1).container(container).set("gateway.compat", "zuul1");
    let gateway = setup.set("server.error.include-message", "always").start();
    let message = |target: &str| {
        let answer = gateway.get(target);
        let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        (answer.status, body["message"].as_str().map(str::to_owned), answer.field("Retry-After"))
    };
    assert_eq!(message("/1"), (500, Some("GENERAL".to_owned()), None));
    wait_for_view(&gateway, "up", 1.0);
    assert_eq!(message("/2"), (500, Some("SHORTCIRCUIT".to_owned()), None));
    assert_eq!(origin.requests().len(), 1);
    gateway.assert_quiet();
}

/// As HystrixHealthIndicator does: a status that Spring's order does not know counts for nothing.
fn health_names_open_circuits_and_stays_up(container: Container) {
    let (origin, _) = failing();
    let setup = judged(Setup::to_service(&origin), "up", 1).container(container);
    let gateway = setup.set("management.endpoint.health.show-details", "always").start();
    let health = || {
        let page = gateway.manage("/actuator/health");
        let body: serde_json::Value = serde_json::from_slice(&page.body).expect("JSON");
        (page.status, body["status"].clone(), body["components"]["hystrix"].clone())
    };
    assert_eq!(health(), (200, "UP".into(), serde_json::json!({"status": "UP"})));
    assert_eq!(gateway.get("/").status, 502);
    wait_for_view(&gateway, "up", 1.0);
    assert_eq!(gateway.get("/").status, 503);
    let open = serde_json::json!({"status": "CIRCUIT_OPEN", "details": {"openCircuitBreakers": ["RibbonCommand::up"]}});
    assert_eq!(health(), (200, "UP".into(), open));
}

/// Held back until it is told, `/fail` is then closed without an answer and `/late` answered; anything else is answered at once.
fn held_back(gate: crossbeam_channel::Receiver<()>) -> TestOrigin {
    TestOrigin::scripted(move |talk| {
        while let Some(request) = talk.read_request() {
            if matches!(&request.target[..], b"/fail" | b"/late") {
                talk.wait_for(&gate);
            }
            if request.target == b"/fail" {
                return;
            }
            talk.send(ok(b"well"));
        }
    })
}

/// A gateway that drains while its circuit tests: the test is finished, its permit is back while others are still under way, and whoever
/// had queued behind it is let through: as the next test if this one failed.
#[test]
fn a_drain_takes_nothing_from_a_test() {
    for (mode, test, status) in
        [("single-test", "/up/fail", 502), ("single-test", "/up/late", 200), ("half-open", "/up/late", 200)]
    {
        let ((release, gate), (let_go, others_gate)) = (crossbeam_channel::unbounded(), crossbeam_channel::unbounded());
        let (origin, other) = (held_back(gate), TestOrigin::gated(others_gate));
        let setup =
            Setup::new().service_route("up", "/up/**", &[&origin]).url_route("other", "/other/**", &other.url());
        let setup = judged(setup, "up", 1).set("gateway.circuit-breaker.mode", mode);
        let setup = setup.set("hystrix.command.up.circuitBreaker.sleepWindowInMilliseconds", "50");
        let setup = setup.set("hystrix.command.default.execution.timeout.enabled", "false");
        let setup = setup.set("ribbon.ReadTimeout", "60000").set("zuul.host.socketTimeoutMillis", "60000");
        let setup = setup.set("zuul.semaphore.maxSemaphores", "1").set("server.tomcat.max-threads", "2");
        let mut gateway = setup.start();
        let send = |target: &str| {
            let mut client = gateway.client();
            client.send(format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\n\r\n"));
            client
        };
        let mut busy = send("/other/1");
        other.wait_for_requests(1);
        release.send(()).expect("the origin waits");
        assert_reason(&gateway.get("/up/fail"), 502, "upstream_aborted");
        wait_for_view(&gateway, "up", 1.0);
        let mut testing = wait::until_some("it is tested", || {
            let (before, mut client) = (origin.requests().len(), send(test));
            wait::until("it is sent or refused", || origin.requests().len() > before || client.has_news());
            (origin.requests().len() > before).then_some(client)
        });
        assert_eq!(gateway.metric("hystrix_circuit_breaker_open", "up"), 1.0, "{mode}");
        assert_eq!(gateway.metric("portcullis_semaphore_in_use", "up"), 1.0, "{mode}");
        let mut queued = send("/up/next");
        wait::until("it is queued", || gateway.metric("portcullis_queue_waiting", "gateway") == 1.0);
        gateway.process.signal(rustix::process::Signal::TERM);
        wait::until("it drains", || gateway.manage("/actuator/health").status == 503);
        // Longer than the sleep window, which begins with the test.
        wait::pace(Duration::from_millis(60));
        release.send(()).expect("the origin waits");
        assert_eq!(testing.response().status, status, "{mode}");
        assert_eq!(queued.response().text(), "well", "{mode}");
        wait::until("the permit is back", || gateway.metric("portcullis_semaphore_in_use", "up") == 0.0);
        assert_eq!(gateway.metric("hystrix_circuit_breaker_open", "up"), 0.0, "{mode}");
        assert!(gateway.process.runs(), "a request is still under way");
        let_go.send(()).expect("the other origin waits");
        assert_eq!(busy.response().text(), "released");
        assert_eq!(gateway.process.wait().code(), Some(0));
    }
}
