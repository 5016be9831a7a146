//! What reaches which upstream: targets octet for octet, routes in their order, prefixes, methods and bodies.
//!
//! Url routes and service routes go through the same table, since a fault that was mended on one of two paths is the classic one.

use crate::support::gateway::{Container, Setup, assert_reason, for_both_containers};
use crate::support::message::latin1;
use crate::support::origin::{TestOrigin, is_framed};

for_both_containers!(
    targets_pass_octet_for_octet,
    the_first_route_in_order_wins,
    a_catch_all_is_tried_last,
    prefixes_are_stripped_at_segment_boundaries,
    the_url_of_a_route_is_joined_with_one_slash,
    ignored_patterns_are_not_routed,
    methods_and_bodies_pass_unchanged,
    requests_without_a_body_stay_without,
    forward_routes_lead_to_own_pages,
    dot_segments_are_refused,
    path_parameters_do_not_hide_a_path_from_matching,
    redirects_are_not_followed_and_location_is_not_touched,
    the_servlet_path_is_a_second_mount_point,
);

/// PATH-01, PATH-02, PATH-04, PATH-05, PATH-07, PATH-10, PATH-11, PATH-14: nothing is decoded, regrouped or written anew on the way.
fn targets_pass_octet_for_octet(container: Container) {
    let origin = TestOrigin::echoing();
    let setup = Setup::new().container(container).url_route("by-url", "/u/**", &origin.url());
    let setup = setup.service_route("by-service", "/s/**", &[&origin]);
    let setup = setup.set("zuul.routes.by-url.stripPrefix", "false").set("zuul.routes.by-service.stripPrefix", "false");
    let gateway = setup.start();
    let mut client = gateway.client();
    let rests = [
        "/blue%20mug",
        "/a%2Fb",
        "/x%2F%2F7/pkg",
        "/x%2f7",
        "?q=1%2B1",
        "?p=a%2Bb%3D&r=a%20b",
        "?sql=a%20%3D%205",
        "?flag",
        "?flag=",
        "?a/b=1",
        "?a=1&a=2&A=3",
        "?a=1&b=2&a=3",
        "?",
        "?&&x",
        "",
        "/",
        "?k=v==",
        "?k=a=%20b",
        "/na%C3%AFve%282%29.txt",
        "/a%E4b",
        "/a%25b",
        "/a;v=1/b;w=2",
        "/%7Euser/~user",
        "//double//slash/",
        "/a:b@c!d$e&f'g(h)i*j,k=l~m-n_o.p",
        "?next=http://other.test/a?b=c",
    ];
    for prefix in ["/u", "/s"] {
        for rest in rests {
            let target = format!("{prefix}{rest}");
            let answer = client.get(&target);
            assert_eq!((answer.status, answer.text()), (200, format!("GET {target}")));
        }
    }
    drop(client);
    gateway.assert_quiet();
}

/// CFG-01: routes are tried in the order in which they are written.
fn the_first_route_in_order_wins(container: Container) {
    let (narrow, wide) = (TestOrigin::echoing(), TestOrigin::echoing());
    let setup = Setup::new().container(container);
    let setup = setup.url_route("z-first", "/api/sec/**", &narrow.url()).url_route("a-second", "/api/**", &wide.url());
    let gateway = setup.start();
    gateway.get("/api/sec/1");
    gateway.get("/api/open");
    assert_eq!(narrow.only_request().target, b"/1");
    assert_eq!(wide.only_request().target, b"/open");
    gateway.assert_quiet();
}

fn a_catch_all_is_tried_last(container: Container) {
    let (special, rest) = (TestOrigin::echoing(), TestOrigin::echoing());
    let setup = Setup::new().container(container);
    let setup = setup.url_route("rest", "/**", &rest.url()).url_route("special", "/special/**", &special.url());
    let gateway = setup.start();
    gateway.get("/special/a");
    gateway.get("/other");
    assert_eq!((special.only_request().target, rest.only_request().target), (b"/a".to_vec(), b"/other".to_vec()));
}

/// PATH-17, PATH-19: a prefix is whole segments, and the two switches govern two prefixes.
fn prefixes_are_stripped_at_segment_boundaries(container: Container) {
    #[track_caller]
    fn check(container: Container, strip: (&str, &str), rows: &[(&str, Option<&str>)]) {
        let origin = TestOrigin::echoing();
        let setup = Setup::new().container(container).set("zuul.prefix", "/test").set("zuul.stripPrefix", strip.0);
        let setup = setup.url_route("svc", "/svc/**", &origin.url()).set("zuul.routes.svc.stripPrefix", strip.1);
        let gateway = setup.start();
        for (target, upstream) in rows {
            let answer = gateway.get(target);
            let expected = upstream.map(|upstream| format!("GET {upstream}"));
            assert_eq!((answer.status == 200).then(|| answer.text()), expected, "{target} with {strip:?}");
        }
    }
    let outside = [("/testsvc/x", None), ("/svc/x", None), ("/test/svcx", None)];
    check(container, ("true", "true"), &[("/test/svc/1", Some("/1")), ("/test/svc", Some("/"))]);
    check(container, ("true", "true"), &outside);
    check(container, ("true", "false"), &[("/test/svc/1", Some("/svc/1"))]);
    check(container, ("false", "true"), &[("/test/svc/1", Some("/test/1"))]);
    check(container, ("false", "false"), &[("/test/svc/1", Some("/test/svc/1"))]);
}

/// PATH-16: with a path and without, with a trailing slash and without.
fn the_url_of_a_route_is_joined_with_one_slash(container: Container) {
    for (path, expected) in [("", "/1"), ("/", "/1"), ("/base", "/base/1"), ("/base/", "/base/1")] {
        let origin = TestOrigin::echoing();
        let gateway =
            Setup::new().container(container).url_route("foos", "/foos/**", &format!("{}{path}", origin.url())).start();
        assert_eq!(gateway.get("/foos/1").text(), format!("GET {expected}"), "{path:?}");
        assert_eq!(gateway.get("/foos/").status, 200, "{path:?}");
    }
}

fn ignored_patterns_are_not_routed(container: Container) {
    let origin = TestOrigin::echoing();
    let gateway =
        Setup::to(&origin).container(container).set("zuul.ignoredPatterns", "/**/admin/**,/private/*").start();
    for target in ["/a/admin/b", "/admin", "/private/x"] {
        assert_reason(&gateway.get(target), 404, "no_route");
    }
    assert_eq!(gateway.get("/private/x/y").status, 200);
    assert_eq!(origin.requests().len(), 1);
}

/// BODY-02, BODY-05, BODY-06, BODY-09, HDR-16: a body is octets, whatever its type and the method.
fn methods_and_bodies_pass_unchanged(container: Container) {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).container(container).start();
    let mut client = gateway.client();
    let bodies: [(&str, &str, &[u8]); 8] = [
        ("POST", "application/x-www-form-urlencoded", b"d=08%2f16+x&q=2"),
        ("PUT", "application/json", b"{\"a\": [1, 2]}"),
        ("PATCH", "text/plain", "gr\u{f6}\u{df}e".as_bytes()),
        ("DELETE", "application/json", b"[1,2]"),
        ("GET", "text/plain", b"a body where none is usual"),
        ("OPTIONS", "text/plain", b"options too"),
        ("PROPFIND", "text/xml", b"<propfind/>"),
        (
            "POST",
            "multipart/form-data; boundary=x",
            b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\xff\0\r\n--x--\r\n",
        ),
    ];
    for (method, kind, body) in bodies {
        let fields = format!("Content-Type: {kind}\r\nContent-Encoding: x-own\r\n");
        let answer = client.request(method, "/form?q=1", &fields, body);
        assert_eq!((answer.status, answer.text()), (200, format!("{method} /form?q=1")));
        let seen = origin.requests().pop().expect("a request").message;
        assert_eq!((latin1(&seen.method).as_str(), &seen.body[..]), (method, body));
        assert_eq!(seen.field("Content-Type").as_deref(), Some(kind));
        assert_eq!(seen.field("Content-Encoding").as_deref(), Some("x-own"));
        assert_eq!(seen.field("Content-Length"), Some(body.len().to_string()));
    }
    drop(client);
    gateway.assert_quiet();
}

/// BODY-03: no framing in, none out; `Content-Length: 0` stays.
fn requests_without_a_body_stay_without(container: Container) {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).container(container).start();
    let mut client = gateway.client();
    for method in ["GET", "HEAD", "DELETE", "OPTIONS"] {
        assert_eq!(client.request(method, "/", "", b"").status, 200);
        let seen = origin.requests().pop().expect("a request").message;
        assert!(!is_framed(&seen), "{method}: {}", latin1(&seen.head));
    }
    assert_eq!(client.request("POST", "/", "Content-Length: 0\r\n", b"").status, 200);
    let seen = origin.requests().pop().expect("a request").message;
    assert_eq!(seen.field("Content-Length").as_deref(), Some("0"));
}

fn forward_routes_lead_to_own_pages(container: Container) {
    let setup = Setup::new().container(container).unset("management.server.port");
    let gateway = setup.url_route("status", "/status/**", "forward:/actuator").start();
    let answer = gateway.get("/status/health");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("UP"), "{}", answer.text());
}

fn dot_segments_are_refused(container: Container) {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).container(container).start();
    for target in ["/a/../b", "/a/./b", "/..", "/a/%2e%2e/b", "/a/%2E/b", "/a/.%2e/b"] {
        assert_reason(&gateway.get(target), 400, "bad_request");
    }
    assert!(origin.requests().is_empty());
    assert_eq!(gateway.get("/a/...b/.c").status, 200);
}

/// PATH-13, PATH-14: rules by path look at the decoded path without parameters; what is forwarded keeps them.
fn path_parameters_do_not_hide_a_path_from_matching(container: Container) {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).container(container).set("zuul.ignoredPatterns", "/admin/**").start();
    for target in ["/admin;x=1/secret", "/%61dmin/secret", "/admin%2Fsecret"] {
        assert_reason(&gateway.get(target), 404, "no_route");
    }
    assert_eq!(gateway.get("/open;x=1/page").text(), "GET /open;x=1/page");
}

/// OPS-08.
fn redirects_are_not_followed_and_location_is_not_touched(container: Container) {
    let origin = TestOrigin::answering(|request| {
        let location = latin1(&request.target[1..]);
        crate::support::origin::answer("302 Found", &format!("Location: {location}\r\n"), b"")
    });
    let gateway = Setup::to(&origin).container(container).start();
    for location in ["http://10.0.0.5:8081/x", "/x", "https://other.test/", "//h/x"] {
        let answer = gateway.get(&format!("/{location}"));
        assert_eq!((answer.status, answer.field("Location").as_deref()), (302, Some(location)));
    }
}

fn the_servlet_path_is_a_second_mount_point(container: Container) {
    let origin = TestOrigin::echoing();
    let gateway = Setup::new().container(container).url_route("svc", "/svc/**", &origin.url()).start();
    assert_eq!(gateway.get("/zuul/svc/up").text(), "GET /up");
    let moved =
        Setup::new().container(container).url_route("svc", "/svc/**", &origin.url()).set("zuul.servletPath", "/raw");
    let gateway = moved.start();
    assert_eq!(gateway.get("/raw/svc/up").text(), "GET /up");
    assert_reason(&gateway.get("/zuul/svc/up"), 404, "no_route");
}
