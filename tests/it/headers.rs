//! Fields on their way, in both directions: which pass, which are dropped, which are the gateway's own.

use crate::support::gateway::{Container, Setup, for_both_containers};
use crate::support::message::Message;
use crate::support::origin::{TestOrigin, answer, ok};

for_both_containers!(
    sensitive_fields_stay_here_by_default,
    absent_empty_and_given_lists_of_sensitive_fields_differ,
    ignored_fields_are_dropped_both_ways,
    hop_by_hop_fields_go_no_further,
    persistence_of_the_two_hops_is_independent,
    forwarded_fields_tell_the_way,
    forwarded_fields_join_what_the_client_sent,
    proxy_fields_can_be_left_out,
    the_upstream_sees_its_own_host_unless_told_otherwise,
    repeated_fields_stay_apart_and_in_order,
    via_names_the_gateway_both_ways,
    upgrade_is_never_passed_on,
    no_cookie_is_kept_for_the_next_client,
    response_framing_is_made_anew,
);

/// Sends one request with these field lines and returns what the upstream saw.
#[track_caller]
fn seen_upstream(setup: impl FnOnce(Setup) -> Setup, fields: &str) -> Message {
    let origin = TestOrigin::echoing();
    let gateway = setup(Setup::to(&origin)).start();
    let mut client = gateway.client();
    assert_eq!(client.request("GET", "/", fields, b"").status, 200);
    drop(client);
    gateway.assert_quiet();
    origin.only_request()
}

/// Lets the upstream answer with these field lines and returns what the client saw.
#[track_caller]
fn seen_by_client(setup: impl FnOnce(Setup) -> Setup, fields: &'static str) -> Message {
    let origin = TestOrigin::answering(move |_| answer("200 OK", fields, b"ok"));
    setup(Setup::to(&origin)).start().get("/")
}

const SENSITIVE: &str = "Cookie: a=1\r\nAuthorization: Basic eDp5\r\nX-Own: 1\r\n";

/// HDR-01: Zuul's default, kept.
fn sensitive_fields_stay_here_by_default(container: Container) {
    let seen = seen_upstream(|setup| setup.container(container), SENSITIVE);
    assert_eq!((seen.field("Cookie"), seen.field("Authorization")), (None, None));
    assert_eq!(seen.field("X-Own").as_deref(), Some("1"));
    let answer = seen_by_client(|setup| setup.container(container), "Set-Cookie: a=1\r\nX-Own: 1\r\n");
    assert_eq!((answer.field("Set-Cookie"), answer.field("X-Own").as_deref()), (None, Some("1")));
}

/// CFG-10: for the global list and for a route's own.
fn absent_empty_and_given_lists_of_sensitive_fields_differ(container: Container) {
    #[track_caller]
    fn check(container: Container, keys: &[(&str, &str)], cookie: bool, authorization: bool) {
        let set =
            |setup: Setup| keys.iter().fold(setup.container(container), |setup, (key, value)| setup.set(*key, *value));
        let seen = seen_upstream(set, SENSITIVE);
        let passed = (seen.field("Cookie").is_some(), seen.field("Authorization").is_some());
        assert_eq!(passed, (cookie, authorization), "{keys:?}");
    }
    let (global, own) = ("zuul.sensitiveHeaders", "zuul.routes.up.sensitiveHeaders");
    check(container, &[(global, "")], true, true);
    check(container, &[(global, "authorization")], true, false);
    check(container, &[(own, "")], true, true);
    check(container, &[(own, "Authorization")], true, false);
    check(container, &[(global, ""), (own, "Cookie")], false, true);
    check(container, &[("zuul.routes.up.customSensitiveHeaders", "true")], true, true);
}

fn ignored_fields_are_dropped_both_ways(container: Container) {
    let ignore = |setup: Setup| setup.container(container).set("zuul.ignoredHeaders", "X-Secret,x-other");
    let seen = seen_upstream(ignore, "x-secret: 1\r\nX-Other: 2\r\nX-Own: 3\r\n");
    assert_eq!(
        (seen.field("X-Secret"), seen.field("X-Other"), seen.field("X-Own").as_deref()),
        (None, None, Some("3"))
    );
    let answer = seen_by_client(ignore, "X-SECRET: 1\r\nX-Own: 3\r\n");
    assert_eq!((answer.field("X-Secret"), answer.field("X-Own").as_deref()), (None, Some("3")));
}

/// HDR-02: the standing list and whatever Connection names, on any line and in any case.
fn hop_by_hop_fields_go_no_further(container: Container) {
    let fields = "Connection: keep-alive, X-Internal\r\nX-Internal: 1\r\nConnection: x-more\r\nX-MORE: 2\r\nKeep-Alive: timeout=5\r\n\
                  TE: gzip\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eDp5\r\nX-End: 3\r\n";
    let seen = seen_upstream(|setup| setup.container(container), fields);
    for gone in ["X-Internal", "X-More", "Keep-Alive", "TE", "Proxy-Connection", "Proxy-Authorization"] {
        assert_eq!(seen.field(gone), None, "{gone}");
    }
    assert_eq!(seen.field("X-End").as_deref(), Some("3"));
    let fields = "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=77\r\nProxy-Authenticate: Basic\r\nX-End: 3\r\n";
    let answer = seen_by_client(|setup| setup.container(container), fields);
    for gone in ["X-Hop", "Proxy-Authenticate"] {
        assert_eq!(answer.field(gone), None, "{gone}");
    }
    assert!(answer.field("Keep-Alive").is_none_or(|value| !value.contains("77")));
    assert_eq!(answer.field("X-End").as_deref(), Some("3"));
}

/// HDR-04: the client's `Connection: close` is no affair of the upstream.
fn persistence_of_the_two_hops_is_independent(container: Container) {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).container(container).set("server.tomcat.max-threads", "1").start();
    for _ in 0..10 {
        let mut client = gateway.client();
        assert_eq!(client.request("GET", "/", "Connection: close\r\n", b"").status, 200);
        client.assert_closed();
    }
    assert_eq!(origin.connections(), 1);
}

fn forwarded_fields_tell_the_way(container: Container) {
    let origin = TestOrigin::echoing();
    let setup = Setup::new().container(container).set("zuul.prefix", "/api");
    let gateway = setup.url_route("svc", "/svc/**", &origin.url()).start();
    let mut client = gateway.client();
    client.send("GET /api/svc/1 HTTP/1.1\r\nHost: gw.example:8103\r\n\r\n");
    assert_eq!(client.response().status, 200);
    let seen = origin.only_request();
    let fields = ["Host", "Proto", "Port", "For", "Prefix"].map(|name| seen.field(&format!("X-Forwarded-{name}")));
    let expected = ["gw.example:8103", "http", "8103", "127.0.0.1", "/api/svc"].map(|value| Some(value.to_owned()));
    assert_eq!(fields, expected);
}

/// HDR-08: each alone, and all together; nothing dropped, nothing deduplicated.
fn forwarded_fields_join_what_the_client_sent(container: Container) {
    #[track_caller]
    fn check(container: Container, fields: &str, expected: &[(&str, &str)]) {
        let seen = seen_upstream(|setup| setup.container(container), fields);
        for (name, value) in expected {
            assert_eq!(seen.field(&format!("X-Forwarded-{name}")).as_deref(), Some(*value), "{name} for {fields:?}");
        }
    }
    let all = "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: a.test\r\nX-Forwarded-Proto: https\r\n\
               X-Forwarded-Port: 443\r\nX-Forwarded-Prefix: /edge\r\n";
    check(
        container,
        "X-Forwarded-For: 192.0.2.7\r\n",
        &[("For", "192.0.2.7, 127.0.0.1"), ("Host", "gw.test"), ("Port", "80")],
    );
    check(container, "X-Forwarded-Host: a.test\r\n", &[("Host", "a.test,gw.test"), ("For", "127.0.0.1")]);
    check(container, "X-Forwarded-Proto: https\r\n", &[("Proto", "https,http"), ("Port", "443,80")]);
    check(container, all, &[("For", "192.0.2.7, 127.0.0.1"), ("Host", "a.test,gw.test"), ("Proto", "https,http")]);
    check(container, all, &[("Port", "443,80"), ("Prefix", "/edge")]);
}

fn proxy_fields_can_be_left_out(container: Container) {
    let left_out = |setup: Setup| setup.container(container).set("zuul.addProxyHeaders", "false");
    let seen = seen_upstream(left_out, "X-Forwarded-For: 192.0.2.7\r\n");
    assert_eq!(seen.field("X-Forwarded-For").as_deref(), Some("192.0.2.7"));
    assert_eq!((seen.field("X-Forwarded-Host"), seen.field("X-Forwarded-Proto")), (None, None));
}

fn the_upstream_sees_its_own_host_unless_told_otherwise(container: Container) {
    let origin = TestOrigin::echoing();
    Setup::to(&origin).container(container).start().get("/");
    assert_eq!(origin.only_request().field("Host"), Some(origin.address().to_string()));
    let seen = seen_upstream(|setup| setup.container(container).set("zuul.addHostHeader", "true"), "");
    assert_eq!(seen.field("Host").as_deref(), Some("gw.test"));
}

/// HDR-14: values are octets. The other container's parser takes ASCII alone.
#[test]
fn octets_above_ascii_pass_unchanged() {
    let origin = TestOrigin::answering(|request| {
        let echoed = request.values("X-Odd").concat();
        [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Odd: ", &echoed[..], b"\r\n\r\n"].concat()
    });
    let gateway = Setup::to(&origin).start();
    for value in [&b"caf\xe9"[..], "gr\u{fc}n".as_bytes(), b"\xff\x80"] {
        let mut client = gateway.client();
        client.send([b"GET / HTTP/1.1\r\nHost: gw.test\r\nX-Odd: ", value, b"\r\n\r\n"].concat());
        assert_eq!(client.response().values("X-Odd"), [value]);
    }
}

fn repeated_fields_stay_apart_and_in_order(container: Container) {
    let open = |setup: Setup| setup.container(container).set("zuul.sensitiveHeaders", "");
    let seen = seen_upstream(open, "X-Multi: 1\r\nX-Other: x\r\nX-Multi: 2, 3\r\nX-Empty:\r\n");
    assert_eq!(seen.values("X-Multi"), [&b"1"[..], b"2, 3"]);
    assert_eq!(seen.values("X-Empty"), [b""]);
    let cookies = "Set-Cookie: a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT\r\nVary: x\r\nSet-Cookie: b=2\r\n";
    let answer = seen_by_client(open, cookies);
    assert_eq!(answer.values("Set-Cookie"), [&b"a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT"[..], b"b=2"]);
}

/// HDR-19: what a loop can be noticed by.
fn via_names_the_gateway_both_ways(container: Container) {
    let seen = seen_upstream(|setup| setup.container(container), "Via: 1.0 fred\r\n");
    let via: Vec<_> = seen.members("Via");
    assert!(via.len() == 2 && via[0] == b"1.0 fred" && via[1].starts_with(b"1.1 "), "{via:?}");
    let answer = seen_by_client(|setup| setup.container(container), "Via: 1.1 inner\r\n");
    let via = answer.members("Via");
    assert!(via.len() == 2 && via[0] == b"1.1 inner" && via[1].starts_with(b"1.1 "), "{via:?}");
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.send("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    let via = Setup::to(&origin).container(container).start().get("/").members("Via");
    assert!(via.len() == 1 && via[0].starts_with(b"1.0 "), "what was received is told: {via:?}");
}

/// SMUG-09, OPS-07: a handshake is an ordinary request here, and the answer is an ordinary one.
fn upgrade_is_never_passed_on(container: Container) {
    let fields =
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n";
    let seen = seen_upstream(|setup| setup.container(container), fields);
    assert_eq!(seen.field("Upgrade"), None);
    assert!(!seen.members("Connection").contains(&b"upgrade".to_vec()));
}

/// HDR-17: the upstream client has no memory of sessions.
fn no_cookie_is_kept_for_the_next_client(container: Container) {
    let origin = TestOrigin::answering(|_| answer("200 OK", "Set-Cookie: session=a\r\n", b"ok"));
    let gateway = Setup::to(&origin).container(container).set("zuul.sensitiveHeaders", "").start();
    assert_eq!(gateway.get("/login").field("Set-Cookie").as_deref(), Some("session=a"));
    gateway.get("/next");
    assert_eq!(origin.requests()[1].message.field("Cookie"), None);
}

/// HDR-05, HDR-07: framing belongs to the hop, whatever the case of its names.
fn response_framing_is_made_anew(container: Container) {
    let origin = TestOrigin::answering(|request| match &request.target[..] {
        b"/chunked" => b"HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n".to_vec(),
        b"/gzip" => answer("200 OK", "content-encoding: gzip\r\n", b"\x1f\x8b"),
        _ => ok(b"ok"),
    });
    let gateway = Setup::to(&origin).container(container).start();
    let mut client = gateway.client();
    let chunked = client.get("/chunked");
    assert_eq!((chunked.status, chunked.text().as_str()), (500, "ok"));
    let zipped = client.get("/gzip");
    assert_eq!((zipped.field("Content-Encoding").as_deref(), &zipped.body[..]), (Some("gzip"), &b"\x1f\x8b"[..]));
    assert_eq!(client.get("/sized").field("Content-Length").as_deref(), Some("2"));
}
