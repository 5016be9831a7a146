//! Time, refusals, switches: what ends a call before its answer, and how it is named.

use super::*;
use crate::cancel::Cancel;
use crate::client::{BodyLength, ClientError};
use crate::config::model::{Scheme, ServerAddress};
use crate::deadline::Deadline;
use crate::reason::Cause;
use crate::upstream::testing::{LONG, backend, limits, no_tls, server_at};
use crate::upstream::{CallLimits, Caller, ConnectionLimit, Pace, ResolverTable};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(50);

/// Reads everything and says nothing.
fn mute() -> Origin {
    Origin::start(|_, peer| while peer.body(1).len() == 1 {})
}

#[track_caller]
fn check(server: &Arc<Server>, limits: CallLimits, reason: Reason, detail: &str) {
    fails(get_within(server, &limits, &Cancel::default()), reason, detail);
    is_idle(server, 0);
}

#[test]
fn the_limit_that_ended_a_call_is_told() {
    let origin = mute();
    let server = server(&origin);
    check(&server, CallLimits { deadline: Deadline::after(SHORT), ..limits() }, Reason::Timeout, "the deadline passed");
    check(&server, CallLimits { read_timeout: Some(SHORT), ..limits() }, Reason::Timeout, "the read timeout passed");
    let passed = Deadline::after(Duration::ZERO);
    check(&server, CallLimits { deadline: passed, ..limits() }, Reason::Timeout, "before connecting");
}

#[test]
fn a_request_whose_deadline_has_passed_is_not_sent() {
    let origin = Origin::answering(OK);
    let server = server(&origin);
    whole(get(&server));
    let limits = CallLimits { deadline: Deadline::after(Duration::ZERO), ..limits() };
    let outcome = get_within(&server, &limits, &Cancel::default());
    let error = fails(outcome, Reason::Timeout, "before the request was sent");
    assert_eq!((error.marks.attempts, error.cause), (0, Some(Cause::Deadline)));
    is_idle(&server, 1);
}

#[test]
fn a_used_connection_that_answers_too_late_is_not_retried() {
    let origin = first(|peer| {
        peer.head();
        peer.send(OK);
        peer.head();
        peer.is_closed();
    });
    let server = server(&origin);
    whole(get(&server));
    check(&server, CallLimits { read_timeout: Some(SHORT), ..limits() }, Reason::Timeout, "read timeout");
    assert_eq!(origin.accepted(), 1);
}

#[test]
fn a_head_that_drips_does_not_outlive_the_deadline() {
    let origin = Origin::start(|_, peer| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\nX: ");
        // Each octet renews the read timeout. The pace is that of the read, which fails when the gateway has closed.
        peer.stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        for _ in 0..10_000 {
            peer.send("x");
            if matches!(std::io::Read::read(&mut peer.stream, &mut [0]), Ok(0)) {
                return;
            }
        }
    });
    let server = server(&origin);
    let limits = CallLimits { deadline: Deadline::after(4 * SHORT), read_timeout: Some(2 * SHORT), ..limits() };
    check(&server, limits, Reason::Timeout, "the deadline passed");
}

#[test]
fn the_deadline_stands_still_while_the_client_is_waited_for() {
    let origin = Origin::start(|_, peer| {
        peer.head();
        peer.body(3);
        peer.send(OK);
    });
    let server = server(&origin);
    let deadline = Deadline::after(Duration::from_secs(1));
    let slow = [Step::Until(deadline), Step::Data(b"abc")];
    let mut client = TestClient::new(BodyLength::Exactly(3), slow);
    let limits = CallLimits { deadline, ..limits() };
    let outcome =
        Caller::new(CLIENT).call(&server, request("POST", "/", &[]), &mut client, &limits, &Cancel::default());
    assert!(outcome.as_ref().is_ok_and(|answer| answer.client_waited > Duration::ZERO), "{outcome:?}");
    assert_eq!(whole(outcome), (200, "hello".into()));
}

#[test]
fn a_stalled_body_ends_with_the_read_timeout_and_not_with_the_deadline() {
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    let origin = Origin::start(move |_, peer| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123");
        may_go.lock().unwrap().recv().unwrap();
        peer.send("456");
        peer.is_closed();
    });
    let server = server(&origin);
    let deadline = Deadline::after(Duration::from_millis(500));
    let limits = CallLimits { deadline, read_timeout: Some(Duration::from_millis(300)), ..limits() };
    let outcome = get_within(&server, &limits, &Cancel::default());
    let mut answer = outcome.unwrap();
    assert_eq!(answer.body.read(&mut [0; 9]).unwrap(), 3);
    while !deadline.has_passed() {
        std::thread::yield_now();
    }
    go.send(()).unwrap();
    assert_eq!(answer.body.read(&mut [0; 9]).unwrap(), 3);
    fails(answer.body.read(&mut [0; 9]), Reason::Timeout, "inside the body");
    drop(answer);
    is_idle(&server, 0);
}

#[test]
fn a_refused_connection_is_told_with_its_address() {
    // A port that the system picks for nobody.
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let server = server_at(address, 1, &ConnectionLimit::new(1));
    let error = fails(get(&server), Reason::ConnectFailed, "connection refused");
    assert!(error.detail.contains(&address.to_string()), "{error}");
    is_idle(&server, 0);
}

/// A listener whose backlog is full: connecting to it hangs.
#[test]
fn connecting_has_a_budget() {
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into()).unwrap();
    listener.listen(1).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let mut fill = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
        fill.push(stream);
    }
    let server = server_at(address, 1, &ConnectionLimit::new(1));
    let short = CallLimits { connect_timeout: SHORT, ..limits() };
    check(&server, short, Reason::ConnectTimeout, "connect timeout");
    let late = || CallLimits { connect_timeout: LONG, deadline: Deadline::after(SHORT), ..limits() };
    // On a busy machine the deadline can pass before the call comes to connecting.
    let details = (0..100).map(|_| get_within(&server, &late(), &Cancel::default()).unwrap_err().detail);
    let detail = details.into_iter().find(|detail| !detail.contains("before connecting"));
    assert!(detail.is_some_and(|detail| detail.contains("the deadline passed while connecting")));
}

fn named(look_up: impl Fn(&str) -> std::io::Result<Vec<IpAddr>> + Send + Sync + 'static, port: u16) -> Arc<Server> {
    let table = ResolverTable::with_look_up(Box::new(look_up), Pace::default()).unwrap();
    let address = ServerAddress { scheme: Scheme::Http, host: "up.test".into(), port };
    Server::new(&backend(5), &address, ConnectionLimit::new(9), &table, &no_tls())
}

/// CONN-17.
#[test]
fn every_address_of_a_name_is_tried() {
    let origin = Origin::answering(OK);
    let addresses =
        |_: &str| Ok(vec!["127.0.0.9".parse().unwrap(), "::1".parse().unwrap(), "127.0.0.1".parse().unwrap()]);
    let server = named(addresses, origin.address.port());
    let answer = get(&server).unwrap();
    assert_eq!(answer.marks.peer, Some(origin.address));
    assert_eq!(answer.marks.attempts, 1);
}

#[test]
fn a_name_that_is_not_found_is_a_failed_connect() {
    let server = named(|_| Err(std::io::Error::other("no such name")), 1);
    fails(get(&server), Reason::ConnectFailed, "up.test: no such name");
    is_idle(&server, 0);
}

/// ISO-12: the switch ends what waits for the upstream.
#[test]
fn a_thrown_switch_ends_the_wait_for_an_answer() {
    let cancel = Arc::new(Cancel::default());
    let thrower = cancel.clone();
    let origin = Origin::start(move |_, peer| {
        peer.head();
        thrower.throw();
        peer.is_closed();
    });
    let server = server(&origin);
    let outcome = get_within(&server, &limits(), &cancel);
    assert_eq!(fails(outcome, Reason::ClientAborted, "").client, Some(ClientError::Gone));
    is_idle(&server, 0);
    let outcome = get_within(&server, &limits(), &cancel);
    fails(outcome, Reason::ClientAborted, "");
    // The second call had a connection, sent nothing, and gave it back.
    is_idle(&server, 1);
}

#[test]
fn a_thrown_switch_ends_the_wait_for_a_connection() {
    let origin = Origin::answering(OK);
    let server = server_at(origin.address, 1, &ConnectionLimit::new(1));
    let held = get(&server).unwrap();
    let cancel = Arc::new(Cancel::default());
    let (waiting, switch) = (server.clone(), cancel.clone());
    let limits = CallLimits { connection_request_timeout: None, ..limits() };
    let waiter = std::thread::spawn(move || get_within(&waiting, &limits, &switch));
    let bound = Deadline::after(LONG);
    while server.pool().pending == 0 {
        assert!(!bound.has_passed());
        std::thread::yield_now();
    }
    cancel.throw();
    let error = fails(waiter.join().unwrap(), Reason::ClientAborted, "");
    assert_eq!((error.client, error.marks.attempts), (Some(ClientError::Gone), 0));
    // Thrown before, it does not even begin to wait.
    let outcome = get_within(&server, &limits, &cancel);
    fails(outcome, Reason::ClientAborted, "");
    drop(held);
    is_idle(&server, 0);
}

#[test]
fn a_thrown_switch_ends_the_wait_for_a_body() {
    // Without the switch a close would have made the first body complete.
    for framing in ["X: until close", "Content-Length: 9"] {
        let cancel = Arc::new(Cancel::default());
        let origin = Origin::start(move |_, peer| {
            peer.head();
            peer.send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n123"));
            peer.is_closed();
        });
        let server = server(&origin);
        let mut answer = get(&server).unwrap();
        assert_eq!(answer.body.read(&mut [0; 9]).unwrap(), 3);
        let handle = answer.body.shut_down_handle().unwrap();
        let armed = cancel.arm(handle).unwrap();
        let thrower = cancel.clone();
        let throwing = std::thread::spawn(move || thrower.throw());
        let error = fails(answer.body.read(&mut [0; 9]), Reason::ClientAborted, "");
        assert_eq!(error.client, Some(ClientError::Gone), "{framing}");
        throwing.join().unwrap();
        drop(armed);
        drop(answer);
        is_idle(&server, 0);
    }
}

#[test]
fn a_switch_that_is_thrown_after_the_body_spares_the_pooled_connection() {
    let origin = Origin::answering(OK);
    let server = server(&origin);
    let mut answer = get(&server).unwrap();
    let cancel = Cancel::default();
    let _armed = cancel.arm(answer.body.shut_down_handle().unwrap()).unwrap();
    assert_eq!(drain(&mut answer).unwrap(), "hello");
    assert!(answer.body.shut_down_handle().is_none());
    cancel.throw();
    assert!(get(&server).unwrap().marks.reused);
}

#[test]
fn a_wait_for_a_connection_ends_with_the_deadline_too() {
    let origin = Origin::answering(OK);
    let server = server_at(origin.address, 1, &ConnectionLimit::new(1));
    let held = get(&server).unwrap();
    for (changed, reason) in [
        (CallLimits { deadline: Deadline::after(SHORT), ..limits() }, Reason::Timeout),
        (CallLimits { connection_request_timeout: Some(SHORT), ..limits() }, Reason::UpstreamPoolTimeout),
    ] {
        let outcome = get_within(&server, &changed, &Cancel::default());
        let error = fails(outcome, reason, "while 1 of 1 connections of the server and 1 of 1 in all were taken");
        assert!(!error.marks.waited.is_zero() && error.marks.waited < LONG);
    }
    drop(held);
    is_idle(&server, 0);
}

/// Whoever waits says so: otherwise the housekeeper would take the worker for a busy one.
#[test]
fn waits_are_phases() {
    use crate::phase::{Phase, PhaseHandle, PhaseSlot, adopt};
    fn until(slot: &PhaseSlot, phase: Phase) {
        let bound = Deadline::after(LONG);
        while slot.read().0 != phase {
            assert!(!bound.has_passed(), "never in {phase:?}");
            std::thread::yield_now();
        }
    }
    let handle = PhaseHandle { slot: Arc::default(), tick: Arc::default() };
    let (slot, seen) = (handle.slot.clone(), handle.slot.clone());
    let (go, may_go) = std::sync::mpsc::channel();
    let may_go = std::sync::Mutex::new(may_go);
    let origin = Origin::start(move |number, peer| {
        peer.head();
        if number == 0 {
            return peer.send(OK);
        }
        until(&seen, Phase::Upstream);
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
        may_go.lock().unwrap().recv().unwrap();
        until(&seen, Phase::Upstream);
        peer.send("llo");
    });
    let server = server_at(origin.address, 1, &ConnectionLimit::new(1));
    let held = get(&server);
    let waiting = server.clone();
    let waiter = std::thread::spawn(move || {
        let _adopted = adopt(handle);
        let mut answer = get(&waiting).unwrap();
        assert_eq!(answer.body.read(&mut [0; 9]).unwrap(), 2);
        go.send(()).unwrap();
        assert_eq!(drain(&mut answer).unwrap(), "llo");
    });
    until(&slot, Phase::Pool);
    drop(held);
    waiter.join().unwrap();
    assert_eq!(slot.read().0, Phase::Vacant);
}
