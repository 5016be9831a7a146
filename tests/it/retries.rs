//! Requests that are sent again: to whom, how often, with which body, and when not. Rows of A10 are what a running Zuul 1 did; where we
//! answer otherwise (502 and 504 in place of 500), that is said.

use crate::support::client::RawClient;
use crate::support::gateway::{Container, Setup, TestGateway, assert_reason, for_both_containers};
use crate::support::origin::{Talk, TestOrigin, answer, ok};
use crate::support::socket::DEAD;
use crate::support::wait;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

for_both_containers!(
    a_refused_connect_goes_to_the_next_server,
    all_attempts_of_a_get_are_made,
    a_post_is_sent_once,
    a_post_is_repeated_octet_for_octet_when_asked,
    a_body_beyond_the_buffer_is_sent_once,
    an_expectation_is_met_once,
);

/// Both places where attempts can run.
const STRATEGIES: [&str; 2] = ["SEMAPHORE", "THREAD"];

/// A retryable service `up` of these origins, with one retry on the next server, which is Ribbon's default.
fn retryable(origins: &[&TestOrigin]) -> Setup {
    Setup::new().service_route("up", "/**", origins).set("zuul.retryable", "true")
}

/// Plays `script` for each request, with its number from 0; the connection goes on as long as the script says so.
fn numbered(script: impl Fn(usize, &mut Talk) -> bool + Send + Sync + 'static) -> TestOrigin {
    let count = AtomicUsize::new(0);
    TestOrigin::scripted(move |talk| while talk.peek_octet().is_some() && script(count.fetch_add(1, SeqCst), talk) {})
}

/// Answers the first `failures` requests with 503 and all others with 200, each with its number.
fn unavailable(failures: usize) -> TestOrigin {
    numbered(move |number, talk| {
        let Some(_) = talk.read_request() else { return false };
        let text = number.to_string();
        let status = if number < failures { "503 Service Unavailable" } else { "200 OK" };
        talk.send(answer(status, "Retry-After: 3\r\n", text))
    })
}

/// Reads each request whole and closes without an answer.
fn mute() -> TestOrigin {
    numbered(|_, talk| {
        talk.read_request();
        false
    })
}

/// Takes each request and answers none.
fn stalling() -> TestOrigin {
    TestOrigin::scripted(|talk| drop((talk.read_request(), talk.stall_until_closed())))
}

#[track_caller]
fn retries(gateway: &TestGateway, reason: &str) -> f64 {
    gateway.metric("portcullis_retries_total", &format!("reason=\"{reason}\""))
}

#[track_caller]
fn refused(gateway: &TestGateway, reason: &str) -> f64 {
    gateway.metric("portcullis_retries_refused_total", &format!("reason=\"{reason}\""))
}

#[track_caller]
fn log_line(gateway: &TestGateway, wanted: &str) -> String {
    let find = || gateway.process.stdout().into_iter().find(|line| line.contains(wanted));
    wait::until_some("the access log has its line", find)
}

fn bodies(origin: &TestOrigin) -> Vec<Vec<u8>> {
    origin.requests().into_iter().map(|request| request.message.body).collect()
}

/// CONN-07. A10: "dead server -> next server, for POST too (connect failure)".
fn a_refused_connect_goes_to_the_next_server(container: Container) {
    for (strategy, method) in [("SEMAPHORE", "GET"), ("SEMAPHORE", "POST"), ("THREAD", "GET"), ("THREAD", "POST")] {
        let origin = TestOrigin::echoing();
        let servers = format!("{DEAD},{}", origin.address());
        let setup = retryable(&[&origin]).container(container).set("zuul.ribbonIsolationStrategy", strategy);
        let gateway = setup.set("up.ribbon.listOfServers", servers).start();
        let answer = gateway.client().request(method, "/dead", "", b"hello");
        assert_eq!(answer.text(), format!("{method} /dead"));
        assert_eq!(origin.only_request().text(), "hello");
        let line = log_line(&gateway, "/dead");
        assert!(line.contains(&format!(" upstream={} upstream_status=200 attempts=2 ", origin.address())), "{line}");
        assert_eq!(retries(&gateway, "connect_failed"), 1.0);
        gateway.assert_quiet();
    }
}

/// Three refused connects of one request are three to the balancer, which leaves the server out from then on.
#[test]
fn the_balancer_sees_each_attempt() {
    for strategy in STRATEGIES {
        let origin = TestOrigin::echoing();
        let setup = retryable(&[&origin]).set("zuul.ribbonIsolationStrategy", strategy);
        let setup = setup.set("up.ribbon.listOfServers", format!("{DEAD},{}", origin.address()));
        let gateway = setup.set("up.ribbon.MaxAutoRetries", "2").start();
        assert_eq!(gateway.get("/first").status, 200);
        assert!(log_line(&gateway, "/first").contains(" attempts=4 "));
        let dead = format!("server=\"{DEAD}\"");
        assert_eq!(gateway.metric("portcullis_server_failures_successive", &dead), 3.0);
        for _ in 0..3 {
            assert_eq!(gateway.get("/later").status, 200);
        }
        assert_eq!(gateway.metric("portcullis_server_requests_total", &dead), 3.0);
        assert_eq!(retries(&gateway, "connect_failed"), 3.0);
        gateway.assert_quiet();
    }
}

/// A10: "One dead, no retry: 500, 200 alternating", here 502; "without `zuul.retryable=true`: 1 attempt".
#[test]
fn nothing_is_retried_unless_the_route_is_retryable() {
    let origin = TestOrigin::echoing();
    let servers = format!("{DEAD},{}", origin.address());
    let setup = Setup::to_service(&origin).set("up.ribbon.listOfServers", &servers);
    let gateway = setup.clone().start();
    assert_reason(&gateway.get("/"), 502, "connect_failed");
    assert_eq!(gateway.get("/").status, 200);
    let setup = setup.set("zuul.retryable", "true").set("zuul.routes.up.retryable", "false");
    let gateway = setup.service_route("up", "/**", &[&origin]).set("up.ribbon.listOfServers", servers).start();
    assert_reason(&gateway.get("/"), 502, "connect_failed");
    assert_eq!(origin.requests().len(), 1);
}

/// A10: "MaxAutoRetries=1, MaxAutoRetriesNextServer=1: 4 attempts for GET on `retryableStatusCodes` (503 body of the last is passed on),
/// read timeout or broken connection". Used up by failures: 504 and 502 here, 500 there. CONN-05, CONN-08.
fn all_attempts_of_a_get_are_made(container: Container) {
    for strategy in STRATEGIES {
        let setup = |origin: &TestOrigin| {
            let setup = retryable(&[origin]).container(container).set("zuul.ribbonIsolationStrategy", strategy);
            let setup = setup.set("up.ribbon.retryableStatusCodes", "502, 503");
            setup.set("up.ribbon.MaxAutoRetries", "1").set("up.ribbon.MaxAutoRetriesNextServer", "1")
        };
        let busy = unavailable(99);
        let gateway = setup(&busy).start();
        let last = gateway.get("/busy");
        assert_eq!((last.status, last.text().as_str(), last.field("Retry-After").as_deref()), (503, "3", Some("3")));
        assert_eq!((busy.requests().len(), retries(&gateway, "status")), (4, 3.0));
        assert_eq!(busy.connections(), 1, "the answers that were dropped had come whole");
        assert!(log_line(&gateway, "/busy").contains(" upstream_status=503 attempts=4 "));
        gateway.assert_quiet();

        let closing = mute();
        let gateway = setup(&closing).start();
        assert_reason(&gateway.get("/closing"), 502, "upstream_aborted");
        assert_eq!((closing.requests().len(), retries(&gateway, "upstream_aborted")), (4, 3.0));
        gateway.assert_quiet();

        let slow = stalling();
        let gateway = setup(&slow).set("up.ribbon.ReadTimeout", "100").start();
        assert_reason(&gateway.get("/slow"), 504, "timeout");
        assert_eq!((slow.requests().len(), retries(&gateway, "timeout")), (4, 3.0));
        gateway.assert_quiet();
    }
}

/// The same server first, then the next one, each as often.
#[test]
fn the_same_server_is_asked_first() {
    let both = [unavailable(99), unavailable(99)];
    let setup = retryable(&both.each_ref()).set("ribbon.retryableStatusCodes", "503");
    let gateway = setup.set("ribbon.MaxAutoRetries", "2").set("ribbon.MaxAutoRetriesNextServer", "1").start();
    assert_eq!(gateway.get("/").text(), "2");
    assert_eq!(both.each_ref().map(|origin| origin.requests().len()), [3, 3]);
    let gateway = retryable(&both.each_ref()).set("ribbon.retryableStatusCodes", "503").start();
    assert_eq!(gateway.get("/").status, 503);
    assert_eq!(both.each_ref().map(|origin| origin.requests().len()), [4, 4]);
}

/// A10: "Retries used up by read timeouts: 500 `COMMAND_EXCEPTION` (not 504)".
#[test]
fn compat_mode_has_zuuls_word_for_retries_that_are_used_up() {
    let origin = stalling();
    let setup = retryable(&[&origin]).set("gateway.compat", "zuul1").set("server.error.include-message", "always");
    let gateway = setup.set("up.ribbon.ReadTimeout", "100").start();
    let answer = gateway.get("/");
    let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("the error body is JSON");
    assert_eq!((answer.status, &body["message"]), (500, &"COMMAND_EXCEPTION".into()));
    assert_eq!(origin.requests().len(), 2);
}

/// A10: "4 attempts for GET", of which what is told in the end is: the 503 of the last, and else 500 `COMMAND_EXCEPTION`. `zuul1` changes
/// neither the number nor the status of an upstream's own.
#[test]
fn compat_mode_makes_as_many_attempts() {
    let [busy, closing] = [unavailable(99), mute()];
    let setup = Setup::new().service_route("busy", "/busy/**", &[&busy]);
    let setup = setup.service_route("closing", "/closing/**", &[&closing]).set("zuul.retryable", "true");
    let setup = setup.set("ribbon.MaxAutoRetries", "1").set("ribbon.MaxAutoRetriesNextServer", "1");
    let setup = setup.set("ribbon.retryableStatusCodes", "503").set("gateway.compat", "zuul1");
    let gateway = setup.set("server.error.include-message", "always").start();
    let last = gateway.get("/busy/1");
    assert_eq!((last.status, last.text().as_str(), busy.requests().len()), (503, "3", 4));
    assert_eq!(gateway.client().request("POST", "/busy/1", "", b"hello").text(), "4", "a POST is sent once");
    let body: serde_json::Value = serde_json::from_slice(&gateway.get("/closing/1").body).expect("JSON");
    assert_eq!((&body["status"], &body["message"]), (&500.into(), &"COMMAND_EXCEPTION".into()));
    assert_eq!(closing.requests().len(), 4);
    gateway.assert_quiet();
}

/// A10: "POST only 1 on status 503", and none either once an octet of it was sent.
fn a_post_is_sent_once(container: Container) {
    for strategy in STRATEGIES {
        let setup = |origin: &TestOrigin| {
            let setup = retryable(&[origin]).container(container).set("zuul.ribbonIsolationStrategy", strategy);
            setup.set("up.ribbon.retryableStatusCodes", "503").set("up.ribbon.MaxAutoRetries", "3")
        };
        let busy = unavailable(99);
        let gateway = setup(&busy).start();
        assert_eq!(gateway.client().request("POST", "/", "", b"hello").text(), "0");
        assert_eq!(busy.requests().len(), 1);

        let closing = mute();
        let gateway = setup(&closing).start();
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let before = closing.requests().len();
            assert_reason(&gateway.client().request(method, "/", "", b"hello"), 502, "upstream_aborted");
            assert_eq!(closing.requests().len(), before + 1, "{method}");
        }
        gateway.assert_quiet();
    }
}

/// Fails the first time in four ways, the last of which takes the head alone; then answers what it got.
fn fails_at_first(way: usize) -> TestOrigin {
    numbered(move |number, talk| {
        if number == 0 && way == 3 {
            talk.read_head();
            return false;
        }
        let Some(request) = talk.read_request() else { return false };
        match (number, way) {
            (0, 0) => talk.send(answer("503 Service Unavailable", "", b"busy")),
            (0, 1) => false,
            (0, _) => {
                talk.stall_until_closed();
                false
            }
            _ => talk.send(ok(request.body)),
        }
    })
}

/// CONN-04.
fn a_post_is_repeated_octet_for_octet_when_asked(container: Container) {
    let body: Vec<u8> = (0..60_000_u32).map(|i| (i * 31 % 251) as u8).collect();
    for strategy in STRATEGIES {
        for (way, reason) in ["status", "upstream_aborted", "timeout", "upstream_aborted"].into_iter().enumerate() {
            let origin = fails_at_first(way);
            let setup = retryable(&[&origin]).container(container).set("zuul.ribbonIsolationStrategy", strategy);
            let setup = setup.set("up.ribbon.retryableStatusCodes", "503").set("up.ribbon.ReadTimeout", "1000");
            let gateway = setup.set("up.ribbon.OkToRetryOnAllOperations", "true").start();
            let answer = gateway.client().request("POST", "/", "", &body);
            assert_eq!((answer.status, answer.body == body), (200, true), "{way}, {strategy}: {}", answer.body.len());
            assert_eq!(retries(&gateway, reason), 1.0, "{way}");
            assert_eq!(origin.requests().len(), 2, "{way}");
            let chunks =
                format!("POST / HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n", 60_000);
            let mut client = gateway.client();
            client.send(chunks);
            client.send(&body);
            client.send("\r\n0\r\n\r\n");
            assert!(client.response().body == body);
            drop(client);
            gateway.assert_quiet();
        }
    }
}

/// One octet decides; and a retry of what was not sent needs no buffer.
fn a_body_beyond_the_buffer_is_sent_once(container: Container) {
    for strategy in STRATEGIES {
        let origin = unavailable(99);
        let setup = retryable(&[&origin]).container(container).set("zuul.ribbonIsolationStrategy", strategy);
        let setup =
            setup.set("up.ribbon.retryableStatusCodes", "503").set("up.ribbon.OkToRetryOnAllOperations", "true");
        let setup = setup.set("gateway.retry.max-body-size", "1000");
        let gateway = setup.clone().start();
        let mut client = gateway.client();
        assert_eq!(client.request("POST", "/", "", &[7; 1000]).text(), "1");
        assert_eq!(client.request("POST", "/", "", &[7; 1001]).text(), "2");
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n{}",
            "x".repeat(1001)
        ));
        client.send("\r\n0\r\n\r\n");
        assert_eq!(client.response().text(), "3");
        assert_eq!(bodies(&origin).iter().map(Vec::len).collect::<Vec<_>>(), [1000, 1000, 1001, 1001]);
        assert_eq!((retries(&gateway, "status"), refused(&gateway, "replay")), (1.0, 2.0));
        drop(client);
        gateway.assert_quiet();
        let servers = format!("{DEAD},{}", origin.address());
        let gateway = setup.set("up.ribbon.listOfServers", servers).start();
        assert_eq!(gateway.client().request("POST", "/", "", &[7; 2000]).text(), "4");
        assert_eq!(retries(&gateway, "connect_failed"), 1.0);
    }
}

/// The first server says no while the body is still to come: what was taken of it is given to the next one too. `tiny_http` hands bodies
/// out by a blocking read, so it sees no early answer.
#[test]
fn an_early_answer_is_retried_with_the_whole_body() {
    for strategy in STRATEGIES {
        let origin = numbered(|number, talk| {
            if number == 0 {
                talk.read_head();
                talk.read_body_up_to(3);
                talk.send(answer("503 Service Unavailable", "", b"no"));
                talk.stall_until_closed();
                return false;
            }
            talk.read_request().is_some_and(|request| talk.send(ok(request.body)))
        });
        let setup = retryable(&[&origin]).set("zuul.ribbonIsolationStrategy", strategy);
        let setup = setup.set("up.ribbon.retryableStatusCodes", "503");
        let gateway = setup.set("up.ribbon.OkToRetryOnAllOperations", "true").start();
        let mut client = gateway.client();
        client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 6\r\n\r\nabc");
        origin.wait_for_requests(2);
        client.send("def");
        assert_eq!(client.response().text(), "abcdef");
        drop(client);
        gateway.assert_quiet();
    }
}

fn an_expectation_is_met_once(container: Container) {
    let origin = fails_at_first(1);
    let setup = retryable(&[&origin]).container(container);
    let gateway = setup.set("up.ribbon.OkToRetryOnAllOperations", "true").start();
    let mut client = gateway.client();
    client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    client.wait_for_interim(100);
    client.send("hello");
    assert_eq!(client.response().text(), "hello");
    assert_eq!((client.interims().len(), origin.requests().len()), (1, 2));
    drop(client);
    gateway.assert_quiet();
}

/// What one server announced must not stand before another one's answer.
#[test]
fn an_attempt_of_which_the_client_heard_is_the_last() {
    let hinting = numbered(|_, talk| {
        talk.read_request();
        talk.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        false
    });
    let gateway = retryable(&[&hinting]).start();
    let mut client = gateway.client();
    client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    client.wait_for_interim(103);
    assert_reason(&client.response(), 502, "upstream_aborted");
    assert_eq!((hinting.requests().len(), refused(&gateway, "replay")), (1, 1.0));
    let breaking = numbered(|_, talk| {
        talk.read_request();
        talk.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
        false
    });
    let gateway = retryable(&[&breaking]).start();
    let mut client = gateway.client();
    client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    assert!(client.answer_or_end("GET").is_err());
    assert_eq!(breaking.requests().len(), 1);
    gateway.assert_quiet();
}

/// A10: "url routes: `retryable` changes nothing".
#[test]
fn url_routes_are_not_retried() {
    let origin = mute();
    let setup = Setup::to(&origin).set("zuul.retryable", "true").set("up.ribbon.MaxAutoRetries", "3");
    assert_reason(&setup.start().get("/"), 502, "upstream_aborted");
    assert_eq!(origin.requests().len(), 1);
}

/// With a deadline for each attempt there would be ten; each takes its read timeout at least.
#[test]
fn all_attempts_share_one_deadline() {
    for strategy in STRATEGIES {
        let origin = stalling();
        let setup = retryable(&[&origin]).set("zuul.ribbonIsolationStrategy", strategy);
        let setup = setup.set("up.ribbon.ReadTimeout", "200").set("up.ribbon.MaxAutoRetriesNextServer", "9");
        let key = "hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds";
        let gateway = setup.set(key, "700").start();
        assert_reason(&gateway.get("/"), 504, "timeout");
        let sent = gateway.metric("portcullis_upstream_attempts_total", "up");
        assert!((1.0..=4.0).contains(&sent), "{sent}");
        gateway.assert_quiet();
    }
}

/// The whole upload takes longer than the deadline, which stands still for it, in the second attempt too.
#[test]
fn a_slow_upload_leaves_time_for_another_attempt() {
    for strategy in STRATEGIES {
        let origin = fails_at_first(0);
        let setup =
            retryable(&[&origin]).set("zuul.ribbonIsolationStrategy", strategy).set("gateway.client.min-rate", "0");
        let setup =
            setup.set("up.ribbon.retryableStatusCodes", "503").set("up.ribbon.OkToRetryOnAllOperations", "true");
        let key = "hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds";
        let gateway = setup.set(key, "500").start();
        let mut client = gateway.client();
        client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 12\r\n\r\n");
        client.drip("0123456789ab", Duration::from_millis(60));
        assert_eq!(client.response().text(), "0123456789ab", "{strategy}");
        drop(client);
        gateway.assert_quiet();
    }
}

/// Half a retry for each request; without the floor the first has none.
#[test]
fn retries_end_when_the_budget_does() {
    let origin = unavailable(99);
    let setup = retryable(&[&origin]).set("up.ribbon.retryableStatusCodes", "503");
    let setup = setup.set("gateway.retry-budget", "50").set("gateway.retry.min-retries-per-second", "0");
    let gateway = setup.clone().start();
    let mut client = gateway.client();
    let sent: Vec<usize> = (0..4)
        .map(|_| {
            let before = origin.requests().len();
            let last = client.get("/");
            assert_eq!((last.status, last.field("Retry-After").as_deref()), (503, Some("3")), "as it is");
            origin.requests().len() - before
        })
        .collect();
    assert_eq!(sent, [1, 2, 1, 2]);
    assert_eq!((retries(&gateway, "status"), refused(&gateway, "budget")), (2.0, 2.0));
    let without = setup.clone().set("gateway.retry-budget", "-1").start();
    let floor = setup.set("gateway.retry-budget", "0").set("gateway.retry.min-retries-per-second", "1").start();
    for (gateway, expected) in [(without, 24), (floor, 12 + 10)] {
        let before = origin.requests().len();
        (0..12).for_each(|_| assert_eq!(gateway.get("/").status, 503));
        assert_eq!(origin.requests().len() - before, expected);
    }
}

/// The second request meets a connection that the server just gave up. It is sent again at once, and that uses up the budget.
#[test]
fn a_stale_connection_draws_from_the_budget() {
    for (percent, requests) in [("50", 3), ("100", 4)] {
        let origin = numbered(|number, talk| {
            let Some(_) = talk.read_request() else { return false };
            match number {
                0 => talk.send(ok(b"first")),
                1 => false,
                _ => talk.send(answer("503 Service Unavailable", "", number.to_string())),
            }
        });
        let setup = retryable(&[&origin]).set("up.ribbon.retryableStatusCodes", "503");
        let setup = setup.set("gateway.retry-budget", percent).set("gateway.retry.min-retries-per-second", "0");
        let gateway = setup.start();
        let mut client = gateway.client();
        assert_eq!(client.get("/").text(), "first");
        assert_eq!(client.get("/stale").status, 503);
        assert_eq!(origin.requests().len(), requests, "{percent} %");
        assert!(log_line(&gateway, "/stale").contains(&format!(" attempts={} ", requests - 1)));
    }
}

/// On a route that is not retryable too: it is the same service that bears it.
#[test]
fn a_stale_connection_of_another_route_draws_from_the_budget() {
    let origin = numbered(|number, talk| {
        let Some(_) = talk.read_request() else { return false };
        match number {
            0 | 2 => talk.send(ok(b"fine")),
            1 => false,
            _ => talk.send(answer("503 Service Unavailable", "", number.to_string())),
        }
    });
    let setup = retryable(&[&origin]).set("up.ribbon.retryableStatusCodes", "503");
    let setup = setup.set("zuul.routes.once.path", "/once/**").set("zuul.routes.once.service-id", "up");
    let setup = setup.set("zuul.routes.once.retryable", "false");
    let setup = setup.set("gateway.retry-budget", "100").set("gateway.retry.min-retries-per-second", "0");
    let gateway = setup.start();
    let mut client = gateway.client();
    assert_eq!(client.get("/once/1").text(), "fine");
    assert_eq!(client.get("/once/2").text(), "fine");
    assert_eq!(client.get("/").status, 503);
    assert_eq!((origin.requests().len(), refused(&gateway, "budget")), (4, 1.0));
}

/// With pauses that are longer than any test: half an hour at least.
fn pausing(origin: &TestOrigin) -> Setup {
    let setup = retryable(&[origin]).set("up.ribbon.retryableStatusCodes", "503");
    setup.set("gateway.retry.backoff.base-interval", "1h")
}

/// Sends a GET and waits until it waits for its second attempt.
#[track_caller]
fn paused(gateway: &TestGateway) -> RawClient {
    let mut client = gateway.client();
    client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    wait::until("it waits", || gateway.metric("portcullis_retries_waiting", "") == 1.0);
    client
}

/// A client that leaves ends it; it holds its permit meanwhile, but no connection.
#[test]
fn a_pause_ends_with_its_client() {
    for strategy in STRATEGIES {
        let origin = unavailable(1);
        let setup = pausing(&origin).set("hystrix.command.default.execution.timeout.enabled", "false");
        let setup = setup.set("zuul.ribbonIsolationStrategy", strategy).set("up.ribbon.MaxTotalConnections", "1");
        let setup = setup.set("zuul.semaphore.maxSemaphores", "2").set("hystrix.threadpool.default.coreSize", "2");
        let gateway = setup.start();
        let client = paused(&gateway);
        assert_eq!(gateway.get("/other").text(), "1", "the one connection is free");
        client.reset();
        gateway.assert_quiet();
        assert_eq!(origin.requests().len(), 2);
    }
}

/// Limits of one: who waits for another attempt is under way all the while.
#[test]
fn a_pause_holds_the_permit() {
    for (strategy, reason) in [("SEMAPHORE", "semaphore_full"), ("THREAD", "pool_full")] {
        let origin = unavailable(1);
        let setup = pausing(&origin).set("hystrix.command.default.execution.timeout.enabled", "false");
        let setup = setup.set("zuul.ribbonIsolationStrategy", strategy).set("zuul.semaphore.maxSemaphores", "1");
        let gateway = setup.set("hystrix.threadpool.default.coreSize", "1").start();
        let client = paused(&gateway);
        assert_reason(&gateway.get("/"), 503, reason);
        client.reset();
        gateway.assert_quiet();
        assert_eq!(gateway.get("/").text(), "1", "{strategy}");
    }
}

/// A gateway that is told to end does not wait for a pause.
#[test]
fn a_pause_ends_with_the_gateway() {
    for strategy in STRATEGIES {
        let origin = unavailable(1);
        let setup = pausing(&origin).set("hystrix.command.default.execution.timeout.enabled", "false");
        let setup = setup.set("spring.lifecycle.timeout-per-shutdown-phase", "200ms");
        let mut gateway = setup.set("zuul.ribbonIsolationStrategy", strategy).start();
        let mut client = paused(&gateway);
        gateway.process.signal(rustix::process::Signal::TERM);
        gateway.process.wait();
        assert!(client.answer_or_end("GET").is_err());
        assert_eq!(origin.requests().len(), 1);
    }
}

#[test]
fn a_pause_beyond_the_deadline_is_not_begun() {
    let origin = unavailable(1);
    let gateway = pausing(&origin).start();
    assert_eq!(gateway.get("/").text(), "0");
    assert_eq!((origin.requests().len(), refused(&gateway, "deadline")), (1, 1.0));
    let origin = unavailable(1);
    let gateway = pausing(&origin).set("gateway.retry.backoff.max-interval", "1").start();
    assert_eq!(gateway.get("/").text(), "1", "a pause of a millisecond at most");
    gateway.assert_quiet();
}

/// The only connection and the only permit serve all attempts, even when an answer that is dropped has not come whole.
#[test]
fn limits_of_one_are_enough() {
    for strategy in STRATEGIES {
        let origin = numbered(|number, talk| {
            let Some(_) = talk.read_request() else { return false };
            if number < 3 {
                return talk
                    .send("HTTP/1.1 503 Service Unavailable\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nstill\r\n");
            }
            talk.send(ok(b"here"))
        });
        let setup =
            retryable(&[&origin]).set("up.ribbon.retryableStatusCodes", "503").set("up.ribbon.MaxAutoRetries", "3");
        let setup = setup.set("zuul.ribbonIsolationStrategy", strategy).set("zuul.semaphore.maxSemaphores", "1");
        let setup = setup.set("hystrix.threadpool.default.coreSize", "1").set("up.ribbon.MaxTotalConnections", "1");
        let gateway = setup.start();
        assert_eq!(gateway.get("/").text(), "here");
        assert_eq!((origin.requests().len(), origin.connections()), (4, 4), "each such connection was closed");
        gateway.assert_quiet();
        assert_eq!(gateway.get("/").text(), "here");
    }
}

/// One server breaks every connection, the other one is well: nobody notices, however many ask at once.
#[test]
fn many_at_once_are_served_by_the_server_that_is_well() {
    for strategy in STRATEGIES {
        let (broken, well) = (mute(), TestOrigin::echoing());
        let setup = retryable(&[&broken, &well]).set("gateway.retry-budget", "-1");
        let setup = setup.set("hystrix.threadpool.default.coreSize", "16");
        let gateway = setup.set("zuul.ribbonIsolationStrategy", strategy).start();
        std::thread::scope(|scope| {
            for thread in 0..16 {
                let gateway = &gateway;
                scope.spawn(move || {
                    let mut client = gateway.client();
                    for request in 0..20 {
                        let target = format!("/{thread}/{request}");
                        assert_eq!(client.get(&target).text(), format!("GET {target}"));
                    }
                });
            }
        });
        assert_eq!(well.requests().len(), 320);
        assert_eq!(broken.requests().len() as f64, retries(&gateway, "upstream_aborted"));
        gateway.assert_quiet();
    }
}

/// Statuses that are none are told at the start.
#[test]
fn a_status_that_is_none_is_a_fault() {
    let origin = TestOrigin::echoing();
    let finished = retryable(&[&origin]).set("ribbon.retryableStatusCodes", "503,5xx").run_to_end(&["check"]);
    assert_eq!(finished.status.code(), Some(1));
    let told = finished.stdout + &finished.stderr;
    assert!(told.contains("\"5xx\" is no status of an answer"), "{told}");
}
