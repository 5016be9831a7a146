//! `hystrix.*`: precedence of commands' keys, and what the timeout covers.

use crate::support::gateway::{Setup, TestGateway, assert_reason};
use crate::support::origin::TestOrigin;
use crate::support::wait;
use crossbeam_channel::unbounded;
use std::time::Duration;

fn stalling() -> TestOrigin {
    TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.stall_until_closed();
    })
}

/// The default timeout is read, and a command's own wins over it.
#[test]
fn timeouts_have_a_default_and_an_own_value() {
    let default = "hystrix.command.default.execution.isolation.thread.timeoutInMilliseconds";
    let own = "hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds";
    for keys in [vec![(default, "150")], vec![(default, "60000"), (own, "150")]] {
        let origin = stalling();
        let setup = Setup::to_service(&origin).set("up.ribbon.ReadTimeout", "60000");
        let gateway = keys.iter().fold(setup, |setup, (key, value)| setup.set(*key, *value)).start();
        assert_reason(&gateway.get("/"), 504, "timeout");
        gateway.assert_quiet();
    }
}

#[test]
fn the_timeout_can_be_switched_off() {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    let setup = Setup::to_service(&origin).set("up.ribbon.ReadTimeout", "60000");
    let setup = setup.set("hystrix.command.up.execution.timeout.enabled", "false");
    let gateway = setup.set("hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds", "50").start();
    let mut client = gateway.client();
    client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(1);
    wait::stays("the request waits", Duration::from_millis(200), || !client.has_news());
    release.send(()).expect("the origin waits");
    assert_eq!(client.response().text(), "released");
}

/// As in Hystrix, the default's strategy and semaphore do nothing to Zuul's routes; a command's own do.
#[test]
fn precedence_is_hystrixs() {
    let run = |key: &str, value: &str| {
        let (release, gate) = unbounded();
        let origin = TestOrigin::gated(gate);
        let setup = Setup::to_service(&origin).set("hystrix.threadpool.default.coreSize", "1");
        let gateway = setup.set("zuul.semaphore.maxSemaphores", "2").set(key, value).start();
        let mut clients = Vec::new();
        for _ in 0..2 {
            let mut client = gateway.client();
            client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
            clients.push(client);
        }
        origin.wait_for_requests(1);
        wait::until("both are served or one is refused", || {
            origin.requests().len() == 2 || clients.iter_mut().any(|client| client.has_news())
        });
        let served = origin.requests().len();
        drop(release);
        for mut client in clients {
            let status = client.response().status;
            assert!(status == 200 || (served == 1 && status == 503), "{key}: {status}");
        }
        gateway.assert_quiet();
        served
    };
    assert_eq!(run("hystrix.command.default.execution.isolation.strategy", "THREAD"), 2);
    assert_eq!(run("hystrix.command.up.execution.isolation.strategy", "THREAD"), 1);
    assert_eq!(run("hystrix.command.default.execution.isolation.semaphore.maxConcurrentRequests", "1"), 2);
    assert_eq!(run("hystrix.command.up.execution.isolation.semaphore.maxConcurrentRequests", "1"), 1);
}

/// A pool that grew by one thread, both at work, and then idle.
fn grown(keep_alive: Option<&str>) -> TestGateway {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    let setup = Setup::to_service(&origin).set("zuul.ribbonIsolationStrategy", "THREAD");
    let setup =
        setup.set("hystrix.threadpool.default.coreSize", "1").set("hystrix.threadpool.default.maximumSize", "2");
    let setup = setup.set("hystrix.threadpool.default.allowMaximumSizeToDivergeFromCoreSize", "true");
    let key = "hystrix.threadpool.default.keepAliveTimeMinutes";
    let gateway = keep_alive.into_iter().fold(setup, |setup, minutes| setup.set(key, minutes)).start();
    let mut clients: Vec<_> = (0..2).map(|_| gateway.client()).collect();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    }
    origin.wait_for_requests(2);
    assert_eq!(gateway.metric("portcullis_pool_threads", ""), 2.0);
    drop(release);
    for mut client in clients {
        assert_eq!(client.response().status, 200);
    }
    gateway.assert_quiet();
    gateway
}

/// A minute, unless told otherwise; the core stays.
#[test]
fn idle_threads_beyond_the_core_are_kept_for_a_while() {
    let brief = grown(Some("0"));
    wait::until("the surplus thread has ended", || brief.metric("portcullis_pool_threads", "") == 1.0);
    assert_eq!(brief.metric("portcullis_pool_threads_largest", ""), 2.0);
    let patient = grown(None);
    wait::stays("both are kept", Duration::from_millis(300), || patient.metric("portcullis_pool_threads", "") == 2.0);
}

/// Out of the pool that all share, into another.
#[test]
fn a_service_can_have_another_pool() {
    let (release, gate) = unbounded();
    let (slow, fast) = (TestOrigin::gated(gate), TestOrigin::echoing());
    let setup = Setup::new().service_route("slow", "/slow/**", &[&slow]).service_route("fast", "/fast/**", &[&fast]);
    let setup = setup.set("zuul.ribbonIsolationStrategy", "THREAD").set("hystrix.threadpool.default.coreSize", "1");
    for (over, status) in [(None, 503), (Some("own"), 200)] {
        let key = "hystrix.command.fast.threadPoolKeyOverride";
        let gateway = over.into_iter().fold(setup.clone(), |setup, pool| setup.set(key, pool)).start();
        let before = slow.requests().len();
        let mut busy = gateway.client();
        busy.send("GET /slow/1 HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        slow.wait_for_requests(before + 1);
        assert_eq!(gateway.get("/fast/1").status, status, "{over:?}");
        release.send(()).expect("the origin waits");
        assert_eq!(busy.response().text(), "released");
        gateway.assert_quiet();
    }
}
