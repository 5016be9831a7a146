//! The actuator: what it shows, where, to whom, and that its counts can be reconciled with a client's to the request.

use crate::support::gateway::{Setup, TestGateway};
use crate::support::origin::TestOrigin;
use crossbeam_channel::unbounded;
use portcullis::reason::Reason;
use serde_json::{Value, json};

#[track_caller]
fn page(gateway: &TestGateway, target: &str) -> Value {
    let answer = gateway.manage(target);
    assert_eq!(answer.status, 200, "{target}: {}", answer.text());
    let kind = answer.field("Content-Type").expect("a content type");
    assert!(kind.contains("json"), "{target}: {kind}");
    serde_json::from_slice(&answer.body).expect("JSON")
}

#[test]
fn health_and_info_are_exposed_and_nothing_else() {
    let origin = TestOrigin::echoing();
    let setup = Setup::to(&origin).unset("management.endpoints.web.exposure.include").set("info.app.name", "shop");
    let gateway = setup.start();
    assert_eq!(page(&gateway, "/actuator/health"), json!({"status": "UP"}));
    assert_eq!(page(&gateway, "/actuator/info"), json!({"app": {"name": "shop"}}));
    for hidden in ["routes", "metrics", "prometheus"] {
        assert_eq!(gateway.manage(&format!("/actuator/{hidden}")).status, 404, "{hidden}");
    }
    let links = page(&gateway, "/actuator");
    assert!(links["_links"]["health"].is_object() && links["_links"]["routes"].is_null(), "{links}");
}

#[test]
fn exclusion_wins_over_inclusion() {
    let gateway = Setup::new().set("management.endpoints.web.exposure.exclude", "metrics,info").start();
    for (endpoint, status) in [("metrics", 404), ("info", 404), ("routes", 200), ("health", 200)] {
        assert_eq!(gateway.manage(&format!("/actuator/{endpoint}")).status, status, "{endpoint}");
    }
}

#[test]
fn an_endpoint_can_be_switched_off_alone() {
    let gateway = Setup::new().set("management.endpoint.metrics.enabled", "false").start();
    for (endpoint, status) in [("metrics", 404), ("metrics/process.threads", 404), ("prometheus", 200), ("health", 200)]
    {
        assert_eq!(gateway.manage(&format!("/actuator/{endpoint}")).status, status, "{endpoint}");
    }
}

#[test]
fn the_base_path_moves_everything() {
    let gateway = Setup::new().set("management.endpoints.web.base-path", "/manage").start();
    assert_eq!(gateway.manage("/manage/health").status, 200);
    assert_eq!(gateway.manage("/actuator/health").status, 404);
}

/// Backends are named with their servers; that nobody probes them is no fault of the gateway, nor is a service without servers.
#[test]
fn health_shows_details_when_told_to() {
    let origin = TestOrigin::echoing();
    let setup = Setup::new().service_route("users", "/users/**", &[&origin]).set("empty.ribbon.listOfServers", "");
    let setup = setup.set("zuul.routes.empty.path", "/empty/**").set("zuul.routes.empty.serviceId", "empty");
    let gateway = setup.set("management.endpoint.health.show-details", "always").start();
    let health = page(&gateway, "/actuator/health");
    assert_eq!((&health["status"], &health["groups"]), (&json!("UP"), &json!(["liveness", "readiness"])));
    let details = json!({"users": {"servers": [origin.address().to_string()]}, "empty": {"servers": []}});
    assert_eq!(health["components"]["backends"], json!({"status": "UNKNOWN", "details": details}));
    assert_eq!(health["components"]["readinessState"], json!({"status": "UP"}));
    assert_eq!(page(&gateway, "/actuator/health/backends")["status"], "UNKNOWN");
}

#[test]
fn routes_are_shown_as_zuul_shows_them() {
    let origin = TestOrigin::echoing();
    let setup = Setup::new().set("zuul.prefix", "/api").url_route("shop", "/shop/**", &origin.url());
    let setup = setup.service_route("users", "/users/**", &[&origin]).set("zuul.routes.users.stripPrefix", "false");
    let gateway = setup.set("zuul.routes.users.retryable", "true").start();
    assert_eq!(page(&gateway, "/actuator/routes"), json!({"/api/shop/**": origin.url(), "/api/users/**": "users"}));
    let details = page(&gateway, "/actuator/routes/details");
    let users = &details["/api/users/**"];
    assert_eq!(
        (&users["id"], &users["fullPath"], &users["location"]),
        (&json!("users"), &json!("/api/users/**"), &json!("users"))
    );
    assert_eq!((&users["retryable"], &users["prefixStripped"]), (&json!(true), &json!(false)));
}

/// Zuul's types and members, with the gateway's own steps.
#[test]
fn filters_are_the_steps_of_a_request() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).set("gateway.rate-limit.routes.up.requests", "9").start();
    let filters = page(&gateway, "/actuator/filters");
    let kinds: Vec<_> = filters.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(kinds, ["error", "post", "pre", "route"]);
    let classes: Vec<_> = filters["pre"].as_array().expect("a list").iter().map(|step| &step["class"]).collect();
    assert_eq!(classes, ["portcullis::router", "portcullis::exchange::plan", "portcullis::rate_limit"]);
    assert_eq!(filters["pre"][2]["disabled"], false);
    let names: Vec<_> = filters["post"][0].as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(names, ["class", "order", "disabled", "static"]);
}

/// Without a port of its own: below the routes, as in Spring.
#[test]
fn without_a_port_of_its_own_the_actuator_stands_below_the_routes() {
    let origin = TestOrigin::echoing();
    let setup = Setup::new().unset("management.server.port").url_route("shop", "/shop/**", &origin.url());
    let gateway = setup.start();
    let mut client = gateway.client();
    assert_eq!(client.get("/actuator/health").status, 200);
    assert_eq!(client.get("/shop/1").status, 200);
    assert_eq!(client.get("/actuator/health").status, 200, "and the connection stays in step");
    let covered = Setup::to(&origin).unset("management.server.port").start();
    assert_eq!(covered.get("/actuator/health").text(), "GET /actuator/health");
}

/// With every worker and permit taken, management answers.
#[test]
fn traffic_does_not_starve_management() {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    let gateway = Setup::to(&origin).set("server.tomcat.max-threads", "2").start();
    let mut busy: Vec<_> = (0..6).map(|_| gateway.client()).collect();
    for client in &mut busy {
        client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    }
    origin.wait_for_requests(2);
    assert_eq!(gateway.manage("/actuator/health").status, 200);
    busy.iter().for_each(|_| release.send(()).expect("the origin waits"));
    for client in &mut busy {
        assert_eq!(client.response().text(), "released");
    }
    drop(busy);
    gateway.assert_quiet();
}

#[test]
fn metrics_are_listed_and_told_one_by_one() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).start();
    assert_eq!(gateway.get("/").status, 200);
    let names = page(&gateway, "/actuator/metrics");
    let names: Vec<&str> = names["names"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    assert!(names.is_sorted() && names.len() > 10, "{names:?}");
    for name in names {
        let metric = page(&gateway, &format!("/actuator/metrics/{name}"));
        assert_eq!(metric["name"], json!(name));
        assert!(metric["measurements"].as_array().is_some_and(|list| !list.is_empty()), "{metric}");
    }
    assert_eq!(gateway.manage("/actuator/metrics/no.such.metric").status, 404);
    assert_eq!(gateway.manage("/actuator/metrics/portcullis.semaphore.in.use?tag=nonsense").status, 400);
}

/// OPS-04: a load generator's counts and the gateway's are the same to the request.
#[test]
fn counts_can_be_reconciled_to_the_request() {
    let origin = TestOrigin::echoing();
    let gateway =
        Setup::new().url_route("shop", "/shop/**", &origin.url()).set("server.tomcat.max-threads", "1").start();
    let mut client = gateway.client();
    for _ in 0..7 {
        assert_eq!(client.get("/shop/1").status, 200);
    }
    for _ in 0..3 {
        assert_eq!(client.get("/nowhere").status, 404);
    }
    client.send("BAD\r\n\r\n");
    assert_eq!(client.response().status, 400);
    drop(client);
    gateway.assert_quiet();
    let count = |name: &str, label: &str| gateway.metric(name, label);
    assert_eq!(count("portcullis_responses_total", "status=\"200\""), 7.0);
    assert_eq!(count("portcullis_responses_total", "status=\"404\""), 3.0);
    assert_eq!(count("portcullis_responses_total", "status=\"400\""), 1.0);
    assert_eq!(count("portcullis_upstream_attempts_total", ""), 7.0);
    assert_eq!(count("portcullis_upstream_connections_opened_total", ""), 1.0);
    assert_eq!(count("portcullis_requests_failed_total", "no_route"), 3.0);
    assert_eq!(count("portcullis_requests_failed_total", "bad_request"), 1.0);
}

/// Alerts need something to compare with before the first failure.
#[test]
fn counters_by_reason_stand_at_zero_from_the_start() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).start();
    let metrics = gateway.metrics();
    let at_zero = |name: &str, reason: &str| {
        let reason = format!("reason=\"{reason}\"");
        let found: Vec<_> = metrics.iter().filter(|(key, _)| key.starts_with(name) && key.contains(&reason)).collect();
        assert!(!found.is_empty() && found.iter().all(|(_, value)| **value == 0.0), "{name} {reason}: {found:?}");
    };
    for reason in Reason::ALL {
        at_zero("portcullis_requests_failed_total", reason.name());
    }
    for reason in ["queue_full", "queue_timeout", "head_timeout", "draining"] {
        at_zero("portcullis_connections_refused_total{server=\"gateway\"", reason);
    }
    for reason in ["connect_failed", "timeout", "upstream_aborted", "upstream_pool_timeout"] {
        at_zero("portcullis_upstream_failures_total", reason);
    }
    let requests: Vec<_> =
        metrics.keys().filter(|key| key.split('{').next() == Some("portcullis_requests_total")).collect();
    assert_eq!(requests.len(), 1, "a sum over it counts each request once");
}

#[test]
fn prometheus_text_is_well_formed() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).start();
    assert_eq!(gateway.get("/").status, 200);
    let answer = gateway.manage("/actuator/prometheus");
    assert!(answer.field("Content-Type").is_some_and(|kind| kind.starts_with("text/plain")));
    let text = answer.text();
    assert!(text.ends_with('\n'));
    let mut kinds = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("# TYPE ") {
            Some(kind) => kinds.push(kind.split(' ').next().expect("a name").to_owned()),
            None if line.starts_with('#') => assert!(line.starts_with("# HELP "), "{line}"),
            None => {
                let (name, value) = line.rsplit_once(' ').expect("a name and a value");
                assert!(value.parse::<f64>().is_ok(), "{line}");
                assert!(kinds.iter().any(|kind| name.starts_with(kind.as_str())), "{line} has no type");
            }
        }
    }
    let mut distinct = kinds.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), kinds.len(), "each name has its type once");
}

/// Other methods than GET and HEAD do nothing.
#[test]
fn pages_are_only_read() {
    let gateway = Setup::new().start();
    let mut client = crate::support::client::RawClient::connect(gateway.management());
    let head = client.request("HEAD", "/actuator/health", "", b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(client.request("DELETE", "/actuator/health", "", b"").status, 405);
    client.send("nonsense\r\n\r\n");
    assert_eq!(client.response().status, 400);
    client.read_to_end();
    assert_eq!(gateway.manage("/actuator/health").status, 200);
}
