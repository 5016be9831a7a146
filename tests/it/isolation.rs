//! Limits of one: each stage with room for a single request, filled by it, must refuse the next by name, and be whole again afterwards.

use crate::support::client::RawClient;
use crate::support::gateway::{Container, Setup, TestGateway, assert_reason, for_both_containers};
use crate::support::origin::{TestOrigin, ok};
use crate::support::socket::DEAD;
use crate::support::wait;
use crossbeam_channel::{Sender, unbounded};

for_both_containers!(
    a_full_semaphore_refuses_at_once,
    a_full_pool_refuses_at_once,
    a_pool_queues_as_hystrix_does,
    a_pool_grows_only_when_its_queue_is_full,
    url_routes_are_isolated_by_their_id,
    one_slow_service_leaves_the_others_alone,
    a_full_connection_pool_refuses_after_a_bounded_wait,
    the_permit_lasts_until_the_body_is_sent,
    permits_come_back_however_a_request_ends,
    the_deadline_frees_the_caller_in_both_modes,
    the_cap_is_never_exceeded,
    compat_mode_leaves_url_routes_unguarded,
    nothing_of_a_request_shows_in_the_next,
);

/// An origin that answers only when told to.
fn gated() -> (TestOrigin, Sender<()>) {
    let (release, gate) = unbounded();
    (TestOrigin::gated(gate), release)
}

/// A client whose request has reached the origin and waits there.
#[track_caller]
fn occupy(gateway: &TestGateway, origin: &TestOrigin, target: &str) -> RawClient {
    let before = origin.requests().len();
    let mut client = gateway.client();
    client.send(format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\n\r\n"));
    origin.wait_for_requests(before + 1);
    client
}

/// Lets the requests go, checks their answers, and waits until what they held is back: a client has its answer a moment before.
#[track_caller]
fn let_go(release: &Sender<()>, gateway: &TestGateway, clients: &mut [RawClient]) {
    clients.iter().for_each(|_| release.send(()).expect("the origin waits"));
    for client in clients {
        let answer = client.response();
        assert_eq!((answer.status, answer.text().as_str()), (200, "released"));
    }
    gateway.assert_quiet();
}

/// ISO-02. A7: each property that limits a service there; the one in kebab-case, which Zuul does not read, counts here too.
fn a_full_semaphore_refuses_at_once(container: Container) {
    let kebab = "zuul.eureka.up.semaphore.max-semaphores";
    for key in ["zuul.semaphore.maxSemaphores", "zuul.eureka.up.semaphore.maxSemaphores", kebab, HYSTRIX_OWN] {
        let (origin, release) = gated();
        let gateway = Setup::to_service(&origin).container(container).set(key, "1").start();
        let first = occupy(&gateway, &origin, "/");
        assert_reason(&gateway.get("/"), 503, "semaphore_full");
        let_go(&release, &gateway, &mut [first]);
        release.send(()).expect("the origin waits");
        assert_eq!(gateway.get("/").status, 200, "{key}");
        gateway.assert_quiet();
        assert_eq!(gateway.metric("portcullis_semaphore_refused_total", "up"), 1.0);
    }
}

const HYSTRIX_OWN: &str = "hystrix.command.up.execution.isolation.semaphore.maxConcurrentRequests";

fn threads(setup: Setup, container: Container) -> Setup {
    setup.container(container).set("zuul.ribbonIsolationStrategy", "THREAD")
}

/// ISO-03: without a queue, the one after the last thread is refused.
fn a_full_pool_refuses_at_once(container: Container) {
    let (origin, release) = gated();
    let setup = threads(Setup::to_service(&origin), container).set("hystrix.threadpool.default.coreSize", "1");
    let gateway = setup.start();
    let first = occupy(&gateway, &origin, "/");
    assert_reason(&gateway.get("/"), 503, "pool_full");
    let_go(&release, &gateway, &mut [first]);
    release.send(()).expect("the origin waits");
    assert_eq!(gateway.get("/").status, 200);
    gateway.assert_quiet();
}

fn a_pool_queues_as_hystrix_does(container: Container) {
    let (origin, release) = gated();
    let setup = threads(Setup::to_service(&origin), container).set("hystrix.threadpool.default.coreSize", "1");
    let setup = setup.set("hystrix.threadpool.default.maxQueueSize", "10");
    let gateway = setup.set("hystrix.threadpool.default.queueSizeRejectionThreshold", "2").start();
    let mut waiting = vec![occupy(&gateway, &origin, "/running")];
    for _ in 0..2 {
        let mut queued = gateway.client();
        queued.send("GET /queued HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        let place = waiting.len() as f64;
        waiting.push(queued);
        crate::support::wait::until("the request is queued", || gateway.metric("portcullis_pool_queued", "") == place);
    }
    assert_reason(&gateway.get("/refused"), 503, "pool_full");
    assert_eq!(origin.requests().len(), 1, "a queued request has not started");
    let_go(&release, &gateway, &mut waiting);
}

/// ISO-05: the order is core, queue, maximum, refusal; and nothing grows unless it may diverge.
fn a_pool_grows_only_when_its_queue_is_full(container: Container) {
    let (origin, release) = gated();
    let setup = threads(Setup::to_service(&origin), container).set("hystrix.threadpool.default.coreSize", "1");
    let setup = setup.set("hystrix.threadpool.default.maximumSize", "2");
    let setup = setup.set("hystrix.threadpool.default.allowMaximumSizeToDivergeFromCoreSize", "true");
    let gateway = setup.start();
    let mut both = [occupy(&gateway, &origin, "/1"), occupy(&gateway, &origin, "/2")];
    assert_reason(&gateway.get("/3"), 503, "pool_full");
    let_go(&release, &gateway, &mut both);
}

fn url_routes_are_isolated_by_their_id(container: Container) {
    let (origin, release) = gated();
    let free = TestOrigin::echoing();
    let setup = Setup::new().container(container).url_route("tight", "/tight/**", &origin.url());
    let setup = setup.url_route("free", "/free/**", &free.url());
    let key = "hystrix.command.tight.execution.isolation.semaphore.maxConcurrentRequests";
    let gateway = setup.set(key, "1").start();
    let first = occupy(&gateway, &origin, "/tight/1");
    assert_reason(&gateway.get("/tight/2"), 503, "semaphore_full");
    assert_eq!(gateway.get("/free/1").status, 200);
    let_go(&release, &gateway, &mut [first]);
    gateway.assert_quiet();
}

fn one_slow_service_leaves_the_others_alone(container: Container) {
    let (slow, release) = gated();
    let fast = TestOrigin::echoing();
    let setup = Setup::new().container(container).set("server.tomcat.max-threads", "8");
    let setup = setup.service_route("slow", "/slow/**", &[&slow]).service_route("fast", "/fast/**", &[&fast]);
    let gateway = setup.set("zuul.semaphore.maxSemaphores", "4").start();
    let mut stuck: Vec<_> = (0..4).map(|_| occupy(&gateway, &slow, "/slow/1")).collect();
    for _ in 0..20 {
        assert_reason(&gateway.get("/slow/2"), 503, "semaphore_full");
        assert_eq!(gateway.get("/fast/1").status, 200);
    }
    let_go(&release, &gateway, &mut stuck);
}

/// CONN-13: the wait for an upstream connection ends.
fn a_full_connection_pool_refuses_after_a_bounded_wait(container: Container) {
    for key in ["zuul.host.maxPerRouteConnections", "zuul.host.maxTotalConnections"] {
        let (origin, release) = gated();
        let setup = Setup::to(&origin).container(container).set(key, "1");
        let gateway = setup.set("zuul.host.connectionRequestTimeoutMillis", "100").start();
        let first = occupy(&gateway, &origin, "/");
        assert_reason(&gateway.get("/"), 503, "upstream_pool_timeout");
        let_go(&release, &gateway, &mut [first]);
        release.send(()).expect("the origin waits");
        assert_eq!(gateway.get("/").status, 200, "{key}");
        assert_eq!(origin.connections(), 1, "{key}");
        gateway.assert_quiet();
    }
}

fn the_permit_lasts_until_the_body_is_sent(container: Container) {
    for strategy in ["SEMAPHORE", "THREAD"] {
        let (release, gate) = unbounded();
        let origin = TestOrigin::scripted(move |talk| {
            while talk.read_request().is_some() {
                talk.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhead");
                talk.wait_for(&gate);
                talk.send("tail");
            }
        });
        let setup = Setup::to_service(&origin).container(container).set("zuul.ribbonIsolationStrategy", strategy);
        let setup = setup.set("zuul.semaphore.maxSemaphores", "1").set("hystrix.threadpool.default.coreSize", "1");
        let gateway = setup.start();
        let mut first = gateway.client();
        first.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        first.wait_for_text("head");
        assert_eq!(gateway.get("/").status, 503, "{strategy}");
        release.send(()).expect("the origin waits");
        assert_eq!(first.response().text(), "headtail");
        drop(first);
        gateway.assert_quiet();
        drop(release);
        assert_eq!(gateway.get("/").text(), "headtail", "{strategy}");
    }
}

/// ISO-06, CONN-11: cut answers, clients that leave, timeouts and refusals return what they held.
fn permits_come_back_however_a_request_ends(container: Container) {
    for strategy in ["SEMAPHORE", "THREAD"] {
        let origin = TestOrigin::scripted(|talk| {
            let Some(request) = talk.read_request() else { return };
            match &request.target[..] {
                b"/reset" => talk.reset(),
                b"/cut" => drop(talk.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut")),
                b"/slow" => drop(talk.stall_until_closed()),
                b"/garbage" => drop(talk.send("garbage\r\n\r\n")),
                _ => drop(talk.send(ok(b"fine"))),
            }
        });
        let setup = Setup::to_service(&origin).container(container).set("zuul.ribbonIsolationStrategy", strategy);
        let setup = setup.set("zuul.semaphore.maxSemaphores", "1").set("hystrix.threadpool.default.coreSize", "1");
        let gateway = setup.set("up.ribbon.ReadTimeout", "200").start();
        for target in ["/reset", "/cut", "/slow", "/garbage", "/fine"] {
            let mut client = gateway.client();
            client.send(format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\n\r\n"));
            let _ = client.answer_or_end("GET");
            gateway.assert_quiet();
        }
        let leaver = occupy(&gateway, &origin, "/slow");
        leaver.reset();
        gateway.assert_quiet();
        assert_eq!(gateway.get("/fine").text(), "fine", "{strategy}");
    }
}

/// CONN-10: whichever of the two times comes first.
fn the_deadline_frees_the_caller_in_both_modes(container: Container) {
    for strategy in ["SEMAPHORE", "THREAD"] {
        let (origin, release) = gated();
        let setup = Setup::to_service(&origin).container(container).set("zuul.ribbonIsolationStrategy", strategy);
        let setup = setup.set("hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds", "150");
        let gateway = setup.set("up.ribbon.ReadTimeout", "60000").start();
        assert_reason(&gateway.get("/"), 504, "timeout");
        gateway.assert_quiet();
        drop(release);
        assert_eq!(gateway.get("/").status, 200, "{strategy}");
    }
}

/// ISO-06: many at the same instant; the origin never sees more at once than there are permits.
fn the_cap_is_never_exceeded(container: Container) {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    const CAP: usize = 3;
    for strategy in ["SEMAPHORE", "THREAD"] {
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counted, highest) = (inside.clone(), most.clone());
        let origin = TestOrigin::scripted(move |talk| {
            while talk.read_request().is_some() {
                highest.fetch_max(counted.fetch_add(1, SeqCst) + 1, SeqCst);
                std::thread::yield_now();
                counted.fetch_sub(1, SeqCst);
                talk.send(ok(b"fine"));
            }
        });
        let setup = Setup::to_service(&origin).container(container).set("zuul.ribbonIsolationStrategy", strategy);
        let setup = setup.set("zuul.semaphore.maxSemaphores", CAP.to_string());
        let gateway = setup.set("hystrix.threadpool.default.coreSize", CAP.to_string()).start();
        let served: usize = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..20).map(|_| scope.spawn(|| serve_some(&gateway))).collect();
            callers.into_iter().map(|caller| caller.join().expect("a caller does not panic")).sum()
        });
        assert!(served > 0 && most.load(SeqCst) <= CAP, "{strategy}: {served} served, {most:?} at once");
        assert_eq!(origin.requests().len(), served, "{strategy}: a refused request goes nowhere");
        gateway.assert_quiet();
    }
}

fn serve_some(gateway: &TestGateway) -> usize {
    let mut client = gateway.client();
    (0..20)
        .filter(|_| match client.get("/").status {
            200 => true,
            503 => false,
            other => panic!("status {other}"),
        })
        .count()
}

fn compat_mode_leaves_url_routes_unguarded(container: Container) {
    let (origin, release) = gated();
    let setup = Setup::to(&origin).container(container).set("gateway.compat", "zuul1");
    let gateway = setup.set("zuul.semaphore.maxSemaphores", "1").start();
    let mut both = [occupy(&gateway, &origin, "/1"), occupy(&gateway, &origin, "/2")];
    let_go(&release, &gateway, &mut both);
}

/// ISO-14: after a failure of any kind, the next request of the same worker, and of the same thread of a pool, is as the first one was.
fn nothing_of_a_request_shows_in_the_next(container: Container) {
    for strategy in ["SEMAPHORE", "THREAD"] {
        let origin = TestOrigin::scripted(|talk| {
            while let Some(request) = talk.read_request() {
                match &request.target[..] {
                    b"/cut" => {
                        talk.send("HTTP/1.1 200 OK\r\nX-Mark: marked\r\nContent-Length: 99\r\n\r\nmarked");
                        return;
                    }
                    b"/late" => drop(talk.stall_until_closed()),
                    b"/closed" => return,
                    b"/bad" => drop(talk.send("HTTP/1.1 marked\r\nX-Mark: marked\r\n\r\n")),
                    _ => drop(talk.send(ok(&request.head))),
                }
            }
        });
        let setup = Setup::to_service(&origin).container(container).set("server.tomcat.max-threads", "1");
        let setup = setup.set("zuul.ribbonIsolationStrategy", strategy).set("up.ribbon.ReadTimeout", "1500");
        let setup = setup.set("hystrix.threadpool.default.coreSize", "1");
        let setup = setup.set("hystrix.command.up.circuitBreaker.enabled", "false");
        let setup = setup.url_route("dead", "/dead/**", &format!("http://{DEAD}"));
        let gateway = setup.set("zuul.ignoredPatterns", "/ignored").start();
        let plain = |gateway: &TestGateway| {
            let answer = gateway.get("/plain");
            (answer.status, answer.fields.len(), answer.text())
        };
        let first = plain(&gateway);
        for (target, body) in [
            ("/ignored", "Content-Length: 6\r\n\r\nmarked"),
            ("/dead/1", "Content-Length: 6\r\n\r\nmarked"),
            ("/cut", "Content-Length: 6\r\n\r\nmarked"),
            ("/late", "Transfer-Encoding: chunked\r\n\r\n6\r\nmarked\r\n0\r\n\r\n"),
            ("/closed", "Content-Length: 6\r\n\r\nmarked"),
            ("/bad", "Content-Length: 6\r\n\r\nmarked"),
            ("/broken-body", "Transfer-Encoding: chunked\r\n\r\nmarked\r\n"),
            ("/broken head", "Content-Length: 6\r\n\r\nmarked"),
            ("/leaves", "Content-Length: 99\r\n\r\nmarked"),
        ] {
            let mut client = gateway.client();
            client.send(format!("POST {target} HTTP/1.1\r\nHost: marked\r\nX-Mark: marked\r\n{body}"));
            if target == "/leaves" {
                client.half_close();
            }
            if let Ok(answer) = client.answer_or_end("POST") {
                assert!(answer.status >= 400, "{target}: {answer:?}");
            }
            drop(client);
            // A client has its answer a moment before the place is back.
            gateway.assert_quiet();
            assert_eq!(plain(&gateway), first, "after {target} under {strategy}");
            assert!(!first.2.contains("marked"), "{}", first.2);
        }
        gateway.assert_quiet();
        let logged = |line: &String| line.contains("GET /plain ");
        wait::until("all is logged", || gateway.process.stdout().iter().filter(|line| logged(line)).count() == 10);
        for line in gateway.process.stdout().iter().filter(|line| logged(line)) {
            assert!(line.contains(" reason=- ") || line.ends_with(" reason=-"), "{line}");
            assert!(line.contains(" route=up ") && !line.contains("detail="), "{line}");
        }
    }
}
