//! Rate limits: a limit of one refuses the second by name and with the fields that tell why, before it takes anything.
//!
//! Windows are so long that no test sees one end; that tokens come back is shown with a clock of its own, in `src/rate_limit`.

use crate::support::gateway::{Container, Setup, TestGateway, assert_reason, for_both_containers};
use crate::support::message::Message;
use crate::support::origin::{TestOrigin, answer};

for_both_containers!(the_second_of_one_is_refused, each_key_has_its_own_rate, strangers_share_a_bucket);

/// One request an hour along the route `up`.
fn hourly(origin: &TestOrigin, container: Container) -> Setup {
    let setup = Setup::to(origin).container(container).set("gateway.rate-limit.routes.up.requests", "1");
    setup.set("gateway.rate-limit.routes.up.per", "1h")
}

#[track_caller]
fn with_key(gateway: &TestGateway, key: &str) -> Message {
    gateway.client().request("GET", "/", &format!("X-Api-Key: {key}\r\n"), b"")
}

#[track_caller]
fn assert_limited(answer: &Message) {
    assert_reason(answer, 429, "rate_limited");
    assert_eq!(answer.field("RateLimit-Policy").as_deref(), Some("\"up\";q=1;w=3600"));
    let retry_after = answer.field("Retry-After").expect("a time");
    assert_eq!(answer.field("RateLimit"), Some(format!("\"up\";r=0;t={retry_after}")));
    assert!((3000..=3600).contains(&retry_after.parse().expect("seconds")), "{retry_after}");
}

fn the_second_of_one_is_refused(container: Container) {
    let origin = TestOrigin::echoing();
    // No permit is to be had for what is refused: the only one would be in use.
    let gateway = hourly(&origin, container).set("zuul.semaphore.maxSemaphores", "1").start();
    let first = gateway.get("/");
    assert_eq!((first.status, first.field("RateLimit").as_deref()), (200, Some("\"up\";r=0;t=3600")));
    assert_eq!(first.field("RateLimit-Policy").as_deref(), Some("\"up\";q=1;w=3600"));
    for _ in 0..3 {
        assert_limited(&gateway.get("/"));
    }
    assert_eq!(origin.requests().len(), 1);
    assert_eq!(gateway.metric("portcullis_rate_limit_refused_total", "up"), 3.0);
    assert_eq!(gateway.metric("portcullis_semaphore_refused_total", "up"), 0.0);
    gateway.assert_quiet();
}

fn each_key_has_its_own_rate(container: Container) {
    let origin = TestOrigin::echoing();
    let gateway = hourly(&origin, container).set("gateway.rate-limit.routes.up.key", "header:X-Api-Key").start();
    for key in ["a", "b"] {
        assert_eq!(with_key(&gateway, key).status, 200);
        assert_limited(&with_key(&gateway, key));
    }
    assert_eq!(gateway.metric("portcullis_rate_limit_keys", "up"), 2.0);
    let gateway = hourly(&origin, container).set("gateway.rate-limit.routes.up.key", "address").start();
    assert_eq!(with_key(&gateway, "a").status, 200);
    assert_limited(&with_key(&gateway, "b"));
}

/// Behind a balancer that is named, by whom it speaks for; who is not named speaks for nobody.
#[test]
fn a_trusted_proxy_tells_clients_apart() {
    let origin = TestOrigin::echoing();
    for (trusted, expected) in [("127.0.0.1", [200, 200, 429]), ("192.0.2.0/24", [200, 429, 429])] {
        let setup = hourly(&origin, Container::Native).set("gateway.rate-limit.routes.up.key", "address");
        let gateway = setup.set("gateway.trusted-proxies", trusted).start();
        let asked = ["198.51.100.1", "198.51.100.2", "198.51.100.1"].map(|address| {
            let field = format!("X-Forwarded-For: 203.0.113.9, {address}\r\n");
            gateway.client().request("GET", "/", &field, b"").status
        });
        assert_eq!(asked, expected, "{trusted}");
    }
}

/// With room for one client, those after it are all limited together, and it keeps its own bucket.
fn strangers_share_a_bucket(container: Container) {
    let origin = TestOrigin::echoing();
    let setup = hourly(&origin, container).set("gateway.rate-limit.routes.up.key", "header:X-Api-Key");
    let gateway = setup.set("gateway.rate-limit.max-keys", "1").start();
    let statuses: Vec<_> = ["a", "b", "c", "a"].iter().map(|key| with_key(&gateway, key).status).collect();
    assert_eq!(statuses, [200, 200, 429, 429]);
    assert_eq!(gateway.metric("portcullis_rate_limit_keys", "up"), 1.0);
    assert_eq!(gateway.metric("portcullis_rate_limit_overflowed_total", "up"), 2.0);
}

#[test]
fn the_burst_may_be_larger_and_others_are_not_limited() {
    let origin = TestOrigin::echoing();
    let setup = hourly(&origin, Container::Native).set("gateway.rate-limit.routes.up.burst", "3");
    let gateway = setup.set("zuul.routes.up.path", "/up/**").url_route("free", "/free/**", &origin.url()).start();
    let left: Vec<_> = (0..4).map(|_| gateway.get("/up/").field("RateLimit").expect("a rate")).collect();
    for (told, expected) in left.iter().zip(["r=2", "r=1", "r=0", "r=0"]) {
        assert!(told.contains(expected), "{left:?}");
    }
    for _ in 0..4 {
        let free = gateway.get("/free/");
        assert_eq!((free.status, free.field("RateLimit"), free.field("RateLimit-Policy")), (200, None, None));
    }
}

/// `*` is for each route without a limit of its own; a page of the gateway's own, reached by a route, is limited too.
#[test]
fn a_star_stands_for_all_other_routes() {
    let origin = TestOrigin::echoing();
    let setup = Setup::new().url_route("a", "/a/**", &origin.url()).url_route("b", "/b/**", &origin.url());
    let setup = setup.set("zuul.routes.own.path", "/own/**").set("zuul.routes.own.url", "forward:/actuator");
    let setup = setup.set("gateway.rate-limit.routes.a.requests", "2").set("gateway.rate-limit.routes.a.per", "1h");
    let gateway =
        setup.set("gateway.rate-limit.routes.*.requests", "1").set("gateway.rate-limit.routes.*.per", "1h").start();
    for (target, allowed) in [("/a/", 2), ("/b/", 1), ("/own/health", 1)] {
        for _ in 0..allowed {
            let answer = gateway.get(target);
            assert_eq!((answer.status, answer.field("RateLimit").is_some()), (200, true), "{target}");
        }
        assert_reason(&gateway.get(target), 429, "rate_limited");
    }
}

/// The upstream's own fields stay: ours stand beside them.
#[test]
fn the_fields_of_the_upstream_are_passed_on() {
    let origin = TestOrigin::answering(|_| answer("200 OK", "RateLimit: \"theirs\";r=9\r\n", ""));
    let answer = hourly(&origin, Container::Native).start().get("/");
    let expected: [&[u8]; 2] = [b"\"theirs\";r=9", b"\"up\";r=0;t=3600"];
    assert_eq!(answer.values("RateLimit"), expected);
}

/// That somebody asks too often is no failure of the service: neither has it a fallback, nor does its circuit hear of it. A forward of a
/// fallback is the gateway's own doing and takes no token of the route that it leads to.
#[test]
fn neither_fallback_nor_circuit_hears_of_a_rate() {
    let origin = TestOrigin::echoing();
    let setup =
        Setup::new().service_route("main", "/main/**", &[&origin]).service_route("other", "/other/**", &[&origin]);
    let setup =
        setup.set("gateway.fallback.main.forward", "/other/sorry").set("main.ribbon.listOfServers", "127.0.0.1:1");
    let setup = setup.set("hystrix.command.main.circuitBreaker.enabled", "false");
    let setup = ["main", "other"].iter().fold(setup, |setup, route| {
        let key = |rest: &str| format!("gateway.rate-limit.routes.{route}.{rest}");
        setup.set(key("requests"), if *route == "main" { "3" } else { "1" }).set(key("per"), "1h")
    });
    let gateway = setup.start();
    for left in [2, 1, 0] {
        let answer = gateway.get("/main/x");
        assert_eq!(answer.text(), "GET /sorry");
        let rate = answer.field("RateLimit").expect("the rate of the route that was asked for");
        assert!(rate.starts_with(&format!("\"main\";r={left};")), "{rate}");
    }
    assert_reason(&gateway.get("/main/x"), 429, "rate_limited");
    assert_eq!(gateway.get("/other/x").status, 200, "its token is still there");
    assert_reason(&gateway.get("/other/x"), 429, "rate_limited");
    assert_eq!(gateway.metric("hystrix_execution_total", "backend=\"main\",event=\"FALLBACK_SUCCESS\""), 3.0);
    assert_eq!(gateway.metric("hystrix_execution_total", "backend=\"main\",event=\"FAILURE\""), 3.0);
    assert_eq!(gateway.metric("hystrix_execution_total", "backend=\"main\",event=\"BAD_REQUEST\""), 0.0);
    gateway.assert_quiet();
}
