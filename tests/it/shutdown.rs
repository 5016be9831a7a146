//! The end of a gateway: what runs is finished, what idles is closed at once, and nothing outlasts the phase timeout.

use crate::support::client::RawClient;
use crate::support::gateway::{Container, Setup, TestGateway, assert_reason};
use crate::support::message::End;
use crate::support::origin::TestOrigin;
use crate::support::wait;
use crossbeam_channel::{Sender, unbounded};
use rustix::process::Signal;

fn gated(set: impl FnOnce(Setup) -> Setup) -> (TestOrigin, Sender<()>, TestGateway) {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    let gateway = set(Setup::to(&origin)).start();
    (origin, release, gateway)
}

/// A client with one request at the origin.
#[track_caller]
fn in_flight(gateway: &TestGateway, origin: &TestOrigin) -> RawClient {
    let before = origin.requests().len();
    let mut client = gateway.client();
    client.send("GET /in-flight HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(before + 1);
    client
}

#[track_caller]
fn wait_until_refusing(gateway: &TestGateway) {
    wait::until("the listener is closed", || RawClient::try_connect(gateway.address()).is_err());
}

/// OPS-01, OPS-02, CONN-02: idle connections end at once, the request in flight is finished, and its answer says that it is the last.
#[test]
fn a_drain_finishes_what_runs_and_closes_what_idles() {
    for signal in [Signal::TERM, Signal::INT] {
        let (origin, release, mut gateway) = gated(|setup| setup);
        let mut idle: Vec<_> = (0..5).map(|_| gateway.client()).collect();
        let mut busy = in_flight(&gateway, &origin);
        gateway.process.signal(signal);
        for client in &mut idle {
            client.assert_closed();
        }
        wait_until_refusing(&gateway);
        assert!(gateway.process.runs(), "a request is still in flight");
        release.send(()).expect("the origin waits");
        let answer = busy.response();
        assert_eq!((answer.text().as_str(), answer.field("Connection").as_deref()), ("released", Some("close")));
        busy.assert_closed();
        assert_eq!(gateway.process.wait().code(), Some(0));
    }
}

#[test]
fn an_idle_gateway_ends_at_once_and_clean() {
    let origin = TestOrigin::echoing();
    let mut gateway = Setup::to(&origin).set("spring.lifecycle.timeout-per-shutdown-phase", "60s").start();
    assert_eq!(gateway.get("/").status, 200);
    assert_eq!(gateway.stop(), Some(0));
}

/// A whole head that waits in the queue is served too; half a head is not waited for.
#[test]
fn queued_requests_are_served_in_a_drain() {
    let (origin, release, mut gateway) = gated(|setup| setup.set("server.tomcat.max-threads", "1"));
    let mut busy = in_flight(&gateway, &origin);
    let (mut queued, mut half) = (gateway.client(), gateway.client());
    queued.send("GET /queued HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    half.send("GET /half HTTP/1.1\r\nHost:");
    wait::until("both wait in the queue", || gateway.metric("portcullis_queue_waiting", "") >= 1.0);
    gateway.process.signal(Signal::TERM);
    wait_until_refusing(&gateway);
    release.send(()).and_then(|()| release.send(())).expect("the origin waits");
    assert_eq!(busy.response().text(), "released");
    assert_eq!(queued.response().text(), "released");
    let answer = half.answer_or_end("GET");
    if let Ok(answer) = answer {
        assert_reason(&answer, 503, "draining");
    }
    half.read_to_end();
    assert_eq!(gateway.process.wait().code(), Some(0));
}

#[test]
fn the_phase_timeout_cuts_what_does_not_end() {
    let set = |setup: Setup| setup.set("spring.lifecycle.timeout-per-shutdown-phase", "200ms");
    let (origin, _release, mut gateway) = gated(set);
    let mut busy = in_flight(&gateway, &origin);
    gateway.process.signal(Signal::TERM);
    assert!(busy.answer_or_end("GET").is_err(), "a request that was cut has no answer");
    assert_eq!(gateway.process.wait().code(), Some(3), "an unclean drain has an exit code of its own");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let (origin, _release, mut gateway) = gated(|setup| setup);
    let mut busy = in_flight(&gateway, &origin);
    gateway.process.signal(Signal::TERM);
    wait_until_refusing(&gateway);
    assert!(gateway.process.runs());
    gateway.process.signal(Signal::TERM);
    assert_eq!(gateway.process.wait().code(), Some(3), "an end without a drain is no clean one");
    assert!(matches!(busy.read_to_end().1, End::Fin | End::Reset));
}

#[test]
fn an_immediate_shutdown_waits_for_nothing() {
    let (origin, _release, mut gateway) = gated(|setup| setup.set("server.shutdown", "immediate"));
    let mut busy = in_flight(&gateway, &origin);
    gateway.process.signal(Signal::TERM);
    gateway.process.wait();
    assert!(busy.answer_or_end("GET").is_err());
    let log = gateway.process.stderr().join("\n");
    assert!(log.contains("shutting down at once") && !log.contains("0ns"), "{log}");
}

/// The second container's crate calls the end of its listener an error.
#[test]
fn an_orderly_stop_logs_no_error() {
    for container in [Container::Native, Container::TinyHttp] {
        let origin = TestOrigin::echoing();
        let mut gateway = Setup::to(&origin).container(container).start();
        assert_eq!(gateway.get("/").status, 200);
        assert_eq!(gateway.stop(), Some(0));
        let log = gateway.process.stderr();
        assert!(log.iter().all(|line| !line.contains("ERROR")), "{log:?}");
    }
}

/// The upload of a request in flight is still read in a drain.
#[test]
fn an_upload_in_flight_is_finished() {
    let origin = TestOrigin::scripted(|talk| {
        if let Some(request) = talk.read_request() {
            talk.send(crate::support::origin::ok(request.body));
        }
    });
    let mut gateway = Setup::to(&origin).start();
    let mut client = gateway.client();
    client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 10\r\n\r\nfirst");
    origin.wait_for_requests(1);
    gateway.process.signal(Signal::TERM);
    wait_until_refusing(&gateway);
    client.send("-rest");
    assert_eq!(client.response().text(), "first-rest");
    assert_eq!(gateway.process.wait().code(), Some(0));
}

/// Readiness falls, while the management listener still answers.
#[test]
fn health_says_that_it_is_draining() {
    let (origin, release, mut gateway) = gated(|setup| setup);
    assert_eq!(gateway.manage("/actuator/health").status, 200);
    let mut busy = in_flight(&gateway, &origin);
    gateway.process.signal(Signal::TERM);
    wait::until("health falls", || gateway.manage("/actuator/health").status == 503);
    release.send(()).expect("the origin waits");
    assert_eq!(busy.response().text(), "released");
    assert_eq!(gateway.process.wait().code(), Some(0));
}
