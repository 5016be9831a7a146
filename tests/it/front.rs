//! The front under stress that no single request shows: descriptors run out, clients vanish before they are served, thousands idle.

use crate::support::client::RawClient;
use crate::support::gateway::{Setup, TestGateway};
use crate::support::origin::TestOrigin;
use crate::support::socket::reset_on_close;
use crate::support::wait;
use std::time::Duration;

/// ISO-11: accept errors are never fatal, nothing spins, and afterwards everything is as before.
#[test]
fn running_out_of_descriptors_is_survived() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "4").files(64).start();
    let many: Vec<_> = (0..100).filter_map(|_| RawClient::try_connect(gateway.address()).ok()).collect();
    assert!(many.len() > 60, "the backlog holds some: {}", many.len());
    let before = cpu_ticks(gateway.process.pid());
    wait::pace(Duration::from_millis(300));
    let spent = cpu_ticks(gateway.process.pid()) - before;
    assert!(spent < 15, "{spent} of 30 ticks went into trying again");
    drop(many);
    wait::until("it serves again", || {
        let client = RawClient::try_connect(gateway.address());
        client.is_ok_and(|mut client| {
            client.try_send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").is_ok() && client.answer_or_end("GET").is_ok()
        })
    });
    gateway.assert_quiet();
}

/// Clients that are gone when their turn comes cost nothing.
#[test]
fn clients_that_vanish_before_they_are_served_leave_no_trace() {
    let (release, gate) = crossbeam_channel::unbounded();
    let origin = TestOrigin::gated(gate);
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "1").start();
    let mut busy = gateway.client();
    busy.send("GET /busy HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(1);
    for i in 0..30 {
        let mut leaver = gateway.client();
        if i % 3 > 0 {
            leaver.send("GET /gone HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        }
        if i % 2 == 0 {
            reset_on_close(leaver.socket());
        }
    }
    // Those that left in order may have half-closed only, and are served; their answers go nowhere.
    for _ in 0..60 {
        release.send(()).expect("the origin waits");
    }
    assert_eq!(busy.response().text(), "released");
    busy.assert_open();
    drop(busy);
    gateway.assert_quiet();
}

/// OPS-10: idle connections cost neither threads nor much memory; more of them than the workers could ever hold. As many as descriptors allow.
#[test]
fn ten_thousand_idle_connections_cost_descriptors_only() {
    const ROOM_FOR_OTHER_TESTS: u64 = 2000;
    let many = raise_own_file_limit().saturating_sub(ROOM_FOR_OTHER_TESTS).min(10_000);
    let origin = TestOrigin::echoing();
    let setup = Setup::to(&origin).set("server.tomcat.max-threads", "200").set("server.tomcat.accept-count", "4096");
    let gateway = setup.set("server.tomcat.max-connections", (many + 10).to_string()).start();
    let mut idle: Vec<_> = (0..many).map(|_| gateway.client()).collect();
    assert_eq!(idle.last_mut().expect("there are some").get("/last").status, 200);
    let open = || gateway.metric("portcullis_connections_active", "server=\"gateway\"");
    wait::until("all are open", || open() == many as f64);
    let (threads, kib) = (status_of(&gateway, "Threads:"), status_of(&gateway, "VmRSS:"));
    assert!(threads <= 210, "{threads} threads");
    assert!(kib <= 60 * 1024, "{kib} KiB resident");
    for client in idle.iter_mut().step_by(97) {
        client.assert_open();
    }
    drop(idle);
    gateway.assert_quiet();
}

/// A number that Linux tells about the process.
fn status_of(gateway: &TestGateway, name: &str) -> u64 {
    let path = format!("/proc/{}/status", gateway.process.pid());
    let status = std::fs::read_to_string(path).expect("Linux tells about processes");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line of that name");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Nothing to do is nothing done: no thread of an idle gateway runs.
#[test]
fn an_idle_gateway_makes_no_wake_ups() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).start();
    let mut client = gateway.client();
    assert_eq!(client.get("/").status, 200);
    gateway.assert_quiet();
    let pid = gateway.process.pid();
    let calm = wait::holds_within(wait::PATIENCE, || {
        let before = wake_ups(pid);
        wait::pace(Duration::from_millis(500));
        wake_ups(pid) == before
    });
    assert!(calm, "never half a second without a wake-up");
}

/// Clients that end in every way there is: each costs its own connection and nothing else.
#[test]
fn a_storm_of_faulty_clients_leaves_it_whole() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "4").start();
    let storms: [&[u8]; 8] = [
        b"",
        b"\r\n\r\n\r\n",
        b"GET",
        b"GET / HTTP/1.1\r\nHost: a\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    std::thread::scope(|scope| {
        for octets in storms {
            let gateway = &gateway;
            scope.spawn(move || {
                for i in 0..25 {
                    let mut client = gateway.client();
                    let _ = client.try_send(octets);
                    if i % 2 == 0 {
                        client.reset();
                    }
                }
            });
        }
    });
    assert_eq!(gateway.get("/after").text(), "GET /after");
    gateway.assert_quiet();
}

/// How many descriptors this process may have from now on.
fn raise_own_file_limit() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("the soft limit may rise to the hard one");
    limit.current.unwrap_or(u64::MAX)
}

/// Ticks of processor time so far, in user and system mode.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("Linux tells about processes");
    let after_name = stat.rsplit_once(')').expect("a name in brackets").1;
    let fields: Vec<u64> = after_name.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    fields[11] + fields[12]
}

/// How often any thread was switched to so far.
fn wake_ups(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("threads are listed").flatten();
    let status = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    status
        .map(|status| {
            let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
            switches.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum::<u64>()
        })
        .sum()
}
