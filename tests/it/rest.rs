//! A gateway that has nothing to do does nothing: no thread of it wakes up.

use crate::support::client::RawClient;
use crate::support::gateway::{Container, Setup, TestGateway};
use crate::support::origin::{TestOrigin, answer};
use crate::support::wait;
use std::collections::BTreeMap;
use std::time::Duration;

/// Longer than the period of anything that ticks while there is something to look after.
const A_WHILE: Duration = Duration::from_millis(1500);

/// How often each thread has waited for something, by number and name.
fn waits(gateway: &TestGateway) -> BTreeMap<String, String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", gateway.process.pid())).expect("the gateway runs");
    let threads = tasks.flatten().filter_map(|task| {
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"))?;
        Some((format!("{} {}", task.file_name().display(), name.trim()), line.to_owned()))
    });
    threads.collect()
}

#[track_caller]
fn comes_to_rest(gateway: &TestGateway) {
    wait::until("no thread wakes up any more", || {
        let before = waits(gateway);
        !wait::holds_within(A_WHILE, || waits(gateway) != before)
    });
}

/// Pooled connections are looked after while there are some; then everything sleeps, and wakes for the next one.
#[test]
fn an_idle_gateway_makes_no_wake_ups() {
    let origin = TestOrigin::answering(|_| answer("200 OK", "Keep-Alive: timeout=2\r\n", b""));
    let gateway = Setup::to(&origin).container(Container::Native).start();
    comes_to_rest(&gateway);
    for _ in 0..2 {
        assert_eq!(gateway.get("/").status, 200);
        wait::until("the pooled connection is given up", || origin.open_connections() == 0);
        comes_to_rest(&gateway);
    }
    assert_eq!(origin.connections(), 2);
}

/// Somebody who listens to the stream keeps the background thread going, and nobody else does.
#[test]
fn when_the_last_listener_has_left_all_is_at_rest_again() {
    let gateway = Setup::new().start();
    let mut listener = RawClient::connect(gateway.management());
    listener.send("GET /actuator/hystrix.stream HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    listener.wait_for_text("ping: \n\nping: \n\n");
    drop(listener);
    comes_to_rest(&gateway);
    gateway.assert_quiet();
}
