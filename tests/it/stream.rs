//! `/actuator/hystrix.stream` as a dashboard reads it: server-sent events, every member of a running Hystrix in its order, for five clients
//! that cost no worker.

use crate::support::client::RawClient;
use crate::support::gateway::{Container, Setup, TestGateway};
use crate::support::message::{End, latin1};
use crate::support::origin::TestOrigin;
use crate::support::wait;
use serde_json::Value;
use std::net::SocketAddr;

/// What a running Zuul 1 told, with Hystrix 1.5.18.
const COMMAND: &str = include_str!("../../src/command/dashboard/command.txt");
const POOL: &str = include_str!("../../src/command/dashboard/pool.txt");

const GET: &str = "GET /actuator/hystrix.stream HTTP/1.1\r\nHost: gw.test\r\n\r\n";
const LISTENING: &str = "portcullis_stream_clients_in_use";

/// A client whose stream has begun.
#[track_caller]
fn listen(address: SocketAddr) -> RawClient {
    let mut client = RawClient::connect(address);
    client.send(GET);
    let answer = client.wait_for_text("ping: \n\n");
    assert_eq!((answer.status, answer.complete), (200, false));
    client
}

/// The events of a stream as a client of server-sent events makes them: lines up to an empty one, of which those named data count.
#[track_caller]
fn events(text: &str) -> Vec<Value> {
    let mut events = Vec::new();
    let mut blocks: Vec<_> = text.split("\n\n").collect();
    assert_eq!(blocks.pop(), Some(""), "each event ends with an empty line");
    for block in blocks {
        match block.split_once(": ").or_else(|| block.split_once(':')) {
            Some(("data", json)) => events.push(serde_json::from_str(json).expect("an event is JSON")),
            other => assert_eq!(other, Some(("ping", "")), "neither an event nor a ping"),
        }
    }
    events
}

/// The first event of this type that holds `text`, with all that is in it.
#[track_caller]
fn event(client: &mut RawClient, kind: &str, text: &str) -> Value {
    let end = if kind == "HystrixCommand" { "\"}\n\n" } else { "\"reportingHosts\":1}\n\n" };
    let holds = |block: &str| block.contains(kind) && block.contains(text);
    let answer = client.wait_for_body(text, |message| {
        message.text().split_inclusive("\n\n").any(|block| holds(block) && block.ends_with(end))
    });
    let whole = answer.text();
    let whole = &whole[..whole.rfind("\n\n").map_or(0, |at| at + 2)];
    events(whole).into_iter().find(|event| holds(&event.to_string())).expect("it was found")
}

/// Names of all members, those within members too, in order.
fn names(value: &Value) -> Vec<String> {
    let members = value.as_object().into_iter().flatten();
    members.flat_map(|(name, value)| std::iter::once(name.clone()).chain(names(value))).collect()
}

#[track_caller]
fn assert_members(event: &Value, fixture: &str) {
    let fixture: Value =
        serde_json::from_str(fixture.trim().trim_start_matches("data: ")).expect("the fixture is JSON");
    assert_eq!(names(event), names(&fixture));
    for (name, expected) in fixture.as_object().expect("an object") {
        let same = std::mem::discriminant(&event[name]) == std::mem::discriminant(expected);
        assert!(same, "{name}: {} instead of {expected}", event[name]);
    }
}

#[track_caller]
fn nobody_listens(gateway: &TestGateway) {
    wait::until("nobody listens any more", || gateway.metric(LISTENING, "") == 0.0);
    gateway.assert_quiet();
}

#[test]
fn a_command_is_told_with_every_member_of_hystrix_in_its_order() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to_service(&origin).start();
    let mut client = listen(gateway.management());
    let head = client.wait_for_head();
    assert_eq!(head.field("Cache-Control").as_deref(), Some("no-cache, no-store, max-age=0, must-revalidate"));
    assert_eq!(head.field("Pragma").as_deref(), Some("no-cache"));
    assert_eq!(head.field("Content-Type").as_deref(), Some("text/event-stream;charset=UTF-8"));
    assert_eq!(head.field("Transfer-Encoding").as_deref(), Some("chunked"));
    let quiet = client.wait_for_text("ping: \n\nping: \n\n");
    assert!(!quiet.text().contains("data"), "a command that had no request is not told");
    for _ in 0..3 {
        assert_eq!(gateway.get("/").status, 200);
    }
    let told = event(&mut client, "HystrixCommand", "\"rollingCountSuccess\":3,");
    assert_members(&told, COMMAND);
    assert_eq!((&told["name"], &told["requestCount"], &told["reportingHosts"]), (&"up".into(), &3.into(), &1.into()));
    assert_eq!(told["propertyValue_executionTimeoutInMilliseconds"], 62_000, "by the formula of Ribbon's keys");
    drop(client);
    nobody_listens(&gateway);
}

#[test]
fn a_thread_pool_is_told_beside_its_command() {
    let origin = TestOrigin::echoing();
    let setup = Setup::to_service(&origin).set("zuul.ribbonIsolationStrategy", "THREAD");
    let gateway = setup.set("zuul.threadPool.useSeparateThreadPools", "true").start();
    let mut client = listen(gateway.management());
    assert_eq!(gateway.get("/").status, 200);
    let told = event(&mut client, "HystrixThreadPool", "\"rollingCountThreadsExecuted\":1,");
    assert_members(&told, POOL);
    assert_eq!((&told["name"], &told["currentCompletedTaskCount"]), (&"up".into(), &1.into()));
    let command = event(&mut client, "HystrixCommand", "\"propertyValue_executionIsolationStrategy\":\"THREAD\"");
    assert_eq!(command["threadPool"], "up");
}

/// Url routes have commands here; where they are as unguarded as Zuul's, they are as untold.
#[test]
fn url_routes_are_told_unless_they_are_unguarded() {
    let origin = TestOrigin::echoing();
    for (compat, told) in [("none", true), ("zuul1", false)] {
        let setup = Setup::new().url_route("url", "/url/**", &origin.url()).service_route("svc", "/svc/**", &[&origin]);
        let gateway = setup.set("gateway.compat", compat).start();
        for target in ["/url/", "/svc/"] {
            assert_eq!(gateway.get(target).status, 200);
        }
        let mut client = listen(gateway.management());
        let text = client.wait_for_text("\"name\":\"svc\"").text();
        assert!(text.contains("\"name\":\"svc\""));
        event(&mut client, "HystrixCommand", "\"name\":\"svc\"");
        let text = client.wait_for_head().text();
        assert_eq!(text.contains("\"name\":\"url\""), told, "{compat}");
    }
}

/// A metric of a gateway whose actuator stands on the main port.
#[track_caller]
fn metric_on_main(gateway: &TestGateway, name: &str) -> f64 {
    let page = gateway.get("/actuator/prometheus").text();
    let line = page.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.rsplit_once(' ')?.1.parse().ok()).expect("the metric is there")
}

/// Limits of one: one client, one worker. The second client is told Hystrix's words, and requests have the worker.
#[test]
fn clients_are_few_and_hold_no_worker() {
    let origin = TestOrigin::echoing();
    let setup = Setup::to(&origin).set("zuul.routes.up.path", "/up/**").unset("management.server.port");
    let setup = setup.set("server.tomcat.max-threads", "1").set("hystrix.config.stream.maxConcurrentConnections", "1");
    let gateway = setup.start();
    let first = listen(gateway.address());
    let refused = gateway.get("/actuator/hystrix.stream");
    assert_eq!(refused.status, 503);
    assert!(refused.text().contains("MaxConcurrentConnections reached: 1"), "{}", refused.text());
    for _ in 0..3 {
        assert_eq!(gateway.get("/up/").status, 200);
    }
    let metrics = |name: &str| metric_on_main(&gateway, name);
    assert_eq!((metrics(LISTENING), metrics("portcullis_stream_clients_refused_total")), (1.0, 1.0));
    assert_eq!(metrics("portcullis_connections_active"), 2.0, "its connection counts, beside the one that asks");
    first.reset();
    wait::until("the place is free again", || metrics(LISTENING) == 0.0);
    drop(listen(gateway.address()));
    wait::until("the connection is given back", || metrics("portcullis_connections_active") == 1.0);
}

#[test]
fn the_sixth_client_is_one_too_many() {
    let gateway = Setup::new().start();
    let five: Vec<_> = (0..5).map(|_| listen(gateway.management())).collect();
    let sixth = gateway.manage("/actuator/hystrix.stream");
    assert_eq!(sixth.status, 503);
    assert!(sixth.text().contains("MaxConcurrentConnections reached: 5"), "{}", sixth.text());
    assert_eq!(gateway.metric(LISTENING, ""), 5.0);
    drop(five);
    nobody_listens(&gateway);
    drop(listen(gateway.management()));
}

/// Some leave before they have their head, some are refused, some leave in order.
#[test]
fn those_who_come_and_go_leave_nothing() {
    let gateway = Setup::new().unset("management.server.port").start();
    for n in 0..200 {
        let mut client = gateway.client();
        client.send(GET);
        match n % 3 {
            0 => client.reset(),
            1 => client.half_close(),
            _ => drop(client.wait_for_head()),
        }
    }
    for (name, own) in [(LISTENING, 0.0), ("portcullis_connections_active", 1.0)] {
        wait::until(&format!("nobody else is there: {name}"), || metric_on_main(&gateway, name) == own);
    }
}

/// Events come as often as the key says, pings do not. The slowest client that is still served is not this one: it does not read at all.
#[test]
fn who_does_not_read_is_cut_off_and_harms_nobody() {
    let origin = TestOrigin::echoing();
    let setup =
        (0..20).fold(Setup::new(), |setup, n| setup.service_route(&format!("s{n}"), &format!("/s{n}/**"), &[&origin]));
    let gateway = setup.set("hystrix.stream.dashboard.intervalInMilliseconds", "1").start();
    for n in 0..20 {
        assert_eq!(gateway.get(&format!("/s{n}/")).status, 200);
    }
    let _asleep = listen(gateway.management());
    wait::until("the client is cut off", || gateway.metric("portcullis_stream_clients_cut_total", "") == 1.0);
    nobody_listens(&gateway);
}

/// What was sent is whole, and the gateway ends in time and with the code of a clean end.
#[test]
fn a_drain_ends_the_stream() {
    for on_main in [false, true] {
        let setup = Setup::new().set("hystrix.stream.dashboard.intervalInMilliseconds", "3600000");
        let mut gateway = if on_main { setup.unset("management.server.port") } else { setup }.start();
        let mut client = listen(if on_main { gateway.address() } else { gateway.management() });
        gateway.process.signal(rustix::process::Signal::TERM);
        let answer = client.response();
        assert!(answer.complete && events(&answer.text()).is_empty(), "{}", answer.text());
        client.assert_closed();
        drop(client);
        assert_eq!(gateway.process.wait().code(), Some(0));
    }
}

#[test]
fn an_old_client_is_sent_no_chunks() {
    let gateway = Setup::new().start();
    let mut client = RawClient::connect(gateway.management());
    client.send("GET /actuator/hystrix.stream HTTP/1.0\r\n\r\n");
    let answer = client.wait_for_text("ping: \n\nping: \n\n");
    assert_eq!((answer.field("Transfer-Encoding"), answer.field("Content-Length")), (None, None));
    drop(gateway);
    let (octets, end) = client.read_to_end();
    assert!(latin1(&octets).ends_with("ping: \n\n"), "{}", latin1(&octets));
    assert!(matches!(end, End::Fin | End::Reset));
}

#[test]
fn it_is_there_for_those_who_expose_it_and_by_get_alone() {
    let hidden = Setup::new().unset("management.endpoints.web.exposure.include").start();
    assert_eq!(hidden.manage("/actuator/hystrix.stream").status, 404);
    let shown = Setup::new().set("management.endpoints.web.exposure.include", "hystrix.stream").start();
    let mut client = RawClient::connect(shown.management());
    let refused = client.request("POST", "/actuator/hystrix.stream", "", b"");
    assert_eq!((refused.status, refused.field("Allow").as_deref()), (405, Some("GET")));
    client.send(GET);
    client.wait_for_text("ping: \n\n");
}

/// The other container can't leave a connection to anybody; the management listener is native whatever serves.
#[test]
fn tiny_http_says_that_it_cannot() {
    let setup = Setup::new().container(Container::TinyHttp);
    let main = setup.clone().unset("management.server.port").start();
    assert_eq!(main.get("/actuator/hystrix.stream").status, 501);
    drop(listen(setup.start().management()));
}
