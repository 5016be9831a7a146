//! Which of several servers is asked: in turn, passing over those that refuse, that are down by ping, that are slow or busy. Rows of what a
//! running Zuul 1 showed (A10) are here, and the effect of every key of Ribbon's rules and pings.

use crate::support::gateway::{Setup, TestGateway, assert_reason};
use crate::support::origin::{TestOrigin, answer, ok};
use crate::support::socket::DEAD;
use crate::support::wait;
use crossbeam_channel::unbounded;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

const RULE: &str = "up.ribbon.NFLoadBalancerRuleClassName";
const PING: &str = "up.ribbon.NFLoadBalancerPingClassName";

fn server(origin: &TestOrigin) -> String {
    format!("server=\"{}\"", origin.address())
}

/// A service with one server that answers and one whose port is closed, which is asked first.
fn with_a_dead_server(origin: &TestOrigin) -> (Setup, String) {
    let setup = Setup::new().service_route("up", "/**", &[origin]);
    // What is tried again is not what is tested here.
    let setup = setup.set("up.ribbon.MaxAutoRetriesNextServer", "0");
    (setup.set("up.ribbon.listOfServers", format!("{DEAD},{}", origin.address())), format!("server=\"{DEAD}\""))
}

fn statuses(gateway: &TestGateway, count: usize) -> Vec<u16> {
    (0..count).map(|_| gateway.get("/").status).collect()
}

/// A10: strict alternation, the first one first; after three refused connections in a row the dead one is left out. In both strategies.
#[test]
fn a_server_that_refuses_three_times_is_left_out() {
    for strategy in ["SEMAPHORE", "THREAD"] {
        let origin = TestOrigin::echoing();
        let (setup, dead) = with_a_dead_server(&origin);
        let gateway = forever_out(setup).set("zuul.ribbon-isolation-strategy", strategy).start();
        assert_eq!(statuses(&gateway, 6), [502, 200, 502, 200, 502, 200], "{strategy}");
        assert_eq!(statuses(&gateway, 6), [200; 6], "{strategy}");
        assert_eq!(gateway.metric("portcullis_server_failures_successive", &dead), 3.0);
        let left = gateway.metric("portcullis_server_blackout_left_seconds", &dead);
        assert!(left > 0.0 && left <= 3600.0, "{left}");
        assert_eq!(gateway.metric("portcullis_server_blackout_left_seconds", &server(&origin)), 0.0);
        gateway.assert_quiet();
    }
}

/// A10: "Two servers alive: strict alternation, first one first".
#[test]
fn two_servers_are_asked_in_turn() {
    for strategy in ["SEMAPHORE", "THREAD"] {
        let both = ["first", "second"].map(|name| TestOrigin::answering(move |_| ok(name.as_bytes())));
        let setup = Setup::new().service_route("up", "/**", &both.each_ref());
        let gateway = setup.set("zuul.ribbon-isolation-strategy", strategy).start();
        let answers: Vec<_> = (0..6).map(|_| gateway.get("/").text()).collect();
        assert_eq!(answers, ["first", "second"].repeat(3), "{strategy}");
        gateway.assert_quiet();
    }
}

/// A10: 500 and 200 in turn, until the dead one is left out. Here 500 only under `zuul1`.
#[test]
fn compat_mode_says_500_of_a_dead_server() {
    let origin = TestOrigin::echoing();
    let gateway = forever_out(with_a_dead_server(&origin).0).set("gateway.compat", "zuul1").start();
    assert_eq!(statuses(&gateway, 9), [500, 200, 500, 200, 500, 200, 200, 200, 200]);
    gateway.assert_quiet();
}

/// So long that no machine is slow enough to see the end of a blackout.
fn forever_out(setup: Setup) -> Setup {
    let setup = setup.set("niws.loadbalancer.up.circuitTripTimeoutFactorSeconds", "3600");
    setup.set("niws.loadbalancer.up.circuitTripMaxTimeoutSeconds", "7200")
}

/// As in Ribbon: a read timeout is a connection failure, an orderly close without an answer is none.
#[test]
fn silence_blacks_out_and_an_orderly_close_does_not() {
    for (says_nothing, status) in [(true, 504), (false, 502)] {
        let bad = TestOrigin::scripted(move |talk| {
            talk.read_request();
            if says_nothing {
                talk.stall_until_closed();
            }
        });
        let good = TestOrigin::echoing();
        let setup = Setup::new().service_route("up", "/**", &[&bad, &good]).set("up.ribbon.ReadTimeout", "100");
        let setup = setup.set("up.ribbon.MaxAutoRetriesNextServer", "0");
        let gateway = forever_out(setup.set("hystrix.command.default.execution.timeout.enabled", "false")).start();
        let (first, later) = (statuses(&gateway, 6), statuses(&gateway, 4));
        assert_eq!(first, [status, 200].repeat(3));
        assert_eq!(later, if says_nothing { vec![200; 4] } else { [502, 200].repeat(2) });
        gateway.assert_quiet();
    }
}

/// So does the deadline, whoever notices it: under THREAD the worker leaves, and the call ends by that. A client that leaves blames nobody.
#[test]
fn the_deadline_is_a_connection_failure_in_both_strategies() {
    for strategy in ["SEMAPHORE", "THREAD"] {
        let silent = TestOrigin::scripted(|talk| drop((talk.read_request(), talk.stall_until_closed())));
        let setup = Setup::to_service(&silent).set("zuul.ribbonIsolationStrategy", strategy);
        let deadline = "hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds";
        let gateway = forever_out(setup.clone()).set(deadline, "100").start();
        (0..3).for_each(|_| assert_reason(&gateway.get("/"), 504, "timeout"));
        gateway.assert_quiet();
        assert_eq!(gateway.metric("portcullis_server_failures_successive", ""), 3.0, "{strategy}");
        let gateway = setup.start();
        let before = silent.requests().len();
        let mut leaving = gateway.client();
        leaving.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        silent.wait_for_requests(before + 1);
        leaving.reset();
        gateway.assert_quiet();
        assert_eq!(gateway.metric("portcullis_server_failures_successive", ""), 0.0, "{strategy}");
    }
}

/// The second request waits in the pool's queue longer than its call takes. All times of both together are what both took.
#[test]
fn the_wait_for_a_thread_is_no_response_time() {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    let setup = Setup::to_service(&origin).set("zuul.ribbonIsolationStrategy", "THREAD");
    let setup =
        setup.set("hystrix.threadpool.default.coreSize", "1").set("hystrix.threadpool.default.maxQueueSize", "1");
    let gateway = setup.start();
    let mut clients = [gateway.client(), gateway.client()];
    clients[0].send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(1);
    clients[1].send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    wait::until("it is queued", || gateway.metric("portcullis_pool_queued", "") == 1.0);
    wait::pace(Duration::from_millis(300));
    for client in &mut clients {
        release.send(()).expect("the origin waits");
        assert_eq!(client.response().text(), "released");
    }
    drop(clients);
    gateway.assert_quiet();
    let sum = |name: &str| gateway.metric(&format!("{name}_seconds_sum"), "");
    let (waits, calls, whole) =
        (sum("portcullis_pool_wait"), sum("portcullis_server_response"), sum("http_server_requests"));
    assert!(waits >= 0.29 && calls >= 0.29, "{waits} s, {calls} s");
    assert!(waits + calls <= whole, "{waits} s and {calls} s in {whole} s");
}

#[test]
fn a_blackout_ends_after_its_time_and_doubles() {
    let origin = TestOrigin::echoing();
    let (setup, dead) = with_a_dead_server(&origin);
    let gateway = setup
        .set("niws.loadbalancer.up.connectionFailureCountThreshold", "1")
        .set("niws.loadbalancer.up.circuitTripTimeoutFactorSeconds", "100ms")
        .set("niws.loadbalancer.up.circuitTripMaxTimeoutSeconds", "150ms")
        .start();
    assert_eq!(gateway.get("/").status, 502);
    let failures = |count: f64| gateway.metric("portcullis_server_failures_successive", &dead) >= count;
    assert!(failures(1.0));
    wait::until("the dead server is tried again, and again", || {
        assert!([200, 502].contains(&gateway.get("/").status));
        let left = gateway.metric("portcullis_server_blackout_left_seconds", &dead);
        assert!(left <= 0.15, "{left}");
        failures(4.0)
    });
}

/// The server answers again on the port that was closed: one answer pardons all failures.
#[test]
fn an_answer_ends_the_count_of_failures() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = is_well.clone();
    let origin = TestOrigin::scripted(move |talk| {
        while talk.read_request().is_some() {
            if !well.load(SeqCst) {
                talk.reset();
                return;
            }
            talk.send(ok("well"));
        }
    });
    let setup = Setup::to_service(&origin).set("up.ribbon.MaxAutoRetriesNextServer", "0");
    let gateway = setup.start();
    assert_eq!(statuses(&gateway, 4), [502; 4], "the only server is asked, blacked out or not");
    assert_eq!(gateway.metric("portcullis_server_failures_successive", ""), 4.0);
    is_well.store(true, SeqCst);
    assert_eq!(gateway.get("/").status, 200);
    assert_eq!(gateway.metric("portcullis_server_failures_successive", ""), 0.0);
    assert_eq!(gateway.metric("portcullis_server_blackout_left_seconds", ""), 0.0);
}

/// Without the filter the default is plain round robin.
#[test]
fn blackouts_can_be_left_unheeded() {
    let origin = TestOrigin::echoing();
    let (setup, _) = with_a_dead_server(&origin);
    let gateway = setup.set("niws.loadbalancer.availabilityFilteringRule.filterCircuitTripped", "false").start();
    assert_eq!(statuses(&gateway, 10), [502, 200].repeat(5));
}

/// A7: no server in the list. Zuul 1 answers 500 GENERAL; here it is 503, and says why.
#[test]
fn a_service_without_servers_is_503() {
    for rule in ["ZoneAvoidanceRule", "RandomRule", "least-outstanding-p2c"] {
        let gateway = Setup::new().service_route("up", "/**", &[]).set(RULE, rule).start();
        assert_reason(&gateway.get("/"), 503, "no_server");
    }
}

/// `RoundRobinRule` counts before it looks, and heeds no blackout.
#[test]
fn round_robin_begins_with_the_second_server() {
    let origin = TestOrigin::echoing();
    let (setup, _) = with_a_dead_server(&origin);
    let gateway = setup.set(RULE, "com.netflix.loadbalancer.RoundRobinRule").start();
    assert_eq!(statuses(&gateway, 10), [200, 502].repeat(5));
}

/// One request is held at the one server: the other one gets all others.
fn busy_servers_are_avoided(keys: &[(&str, &str)]) {
    let (release, gate) = unbounded();
    let (held, free) = (TestOrigin::gated(gate), TestOrigin::echoing());
    let setup = keys.iter().fold(Setup::new().service_route("up", "/**", &[&held, &free]), |s, (k, v)| s.set(*k, *v));
    let gateway = setup.start();
    // The other one may get some before, by chance or in turn.
    let mut sent = 0;
    let mut busy = wait::until_some("a request is held", || {
        let mut client = gateway.client();
        client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        sent += 1;
        wait::until("it arrived", || held.requests().len() + free.requests().len() == sent);
        (!held.requests().is_empty()).then_some(client)
    });
    assert_eq!(gateway.metric("portcullis_server_requests_in_flight", &server(&held)), 1.0);
    assert_eq!(statuses(&gateway, 20), [200; 20], "{keys:?}");
    assert_eq!(held.requests().len(), 1, "{keys:?}");
    release.send(()).expect("the origin waits");
    assert_eq!(busy.response().text(), "released");
    drop(busy);
    gateway.assert_quiet();
}

#[test]
fn the_best_available_server_is_the_least_busy() {
    busy_servers_are_avoided(&[(RULE, "BestAvailableRule")]);
}

#[test]
fn of_two_servers_the_one_with_fewer_outstanding_requests_is_asked() {
    busy_servers_are_avoided(&[("gateway.balancer", "least-outstanding-p2c")]);
    busy_servers_are_avoided(&[(RULE, "least-outstanding-p2c")]);
}

#[test]
fn a_server_at_its_limit_is_passed_over() {
    for key in
        ["up.ribbon.ActiveConnectionsLimit", "niws.loadbalancer.availabilityFilteringRule.activeConnectionsLimit"]
    {
        busy_servers_are_avoided(&[(key, "1")]);
        busy_servers_are_avoided(&[(key, "1"), (RULE, "AvailabilityFilteringRule")]);
    }
}

/// The weights of two servers, one of which is slow, soon send most requests to the other one.
#[test]
fn weights_follow_response_times() {
    let slow = TestOrigin::scripted(|talk| {
        while talk.read_request().is_some() {
            wait::pace(Duration::from_millis(60));
            talk.send(ok("slow"));
        }
    });
    let quick = TestOrigin::echoing();
    let setup = Setup::new().service_route("up", "/**", &[&slow, &quick]);
    let setup = setup.set(RULE, "WeightedResponseTimeRule");
    let gateway = setup.set("ribbon.ServerWeightTaskTimerInterval", "1").start();
    // At even shares the chance of twenty in a row is one in a million.
    let mut in_a_row = 0;
    wait::until("twenty in a row go to the quick one", || {
        in_a_row = if gateway.get("/").text() == "slow" { 0 } else { in_a_row + 1 };
        in_a_row == 20
    });
    assert!(!slow.requests().is_empty());
}

/// Answers pings (`/health`) as told, and everything else.
fn pinged(health: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> TestOrigin {
    TestOrigin::answering(move |request| if request.target == b"/health" { health() } else { ok("here") })
}

fn requests_at(origin: &TestOrigin) -> usize {
    origin.requests().iter().filter(|request| request.message.target == b"/").count()
}

fn pinging(origins: &[&TestOrigin], rule: &str) -> Setup {
    let setup = Setup::new().service_route("up", "/**", origins).set(RULE, rule);
    let setup = setup.set(PING, "com.netflix.loadbalancer.PingUrl").set("up.ribbon.NFLoadBalancerPingInterval", "20ms");
    setup.set("gateway.ping.path", "/health")
}

#[track_caller]
fn until_up_is(gateway: &TestGateway, label: &str, up: f64) {
    wait::until("pings have told", || gateway.metric("portcullis_server_up", label) == up);
}

#[test]
fn pings_take_a_server_out_and_back() {
    let is_ill = Arc::new(AtomicBool::new(false));
    let ill = is_ill.clone();
    let moody = pinged(move || if ill.load(SeqCst) { answer("503 Busy", "", "") } else { ok("") });
    let steady = pinged(|| ok(""));
    for rule in ["RoundRobinRule", "RandomRule", "RetryRule", "AvailabilityFilteringRule", "least-outstanding-p2c"] {
        is_ill.store(true, SeqCst);
        let mut gateway = pinging(&[&moody, &steady], rule).start();
        until_up_is(&gateway, &server(&moody), 0.0);
        let before = requests_at(&moody);
        assert_eq!(statuses(&gateway, 10), [200; 10], "{rule}");
        assert_eq!(requests_at(&moody), before, "{rule}");
        is_ill.store(false, SeqCst);
        until_up_is(&gateway, &server(&moody), 1.0);
        wait::until("it is asked again", || gateway.get("/").status == 200 && requests_at(&moody) > before);
        gateway.assert_quiet();
        assert_eq!(gateway.stop(), Some(0));
    }
}

/// Ribbon's default rule asks whom it likes; `check` says so.
#[test]
fn pings_change_nothing_under_zone_avoidance() {
    let ill = pinged(|| answer("503 Busy", "", ""));
    let setup = pinging(&[&ill], "ZoneAvoidanceRule");
    let finished = setup.run_to_end(&["check"]);
    let advice = "up.ribbon.NFLoadBalancerPingClassName: ZoneAvoidanceRule asks servers whatever pings find";
    assert!(finished.stdout.contains(advice), "{}", finished.stdout);
    let gateway = setup.start();
    until_up_is(&gateway, &server(&ill), 0.0);
    assert_eq!(gateway.get("/").status, 200);
}

/// LB-03, as Ribbon has it: the rules that heed pings answer with nobody, the others ask all.
#[test]
fn a_service_whose_servers_are_all_down_is_503() {
    let ill = pinged(|| answer("500 Ill", "", ""));
    for rule in ["RoundRobinRule", "RandomRule", "RetryRule", "WeightedResponseTimeRule"] {
        let gateway = pinging(&[&ill], rule).start();
        until_up_is(&gateway, "", 0.0);
        assert_reason(&gateway.get("/"), 503, "no_server");
    }
    assert_eq!(requests_at(&ill), 0);
}

/// LB-03: blackouts alone never leave a service without a server. All are asked again, and one answer is enough.
#[test]
fn when_all_are_blacked_out_all_are_asked() {
    for rule in ["ZoneAvoidanceRule", "AvailabilityFilteringRule", "BestAvailableRule", "least-outstanding-p2c"] {
        let well = Arc::new(AtomicBool::new(false));
        let told = well.clone();
        let origin = TestOrigin::scripted(move |talk| {
            while talk.read_request().is_some() {
                match told.load(SeqCst) {
                    true => talk.send(ok("well")),
                    false => return talk.reset(),
                };
            }
        });
        let setup = forever_out(Setup::to_service(&origin)).set("hystrix.command.up.circuitBreaker.enabled", "false");
        let gateway = match rule {
            "least-outstanding-p2c" => setup.set("gateway.balancer", rule),
            _ => setup.set("up.ribbon.NFLoadBalancerRuleClassName", rule),
        };
        let gateway = gateway.start();
        (0..4).for_each(|_| assert_eq!(gateway.get("/").status, 502, "{rule}"));
        assert!(gateway.metric("portcullis_server_blackout_left_seconds", "") > 0.0, "{rule}");
        well.store(true, SeqCst);
        assert_eq!(gateway.get("/").text(), "well", "{rule}");
        assert_eq!(gateway.metric("portcullis_server_blackout_left_seconds", ""), 0.0, "{rule}");
    }
}

/// The content decides alone, whatever the status; keys for one service win.
#[test]
fn a_ping_may_expect_some_content() {
    let says_fine = pinged(|| answer("500 Fine", "", "fine"));
    let says_more = pinged(|| ok("fine, thanks"));
    let keys = [("gateway.ping.expected-content", "other"), ("gateway.ping.up.expected-content", "fine")];
    let setup = pinging(&[&says_fine, &says_more], "RoundRobinRule");
    let setup = setup.set("gateway.ping.path", "/never").set("gateway.ping.up.path", "/health");
    let gateway = keys.iter().fold(setup, |setup, (key, value)| setup.set(*key, *value)).start();
    until_up_is(&gateway, &server(&says_more), 0.0);
    assert_eq!(gateway.metric("portcullis_server_up", &server(&says_fine)), 1.0);
    let all = pinging(&[&says_fine], "RoundRobinRule").set("gateway.ping.expected-content", "fine").start();
    until_up_is(&all, "", 1.0);
    assert_eq!(all.get("/").text(), "here");
}

/// A server that accepts and says nothing is down after the longest wait, and holds up neither requests nor the end.
#[test]
fn a_ping_has_its_time() {
    let silent = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.stall_until_closed();
    });
    let setup = pinging(&[&silent], "RoundRobinRule").set("up.ribbon.NFLoadBalancerMaxTotalPingTime", "50ms");
    let gateway = setup.start();
    until_up_is(&gateway, "", 0.0);
    assert_reason(&gateway.get("/"), 503, "no_server");
    let mut patient =
        pinging(&[&silent], "RoundRobinRule").set("up.ribbon.NFLoadBalancerMaxTotalPingTime", "1h").start();
    silent.wait_for_requests(2);
    assert_eq!(patient.stop(), Some(0));
}

/// A thread for each service that pings, none for others.
#[test]
fn only_who_pings_has_a_thread_for_it() {
    let origin = pinged(|| ok(""));
    let threads = |gateway: &TestGateway| {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", gateway.process.pid())).expect("the process is there");
        let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        tasks.flatten().map(name).filter(|name| name == "ping\n").count()
    };
    // The first ping comes at once; by then the thread has its name.
    let gateway = pinging(&[&origin], "RetryRule").start();
    origin.wait_for_requests(1);
    assert_eq!(threads(&gateway), 1);
    let calm = pinged(|| ok(""));
    let gateway = pinging(&[&calm], "RetryRule").set(PING, "DummyPing").start();
    wait::stays("nobody pings", Duration::from_millis(100), || calm.requests().is_empty());
    assert_eq!(threads(&gateway), 0);
}

/// A class of somebody's own can't be loaded: another rule could send requests where they must not go.
#[test]
fn an_unknown_rule_is_an_error() {
    let setup = Setup::new().service_route("up", "/**", &[]).set(RULE, "com.acme.CanaryRule");
    let finished = setup.run_to_end(&["check"]);
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("Java classes can't be loaded"), "{}", finished.stderr);
}
