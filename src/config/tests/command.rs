//! Circuit breaker, metrics and fallback: Hystrix's defaults and precedence, and answers that are made at the start.

use super::{config, errors, warnings};
use crate::config::model::{
    CircuitConfig, CommandConfig, FallbackAnswer, FallbackConfig, MetricsConfig, StaticAnswer, WindowConfig,
};
use http::StatusCode;
use std::time::Duration;

const BASE: &str = "zuul.routes.s: /s/**\nzuul.routes.u: {path: /u/**, url: 'http://h'}\ns.ribbon.listOfServers: h:1\n";

fn command(id: &str, yaml: &str) -> CommandConfig {
    config(&format!("{BASE}{yaml}")).backends[id].command.clone()
}

#[test]
fn defaults_are_hystrixs() {
    assert_eq!(command("s", ""), CommandConfig::default());
    let circuit = CircuitConfig { enabled: false, ..CircuitConfig::default() };
    assert_eq!(command("u", ""), CommandConfig { circuit, ..CommandConfig::default() }, "unless a key names it");
    let metrics = MetricsConfig::default();
    assert_eq!(metrics.counts.bucket(), Duration::from_secs(1));
    assert_eq!(metrics.latency.map(|window| window.bucket()), Some(Duration::from_secs(10)));
}

#[test]
fn own_keys_win_over_the_defaults() {
    let volume = |id, yaml: &str| command(id, yaml).circuit.request_volume_threshold;
    let default = "hystrix.command.default.circuitBreaker.requestVolumeThreshold: 5\n";
    let own = "hystrix.command.s.circuitBreaker.requestVolumeThreshold: 6\n";
    assert_eq!([volume("s", default), volume("s", own), volume("s", &format!("{default}{own}"))], [5, 6, 6]);
    let counts = |yaml: &str| command("s", yaml).metrics.counts;
    let window = "hystrix.command.default.metrics.rollingStats: {timeInMilliseconds: 2000, numBuckets: 4}\n";
    assert_eq!(counts(window), WindowConfig { time: Duration::from_secs(2), buckets: 4 });
    let own = format!("{window}hystrix.command.s.metrics.rollingStats.numBuckets: 2\n");
    assert_eq!(counts(&own), WindowConfig::of_seconds(2, 1));
}

#[test]
fn url_routes_have_a_circuit_where_a_key_names_them() {
    let enabled = |yaml: &str| command("u", yaml).circuit.enabled;
    assert!(!enabled("hystrix.command.default.circuitBreaker.forceClosed: false\n"));
    let own = "hystrix.command.u.circuitBreaker.errorThresholdPercentage: 60\n";
    assert!(enabled(own));
    assert!(!enabled(&format!("{own}hystrix.command.u.circuitBreaker.enabled: false\n")));
    assert!(!enabled(&format!("{own}gateway.compat: zuul1\n")), "Zuul has none for them");
}

#[test]
fn a_window_is_a_whole_number_of_buckets() {
    let faulty = |rest: &str| errors(&format!("{BASE}hystrix.command.default.metrics.{rest}\n"));
    let of = |rest: &str, total, each| {
        let place = "error: gateway.yaml:4: hystrix.command.default.metrics";
        vec![format!("{place}.{rest}: {total} ms are no whole number of milliseconds in each of {each} buckets")]
    };
    assert_eq!(faulty("rollingStats.numBuckets: 3"), of("rollingStats.numBuckets", 10_000, 3));
    assert_eq!(faulty("rollingPercentile.timeInMilliseconds: 5"), of("rollingPercentile.timeInMilliseconds", 5, 6));
    assert_eq!(faulty("rollingStats.timeInMilliseconds: 20"), Vec::<String>::new());
    let many = "rollingStats: {timeInMilliseconds: 3600000}, healthSnapshot: {intervalInMilliseconds: 1}";
    let told = errors(&format!("{BASE}hystrix.command.default.metrics: {{{many}}}\n"));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("healthSnapshot.intervalInMilliseconds: 3600000 snapshots in"), "{told:?}");
}

fn fallback(id: &str, yaml: &str) -> FallbackConfig {
    command(id, yaml).fallback
}

fn body(fallback: &FallbackConfig) -> Option<&[u8]> {
    match fallback.answer.as_deref()? {
        FallbackAnswer::Static(answer) => Some(&answer.body),
        FallbackAnswer::Forward(path) => Some(path.as_bytes()),
    }
}

#[test]
fn a_service_has_its_own_fallback_or_that_of_all() {
    let (all, own) = ("gateway.fallback.*.body: all\n", "gateway.fallback.s.body: own\n");
    assert_eq!(body(&fallback("s", "")), None);
    assert_eq!(body(&fallback("s", all)), Some(&b"all"[..]));
    assert_eq!(body(&fallback("s", &format!("{all}{own}"))), Some(&b"own"[..]));
    assert_eq!(body(&fallback("u", all)), None, "url routes have only their own");
    assert_eq!(body(&fallback("u", "gateway.fallback.u.forward: /x\n")), Some(&b"/x"[..]));
    assert_eq!(body(&fallback("u", "gateway.fallback.u.forward: /x\ngateway.compat: zuul1\n")), None);
    assert_eq!(body(&fallback("s", "gateway.fallback.s.forward: forward:/x/**\n")), Some(&b"/x/**"[..]));
    let off = format!("{own}hystrix.command.default.fallback.enabled: false\n");
    assert_eq!(body(&fallback("s", &off)), None);
    assert_eq!(body(&fallback("s", &format!("{off}hystrix.command.s.fallback.enabled: true\n"))), Some(&b"own"[..]));
    let permits = "hystrix.command.default.fallback.isolation.semaphore.maxConcurrentRequests: 3\n";
    assert_eq!([fallback("s", ""), fallback("s", permits)].map(|f| f.max_concurrent_requests), [10, 3]);
}

#[test]
fn an_answer_is_made_of_its_keys() {
    let answer = |yaml: &str| match fallback("s", yaml).answer.as_deref() {
        Some(FallbackAnswer::Static(answer)) => answer.clone(),
        other => panic!("{other:?}"),
    };
    let StaticAnswer { status, fields, body } = answer("gateway.fallback.s.body: sorry\n");
    assert_eq!((status, &body[..]), (StatusCode::OK, &b"sorry"[..]));
    assert_eq!(fields, [("content-type".parse().unwrap(), "text/plain;charset=UTF-8".parse().unwrap())]);
    let listed = "gateway.fallback.s: {status: 503, headers: ['Content-Type: a/b', 'X-List: 1, 2']}\n";
    let StaticAnswer { status, fields, body } = answer(listed);
    assert_eq!((status, body.len(), fields.len()), (StatusCode::SERVICE_UNAVAILABLE, 0, 2));
    assert_eq!(fields[1], ("x-list".parse().unwrap(), "1, 2".parse().unwrap()));
    assert_eq!(answer("gateway.fallback.s.status: 204\n").fields, []);
}

/// Each is told once, though several services have it.
#[test]
fn what_cannot_answer_is_told_at_the_start() {
    let faulty = |rest: &str| {
        let all = errors(&format!("{BASE}zuul.routes.t: /t/**\ngateway.fallback.*: {{{rest}}}\n"));
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].trim_start_matches("error: gateway.yaml:5: gateway.fallback.*.").to_owned()
    };
    let told = [
        ("forward: x", "forward: must be a path of this gateway, such as /static/sorry or /backup/**"),
        ("forward: /a b", "forward: must be a path of this gateway, such as /static/sorry or /backup/**"),
        ("forward: /x, body: y", "body: an answer is either forwarded or told here; leave forward or the others out"),
        ("status: 100", "status: must be at least 200"),
        ("headers: X-A", "headers: \"X-A\": each is written as Name: value; with commas in a value, write a list"),
        (
            "headers: 'Content-Length: 1'",
            "headers: \"Content-Length: 1\": the gateway frames answers and dates them itself",
        ),
    ];
    for (rest, message) in told {
        assert_eq!(faulty(rest), message);
    }
    assert!(faulty("body-file: no-such-file").starts_with("body-file: no-such-file can't be read: "));
    let both = "body-file: a body is told here or read from a file; leave one of them out";
    assert_eq!(faulty("body: y, body-file: /dev/null"), both);
}

#[test]
fn a_fallback_for_nobody_is_told() {
    let told = warnings(&format!("{BASE}gateway.fallback.t.body: x\ngateway.fallback.default.body: x\n"));
    let nobody = "no route leads to a service or url route of this id";
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains(&format!("gateway.fallback.t.body: t: {nobody}")), "{told:?}");
    assert!(told[1].contains(&format!("gateway.fallback.default.body: default: {nobody}")), "{told:?}");
    assert_eq!(warnings(&format!("{BASE}gateway.fallback.*.body: x\n")), Vec::<String>::new());
}
