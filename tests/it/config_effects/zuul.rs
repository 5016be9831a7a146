//! `zuul.*`: what is left of routes, pools and debugging.

use crate::support::gateway::{Setup, TestGateway, assert_reason};
use crate::support::origin::{TestOrigin, answer, ok};
use crate::support::socket::DEAD;
use crossbeam_channel::unbounded;

/// In short, by a location, and under another id than the key's: each leads where its long form would.
#[test]
fn routes_are_written_in_several_ways() {
    let origin = TestOrigin::echoing();
    let servers = origin.address().to_string();
    let setup = Setup::new().set("zuul.routes.users", "/u/**").set("users.ribbon.listOfServers", &servers);
    let setup = setup.set("zuul.routes.shop", format!("/s/**={}", origin.url()));
    let setup = setup.set("zuul.routes.old.location", origin.url()).set("zuul.routes.old.id", "renamed");
    let gateway = setup.set("zuul.routes.plain.location", "users").start();
    for (target, seen, backend) in [
        ("/u/1", "GET /1", "users"),
        ("/s/2", "GET /2", "shop"),
        ("/old/3", "GET /3", "renamed"),
        ("/plain/4", "GET /4", "users"),
    ] {
        assert_eq!(gateway.get(target).text(), seen);
        let line = crate::support::wait::until_some("the access log has its line", || {
            gateway.process.stdout().into_iter().find(|line| line.contains(&format!(" {target} ")))
        });
        assert!(line.contains(&format!(" backend={backend} ")), "{line}");
    }
}

/// Matching on the decoded path, or on the path as it came; forwarding is octet for octet either way.
#[test]
fn decode_url_is_for_matching() {
    let origin = TestOrigin::echoing();
    let setup = Setup::new().url_route("svc", "/svc/**", &origin.url()).set("zuul.routes.svc.stripPrefix", "false");
    let decoding = setup.clone().start();
    assert_eq!(decoding.get("/%73vc/a%20b").text(), "GET /%73vc/a%20b");
    let raw = setup.set("zuul.decodeUrl", "false").start();
    assert_reason(&raw.get("/%73vc/a%20b"), 404, "no_route");
    assert_eq!(raw.get("/svc/a%20b").text(), "GET /svc/a%20b");
}

#[test]
fn semicolon_content_is_removed_for_matching_only() {
    let origin = TestOrigin::echoing();
    let setup = Setup::new().url_route("svc", "/svc/**", &origin.url()).set("zuul.routes.svc.stripPrefix", "false");
    let removing = setup.clone().start();
    assert_eq!(removing.get("/svc;v=1/a;w=2").text(), "GET /svc;v=1/a;w=2");
    let keeping = setup.set("zuul.removeSemicolonContent", "false").start();
    assert_reason(&keeping.get("/svc;v=1/a"), 404, "no_route");
}

/// Without the flag all services share ten threads; with it each has its own pool, named with the prefix.
#[test]
fn thread_pools_can_be_separate() {
    let (release, gate) = unbounded();
    let slow = TestOrigin::gated(gate);
    let fast = TestOrigin::echoing();
    let setup = Setup::new().service_route("slow", "/slow/**", &[&slow]).service_route("fast", "/fast/**", &[&fast]);
    let setup = setup.set("zuul.ribbonIsolationStrategy", "THREAD");
    let occupied = |setup: Setup| -> (TestGateway, crate::support::client::RawClient) {
        let gateway = setup.start();
        let before = slow.requests().len();
        let mut busy = gateway.client();
        busy.send("GET /slow/1 HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        slow.wait_for_requests(before + 1);
        (gateway, busy)
    };
    let (shared, mut busy) = occupied(setup.clone().set("hystrix.threadpool.RibbonCommand.coreSize", "1"));
    assert_reason(&shared.get("/fast/1"), 503, "pool_full");
    release.send(()).expect("the origin waits");
    assert_eq!(busy.response().text(), "released");
    let separate = setup.set("zuul.threadPool.useSeparateThreadPools", "true");
    let separate =
        separate.set("zuul.threadPool.threadPoolKeyPrefix", "gw-").set("hystrix.threadpool.gw-slow.coreSize", "1");
    let (separate, mut busy) = occupied(separate);
    assert_reason(&separate.get("/slow/2"), 503, "pool_full");
    assert_eq!(separate.get("/fast/1").status, 200);
    release.send(()).expect("the origin waits");
    assert_eq!(busy.response().text(), "released");
    drop(busy);
    separate.assert_quiet();
}

/// The steps of the request at hand, of a failed one too; of no other request, not even on the same connection and worker.
#[test]
fn debug_headers_are_sent_when_asked_for() {
    const HEADER: &str = "X-Zuul-Debug-Header";
    let origin = TestOrigin::answering(|_| answer("404 Not Found", "", b""));
    let url = format!("http://{DEAD}");
    let setup = Setup::to(&origin).url_route("dead", "/dead/**", &url).set("zuul.includeDebugHeader", "true");
    let setup = setup.set("server.tomcat.max-threads", "1");
    let by_parameter = setup.clone().set("zuul.debug.parameter", "trace").start();
    let mut client = by_parameter.client();
    assert_eq!(client.get("/?debug=true").field(HEADER), None);
    let steps = client.get("/x?trace=true").field(HEADER).expect("the field");
    let (server, url) = (origin.address(), origin.url());
    assert!(steps.starts_with("[[[queue: ") && steps.ends_with("ms]]]"), "{steps}");
    for step in [
        format!("[[[plan: /** -> {url}/**, GET /x?trace=true]]]"),
        "[[[admission: up, started after 0.000ms]]]".into(),
        format!("[[[server: {server}, attempts 1, connect "),
        "[[[answer: 404 after ".into(),
    ] {
        assert!(steps.contains(&step), "{step} is not in {steps}");
    }
    let failed = client.get("/dead/1?trace=true");
    assert_reason(&failed, 502, "connect_failed");
    assert!(failed.field(HEADER).is_some_and(|steps| steps.ends_with("[[[failure: connect_failed]]]")));
    assert_eq!(client.get("/").field(HEADER), None);
    assert_eq!(client.get("/dead/1").field(HEADER), None);
    let always = setup.set("zuul.debug.request", "true").start();
    assert!(always.get("/").field(HEADER).is_some());
    let silent = Setup::to(&origin).set("zuul.debug.request", "true").start();
    assert_eq!(silent.get("/").field(HEADER), None);
}

/// A connection older than that is not used again.
#[test]
fn time_to_live_ends_pooled_connections() {
    let origin = TestOrigin::echoing();
    let setup = Setup::to(&origin).set("server.tomcat.max-threads", "1").set("zuul.host.timeToLive", "100");
    let gateway = setup.set("zuul.host.timeUnit", "MILLISECONDS").start();
    let mut client = gateway.client();
    crate::support::wait::until("the old connection was replaced", || {
        assert_eq!(client.get("/").status, 200);
        origin.connections() > 1
    });
    drop(client);
    gateway.assert_quiet();
}

/// The cap is over all url routes together.
#[test]
fn the_total_of_upstream_connections_is_shared_by_url_routes() {
    let (release, gate) = unbounded();
    let (one, other) = (TestOrigin::gated(gate), TestOrigin::answering(|_| ok(b"other")));
    let setup = Setup::new().url_route("one", "/one/**", &one.url()).url_route("other", "/other/**", &other.url());
    let setup = setup.set("zuul.host.maxTotalConnections", "1").set("zuul.host.connectionRequestTimeoutMillis", "100");
    let gateway = setup.start();
    let mut busy = gateway.client();
    busy.send("GET /one/1 HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    one.wait_for_requests(1);
    assert_reason(&gateway.get("/other/1"), 503, "upstream_pool_timeout");
    release.send(()).expect("the origin waits");
    assert_eq!(busy.response().text(), "released");
    drop(busy);
    gateway.assert_quiet();
}

/// CFG-07, CFG-06: a faulty configuration does not start, names file, line and key, and leaves nothing running.
#[test]
fn faults_are_told_all_at_once() {
    let yaml = "zuul:\n  routes:\n    a: {servceId: x}\n  semaphore:\n    max-semaphores: many\n  prefixx: /a\n";
    let finished = Setup::new().file("faulty.yml", yaml).run_to_end(&["check"]);
    assert_eq!(finished.status.code(), Some(1));
    let said = [finished.stdout, finished.stderr].concat();
    for part in ["faulty.yml:3", "servceId", "faulty.yml:5", "max-semaphores", "faulty.yml:6", "prefixx"] {
        assert!(said.contains(part), "{part} is not named in:\n{said}");
    }
}

/// A route that is never tried is pointed out (CFG-01).
#[test]
fn check_warns_of_routes_in_the_shadow_of_others() {
    let setup = Setup::new().url_route("wide", "/api/**", "http://127.0.0.1:9").url_route(
        "narrow",
        "/api/x/**",
        "http://127.0.0.1:9",
    );
    let finished = setup.run_to_end(&["check"]);
    let said = [finished.stdout, finished.stderr].concat();
    assert!(said.contains("zuul.routes.narrow: never reached"), "{said}");
}

/// Keys whose damage does not exist here are accepted, and named once.
#[test]
fn inert_keys_are_named_once() {
    let keys = ["forceOriginalQueryStringEncoding", "setContentLength", "initialStreamBufferSize", "traceRequestBody"];
    let setup = keys.iter().fold(Setup::new(), |setup, key| setup.set(format!("zuul.{key}"), "1"));
    let finished = setup.run_to_end(&["check"]);
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    let said = [finished.stdout, finished.stderr].concat().to_lowercase().replace('-', "");
    for key in keys {
        assert_eq!(said.matches(&format!("zuul.{}", key.to_lowercase())).count(), 1, "{key} in:\n{said}");
    }
}
