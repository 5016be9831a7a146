//! `hystrix.command.*.circuitBreaker.*`, `metrics.*` and `fallback.*`, `gateway.circuit-breaker.*` and `gateway.fallback.*`: precedence and
//! what each key does. Whole stories are told in `circuit` and `fallback`.

use crate::circuit::{judged, wait_for_view};
use crate::support::gateway::{Setup, TestGateway, assert_reason};
use crate::support::origin::{TestOrigin, ok};
use crate::support::wait;
use std::time::Duration;

/// A while in which something does not happen.
const A_WHILE: Duration = Duration::from_millis(300);

fn rude() -> TestOrigin {
    TestOrigin::scripted(|talk| drop(talk.read_request()))
}

#[track_caller]
fn fails_with(gateway: &TestGateway, status: u16, reason: &str) {
    assert_reason(&gateway.get("/"), status, reason);
}

/// A command's own key wins over the default's, in both directions.
#[test]
fn circuits_have_a_default_and_an_own_value() {
    let (of_all, of_one) = (
        "hystrix.command.default.circuitBreaker.requestVolumeThreshold",
        "hystrix.command.up.circuitBreaker.requestVolumeThreshold",
    );
    for (default, own, opens) in [("1", None, true), ("50", Some("1"), true), ("1", Some("50"), false)] {
        let origin = rude();
        let setup = judged(Setup::to_service(&origin), "default", 20);
        let setup = setup.set(of_all, default);
        let setup = own.into_iter().fold(setup, |setup, own| setup.set(of_one, own));
        let gateway = setup.start();
        fails_with(&gateway, 502, "upstream_aborted");
        wait_for_view(&gateway, "up", 1.0);
        let (status, reason) = if opens { (503, "circuit_open") } else { (502, "upstream_aborted") };
        fails_with(&gateway, status, reason);
    }
}

#[test]
fn a_circuit_can_be_forced_and_switched_off() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to_service(&origin).set("hystrix.command.up.circuitBreaker.forceOpen", "true").start();
    fails_with(&gateway, 503, "circuit_open");
    assert_eq!(origin.requests().len(), 0);
    assert_eq!(gateway.metric("hystrix_circuit_breaker_open", "up"), 0.0, "as in Hystrix, a forced one does not show");
    for (key, shows) in
        [("hystrix.command.up.circuitBreaker.forceClosed", 1.0), ("hystrix.command.up.circuitBreaker.enabled", 0.0)]
    {
        let origin = rude();
        let value = if shows == 1.0 { "true" } else { "false" };
        let gateway = judged(Setup::to_service(&origin), "up", 1).set(key, value).start();
        fails_with(&gateway, 502, "upstream_aborted");
        wait_for_view(&gateway, "up", 1.0);
        fails_with(&gateway, 502, "upstream_aborted");
        assert_eq!(gateway.metric("hystrix_circuit_breaker_open", "up"), shows, "{key}");
    }
}

#[test]
fn a_share_of_failures_opens_it() {
    for (percentage, opens) in [("50", true), ("51", false)] {
        let origin = TestOrigin::scripted(|talk| {
            while let Some(request) = talk.read_request() {
                if request.target == b"/dies" {
                    return;
                }
                talk.send(ok(b"fine"));
            }
        });
        let setup = judged(Setup::to_service(&origin), "up", 2);
        let gateway = setup.set("hystrix.command.up.circuitBreaker.errorThresholdPercentage", percentage).start();
        assert_eq!(gateway.get("/lives").status, 200);
        assert_eq!(gateway.get("/dies").status, 502);
        wait_for_view(&gateway, "up", 2.0);
        assert_eq!(gateway.get("/lives").status, if opens { 503 } else { 200 });
    }
}

#[test]
fn the_sleep_window_ends() {
    for (millis, tests) in [("50", true), ("600000", false)] {
        let origin = rude();
        let setup = judged(Setup::to_service(&origin), "up", 1);
        let gateway = setup.set("hystrix.command.up.circuitBreaker.sleepWindowInMilliseconds", millis).start();
        fails_with(&gateway, 502, "upstream_aborted");
        wait_for_view(&gateway, "up", 1.0);
        fails_with(&gateway, 503, "circuit_open");
        match tests {
            true => wait::until("it is tested", || gateway.get("/").status == 502),
            false => wait::stays("it is left alone", A_WHILE, || gateway.get("/").status == 503),
        }
    }
}

/// While the test is under way nothing closes the circuit in `half-open`, whereas any success does in `single-test`.
#[test]
fn the_mode_says_who_closes_it() {
    for (mode, closes) in [("single-test", true), ("half-open", false)] {
        let (release, gate) = crossbeam_channel::unbounded();
        let origin = TestOrigin::scripted(move |talk| {
            while let Some(request) = talk.read_request() {
                if request.target == b"/dies" {
                    return;
                }
                talk.wait_for(&gate);
                talk.send(ok(b"fine"));
            }
        });
        let setup = judged(Setup::to_service(&origin), "up", 1).set("gateway.circuit-breaker.mode", mode);
        let gateway = setup.start();
        let mut before = gateway.client();
        before.send("GET /lives HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        origin.wait_for_requests(1);
        assert_eq!(gateway.get("/dies").status, 502);
        wait_for_view(&gateway, "up", 1.0);
        fails_with(&gateway, 503, "circuit_open");
        release.send(()).expect("the origin waits");
        assert_eq!(before.response().status, 200, "who was on the way before is served");
        wait::until("it is counted", || gateway.metric("hystrix_execution_total", "event=\"SUCCESS\"") == 1.0);
        assert_eq!(gateway.metric("hystrix_circuit_breaker_open", "up"), if closes { 0.0 } else { 1.0 }, "{mode}");
    }
}

/// As long as the view is not made anew, the circuit knows of nothing.
#[test]
fn the_view_is_made_anew_from_time_to_time() {
    let origin = rude();
    let setup = judged(Setup::to_service(&origin), "up", 1);
    let gateway = setup.set("hystrix.command.up.metrics.healthSnapshot.intervalInMilliseconds", "600000").start();
    wait::stays("it stays closed", A_WHILE, || gateway.get("/").status == 502);
}

fn rolling(gateway: &TestGateway) -> f64 {
    gateway.metric("hystrix_execution_rolling", "event=\"SUCCESS\"")
}

/// The open bucket is not seen, and a closed one is forgotten when the window is over.
#[test]
fn counts_roll_by_their_window() {
    let run = |time: &str, buckets: &str| {
        let origin = TestOrigin::echoing();
        let setup = Setup::to_service(&origin).set("hystrix.command.up.metrics.rollingStats.timeInMilliseconds", time);
        let gateway = setup.set("hystrix.command.up.metrics.rollingStats.numBuckets", buckets).start();
        assert_eq!(gateway.get("/").status, 200);
        (gateway, origin)
    };
    let (gateway, _origin) = run("600000", "12000");
    wait::until("the bucket closes", || rolling(&gateway) == 1.0);
    wait::stays("the window goes on", A_WHILE, || rolling(&gateway) == 1.0);
    let (gateway, _origin) = run("600000", "1");
    wait::stays("the bucket is open", A_WHILE, || rolling(&gateway) == 0.0);
    let (gateway, _origin) = run("3000", "6");
    wait::until("a bucket closes", || gateway.get("/").status == 200 && rolling(&gateway) > 0.0);
    wait::until("the window is over", || rolling(&gateway) == 0.0);
    assert!(gateway.metric("hystrix_execution_total", "event=\"SUCCESS\"") >= 2.0, "totals stay");
}

#[test]
fn a_pools_counts_roll_by_their_window() {
    let executed = |gateway: &TestGateway| gateway.metric("hystrix_threadpool_rolling_executed", "RibbonCommand");
    let run = |time: &str, buckets: &str| {
        let origin = TestOrigin::echoing();
        let setup = Setup::to_service(&origin).set("zuul.ribbonIsolationStrategy", "THREAD");
        let setup = setup.set("hystrix.threadpool.RibbonCommand.metrics.rollingStats.timeInMilliseconds", time);
        let key = "hystrix.threadpool.RibbonCommand.metrics.rollingStats.numBuckets";
        let gateway = setup.set(key, buckets).start();
        assert_eq!(gateway.get("/").status, 200);
        (gateway, origin)
    };
    let (gateway, _origin) = run("600000", "12000");
    wait::until("the bucket closes", || executed(&gateway) == 1.0);
    assert_eq!(gateway.metric("hystrix_threadpool_rolling_active_max", "RibbonCommand"), 1.0);
    wait::stays("the window goes on", A_WHILE, || executed(&gateway) == 1.0);
    let (gateway, _origin) = run("600000", "1");
    wait::stays("the bucket is open", A_WHILE, || executed(&gateway) == 0.0);
    let (gateway, _origin) = run("3000", "6");
    wait::until("a bucket closes", || gateway.get("/").status == 200 && executed(&gateway) > 0.0);
    wait::until("the window is over", || executed(&gateway) == 0.0);
}

#[test]
fn percentiles_are_kept_for_their_window_or_not_at_all() {
    let told = |gateway: &TestGateway| gateway.metrics().keys().any(|key| key.starts_with("hystrix_latency_execution"));
    let run = |keys: &[(&str, &str)]| {
        let origin = TestOrigin::echoing();
        let key = |rest: &str| format!("hystrix.command.up.metrics.rollingPercentile.{rest}");
        let setup = keys.iter().fold(Setup::to_service(&origin), |setup, (rest, value)| setup.set(key(rest), *value));
        let gateway = setup.start();
        assert_eq!(gateway.get("/").status, 200);
        (gateway, origin)
    };
    let (gateway, _origin) = run(&[]);
    wait::until("it is told", || told(&gateway));
    wait::stays("it is kept", A_WHILE, || told(&gateway));
    let (gateway, _origin) = run(&[("timeInMilliseconds", "200"), ("numBuckets", "2")]);
    wait::until("it is forgotten", || !told(&gateway));
    let (gateway, _origin) = run(&[("enabled", "false")]);
    wait::stays("it is not told", A_WHILE, || !told(&gateway));
    // The names once more, whole; and a window that its buckets do not divide.
    let setup = Setup::new().set("zuul.routes.up", "/up/**");
    let setup = setup.set("hystrix.command.up.metrics.rollingPercentile.enabled", "true");
    let setup = setup.set("hystrix.command.up.metrics.rollingPercentile.timeInMilliseconds", "1000");
    let setup = setup.set("hystrix.command.up.metrics.rollingPercentile.numBuckets", "3");
    let checked = setup.run_to_end(&["check"]);
    assert!(!checked.status.success());
    assert!(checked.stderr.contains("1000 ms are no whole number of milliseconds in each of 3 buckets"), "{checked:?}");
}
