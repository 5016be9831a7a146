//! Whole runs on a tiny scale: against the backend, against a server that refuses, and against ones that never answer.

use super::*;
use crate::backend::serving::Serving;
use crate::load::Counts;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};

fn plan(address: SocketAddr, target: &str) -> Plan {
    Plan {
        address,
        request: format!("GET {target} HTTP/1.1\r\nHost: bench\r\n\r\n").into_bytes().into(),
        expected: None,
        arrivals: Arrivals::Constant,
        phases: vec![Phase { rate: 200.0, lasting: Duration::from_millis(500) }],
        connections: 8,
        timeout: Duration::from_secs(30),
        delay: Duration::ZERO,
        objective: Duration::from_secs(1),
        window: Duration::from_millis(500),
    }
}

#[test]
fn every_scheduled_request_reaches_the_backend_once() {
    let backend = Serving::start();
    let plan = Plan {
        expected: Some(9),
        arrivals: Arrivals::Poisson(3),
        ..plan(backend.address, "/product/list?bytes=9&ms=5")
    };
    let outcome = run(&plan, &Stop::default()).expect("a run");
    let scheduled = due_times(plan.arrivals, &plan.phases).len() as u64;
    assert!(scheduled > 0);
    assert_eq!(outcome.counts, Counts { ok: scheduled, ..Counts::default() });
    assert_eq!((outcome.scheduled, outcome.sent), (Some(scheduled), Some(scheduled)));
    let counted = backend.counted();
    assert_eq!(counted.requests, scheduled);
    assert!(counted.connections <= 8 + 1, "{}", counted.connections);
    assert!(outcome.latency(0.0).is_some_and(|ms| ms >= 4.99));
}

#[test]
fn a_body_of_another_length_is_no_success() {
    let backend = Serving::start();
    let plan = Plan { expected: Some(9), ..plan(backend.address, "/product/list?bytes=10") };
    let outcome = run(&plan, &Stop::default()).expect("a run");
    assert_eq!(outcome.counts, Counts { wrong_body: 100, ..Counts::default() });
}

#[test]
fn an_upload_arrives_whole() {
    let backend = Serving::start();
    let length = 300_000;
    let head = format!("POST /product/upload HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
    let request = [head.into_bytes(), vec![b'x'; length]].concat().into();
    let phases = vec![Phase { rate: 50.0, lasting: Duration::from_millis(200) }];
    let plan = Plan { request, phases, ..plan(backend.address, "") };
    let outcome = run(&plan, &Stop::default()).expect("a run");
    assert_eq!(outcome.counts, Counts { ok: 10, ..Counts::default() });
    assert_eq!(backend.counted().octets, 10 * length as u64);
}

#[test]
fn a_request_that_waits_for_a_connection_is_late_from_its_due_time() {
    let backend = Serving::start();
    // One connection carries ten requests of 50 ms each, all due within 10 ms.
    let phases = vec![Phase { rate: 1000.0, lasting: Duration::from_millis(10) }];
    let plan = Plan { phases, connections: 1, ..plan(backend.address, "/product/list?ms=50") };
    let outcome = run(&plan, &Stop::default()).expect("a run");
    assert_eq!(outcome.counts, Counts { ok: 10, ..Counts::default() });
    assert!(outcome.latency(100.0).is_some_and(|ms| ms >= 480.0), "{outcome:?}");
    assert!(outcome.latency(50.0) > outcome.service_p50_ms);
    assert_eq!(backend.counted().connections, 2);
}

#[test]
fn a_backlog_that_is_served_after_the_schedule_is_no_throughput() {
    let backend = Serving::start();
    // Two connections and 50 ms: forty a second at most, of the hundred that are due in the one second.
    let phases = vec![Phase { rate: 100.0, lasting: Duration::from_secs(1) }];
    let (connections, delay) = (2, Duration::from_millis(50));
    let objective = Duration::from_secs(10);
    let plan = Plan { phases, connections, delay, objective, ..plan(backend.address, "/product/list?ms=50") };
    let outcome = run(&plan, &Stop::default()).expect("a run");
    assert_eq!(outcome.counts, Counts { ok: 100, ..Counts::default() });
    assert!(outcome.goodput() > 0.0 && outcome.goodput() <= 40.0, "{}", outcome.goodput());
}

#[test]
fn nobody_listens() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let outcome = run(&plan(address, "/"), &Stop::default()).expect("a run");
    assert_eq!(outcome.counts, Counts { connect_errors: 100, ..Counts::default() });
    assert_eq!(outcome.sent, Some(0));
}

#[test]
fn what_is_never_answered_times_out_and_what_has_no_connection_is_unsent() {
    // The kernel accepts; nobody reads.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let timeout = Duration::from_millis(300);
    // All due within ten nanoseconds: when the first ones' time is up, so is that of those that wait.
    let phases = vec![Phase { rate: 1e9, lasting: Duration::from_nanos(10) }];
    let plan = Plan { phases, timeout, connections: 3, ..plan(address, "/") };
    let outcome = run(&plan, &Stop::default()).expect("a run");
    assert_eq!(outcome.counts, Counts { timeouts: 3, unsent: 7, ..Counts::default() });
    assert_eq!(outcome.sent, Some(3));
    assert!(outcome.latency(0.0).is_some_and(|ms| ms >= 299.0), "timeouts count at their value");
}

#[test]
fn refusals_are_told_by_reason_and_broken_connections_are_errors() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        for turn in 0..4 {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).expect("a request");
            let refusal: &[u8] =
                b"HTTP/1.1 503 S\r\nX-Gateway-Reason: pool_full\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
            stream
                .write_all(if turn < 3 { refusal } else { b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf" })
                .expect("written");
        }
    });
    let phases = vec![Phase { rate: 100.0, lasting: Duration::from_millis(40) }];
    let plan = Plan { phases, connections: 1, ..plan(address, "/") };
    let outcome = run(&plan, &Stop::default()).expect("a run");
    server.join().expect("no panic");
    assert_eq!((outcome.counts.refused.of("pool_full"), outcome.counts.socket_errors), (3, 1));
    assert_eq!(outcome.counts.total(), 4);
}

#[test]
fn a_stop_ends_a_run() {
    let backend = Serving::start();
    let stop = Stop::default();
    stop.now();
    let phases = vec![Phase { rate: 1.0, lasting: Duration::from_secs(3600) }];
    assert!(run(&Plan { phases, ..plan(backend.address, "/") }, &stop).is_err());
}
