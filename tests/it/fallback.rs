//! What answers in place of a service that failed: an answer of its own or another path of the gateway, once, and never for a client's own
//! fault. The row of `zuul-observed.md` A7 about FallbackProvider, and what is ours alone (forwards, the two fields).

use crate::support::gateway::{Container, Setup, TestGateway, assert_reason, for_both_containers};
use crate::support::message::Message;
use crate::support::origin::{TestOrigin, answer};
use crate::support::parts::Scratch;
use crate::support::socket::DEAD;
use crate::support::wait;
use crossbeam_channel::unbounded;

for_both_containers!(
    every_failure_of_the_service_has_the_fallback,
    a_head_request_gets_the_length_and_no_body,
    a_clients_own_fault_has_none,
    one_for_all_services_and_one_for_one,
    a_body_can_stand_in_a_file,
    another_route_answers,
    a_page_of_the_gateways_own_answers,
    forwards_lead_in_no_circle,
    a_body_that_was_begun_is_not_forwarded,
    so_many_at_once_and_no_more,
    url_routes_have_only_their_own,
);

/// One service that is not there, with these keys below `gateway.fallback`.
fn dead(container: Container, keys: &[(&str, &str)]) -> Setup {
    let setup = Setup::new().container(container).set("zuul.routes.shop.path", "/shop/**");
    let setup = setup.set("zuul.routes.shop.serviceId", "shop").set("shop.ribbon.listOfServers", DEAD);
    keys.iter().fold(setup, |setup, (key, value)| setup.set(format!("gateway.fallback.{key}"), *value))
}

#[track_caller]
fn assert_fallback(answer: &Message, status: u16, cause: &str, body: &str) {
    let fields = ["X-Gateway-Reason", "X-Gateway-Fallback"].map(|name| answer.field(name));
    let expected = [cause, "true"].map(|value| Some(value.to_owned()));
    assert_eq!((answer.status, fields, answer.text().as_str()), (status, expected, body), "{answer:?}");
}

#[track_caller]
fn assert_counted(gateway: &TestGateway, event: &str, times: f64) {
    assert_eq!(gateway.metric("hystrix_execution_total", &format!("event=\"{event}\"")), times, "{event}");
}

/// A7: semaphore rejection, read timeout, broken connection; and the others that Hystrix has one for.
fn every_failure_of_the_service_has_the_fallback(container: Container) {
    let key = |rest: &str| format!("hystrix.command.up.{rest}");
    let rude = TestOrigin::scripted(|talk| drop(talk.read_request()));
    let rude_address = rude.address().to_string();
    let timeout = (key("execution.isolation.thread.timeoutInMilliseconds"), "50");
    let threads = ("zuul.ribbonIsolationStrategy".to_owned(), "THREAD");
    let servers = |addresses| ("up.ribbon.listOfServers".to_owned(), addresses);
    let cases: [(&str, &[(String, &str)]); 9] = [
        ("no_server", &[servers("")]),
        ("connect_failed", &[servers(DEAD)]),
        ("timeout", &[("ribbon.ReadTimeout".to_owned(), "50")]),
        ("timeout", std::slice::from_ref(&timeout)),
        ("timeout", &[timeout.clone(), threads.clone()]),
        ("upstream_aborted", &[servers(&rude_address)]),
        ("circuit_open", &[(key("circuitBreaker.forceOpen"), "true")]),
        ("semaphore_full", &[(key("execution.isolation.semaphore.maxConcurrentRequests"), "1")]),
        ("pool_full", &[threads.clone(), ("hystrix.threadpool.default.coreSize".to_owned(), "1")]),
    ];
    for (cause, keys) in cases {
        let (release, gate) = unbounded();
        let origin = TestOrigin::gated(gate);
        let setup = Setup::to_service(&origin).container(container);
        let setup = setup.set("gateway.fallback.up.status", "203").set("gateway.fallback.up.body", "sorry");
        let setup = setup.set("gateway.fallback.up.headers", "Cache-Control: no-store, X-Own: 1");
        let gateway = keys.iter().fold(setup, |setup, (key, value)| setup.set(key, *value)).start();
        let mut first = gateway.client();
        if cause.ends_with("_full") {
            first.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
            origin.wait_for_requests(1);
        }
        let answer = gateway.get("/");
        assert_fallback(&answer, 203, cause, "sorry");
        assert_eq!(answer.field("Content-Type").as_deref(), Some("text/plain;charset=UTF-8"));
        assert_eq!([answer.field("cache-control"), answer.field("X-Own")], ["no-store", "1"].map(|v| Some(v.into())));
        assert_counted(&gateway, "FALLBACK_SUCCESS", 1.0);
        if cause.ends_with("_full") {
            release.send(()).expect("the origin waits");
            assert_eq!(first.response().text(), "released", "who was admitted is served");
        }
        drop(first);
        gateway.assert_quiet();
        assert_eq!(gateway.metric("portcullis_requests_failed_total", cause), 1.0);
        let told = format!("reason={cause} fallback=true");
        wait::until("the log tells both", || gateway.process.stdout().iter().any(|line| line.contains(&told)));
    }
}

/// A7.
fn a_head_request_gets_the_length_and_no_body(container: Container) {
    let gateway = dead(container, &[("shop.body", "sorry")]).start();
    let mut client = gateway.client();
    let answer = client.request("HEAD", "/shop/1", "", b"");
    assert_fallback(&answer, 200, "connect_failed", "");
    assert_eq!(answer.field("Content-Length").as_deref(), Some("5"));
    assert_eq!(client.get("/shop/1").text(), "sorry", "the connection goes on");
    drop(client);
    gateway.assert_quiet();
}

fn a_clients_own_fault_has_none(container: Container) {
    let origin = TestOrigin::echoing();
    let setup = Setup::to_service(&origin).container(container).set("gateway.fallback.*.body", "sorry");
    let gateway = setup.set("gateway.client.max-body-size", "3").start();
    for body in ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"] {
        let mut client = gateway.client();
        client.send(format!("POST / HTTP/1.1\r\nHost: gw.test\r\n{body}"));
        let answer = client.response();
        assert_reason(&answer, 413, "body_too_large");
        assert_eq!(answer.field("X-Gateway-Fallback"), None);
    }
    gateway.assert_quiet();
    ["FALLBACK_SUCCESS", "FALLBACK_MISSING"].iter().for_each(|event| assert_counted(&gateway, event, 0.0));
}

/// `*` is for those that have none of their own, and `fallback.enabled: false` takes it away.
fn one_for_all_services_and_one_for_one(container: Container) {
    let setup = dead(container, &[("*.body", "all"), ("own.body", "own")]);
    let setup = ["own", "off"].iter().fold(setup, |setup, id| {
        let setup = setup.set(format!("zuul.routes.{id}.path"), format!("/{id}/**"));
        setup.set(format!("zuul.routes.{id}.serviceId"), *id).set(format!("{id}.ribbon.listOfServers"), DEAD)
    });
    let gateway = setup.set("hystrix.command.off.fallback.enabled", "false").start();
    assert_fallback(&gateway.get("/shop/1"), 200, "connect_failed", "all");
    assert_fallback(&gateway.get("/own/1"), 200, "connect_failed", "own");
    let without = gateway.get("/off/1");
    assert_reason(&without, 502, "connect_failed");
    assert_eq!(without.field("X-Gateway-Fallback"), None);
    assert_counted(&gateway, "FALLBACK_MISSING", 1.0);
    gateway.assert_quiet();
}

fn a_body_can_stand_in_a_file(container: Container) {
    let scratch = Scratch::new();
    let file = scratch.write("sorry.json", b"{\"sorry\":true}").display().to_string();
    let setup = dead(container, &[]).set("gateway.fallback.shop.headers", "Content-Type: application/json");
    let gateway = setup.set("gateway.fallback.shop.body-file", file).start();
    drop(scratch);
    let answer = gateway.get("/shop/1");
    assert_fallback(&answer, 200, "connect_failed", "{\"sorry\":true}");
    assert_eq!(answer.field("Content-Type").as_deref(), Some("application/json"));
}

/// With the method, the body that nobody has touched, the query, and the rules of the other route.
fn another_route_answers(container: Container) {
    let origin = TestOrigin::answering(|request| {
        let said = [&request.method[..], b" ", &request.target, b" ", &request.body].concat();
        answer("404 Not Here", "X-Other: 1\r\nSet-Cookie: a=1\r\n", said)
    });
    let fixed = [("shop.forward", "/other/sorry")];
    let gateway = dead(container, &fixed).service_route("other", "/other/**", &[&origin]).start();
    let mut client = gateway.client();
    let answer = client.request("POST", "/shop/1?a=%20b", "Cookie: c=1\r\nX-Mine: 1\r\n", b"hello");
    assert_fallback(&answer, 404, "connect_failed", "POST /sorry?a=%20b hello");
    assert_eq!((answer.field("X-Other").as_deref(), answer.field("Set-Cookie")), (Some("1"), None));
    let asked = origin.only_request();
    assert_eq!((asked.field("cookie"), asked.field("x-mine").as_deref()), (None, Some("1")));
    assert_eq!(asked.field("x-forwarded-prefix").as_deref(), Some("/other"));
    wait::until("the log tells who was asked last", || {
        gateway.process.stdout().iter().any(|line| {
            line.contains("route=shop backend=other") && line.contains("reason=connect_failed fallback=true")
        })
    });
    drop(client);
    gateway.assert_quiet();
    let rest = [("shop.forward", "forward:/other/v2/**")];
    let gateway = dead(container, &rest).service_route("other", "/other/**", &[&origin]).start();
    assert_fallback(&gateway.get("/shop/1/2?a"), 404, "connect_failed", "GET /v2/1/2?a ");
    let own = [("shop.forward", "/other/sorry?own")];
    let gateway = dead(container, &own).service_route("other", "/other/**", &[&origin]).start();
    assert_fallback(&gateway.get("/shop/1?a"), 404, "connect_failed", "GET /sorry?own ");
}

fn a_page_of_the_gateways_own_answers(container: Container) {
    let setup = dead(container, &[("shop.forward", "/own/health/liveness")]).set("zuul.routes.own.path", "/own/**");
    let gateway = setup.set("zuul.routes.own.url", "forward:/actuator").start();
    assert_fallback(&gateway.get("/shop/1"), 200, "connect_failed", "{\"status\":\"UP\"}");
    // Without a listener of its own, the actuator is below the routes.
    let setup = dead(container, &[("shop.forward", "/actuator/health/liveness")]).unset("management.server.port");
    let gateway = setup.unset("management.server.address").start();
    assert_fallback(&gateway.get("/shop/1"), 200, "connect_failed", "{\"status\":\"UP\"}");
    // What is not there is no answer, and not the client's fault either.
    let gateway = dead(container, &[("shop.forward", "/nowhere")]).start();
    assert_reason(&gateway.get("/shop/1"), 502, "connect_failed");
    assert_counted(&gateway, "FALLBACK_FAILURE", 1.0);
    gateway.assert_quiet();
}

/// Each is asked once, and the first failure is told.
fn forwards_lead_in_no_circle(container: Container) {
    let rude = TestOrigin::scripted(|talk| drop(talk.read_request()));
    let setup = Setup::new().container(container).service_route("a", "/a/**", &[&rude]);
    let setup = setup.set("zuul.routes.b.path", "/b/**").set("zuul.routes.b.serviceId", "b");
    let setup = setup.set("b.ribbon.listOfServers", DEAD).set("gateway.fallback.a.forward", "/b/1");
    let gateway = setup.set("gateway.fallback.b.forward", "/a/1").start();
    let answer = gateway.get("/a/0");
    assert_reason(&answer, 502, "upstream_aborted");
    assert_eq!(answer.field("X-Gateway-Fallback"), None);
    assert_eq!(rude.requests().len(), 1);
    assert_counted(&gateway, "FAILURE", 2.0);
    assert_counted(&gateway, "FALLBACK_FAILURE", 1.0);
    let told =
        ["route=a backend=a upstream=", "reason=upstream_aborted detail=", "its fallback failed too: connect_failed"];
    wait::until("the log tells both", || {
        gateway.process.stdout().iter().any(|line| told.iter().all(|part| line.contains(part)))
    });
    assert_reason(&gateway.get("/b/0"), 502, "connect_failed");
    assert_eq!(rude.requests().len(), 2);
    // To itself, too.
    let setup = Setup::to_service(&rude).container(container).set("gateway.fallback.up.forward", "/again");
    assert_reason(&setup.start().get("/"), 502, "upstream_aborted");
    assert_eq!(rude.requests().len(), 4);
    gateway.assert_quiet();
}

/// Nobody has kept what was sent; an answer of its own needs no body.
fn a_body_that_was_begun_is_not_forwarded(container: Container) {
    let rude = TestOrigin::scripted(|talk| drop(talk.read_request()));
    let other = TestOrigin::echoing();
    let setup = Setup::to_service(&rude).container(container);
    let forward = setup.clone().set("zuul.routes.up.path", "/up/**").service_route("other", "/other/**", &[&other]);
    let gateway = forward.set("gateway.fallback.up.forward", "/other/1").start();
    let answer = gateway.client().request("POST", "/up/1", "", b"hello");
    assert_reason(&answer, 502, "upstream_aborted");
    assert_eq!(other.requests().len(), 0);
    assert_counted(&gateway, "FALLBACK_FAILURE", 1.0);
    assert_fallback(&gateway.get("/up/1"), 200, "upstream_aborted", "GET /1");
    gateway.assert_quiet();
    let gateway = setup.set("gateway.fallback.up.body", "sorry").start();
    let mut client = gateway.client();
    assert_fallback(&client.request("POST", "/1", "", b"hello"), 200, "upstream_aborted", "sorry");
    assert_fallback(&client.request("POST", "/2", "", b"hello"), 200, "upstream_aborted", "sorry");
    drop(client);
    gateway.assert_quiet();
}

/// As in Hystrix, where it is `REJECTED_SEMAPHORE_FALLBACK`.
fn so_many_at_once_and_no_more(container: Container) {
    let (release, gate) = unbounded();
    let other = TestOrigin::gated(gate);
    let setup = dead(container, &[("shop.forward", "/other/1")]).service_route("other", "/other/**", &[&other]);
    let setup = setup.set("hystrix.command.default.fallback.isolation.semaphore.maxConcurrentRequests", "1");
    for compat in ["none", "zuul1"] {
        let setup = setup.clone().set("gateway.compat", compat).set("server.error.include-message", "always");
        let gateway = setup.start();
        assert_eq!(gateway.metric("portcullis_fallback_capacity", "shop"), 1.0);
        let before = other.requests().len();
        let mut first = gateway.client();
        first.send("GET /shop/1 HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        other.wait_for_requests(before + 1);
        assert_eq!(gateway.metric("portcullis_fallback_in_use", "shop"), 1.0);
        let refused = gateway.get("/shop/2");
        match compat {
            "none" => {
                assert_reason(&refused, 503, "fallback_rejected");
                assert!(refused.field("Retry-After").is_some());
            }
            _ => {
                let body: serde_json::Value = serde_json::from_slice(&refused.body).expect("JSON");
                assert_eq!((refused.status, &body["message"]), (500, &"REJECTED_SEMAPHORE_FALLBACK".into()));
            }
        }
        assert_eq!(refused.field("X-Gateway-Fallback"), None);
        assert_counted(&gateway, "FALLBACK_REJECTION", 1.0);
        release.send(()).expect("the origin waits");
        assert_fallback(&first.response(), 200, "connect_failed", "released");
        drop(first);
        gateway.assert_quiet();
        let told = "after connect_failed";
        wait::until("the log tells the cause", || gateway.process.stdout().iter().any(|line| line.contains(told)));
    }
    let none = setup.set("hystrix.command.shop.fallback.isolation.semaphore.maxConcurrentRequests", "0").start();
    assert_reason(&none.get("/shop/1"), 503, "fallback_rejected");
}

fn url_routes_have_only_their_own(container: Container) {
    let url = format!("http://{DEAD}");
    let setup = Setup::new().container(container).url_route("own", "/own/**", &url).url_route("none", "/none/**", &url);
    let setup = setup.set("gateway.fallback.*.body", "all").set("gateway.fallback.own.body", "own");
    let gateway = setup.clone().start();
    assert_fallback(&gateway.get("/own/1"), 200, "connect_failed", "own");
    assert_reason(&gateway.get("/none/1"), 502, "connect_failed");
    // Zuul has none for them.
    let gateway = setup.set("gateway.compat", "zuul1").start();
    assert_eq!(gateway.get("/own/1").status, 500);
    gateway.assert_quiet();
}
