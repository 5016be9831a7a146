//! Routes against the tables seen on a running Zuul 1, by their numbers: A2 paths, A3 queries, A9 prefixes, stripping and order. Where we
//! differ on purpose, the test says what Zuul does.
//!
//! A row asks for a target and names the route it takes and what is forwarded.

use super::*;
use crate::config::model::{RouteConfig, RouteTarget, ZuulConfig};
use crate::wire::testing::Random;

fn service(id: &str, path: &str) -> RouteConfig {
    RouteConfig {
        id: id.into(),
        path: path.into(),
        target: RouteTarget::Service(id.into()),
        strip_prefix: true,
        retryable: false,
        sensitive_headers: None,
        rejects_encoded_delimiters: false,
    }
}

fn url(id: &str, path: &str, base: &str) -> RouteConfig {
    let target = RouteTarget::Url { url: format!("http://up.test:9001{base}/"), path: base.into() };
    RouteConfig { target, ..service(id, path) }
}

fn unstripped(route: RouteConfig) -> RouteConfig {
    RouteConfig { strip_prefix: false, ..route }
}

fn router_of(zuul: ZuulConfig, routes: Vec<RouteConfig>) -> Router {
    Router::new(&Config { zuul, routes, ..Config::default() }).unwrap()
}

fn plain(routes: Vec<RouteConfig>) -> Router {
    router_of(ZuulConfig::default(), routes)
}

/// Route id and forwarded target, or why not.
fn ask(router: &Router, target: &str) -> Result<(String, String), String> {
    let origin_form = Bytes::copy_from_slice(target.as_bytes());
    let path_end = target.find('?').unwrap_or(target.len());
    let path = MatchPath::read(&origin_form[..path_end], router.reading()).map_err(|fault| fault.to_string())?;
    let found = router.find(&path).ok_or("no route")?;
    let target = found.target(&origin_form, &path);
    Ok((found.route.config.id.clone(), String::from_utf8(target.to_vec()).unwrap()))
}

#[track_caller]
fn check(router: &Router, target: &str, id: &str, forwarded: &str) {
    assert_eq!(ask(router, target), Ok((id.into(), forwarded.into())), "{target}");
}

#[track_caller]
fn check_none(router: &Router, target: &str) {
    assert_eq!(ask(router, target), Err("no route".into()), "{target}");
}

/// A2, PATH-01, PATH-02, PATH-11. Zuul collapses `//`, re-encodes (`%2e` to `.`, `%E4` to a replacement), cuts `;v=1`, and fails on
/// `%25` and `%2F`; here the octets that came go out. Zuul answers dot segments with 500, we with 400.
#[test]
fn paths_are_forwarded_octet_for_octet() {
    let kinds = [service("product", "/product/**"), url("product", "/product/**", "")];
    let same = [
        "/product",
        "/product/",
        "/product//list",
        "/product/a%20b",
        "/product/a%C3%A4b",
        "/product/a%3Fb",
        "/product/a%23b",
        "/product/a+b",
        "/product/a%E4b",
        "/product/a%2Fb",
        "/product/a%2fb",
        "/product/x%2F%2F7/pkg",
        "/product/a%5Cb",
        "/product/a%zzb",
        "/product/a%",
        "/product/a%25b",
        "/product/a%2eb%3Bc",
        "/product/a;v=1/b;w=2",
        "/product/a:b@c!d$e&f'g(h)i*j,k=l~m-n_o.p",
        "/product/d/na%C3%AFve%282%29.txt",
        "//product///list",
    ];
    for kind in kinds {
        let router = plain(vec![unstripped(kind)]);
        for target in same {
            check(&router, target, "product", target);
        }
        check_none(&router, "/productx");
        check_none(&router, "/PRODUCT/list");
        let refused = ["/product/../product/./list", "/product/%2e%2e/x", "/product/a%00b"];
        for target in refused {
            assert!(ask(&router, target).unwrap_err().starts_with("the path holds"), "{target}");
        }
    }
}

/// A3, PATH-04, PATH-05, PATH-07, PATH-08. Zuul decodes, groups and re-encodes queries and loses a lone `?`; here they pass untouched.
#[test]
fn queries_are_forwarded_octet_for_octet() {
    let queries = [
        "?a=1&a=2&b",
        "?a=1&b=2&a=3",
        "?q=a+b",
        "?q=a%20b%2Bc%26d%3De",
        "?u=http://x/y?z&v=%2F",
        "?q=%E4",
        "?q=%C3%A4",
        "?a=&b&=c&&d=1=2",
        "?",
        "?a=%zz",
        "?p=50%&q=1",
        "?flag",
        "?flag=",
        "?a/b=1",
        "?&&x",
        "?match[]=up",
        "?k=v==",
        "?k=a=%20b",
        "?x=../..",
        "?x=%00%0a;y",
    ];
    let routers = [
        (plain(vec![unstripped(service("p", "/p/**"))]), "/p/x"),
        (plain(vec![service("p", "/p/**")]), "/x"),
        (plain(vec![url("p", "/p/**", "/base")]), "/base/x"),
    ];
    for (router, path) in &routers {
        for query in queries {
            check(router, &format!("/p/x{query}"), "p", &format!("{path}{query}"));
        }
    }
    check(&routers[1].0, "/p?", "p", "/?");
    check(&routers[1].0, "/p?x=1", "p", "/?x=1");
    check(&routers[2].0, "/p?x=1", "p", "/base?x=1");
}

fn a9(prefix: &str, strip_prefix: bool) -> Router {
    let zuul = ZuulConfig { prefix: prefix.into(), strip_prefix, ..ZuulConfig::default() };
    let routes = vec![
        url("a", "/a/**", ""),
        url("b", "/b/**", "/base"),
        unstripped(url("c", "/c/**", "/base")),
        service("s", "/s/**"),
        unstripped(service("product", "/product/**")),
    ];
    router_of(zuul, routes)
}

/// A9 and PATH-16. The last column of Zuul has `pi/a/list` for the route `a`, since it removes `/a` wherever it finds it; here the route's
/// part goes and the prefix stays, as Zuul does it for every other name.
#[test]
fn prefixes_are_stripped_and_bases_put_before() {
    let rows = [
        ("/a/list", "a", ["/list", "/list", "/api/list"]),
        ("/a", "a", ["/", "/", "/api"]),
        ("/a/", "a", ["/", "/", "/api/"]),
        ("/b/list?x=1", "b", ["/base/list?x=1", "/base/list?x=1", "/base/api/list?x=1"]),
        ("/b", "b", ["/base", "/base", "/base/api"]),
        ("/b/", "b", ["/base/", "/base/", "/base/api/"]),
        ("/c/list", "c", ["/base/c/list", "/base/c/list", "/base/api/c/list"]),
        ("/s/list", "s", ["/list", "/list", "/api/list"]),
        ("/s", "s", ["/", "/", "/api"]),
        ("/product/list", "product", ["/product/list", "/product/list", "/api/product/list"]),
    ];
    let (none, stripped, kept) = (a9("", true), a9("/api", true), a9("/api", false));
    for (path, id, [without, below, unstripped]) in rows {
        check(&none, path, id, without);
        check(&stripped, &format!("/api{path}"), id, below);
        check(&kept, &format!("/api{path}"), id, unstripped);
        check_none(&stripped, path);
    }
}

#[test]
fn each_route_knows_its_piece_of_the_forwarded_prefix() {
    let pieces = |router: &Router| router.routes().iter().map(|route| route.prefix.clone()).collect::<Vec<_>>();
    assert_eq!(pieces(&a9("", true)), ["/a", "/b", "", "/s", ""]);
    assert_eq!(pieces(&a9("/api", true)), ["/api/a", "/api/b", "/api", "/api/s", "/api"]);
    assert_eq!(pieces(&a9("/api", false)), ["/api/a", "/api/b", "/api", "/api/s", "/api"]);
}

/// PATH-17: `zuul.prefix` and literal segments go as whole segments, or not at all.
#[test]
fn nothing_is_stripped_from_within_a_segment() {
    let zuul = ZuulConfig { prefix: "/test".into(), ..ZuulConfig::default() };
    let router = router_of(zuul, vec![service("testsvc", "/testsvc/**"), service("root", "/**")]);
    check_none(&router, "/testsvc/x");
    check(&router, "/test/testsvc/x", "testsvc", "/x");
    check(&router, "/test/testsvcx/x", "root", "/testsvcx/x");
    check(&router, "/test", "root", "/");
}

/// Zuul strips `/fo` of `/foo*`, `/` of `/r*x/**`, and refuses `/{id}/x/**`; here whole literal segments before the first wildcard go.
/// As in Zuul, a path without `*` has nothing to strip (PATH-19).
#[test]
fn only_literal_segments_before_the_first_wildcard_are_stripped() {
    let rows = [
        ("/foo*", "/foobar", "/foobar", ""),
        ("/r*x/**", "/rax/y", "/rax/y", ""),
        ("/{id}/x/**", "/7/x/y", "/7/x/y", ""),
        ("/users/{id}/**", "/users/7/y", "/7/y", "/users"),
        ("/users/{id}", "/users/7", "/users/7", ""),
        ("/one/*", "/one/x", "/x", "/one"),
        ("/one/*", "/one/", "/", "/one"),
        ("/q?/**", "/q1/x", "/q1/x", ""),
        ("/a/b/**", "/a/b/a/b", "/a/b", "/a/b"),
        ("/logs", "/logs", "/logs", ""),
        ("/**", "/x", "/x", ""),
        ("foo/**", "/foo/1", "/1", "/foo"),
        ("/a/**/z/*", "/a/b/z/c", "/b/z/c", "/a"),
        ("//\u{e4}//b/**", "/%C3%A4/b/c", "/c", "/\u{e4}/b"),
        ("/", "/", "/", ""),
    ];
    for (pattern, path, forwarded, prefix) in rows {
        let router = plain(vec![service("r", pattern)]);
        check(&router, path, "r", forwarded);
        assert_eq!(router.routes()[0].prefix, prefix, "{pattern}");
    }
}

/// The offset of what is stripped is found in the octets that came, however they are written.
#[test]
fn stripping_slices_the_original() {
    let zuul = ZuulConfig { prefix: "/api".into(), ..ZuulConfig::default() };
    let router = router_of(zuul, vec![service("shop", "/blue mug/**")]);
    check(&router, "/api/blue%20mug/a%2Fb?q=%20", "shop", "/a%2Fb?q=%20");
    check(&router, "//api;v=1/;x/blu%65%20mug;w//a;b", "shop", "//a;b");
    check(&router, "/api/blue%20mug", "shop", "/");
}

/// A9, CFG-01: the first match wins, not the longest; only `/**` is moved to the end.
#[test]
fn routes_are_tried_in_order() {
    let wide_first = plain(vec![service("all", "/**"), service("w", "/w/**"), service("n", "/w/n/**")]);
    check(&wide_first, "/w/n/x", "w", "/n/x");
    check(&wide_first, "/other", "all", "/other");
    let shadowed: Vec<_> = wide_first.shadowed().map(|(late, early)| (&*late.config.id, &*early.config.id)).collect();
    assert_eq!(shadowed, [("n", "w")]);
    let narrow_first = plain(vec![service("n", "/w/n/**"), service("w", "/w/**")]);
    check(&narrow_first, "/w/n/x", "n", "/x");
    assert_eq!(narrow_first.shadowed().count(), 0);
    let twice = plain(vec![service("first", "/a/**"), service("b", "/b/**"), service("second", "/a/**")]);
    check(&twice, "/a/x", "second", "/x");
    assert_eq!(twice.routes().iter().map(|route| &*route.config.id).collect::<Vec<_>>(), ["second", "b"]);
}

fn guarded(patterns: &[&str], prefix: &str) -> Router {
    let ignored_patterns = patterns.iter().map(|pattern| (*pattern).into()).collect();
    let zuul = ZuulConfig { ignored_patterns, prefix: prefix.into(), ..ZuulConfig::default() };
    router_of(zuul, vec![service("product", "/product/**"), service("admin", "/admin/**")])
}

/// A9, and PATH-13, PATH-14: no other way to write the path leads around an ignored pattern.
#[test]
fn ignored_patterns_are_never_routed() {
    let router = guarded(&["/**/admin/**", "/product/secret"], "");
    let ignored = [
        "/product/admin/x",
        "/product/secret",
        "/admin",
        "/admin/users",
        "/product//secret",
        "/product/s%65cret",
        "/product/secret;x",
        "/product%2Fsecret",
        "/product/x%2Fadmin%2Fy",
        "/product/x%5Cadmin",
        "/product/admin%3Bx/y",
        "/product/a;b%2Fadmin",
        "/zuul/product/secret",
        "/zuul/product/x%2fadmin",
    ];
    for path in ignored {
        check_none(&router, path);
    }
    check(&router, "/product/secret/", "product", "/secret/");
    check(&router, "/product/adminx", "product", "/adminx");
    check(&router, "/product/a%2Fb", "product", "/a%2Fb");
}

#[test]
fn ignored_patterns_see_the_path_with_its_prefix() {
    let router = guarded(&["/api/product/secret"], "/api");
    check_none(&router, "/api/product/secret");
    check(&router, "/api/product/x", "product", "/x");
    let relative = guarded(&["/product/secret"], "/api");
    check(&relative, "/api/product/secret", "product", "/secret");
}

/// A6: the second mount point of the same routes; the upstream never sees it.
#[test]
fn the_servlet_path_is_a_second_mount_point() {
    let zuul = ZuulConfig { prefix: "/api".into(), ..ZuulConfig::default() };
    let router = router_of(zuul, vec![service("product", "/product/**"), unstripped(service("raw", "/raw/**"))]);
    check(&router, "/zuul/api/product/x?y", "product", "/x?y");
    check(&router, "//zuul;a/api/raw//x", "raw", "/raw//x");
    check_none(&router, "/zuul");
    check_none(&router, "/zuulx/api/product/x");
    let kept = ZuulConfig {
        strip_prefix: false,
        prefix: "/api".into(),
        servlet_path: "/a/b/".into(),
        ..ZuulConfig::default()
    };
    let kept = router_of(kept, vec![service("product", "/product/**"), unstripped(service("raw", "/raw/**"))]);
    check(&kept, "/a/b/api/product/x", "product", "/api/x");
    check(&kept, "/a/b/api/raw/x", "raw", "/api/raw/x");
    let none = ZuulConfig { servlet_path: String::new(), ..ZuulConfig::default() };
    let none = router_of(none, vec![service("all", "/**")]);
    check(&none, "/zuul/x", "all", "/zuul/x");
}

/// A9: `forward:` leads to a page of the gateway's own.
#[test]
fn forward_routes_lead_to_own_pages() {
    let forward =
        |id: &str, path: &str| RouteConfig { target: RouteTarget::Forward("/local".into()), ..service(id, path) };
    let router = plain(vec![forward("fwd", "/fwd/**"), unstripped(forward("ns", "/ns/**"))]);
    check(&router, "/fwd/a/b?x=1", "fwd", "/local/a/b?x=1");
    check(&router, "/ns/a/b", "ns", "/local/ns/a/b");
    let route = &router.routes()[0];
    assert_eq!((&*route.location, &route.backend, &*route.prefix), ("forward:/local", &None, "/fwd"));
}

/// What `/actuator/routes/details` and the start-up lines show.
#[test]
fn routes_describe_themselves() {
    let router = a9("/api", true);
    let rows: Vec<_> = router.routes().iter().map(|route| (&*route.full_path, &*route.forwarded_path)).collect();
    assert_eq!(rows[..3], [("/api/a/**", "/**"), ("/api/b/**", "/**"), ("/api/c/**", "/c/**")]);
    let lines: Vec<_> = router.routes().iter().map(|route| route.mapping()).collect();
    assert_eq!(lines[1], "/api/b/** -> http://up.test:9001/base/**");
    assert_eq!(lines[3], "/api/s/** -> s /**");
    assert_eq!(router.routes()[3].withheld.iter().collect::<Vec<_>>(), ["authorization", "cookie", "set-cookie"]);
    let odd = plain(vec![service("odd", "//\u{e4}//b/**")]);
    assert_eq!(odd.routes()[0].forwarded_path, "/**");
    assert_eq!(a9("/api", false).routes()[0].mapping(), "/api/a/** -> http://up.test:9001/api/**");
}

#[test]
fn every_faulty_pattern_is_reported_with_its_key() {
    let zuul = ZuulConfig { ignored_patterns: vec!["/{x:a}/**".into()], ..ZuulConfig::default() };
    let routes = vec![service("good", "/good/**"), service("bad", "/{id:[0-9]}/**"), service("odd", "/a\u{1}/**")];
    let faults = Router::new(&Config { zuul, routes, ..Config::default() }).unwrap_err();
    let keys: Vec<_> = faults.iter().map(|fault| &*fault.key).collect();
    assert_eq!(keys, ["zuul.routes.bad.path", "zuul.routes.odd.path", "zuul.ignored-patterns"]);
}

/// Seeded: whatever the path, the target is the base, what is kept of the prefix, and a suffix of the octets that came.
#[test]
fn a_target_is_always_base_and_suffix() {
    let routers = [(a9("", true), ""), (a9("/api", true), ""), (a9("/api", false), "/api")];
    let words =
        ["api", "a", "b", "c", "s", "product", "%61", "", ";v", "a%2Fb", "zuul", "x.y", "b;q=1", "%zz", "\u{e4}"];
    let mut random = Random(7);
    let mut next = |end| random.below(end);
    let mut routed = 0;
    for _ in 0..60_000 {
        let mut target = String::new();
        for _ in 0..=next(5) {
            target.push('/');
            target.push_str(words[next(words.len())]);
        }
        target.push_str(["", "?", "?x=/a", "/"][next(4)]);
        let (router, kept) = &routers[next(3)];
        let Ok((id, forwarded)) = ask(router, &target) else { continue };
        routed += 1;
        let base = if matches!(&*id, "b" | "c") { "/base" } else { "" };
        let rest = forwarded.strip_prefix(base).unwrap();
        assert!(forwarded.starts_with('/'), "{target} -> {forwarded}");
        assert!(is_cut_from(rest, &target, !kept.is_empty()), "{target} -> {forwarded}");
    }
    assert!(routed > 3_000, "{routed}");
}

/// Whether `rest` is a suffix of `target`, or a lone slash before one that has none, or (`may_skip`) a part of it and a suffix further on.
fn is_cut_from(rest: &str, target: &str, may_skip: bool) -> bool {
    let suffix = |rest: &str| target.ends_with(rest) && (rest.is_empty() || rest.starts_with(['/', '?']));
    let lone_slash = rest.strip_prefix('/').is_some_and(|rest| suffix(rest) && !rest.starts_with('/'));
    let skips = |at: usize| {
        let (kept, rest) = rest.split_at(at);
        suffix(rest) && target[..target.len() - rest.len()].contains(kept)
    };
    suffix(rest) || lone_slash || (may_skip && (0..=rest.len()).filter(|&at| rest.is_char_boundary(at)).any(skips))
}
