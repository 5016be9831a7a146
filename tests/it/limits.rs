//! Limits that move by what the servers bear, and requests that wait for a permit: with limits of one and two, and all back at the end.

use crate::support::client::RawClient;
use crate::support::gateway::{Container, Setup, TestGateway, assert_reason, for_both_containers};
use crate::support::origin::{TestOrigin, answer, ok};
use crate::support::wait;
use crossbeam_channel::{Sender, unbounded};
use rustix::process::Signal;

for_both_containers!(
    an_adaptive_limit_shrinks_by_drops_and_refuses_by_name,
    only_timeouts_and_failed_connects_lower_a_limit,
    a_limit_rises_again_by_answers_of_any_status,
    the_second_request_waits_for_the_permit_of_the_first,
    a_wait_for_a_permit_ends_in_time,
    a_wait_for_a_permit_is_no_part_of_the_deadline,
    who_waits_for_a_permit_is_served_in_a_drain,
    the_wait_for_a_permit_is_no_part_of_the_call,
    all_attempts_of_a_request_are_one_sample,
);

const LAWS: [&str; 3] = ["vegas", "gradient2", "aimd"];

/// An origin that never answers `/silent`, refuses `/broken`, and is fine otherwise.
fn moody() -> TestOrigin {
    TestOrigin::scripted(|talk| {
        while let Some(request) = talk.read_request() {
            match &request.target[..] {
                b"/silent" => {
                    talk.stall_until_closed();
                    return;
                }
                b"/broken" => talk.send(answer("500 Internal Server Error", "", "broken")),
                b"/garbage" => {
                    talk.send("garbage\r\n\r\n");
                    return;
                }
                _ => talk.send(ok("fine")),
            };
        }
    })
}

/// At most two permits, at least one.
fn adaptive(origin: &TestOrigin, law: &str) -> Setup {
    let setup = Setup::to_service(origin).set("gateway.limit", law).set("zuul.semaphore.max-semaphores", "9");
    setup.set("gateway.limits.default.ceiling", "2").set("gateway.limits.up.floor", "1")
}

#[track_caller]
fn assert_permits(gateway: &TestGateway, permits: f64) {
    assert_eq!(gateway.metric("portcullis_semaphore_capacity", "up"), permits);
}

/// Longer than what the other container reads before it hands a request over.
const BODY: [u8; 2_000] = [b'x'; 2_000];

/// A client that holds a permit until it sends its body.
#[track_caller]
fn hold(gateway: &TestGateway) -> RawClient {
    let mut client = gateway.client();
    let before = gateway.metric("portcullis_semaphore_in_use", "up");
    client.send("POST /held HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 2000\r\n\r\n");
    wait::until("it has its permit", || gateway.metric("portcullis_semaphore_in_use", "up") == before + 1.0);
    client
}

fn an_adaptive_limit_shrinks_by_drops_and_refuses_by_name(container: Container) {
    for law in LAWS {
        let origin = moody();
        let gateway = adaptive(&origin, law).container(container).set("ribbon.ReadTimeout", "50").start();
        assert_permits(&gateway, 2.0);
        let names = ["portcullis_semaphore_floor", "portcullis_semaphore_ceiling"];
        assert_eq!(names.map(|name| gateway.metric(name, "up")), [1.0, 2.0]);
        assert_reason(&gateway.get("/silent"), 504, "timeout");
        assert_permits(&gateway, 1.0);
        let mut held = hold(&gateway);
        assert_reason(&gateway.get("/fine"), 503, "semaphore_full");
        held.send(BODY);
        assert_eq!(held.response().status, 200, "{law}");
        drop(held);
        gateway.assert_quiet();
        assert_eq!(gateway.metric("portcullis_semaphore_dropped_total", "up"), 1.0, "a refusal is no drop");
    }
}

fn only_timeouts_and_failed_connects_lower_a_limit(container: Container) {
    let origin = moody();
    let setup = adaptive(&origin, "aimd").container(container).set("gateway.client.max-body-size", "2000");
    let setup = setup.set("none.ribbon.listOfServers", "127.0.0.1:1").set("zuul.routes.none.path", "/none/**");
    // Behind the other one, since the first route that matches counts.
    let setup = setup.unset("zuul.routes.up.path").set("zuul.routes.up.path", "/**");
    let gateway = setup.set("zuul.routes.none.serviceId", "none").start();
    assert_eq!(gateway.get("/garbage").status, 502);
    assert_eq!(gateway.client().request("POST", "/", "", &[b'x'; 2_001]).status, 413);
    let leaver = hold(&gateway);
    leaver.reset();
    gateway.assert_quiet();
    assert_permits(&gateway, 2.0);
    assert_reason(&gateway.get("/none/x"), 502, "connect_failed");
    assert_eq!(gateway.metric("portcullis_semaphore_dropped_total", "none"), 1.0);
    assert_eq!(gateway.metric("portcullis_semaphore_dropped_total", "up"), 0.0);
    gateway.assert_quiet();
}

fn a_limit_rises_again_by_answers_of_any_status(container: Container) {
    for target in ["/fine", "/broken"] {
        let origin = moody();
        let setup = adaptive(&origin, "vegas").set("gateway.limits.up.law", "aimd").container(container);
        let gateway = setup.set("gateway.limits.up.ceiling", "3").set("ribbon.ReadTimeout", "50").start();
        assert_reason(&gateway.get("/silent"), 504, "timeout");
        assert_permits(&gateway, 2.0);
        // One of two is half of the limit: enough to move it. One of three is not.
        gateway.get(target);
        assert_permits(&gateway, 3.0);
        gateway.get(target);
        assert_permits(&gateway, 3.0);
        gateway.assert_quiet();
    }
}

/// A service with one permit, whose answers are held back until the test lets them go; who comes second may wait for so long.
fn one_permit(container: Container, max_wait: &str) -> (TestOrigin, Sender<()>, Setup) {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    let setup = Setup::to_service(&origin).container(container).set("zuul.semaphore.max-semaphores", "1");
    let setup = setup.set("gateway.isolation.max-wait", max_wait);
    (origin, release, setup)
}

/// A client with one request on its way, without waiting for an answer.
fn send(gateway: &TestGateway, target: &str) -> RawClient {
    let mut client = gateway.client();
    client.send(format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\n\r\n"));
    client
}

/// A client whose request waits for a permit, being the last of so many.
#[track_caller]
fn waits(gateway: &TestGateway, target: &str, so_many: f64) -> RawClient {
    let client = send(gateway, target);
    wait::until("it waits", || gateway.metric("portcullis_semaphore_waiting", "up") == so_many);
    client
}

fn the_second_request_waits_for_the_permit_of_the_first(container: Container) {
    let (origin, release, setup) = one_permit(container, "30s");
    let gateway = setup.start();
    let mut clients = vec![send(&gateway, "/1")];
    origin.wait_for_requests(1);
    for number in 2..=4 {
        clients.push(waits(&gateway, &format!("/{number}"), f64::from(number) - 1.0));
    }
    if container == Container::Native {
        wait::until("workers show that they wait", || gateway.metric("portcullis_workers_phase", "\"pool\"") == 3.0);
    }
    assert_eq!(origin.requests().len(), 1, "nobody passes");
    for client in &mut clients {
        release.send(()).expect("the origin waits");
        assert_eq!(client.response().text(), "released");
    }
    let order: Vec<_> = origin.requests().iter().map(|request| request.message.target.clone()).collect();
    assert_eq!(order, [b"/1", b"/2", b"/3", b"/4"], "in order of arrival");
    drop(clients);
    gateway.assert_quiet();
    assert_eq!(gateway.metric("portcullis_semaphore_wait_seconds_count", "up"), 3.0);
    assert_eq!(gateway.metric("portcullis_semaphore_refused_total", "up"), 0.0);
}

fn a_wait_for_a_permit_ends_in_time(container: Container) {
    let (origin, release, setup) = one_permit(container, "50");
    let gateway = setup.start();
    let mut first = send(&gateway, "/");
    origin.wait_for_requests(1);
    assert_reason(&gateway.get("/late"), 503, "semaphore_full");
    assert_eq!(gateway.metric("portcullis_semaphore_refused_total", "up"), 1.0);
    let log = wait::until_some("the log says by what", || {
        gateway.process.stdout().into_iter().find(|line| line.contains("semaphore_full"))
    });
    assert!(log.contains("all 1 permits are taken, and none came back within 50ms"), "{log}");
    release.send(()).expect("the origin waits");
    assert_eq!(first.response().text(), "released");
    drop(first);
    gateway.assert_quiet();
    assert_eq!(origin.requests().len(), 1);
}

fn a_wait_for_a_permit_is_no_part_of_the_deadline(container: Container) {
    let (release, gate) = unbounded();
    let origin = TestOrigin::scripted(move |talk| {
        while talk.read_request().is_some() {
            talk.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhead");
            talk.wait_for(&gate);
            talk.send("tail");
        }
    });
    let setup = Setup::to_service(&origin).container(container).set("zuul.semaphore.max-semaphores", "1");
    let setup = setup.set("hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds", "500");
    let gateway = setup.set("gateway.isolation.max-wait", "30s").start();
    let mut first = send(&gateway, "/1");
    first.wait_for_text("head");
    let mut second = waits(&gateway, "/2", 1.0);
    wait::pace(std::time::Duration::from_millis(550));
    for client in [&mut first, &mut second] {
        release.send(()).expect("the origin waits");
        assert_eq!(client.response().text(), "headtail");
    }
    drop((first, second));
    gateway.assert_quiet();
}

/// Two calls, of which the second waited longer than it took.
fn the_wait_for_a_permit_is_no_part_of_the_call(container: Container) {
    let (origin, release, setup) = one_permit(container, "30s");
    let gateway = setup.start();
    let mut first = send(&gateway, "/1");
    origin.wait_for_requests(1);
    let mut second = waits(&gateway, "/2", 1.0);
    wait::pace(std::time::Duration::from_millis(300));
    release.send(()).expect("the origin waits");
    assert_eq!(first.response().text(), "released");
    origin.wait_for_requests(2);
    wait::pace(std::time::Duration::from_millis(100));
    release.send(()).expect("the origin waits");
    assert_eq!(second.response().text(), "released");
    drop((first, second));
    gateway.assert_quiet();
    // The lower half of the calls is the second one.
    let lower = |name| gateway.metric(name, "quantile=\"0.5\"");
    let (call, whole) = (lower("hystrix_latency_execution"), lower("hystrix_latency_total"));
    assert!(call >= 0.09 && whole >= 0.29, "{call} s of {whole} s");
}

/// A retry that succeeds is no drop, and attempts that all fail are one.
fn all_attempts_of_a_request_are_one_sample(container: Container) {
    let (silent, well) = (moody(), moody());
    let setup = adaptive(&silent, "aimd").container(container).set("ribbon.ReadTimeout", "50");
    let setup = setup.set("zuul.retryable", "true").set("up.ribbon.MaxAutoRetries", "1");
    let servers = |other: &str| format!("{},{other}", silent.address());
    let dropped = |gateway: &TestGateway| gateway.metric("portcullis_semaphore_dropped_total", "up");
    let gateway = setup.clone().set("up.ribbon.listOfServers", servers("127.0.0.1:1")).start();
    assert_reason(&gateway.get("/silent"), 502, "connect_failed");
    assert_eq!((dropped(&gateway), silent.requests().len()), (1.0, 2));
    let gateway = setup.set("up.ribbon.listOfServers", format!("127.0.0.1:1,{}", well.address())).start();
    assert_eq!(gateway.get("/fine").status, 200);
    assert_eq!(dropped(&gateway), 0.0);
    gateway.assert_quiet();
}

/// The other container learns of a client that left only when it writes to it.
#[test]
fn who_leaves_while_waiting_for_a_permit_is_forgotten() {
    let (origin, release, setup) = one_permit(Container::Native, "30s");
    let gateway = setup.start();
    let mut first = send(&gateway, "/1");
    origin.wait_for_requests(1);
    waits(&gateway, "/leaves", 1.0).reset();
    wait::until("it waits no longer", || gateway.metric("portcullis_semaphore_waiting", "up") == 0.0);
    release.send(()).and_then(|()| release.send(())).expect("the origin waits");
    assert_eq!(first.response().text(), "released");
    assert_eq!(gateway.get("/2").text(), "released");
    drop(first);
    gateway.assert_quiet();
    assert_eq!(origin.requests().len(), 2, "nobody asked for it any more");
    assert_eq!(gateway.metric("portcullis_semaphore_refused_total", "up"), 0.0);
}

fn who_waits_for_a_permit_is_served_in_a_drain(container: Container) {
    let (origin, release, setup) = one_permit(container, "30s");
    let mut gateway = setup.start();
    let mut first = send(&gateway, "/1");
    origin.wait_for_requests(1);
    let mut second = waits(&gateway, "/2", 1.0);
    gateway.process.signal(Signal::TERM);
    wait::until("the listener is closed", || RawClient::try_connect(gateway.address()).is_err());
    release.send(()).and_then(|()| release.send(())).expect("the origin waits");
    assert_eq!(first.response().text(), "released");
    assert_eq!(second.response().text(), "released");
    assert_eq!(gateway.process.wait().code(), Some(0));
}

#[test]
fn the_end_of_a_drain_cuts_who_waits_for_a_permit() {
    let (origin, _release, setup) = one_permit(Container::Native, "30s");
    let mut gateway = setup.set("spring.lifecycle.timeout-per-shutdown-phase", "200ms").start();
    let mut first = send(&gateway, "/1");
    origin.wait_for_requests(1);
    let mut second = waits(&gateway, "/2", 1.0);
    gateway.process.signal(Signal::TERM);
    assert!(first.answer_or_end("GET").is_err() && second.answer_or_end("GET").is_err(), "both are cut");
    assert_eq!(gateway.process.wait().code(), Some(3));
}

/// One worker, occupied; the queue stands once somebody has waited in it for a tenth of a second.
fn one_worker(set: impl FnOnce(Setup) -> Setup) -> (TestOrigin, Sender<()>, TestGateway, RawClient) {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    let gateway = set(Setup::to_service(&origin).set("server.tomcat.max-threads", "1")).start();
    let busy = send(&gateway, "/busy");
    origin.wait_for_requests(1);
    (origin, release, gateway, busy)
}

#[test]
fn a_standing_queue_is_served_from_its_end() {
    for (order, expected) in [("fifo", ["/busy", "/old", "/new"]), ("adaptive-lifo", ["/busy", "/new", "/old"])] {
        let (origin, release, gateway, busy) = one_worker(|setup| setup.set("gateway.queue.order", order));
        let mut clients = vec![busy];
        for (target, so_many) in [("/old", 1.0), ("/new", 2.0)] {
            clients.push(send(&gateway, target));
            wait::until("it is queued", || gateway.metric("portcullis_queue_waiting", "gateway") == so_many);
        }
        wait::pace(std::time::Duration::from_millis(110));
        for _ in &clients {
            release.send(()).expect("the origin waits");
        }
        clients.iter_mut().for_each(|client| assert_eq!(client.response().text(), "released"));
        let targets: Vec<_> = origin.requests().iter().map(|request| request.message.target.clone()).collect();
        assert_eq!(targets, expected.map(str::as_bytes), "{order}");
        drop(clients);
        gateway.assert_quiet();
    }
}

#[test]
fn codel_refuses_who_comes_to_a_standing_queue() {
    let (_origin, release, gateway, busy) = one_worker(|setup| setup.set("gateway.queue.codel", "true"));
    let mut served = vec![busy, send(&gateway, "/old")];
    wait::until("it is queued", || gateway.metric("portcullis_queue_waiting", "gateway") == 1.0);
    wait::pace(std::time::Duration::from_millis(110));
    assert_reason(&gateway.get("/new"), 503, "queue_timeout");
    let log = wait::until_some("the log says by what", || {
        gateway.process.stdout().into_iter().find(|line| line.contains("queue_timeout"))
    });
    assert!(log.contains("CoDel"), "{log}");
    for client in &mut served {
        release.send(()).expect("the origin waits");
        assert_eq!(client.response().text(), "released", "who came before has the whole time");
    }
    drop(served);
    gateway.assert_quiet();
}
