//! Both halves against the tables seen on a running Zuul 1, by their numbers: A1 a plain request, A4 request fields, A5 answer fields, A6
//! methods. Where we differ on purpose, the test says what Zuul does.
//!
//! Everything goes through `plan` and `answer_fields`, from the octets of a request on.

use super::*;
use crate::config::Config;
use crate::config::model::{
    BackendConfig, BackendKind, IsolationConfig, Relaxed, RouteConfig, RouteTarget, Scheme, ServerAddress, ZuulConfig,
};
use crate::reason::Reason;
use crate::router::Router;
use crate::wire::head::{HeadLimits, RequestHead};
use crate::wire::response::HeadWriter;
use crate::wire::testing::Random;
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue, StatusCode, Version};
use std::sync::Arc;
use std::time::Duration;

/// Gateway at `gw.example:8103`, one route `/product/**` that is not stripped, one `/api/**` that is.
struct Setup {
    config: Config,
    peer: Peer,
}

impl Setup {
    fn new(zuul: ZuulConfig) -> Self {
        let route = |id: &str, strip_prefix| RouteConfig {
            id: id.into(),
            path: format!("/{id}/**"),
            target: RouteTarget::Service(id.into()),
            strip_prefix,
            retryable: false,
            sensitive_headers: None,
            rejects_encoded_delimiters: false,
        };
        let routes = vec![route("product", false), route("api", true)];
        let peer =
            Peer { remote: "127.0.0.1:5000".parse().unwrap(), local: "127.0.0.1:8103".parse().unwrap(), secure: false };
        Self { config: Config { zuul, routes, ..Config::default() }, peer }
    }

    fn with_sensitive(mut self, names: &[&str]) -> Self {
        for route in &mut self.config.routes {
            route.sensitive_headers = Some(names.iter().map(|name| (*name).into()).collect());
        }
        self
    }

    fn with_peer(mut self, remote: &str, secure: bool) -> Self {
        self.peer = Peer { remote: remote.parse().unwrap(), secure, ..self.peer };
        self
    }

    fn router(&self) -> Router {
        Router::new(&self.config).unwrap()
    }

    fn refusal(&self, lines: &[u8]) -> Refusal {
        plan(&self.router(), &Rules::new(&self.config), &head(lines), &self.peer).unwrap_err()
    }

    /// Target and fields of what goes upstream.
    fn planned(&self, octets: &[u8]) -> (String, HeaderMap) {
        let router = self.router();
        match plan(&router, &Rules::new(&self.config), &head(octets), &self.peer) {
            Ok(Planned::Proxy(plan)) => (String::from_utf8(plan.target.to_vec()).unwrap(), plan.fields),
            other => panic!("{other:?}"),
        }
    }

    /// The fields of a plain GET with these lines, as lines again: all but a Host that is the server's.
    fn sent(&self, lines: &str) -> Vec<String> {
        let (_, fields) = self.planned(format!("GET /product/list HTTP/1.1\r\n{lines}\r\n").as_bytes());
        let mut lines = listed(&fields);
        assert!(lines[0].starts_with("host:"), "{lines:?}");
        lines.retain(|line| *line != format!("host: {OF_THE_SERVER}"));
        lines
    }

    /// The same without what the gateway adds to every request.
    fn passed(&self, lines: &str) -> Vec<String> {
        let ours = |line: &String| line.starts_with("x-forwarded-") || line.starts_with("via: ");
        self.sent(lines).into_iter().filter(|line| !ours(line)).collect()
    }

    fn answer(&self, upstream: &[(&str, &[u8])]) -> String {
        let mut fields = HeaderMap::new();
        for (name, value) in upstream {
            fields.append(HeaderName::try_from(*name).unwrap(), HeaderValue::from_bytes(value).unwrap());
        }
        let mut out = Vec::new();
        let mut head = HeadWriter::start(&mut out, StatusCode::OK);
        let start = "HTTP/1.1 200 OK\r\n".len();
        answer_fields(&self.router().routes()[0], Version::HTTP_11, &fields, &mut head);
        out[start..].iter().map(|&octet| char::from(octet)).collect()
    }
}

fn head(octets: &[u8]) -> RequestHead {
    let limits = HeadLimits::of_size(64 * 1024);
    let (head, used) = RequestHead::parse(octets, &limits, &Relaxed::default()).unwrap().unwrap();
    assert_eq!(used, octets.len());
    head
}

fn listed(fields: &HeaderMap) -> Vec<String> {
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        format!("{name}: {}", value.as_bytes().iter().map(|&octet| char::from(octet)).collect::<String>())
    };
    fields.iter().map(line).collect()
}

fn default() -> Setup {
    Setup::new(ZuulConfig::default())
}

const HOST: &str = "Host: gw.example:8103\r\n";

/// A1. Zuul adds `Accept-Encoding: gzip` and a User-Agent of its own; here the client's stand, or none (HDR-17).
#[test]
fn a_plain_get_gets_forwarded_fields_and_via() {
    let expected = [
        "x-forwarded-host: gw.example:8103",
        "x-forwarded-proto: http",
        "x-forwarded-port: 8103",
        "x-forwarded-for: 127.0.0.1",
        "via: 1.1 portcullis",
    ];
    assert_eq!(default().sent(HOST), expected);
}

/// A4, HDR-01, HDR-02. Zuul passes Keep-Alive, TE, Upgrade, Proxy-Authorization, Proxy-Connection, Expect and what Connection names.
#[test]
fn what_belongs_to_this_hop_ends_here() {
    let lines = "Connection: keep-alive, X-Hop\r\nconnection: x-other ,\r\nX-Hop: 1\r\nX-OTHER: 2\r\nKeep-Alive: timeout=5\r\n\
                 TE: gzip\r\nTrailer: X-T\r\nUpgrade: websocket\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: x\r\n\
                 HTTP2-Settings: AA\r\nContent-Length: 3\r\nServer: s\r\nX-Application-Context: c\r\n\
                 Expect: 100-continue\r\nCookie: a=b\r\nSet-Cookie: c\r\nAuthorization: Basic x\r\n";
    assert_eq!(default().passed(&format!("{HOST}{lines}")), [""; 0]);
}

/// A4, HDR-07, HDR-16: end-to-end fields pass octet for octet; repeated ones stay apart, in order.
#[test]
fn end_to_end_fields_pass_untouched() {
    let lines = "Range: bytes=1-\r\nIf-None-Match: \"x\"\r\nX-Empty:\r\nOrigin: null\r\nReferer: http://x/\r\nForwarded: for=_a\r\n\
                 X-Multi: 1\r\nContent-Encoding: gzip\r\nx-multi: 2, 3\r\nAccept-Encoding: identity\r\nUser-Agent: me\r\n\
                 X-Under_Score: 1\r\nMax-Forwards: 7\r\n";
    let passed = default().passed(&format!("{HOST}{lines}"));
    let expected = [
        "range: bytes=1-",
        "if-none-match: \"x\"",
        "x-empty: ",
        "origin: null",
        "referer: http://x/",
        "forwarded: for=_a",
        "x-multi: 1",
        "x-multi: 2, 3",
        "content-encoding: gzip",
        "accept-encoding: identity",
        "user-agent: me",
        "x-under_score: 1",
        "max-forwards: 7",
    ];
    assert_eq!(passed, expected);
}

/// HDR-14.
#[test]
fn values_are_octets() {
    let request = [b"GET /product/x HTTP/1.1\r\nHost: h\r\nX-Name: \xe5r.pdf \xc3\xa5\r\n\r\n".as_slice()].concat();
    let (_, fields) = default().planned(&request);
    assert_eq!(fields["x-name"].as_bytes(), b"\xe5r.pdf \xc3\xa5");
}

#[test]
fn credentials_are_octets_and_pass_when_they_are_not_sensitive() {
    let request = b"GET /product/x HTTP/1.1\r\nHost: h\r\nAuthorization: Basic \xe5\r\n\r\n";
    let passed = default().with_sensitive(&[]).planned(request).1;
    assert_eq!(passed["authorization"].as_bytes(), b"Basic \xe5");
    assert!(!default().planned(request).1.contains_key("authorization"));
}

/// A4, CFG-10.
#[test]
fn sensitive_and_ignored_fields_are_dropped_by_name() {
    let lines = format!("{HOST}Cookie: a\r\nAuthorization: b\r\nX-SENS: c\r\nX-Secret: d\r\n");
    assert_eq!(default().passed(&lines), ["x-sens: c", "x-secret: d"]);
    let none = default().with_sensitive(&[]);
    assert_eq!(none.passed(&lines), ["cookie: a", "authorization: b", "x-sens: c", "x-secret: d"]);
    let own = default().with_sensitive(&["x-sens", "authorization"]);
    assert_eq!(own.passed(&lines), ["cookie: a", "x-secret: d"]);
    let ignored =
        Setup::new(ZuulConfig { ignored_headers: ["x-secret".into(), "via".into()].into(), ..ZuulConfig::default() });
    let sent = ignored.with_sensitive(&[]).sent(&lines);
    assert!(!sent.iter().any(|line| line.contains("x-secret") || line.starts_with("via")), "{sent:?}");
}

#[track_caller]
fn check_forwarded(setup: &Setup, lines: &str, expected: [&str; 5]) {
    let (_, fields) = setup.planned(format!("GET /api/x HTTP/1.1\r\n{lines}\r\n").as_bytes());
    let get = |name: &str| fields.get(name).map_or("", |value| value.to_str().unwrap());
    let names = ["for", "host", "proto", "port", "prefix"].map(|name| format!("x-forwarded-{name}"));
    assert_eq!(names.each_ref().map(|name| get(name)), expected, "{lines}");
    assert!(names.iter().all(|name| fields.get_all(name).iter().count() <= 1));
}

/// The table of A4 and zuul1 4.2, HDR-08: each field alone, all together, none.
#[test]
fn forwarded_fields_are_joined_as_in_zuul() {
    let all = "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: outer.example\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 443\r\n\
               X-Forwarded-Prefix: /pre\r\n";
    let gw = "gw.example:8103";
    let rows = [
        ("", ["127.0.0.1", gw, "http", "8103", "/api"]),
        (all, ["1.2.3.4, 127.0.0.1", "outer.example,gw.example:8103", "https,http", "443,8103", "/pre/api"]),
        ("X-Forwarded-For: 192.0.2.7\r\n", ["192.0.2.7, 127.0.0.1", gw, "http", "8103", "/api"]),
        ("X-Forwarded-Host: a.test\r\n", ["127.0.0.1", "a.test,gw.example:8103", "http", "8103", "/api"]),
        ("X-Forwarded-Proto: https\r\n", ["127.0.0.1", gw, "https,http", "443,8103", "/api"]),
        ("X-Forwarded-Proto: http, https\r\n", ["127.0.0.1", gw, "http, https,http", "80,443,8103", "/api"]),
        ("X-Forwarded-Port: 443\r\n", ["127.0.0.1", gw, "http", "443,8103", "/api"]),
        ("X-Forwarded-Prefix: /edge\r\n", ["127.0.0.1", gw, "http", "8103", "/edge/api"]),
        ("X-Forwarded-Prefix: /edge/\r\n", ["127.0.0.1", gw, "http", "8103", "/edge/api"]),
        ("X-Forwarded-Prefix: /\r\n", ["127.0.0.1", gw, "http", "8103", "/api"]),
    ];
    for (lines, expected) in rows {
        check_forwarded(&default(), &format!("{HOST}{lines}"), expected);
    }
}

/// HDR-10: who is not trusted is not believed, and is named all the same.
#[test]
fn strangers_are_not_believed_about_those_before_them() {
    let lines = format!(
        "{HOST}X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Host: a.test\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 1\r\n\
         X-Forwarded-Prefix: /p\r\nForwarded: for=6.6.6.6\r\n"
    );
    let mut setup = default();
    setup.config.gateway.trusted_proxies = Some(vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()]);
    for (peer, trusted) in [
        ("10.1.2.3:1", true),
        ("11.1.2.3:1", false),
        ("[2001:db8::1]:1", true),
        ("[2001:db9::1]:1", false),
        ("[::ffff:10.0.0.1]:1", true),
    ] {
        let setup = Setup { config: setup.config.clone(), ..default() }.with_peer(peer, false);
        let (_, fields) = setup.planned(format!("GET /api/x HTTP/1.1\r\n{lines}\r\n").as_bytes());
        assert_eq!(fields.contains_key("forwarded"), trusted, "{peer}");
        let ip = setup.peer.remote.ip().to_canonical().to_string();
        let expected = match trusted {
            true => [&format!("6.6.6.6, {ip}"), "a.test,gw.example:8103", "https,http", "1,8103", "/p/api"],
            false => [&*ip, "gw.example:8103", "http", "8103", "/api"],
        };
        check_forwarded(&setup, &lines, expected);
    }
    setup.config.zuul.add_proxy_headers = false;
    setup.peer.remote = "192.0.2.1:1".parse().unwrap();
    check_forwarded(&setup, &lines, [""; 5]);
    setup.config.gateway.trusted_proxies = None;
    check_forwarded(&setup, &lines, ["6.6.6.6", "a.test", "https", "1", "/p"]);
}

/// PATH-13: what a lenient upstream could read as another path is refused where a route says so.
#[test]
fn encoded_delimiters_are_for_the_route_to_judge() {
    let mut setup = default();
    setup.config.routes[0].rejects_encoded_delimiters = true;
    for code in ["%2F", "%2f", "%5C", "%3b", "%3F", "%23"] {
        let target = |route: &str| format!("GET /{route}/a{code}b?c=%2F HTTP/1.1\r\n{HOST}\r\n");
        assert_eq!(setup.refusal(target("product").as_bytes()).reason, Reason::BadRequest, "{code}");
        assert_eq!(setup.planned(target("api").as_bytes()).0, format!("/a{code}b?c=%2F"));
    }
    assert_eq!(
        setup.planned(format!("GET /product/a%20b?c=%2F HTTP/1.1\r\n{HOST}\r\n").as_bytes()).0,
        "/product/a%20b?c=%2F"
    );
}

/// Zuul looks at the first line of a field only and loses the others; it adds nothing when the peer's address occurs anywhere in the
/// value (`1.2.3.4` in `11.2.3.44`), so that the last member could be forged; an empty For becomes `, 127.0.0.1`.
#[test]
fn every_hop_is_kept_and_ours_is_always_the_last() {
    let gw = "gw.example:8103";
    let rows = [
        (
            "X-Forwarded-For: 203.0.113.9\r\nX-Other: 1\r\nx-forwarded-for: 198.51.100.7\r\n",
            "203.0.113.9, 198.51.100.7, 127.0.0.1",
        ),
        ("X-Forwarded-For: 127.0.0.1, 6.6.6.6\r\n", "127.0.0.1, 6.6.6.6, 127.0.0.1"),
        ("X-Forwarded-For: 127.0.0.10\r\n", "127.0.0.10, 127.0.0.1"),
        ("X-Forwarded-For:\r\n", "127.0.0.1"),
        ("X-Forwarded-For: 2001:db8::9\r\n", "2001:db8::9, 127.0.0.1"),
        ("X-Forwarded-For: \"]no,,address\r\n", "\"]no,,address, 127.0.0.1"),
        ("Connection: close, X-Forwarded-For, Via, Host\r\nX-Forwarded-For: 203.0.113.9\r\n", "203.0.113.9, 127.0.0.1"),
    ];
    for (lines, expected) in rows {
        check_forwarded(&default(), &format!("{HOST}{lines}"), [expected, gw, "http", "8103", "/api"]);
    }
    let octets = b"GET /product/x HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: \xff\r\n\r\n";
    assert_eq!(default().planned(octets).1["x-forwarded-for"].as_bytes(), b"\xff, 127.0.0.1");
}

/// A4, and HTTPS. Zuul names `localhost` when HTTP/1.0 sent no Host; here it is our own address.
#[test]
fn host_and_port_are_what_the_client_asked_for() {
    let rows = [
        ("gw.example", false, "gw.example", "80"),
        ("gw.example:80", false, "gw.example", "80"),
        ("gw.example:", false, "gw.example", "80"),
        ("gw.example:443", false, "gw.example:443", "443"),
        ("gw.example", true, "gw.example", "443"),
        ("gw.example:443", true, "gw.example", "443"),
        ("gw.example:8443", true, "gw.example:8443", "8443"),
        ("[2001:db8::1]:8103", false, "[2001:db8::1]:8103", "8103"),
        ("[2001:db8::1]", false, "[2001:db8::1]", "80"),
    ];
    for (host, secure, name, port) in rows {
        let proto = if secure { "https" } else { "http" };
        let setup = default().with_peer("127.0.0.1:5000", secure);
        check_forwarded(&setup, &format!("Host: {host}\r\n"), ["127.0.0.1", name, proto, port, "/api"]);
    }
    let old = default().planned(b"GET /product/x HTTP/1.0\r\n\r\n").1;
    assert_eq!(old["x-forwarded-host"], "127.0.0.1:8103");
    assert_eq!(old["x-forwarded-port"], "8103");
}

/// HDR-11: bare addresses, IPv4-mapped ones as IPv4.
#[test]
fn ipv6_peers_are_written_bare() {
    for (peer, text) in
        [("[2001:db8::17]:4711", "2001:db8::17"), ("[::1]:1", "::1"), ("[::ffff:192.0.2.1]:1", "192.0.2.1")]
    {
        let setup = default().with_peer(peer, false);
        check_forwarded(&setup, HOST, [text, "gw.example:8103", "http", "8103", "/api"]);
    }
}

#[test]
fn without_proxy_headers_the_clients_own_pass() {
    let setup = Setup::new(ZuulConfig { add_proxy_headers: false, ..ZuulConfig::default() });
    let sent = setup.sent(&format!("{HOST}X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Port:\r\n"));
    assert_eq!(sent, ["x-forwarded-for: 1.2.3.4", "x-forwarded-port: ", "via: 1.1 portcullis"]);
}

/// As in Zuul: what the configuration drops by name is dropped from what the gateway adds, too.
#[test]
fn an_ignored_forwarded_field_is_not_added_either() {
    let setup = Setup::new(ZuulConfig { ignored_headers: ["x-forwarded-for".into()].into(), ..ZuulConfig::default() });
    check_forwarded(
        &setup,
        &format!("{HOST}X-Forwarded-For: 1.2.3.4\r\n"),
        ["", "gw.example:8103", "http", "8103", "/api"],
    );
}

/// A4: the upstream gets its own name, unless the client's is asked for; then without a default port.
#[test]
fn host_is_the_clients_only_on_request() {
    let (_, fields) = default().planned(format!("GET /product/x HTTP/1.1\r\n{HOST}\r\n").as_bytes());
    assert_eq!(fields["host"], OF_THE_SERVER);
    let setup = Setup::new(ZuulConfig { add_host_header: true, ..ZuulConfig::default() });
    let host = |octets: &[u8]| setup.planned(octets).1["host"].to_str().unwrap().to_owned();
    assert_eq!(
        host(b"GET /product/x HTTP/1.1\r\nHost: gw.example:8103\r\nConnection: host\r\n\r\n"),
        "gw.example:8103"
    );
    assert_eq!(host(b"GET /product/x HTTP/1.1\r\nHost: gw.example:80\r\n\r\n"), "gw.example");
    assert_eq!(host(b"GET http://x.test/product/x HTTP/1.1\r\nHost: y.test\r\n\r\n"), "x.test", "RFC 9112 3.2.2");
}

/// HDR-13, A2: an absolute target goes upstream in origin-form.
#[test]
fn absolute_targets_become_origin_form() {
    let (target, fields) = default().planned(b"GET http://gw.example:8103/api//list?x HTTP/1.1\r\nHost: other\r\n\r\n");
    assert_eq!(target, "//list?x");
    assert_eq!(fields["x-forwarded-host"], "gw.example:8103");
    let root = Setup::new(ZuulConfig::default());
    let planned = plan(
        &root.router(),
        &Rules::new(&root.config),
        &head(b"GET http://gw?q=1 HTTP/1.1\r\nHost: gw\r\n\r\n"),
        &root.peer,
    )
    .map(|planned| matches!(planned, Planned::None));
    assert_eq!(planned, Ok(true));
}

/// RFC 9110 7.6.3.
#[test]
fn via_is_added_behind_those_before() {
    let sent = default().sent(&format!("{HOST}Via: 1.0 fred, 1.1 p.example\r\nvia: 1.1 q\r\n"));
    let via: Vec<_> = sent.iter().filter_map(|line| line.strip_prefix("via: ")).collect();
    assert_eq!(via, ["1.0 fred, 1.1 p.example, 1.1 q, 1.1 portcullis"]);
    let old = default().planned(b"GET /product/x HTTP/1.0\r\n\r\n").1;
    assert_eq!(old["via"], "1.0 portcullis");
}

/// HDR-19: a route that leads back to the gateway ends soon.
#[test]
fn a_loop_is_refused() {
    let request = |passes: usize| {
        let via = "Via: 1.1 portcullis, 1.1 other\r\n".repeat(passes);
        format!("GET /product/x HTTP/1.1\r\n{HOST}{via}\r\n").into_bytes()
    };
    let (_, fields) = default().planned(&request(7));
    assert_eq!(fields["via"].to_str().unwrap().matches("1.1 portcullis").count(), 8);
    let refusal = default().refusal(&request(8));
    assert_eq!(refusal.reason, Reason::BadRequest);
    assert!(refusal.detail.starts_with("loop"), "{}", refusal.detail);
}

/// A6, SMUG-09, OPS-07: methods pass as they are; an upgrade becomes a plain request.
#[test]
fn methods_are_for_the_upstream_but_for_trace_and_options_to_ourselves() {
    let setup = default();
    let router = setup.router();
    let ask = |line: &str| {
        let octets = format!("{line} HTTP/1.1\r\n{HOST}\r\n").into_bytes();
        match plan(&router, &Rules::new(&setup.config), &head(&octets), &setup.peer) {
            Ok(Planned::Proxy(plan)) => plan.method.to_string(),
            other => format!("{:?}", other.unwrap()),
        }
    };
    for method in ["GET", "HEAD", "POST", "PURGE", "get", "X-FROB", "OPTIONS", "DELETE"] {
        assert_eq!(ask(&format!("{method} /product/x")), method);
    }
    assert_eq!(ask("TRACE /product/x"), "MethodNotAllowed");
    assert_eq!(ask("OPTIONS *"), "Options");
    assert_eq!(ask("OPTIONS http://gw.example:8103"), "Options");
    assert_eq!(ask("GET /other"), "None");
}

/// RFC 9110 7.6.2.
#[test]
fn max_forwards_counts_down_for_options() {
    let setup = default();
    let ask = |method: &str, left: &str| {
        let octets =
            format!("{method} /product/x HTTP/1.1\r\n{HOST}Max-Forwards: {left}\r\nConnection: max-forwards\r\n\r\n");
        match plan(&setup.router(), &Rules::new(&setup.config), &head(octets.as_bytes()), &setup.peer) {
            Ok(Planned::Proxy(plan)) => plan.fields["max-forwards"].to_str().unwrap().to_owned(),
            other => format!("{:?}", other.unwrap()),
        }
    };
    assert_eq!(ask("OPTIONS", "5"), "4");
    assert_eq!(ask("OPTIONS", "0"), "Options");
    assert_eq!(ask("OPTIONS", "00"), "Options");
    assert_eq!(ask("OPTIONS", "+5"), "+5");
    assert_eq!(ask("OPTIONS", "many"), "many");
    assert_eq!(ask("GET", "0"), "0");
}

/// A2: Zuul answers dot segments with 500.
#[test]
fn a_path_that_servers_read_differently_is_refused() {
    for target in
        ["/product/../x", "/product/%2E%2e/x", "/product/..;/x", "/product/a%2f..%2fb", "/product/%00", "/other/.."]
    {
        let refusal = default().refusal(format!("GET {target} HTTP/1.1\r\n{HOST}\r\n").as_bytes());
        assert_eq!(refusal.reason, Reason::BadRequest, "{target}");
    }
}

#[test]
fn debugging_is_asked_for_by_parameter_or_for_all() {
    let debugs = |zuul: &ZuulConfig, target: &str| {
        let setup = Setup::new(zuul.clone());
        let rules = Rules::new(&setup.config);
        let planned = plan(
            &setup.router(),
            &rules,
            &head(format!("GET {target} HTTP/1.1\r\n{HOST}\r\n").as_bytes()),
            &setup.peer,
        )
        .map(|planned| matches!(planned, Planned::Proxy(Plan { debug: true, .. })));
        planned.unwrap()
    };
    let on = ZuulConfig { include_debug_header: true, ..ZuulConfig::default() };
    assert!(debugs(&on, "/product/x?a&debug=true"));
    assert!(
        !debugs(&on, "/product/x?debug=TRUE") && !debugs(&on, "/product/x?debugs=true") && !debugs(&on, "/product/x")
    );
    assert!(debugs(&ZuulConfig { debug_request: true, ..on }, "/product/x"));
    assert!(!debugs(&ZuulConfig::default(), "/product/x?debug=true"));
}

/// A5, HDR-02, HDR-05. Zuul passes Keep-Alive, Proxy-Connection, Upgrade and Trailer too, and adds no Via.
#[test]
fn answers_lose_what_belongs_to_the_hop_and_what_zuul_hides() {
    let upstream: [(&str, &[u8]); 24] = [
        ("Server", b"s"),
        ("Date", b"Mon, 30 Nov 2026 10:00:00 GMT"),
        ("Set-Cookie", b"a=1"),
        ("Set-Cookie", b"b=2"),
        ("X-Multi", b"1"),
        ("X-Multi", b"2"),
        ("X-Empty", b""),
        ("Via", b"1.1 up"),
        ("Keep-Alive", b"timeout=77"),
        ("Proxy-Connection", b"x"),
        ("Upgrade", b"h2c"),
        ("Trailer", b"X-T"),
        ("WWW-Authenticate", b"Basic"),
        ("Authorization", b"x"),
        ("X-Application-Context", b"x"),
        ("Host", b"x"),
        ("X-Latin", b"\xe9"),
        ("Content-Length", b"2"),
        ("Transfer-Encoding", b"chunked"),
        ("Connection", b"close, X-Up-Hop"),
        ("X-Up-Hop", b"1"),
        ("Proxy-Authenticate", b"x"),
        ("Location", b"/x"),
        ("ETag", b"\"v\""),
    ];
    let expected = "date: Mon, 30 Nov 2026 10:00:00 GMT\r\nx-multi: 1\r\nx-multi: 2\r\nx-empty: \r\nvia: 1.1 up\r\n\
                    www-authenticate: Basic\r\nx-latin: \u{e9}\r\nlocation: /x\r\netag: \"v\"\r\nvia: 1.1 portcullis\r\n";
    assert_eq!(default().answer(&upstream), expected);
}

/// CFG-10, HDR-01: both ways, and each Set-Cookie on a line of its own.
#[test]
fn answers_keep_what_is_not_sensitive() {
    let upstream: [(&str, &[u8]); 3] =
        [("Set-Cookie", b"a=1; Expires=Wed, 09 Jun 2027"), ("Set-Cookie", b"b=2"), ("X-S", b"x")];
    assert_eq!(default().answer(&upstream), "x-s: x\r\nvia: 1.1 portcullis\r\n");
    let own = default().with_sensitive(&["x-s"]);
    let expected = "set-cookie: a=1; Expires=Wed, 09 Jun 2027\r\nset-cookie: b=2\r\nvia: 1.1 portcullis\r\n";
    assert_eq!(own.answer(&upstream), expected);
}

/// What is dropped from a final answer doesn't get out with a 103 either; no Via, since an interim answer is relayed, not made.
#[test]
fn interim_answers_are_filtered_alike() {
    let route = default().router().routes()[0].clone();
    let mut fields = HeaderMap::new();
    for (name, value) in
        [("link", "</a>"), ("set-cookie", "a=1"), ("connection", "x-hop"), ("x-hop", "1"), ("link", "</b>")]
    {
        fields.append(name, HeaderValue::from_static(value));
    }
    assert_eq!(listed(&interim_fields(&route, &fields)), ["link: </a>", "link: </b>"]);
}

/// Seeded: whatever fields come in whatever order, nothing of the hop gets out, and ours are the last.
#[test]
fn no_mixture_of_fields_gets_around_the_rules() {
    let names = [
        "Connection",
        "X-A",
        "TE",
        "Via",
        "X-Forwarded-For",
        "Cookie",
        "Transfer-Encoding",
        "Keep-Alive",
        "x-forwarded-proto",
    ];
    let values = [
        "close",
        "X-A, via",
        "x-forwarded-for",
        "\u{e4},,",
        "",
        "1.1 portcullis",
        "chunked",
        "x-forwarded-for,host , X-a",
    ];
    let mut random = Random(99);
    let (setup, mut names_a) = (default(), 0);
    let router = setup.router();
    for _ in 0..5_000 {
        let mut octets = format!("GET /product/x HTTP/1.1\r\n{HOST}");
        for _ in 0..random.below(7) {
            octets.push_str(&format!(
                "{}: {}\r\n",
                names[random.below(names.len())],
                values[random.below(values.len())]
            ));
        }
        octets.push_str("\r\n");
        let head = head(octets.as_bytes());
        let Ok(Planned::Proxy(plan)) = plan(&router, &Rules::new(&setup.config), &head, &setup.peer) else {
            panic!("{octets}");
        };
        let hop = ["connection", "te", "transfer-encoding", "keep-alive", "cookie"];
        assert!(hop.iter().all(|name| !plan.fields.contains_key(*name)), "{octets}");
        assert_eq!(plan.fields["host"], OF_THE_SERVER, "{octets}");
        assert!(plan.fields["x-forwarded-for"].as_bytes().ends_with(b"127.0.0.1"), "{octets}");
        assert!(plan.fields["via"].as_bytes().ends_with(b"1.1 portcullis"), "{octets}");
        let names_x_a =
            head.values("connection").any(|value| value.to_ascii_lowercase().windows(3).any(|three| three == b"x-a"));
        names_a += usize::from(names_x_a);
        assert!(!names_x_a || !plan.fields.contains_key("x-a"), "{octets}");
    }
    assert!(names_a > 200, "{names_a}");
}

fn backend(id: &str) -> BackendConfig {
    BackendConfig {
        id: id.into(),
        kind: BackendKind::Service,
        servers: vec![ServerAddress { scheme: Scheme::Https, host: "up.test".into(), port: 443 }],
        connect_timeout: Duration::from_secs(1),
        read_timeout: None,
        max_total_connections: 1,
        max_connections_per_host: 1,
        connection_request_timeout: None,
        time_to_live: None,
        isolation: IsolationConfig::None,
        thread_pool_key_override: None,
        adaptive: None,
        deadline: None,
        command: Default::default(),
        retry: None,
        verify_tls: true,
        balance: Default::default(),
        held_back: 0,
    }
}

#[test]
fn an_explanation_tells_where_a_request_goes() {
    let mut setup = Setup::new(ZuulConfig { ignored_patterns: vec!["/**/secret".into()], ..ZuulConfig::default() });
    setup.config.routes[0].target = RouteTarget::Forward("/local".into());
    setup.config.backends.insert("api".into(), Arc::new(backend("api")));
    let explain = |line: &str| {
        let octets = format!("{line} HTTP/1.1\r\nHost: gw\r\nCookie: a\r\n\r\n");
        explain::explain(&setup.config, &setup.router(), &head(octets.as_bytes()), &setup.peer).to_string()
    };
    let proxied = "GET /api/a%20b?x\n  matched as  /api/a b\n  route       api (/api/**)\n  backend     api: https://up.test\n  \
                   upstream    GET /a%20b?x\n              host: up.test\n              x-forwarded-host: gw\n              x-forwarded-proto: http\n              \
                   x-forwarded-port: 80\n              x-forwarded-prefix: /api\n              x-forwarded-for: 127.0.0.1\n              \
                   via: 1.1 portcullis\n  not sent    cookie\n";
    assert_eq!(explain("GET /api/a%20b?x"), proxied);
    assert!(explain("GET /product/x").contains("own page    /local/product/x"));
    assert!(explain("GET /api/secret").contains("404 no_route: zuul.ignored-patterns has /**/secret"));
    assert!(explain("GET /other").contains("none of 2 routes matches"));
    assert!(explain("GET /api/%2e%2e").contains("400 bad_request: the path holds a dot segment"));
    assert!(explain("TRACE /api/x").contains("405"));
}
