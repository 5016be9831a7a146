//! The gateway as a library: inside another program, started and ended as a value, its counts told to whoever asks.

use crate::support::client::RawClient;
use crate::support::gateway::Setup;
use crate::support::origin::TestOrigin;
use crate::support::socket::listen;
use crate::support::wait;
use crossbeam_channel::unbounded;
use portcullis::deadline::Deadline;
use portcullis::metrics::{Sink, Timer};
use portcullis::server::Server;
use std::collections::BTreeMap;

/// Keeps what it is told, summed over labels.
#[derive(Default)]
struct Told(BTreeMap<&'static str, f64>);

impl Sink for Told {
    fn gauge(&mut self, name: &'static str, _: &'static str, _: &[(&'static str, &str)], value: f64) {
        *self.0.entry(name).or_default() += value;
    }

    fn counter(&mut self, name: &'static str, _: &'static str, _: &[(&'static str, &str)], value: u64) {
        *self.0.entry(name).or_default() += value as f64;
    }

    fn timer(&mut self, name: &'static str, _: &'static str, _: &[(&'static str, &str)], value: &Timer) {
        *self.0.entry(name).or_default() += value.count() as f64;
    }
}

fn told(server: &Server, name: &str) -> f64 {
    let mut told = Told::default();
    server.collect(&mut told);
    told.0.get(name).copied().unwrap_or_default()
}

#[test]
fn two_gateways_live_side_by_side_in_one_process() {
    let origin = TestOrigin::echoing();
    let setup = Setup::to(&origin).set("gateway.access-log.format", "off");
    let start = || setup.start_inside().expect("it starts");
    let (one, other) = (start(), start());
    for _ in 0..3 {
        assert_eq!(RawClient::connect(one.local_addr()).get("/one").text(), "GET /one");
    }
    assert_eq!(RawClient::connect(other.local_addr()).get("/other").text(), "GET /other");
    let attempts = |server: &Server| told(server, "portcullis.upstream.attempts");
    assert_eq!((attempts(&one), attempts(&other)), (3.0, 1.0));
    let management = one.management_addr().expect("management has a listener of its own");
    assert_eq!(RawClient::connect(management).get("/actuator/health").status, 200);
    wait::until("nothing is held", || told(&one, "portcullis.semaphore.in.use") == 0.0);
    let address = one.local_addr();
    assert!(one.drain(Deadline::after(wait::PATIENCE)));
    assert!(RawClient::try_connect(address).is_err());
    assert_eq!(RawClient::connect(other.local_addr()).get("/still").text(), "GET /still");
    assert!(other.drain(Deadline::after(wait::PATIENCE)));
}

#[test]
fn a_drain_says_whether_it_was_clean() {
    let (_release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    let setup = Setup::to(&origin).set("gateway.access-log.format", "off");
    let server = setup.start_inside().expect("it starts");
    let mut client = RawClient::connect(server.local_addr());
    client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(1);
    assert!(!server.drain(Deadline::after(std::time::Duration::from_millis(100))));
    assert!(client.answer_or_end("GET").is_err());
}

/// What was started before the fault is ended with it.
#[test]
fn a_start_that_fails_leaves_nothing_behind() {
    let (_taken, address) = listen();
    let management = crate::support::socket::free_port();
    let setup = Setup::new().set("server.port", address.port().to_string());
    let setup = setup.set("management.server.port", management.to_string()).set("gateway.access-log.format", "off");
    let fault = setup.start_inside().err().expect("the port is taken");
    assert!(fault.to_string().contains(&address.to_string()), "{fault}");
    let side = std::net::SocketAddr::from(([127, 0, 0, 1], management));
    wait::until("its management listener is gone", || RawClient::try_connect(side).is_err());
}
