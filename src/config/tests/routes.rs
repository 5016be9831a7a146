//! `zuul.routes.*`: every way to write a route, and every way to get it wrong.
//!
//! Order, opaque ids, duplicates and the four ways to write a list of sensitive headers are what users stumbled over most.

use super::{config, errors, warnings};
use crate::config::model::RouteTarget;

#[track_caller]
fn check(yaml: &str, expected: &[(&str, &str, &str)]) {
    let config = config(yaml);
    let found: Vec<_> = config
        .routes
        .iter()
        .map(|route| {
            let target = match &route.target {
                RouteTarget::Service(id) => format!("service {id}"),
                RouteTarget::Url { url, path } => format!("url {url} {path}"),
                RouteTarget::Forward(path) => format!("forward {path}"),
            };
            (route.id.clone(), route.path.clone(), target)
        })
        .collect();
    let expected: Vec<_> = expected.iter().map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string())).collect();
    assert_eq!(found, expected, "{yaml}");
}

#[test]
fn routes_in_every_form() {
    check("zuul.routes.users: /myusers/**\n", &[("users", "/myusers/**", "service users")]);
    check("zuul.routes.users: myusers/**\n", &[("users", "/myusers/**", "service users")]);
    check("zuul.routes.users: /u/**=http://h/x\n", &[("users", "/u/**", "url http://h/x /x")]);
    check("zuul.routes.users: /u/**=accounts\n", &[("users", "/u/**", "service accounts")]);
    check("zuul.routes.users:\n", &[("users", "/users/**", "service users")]);
    check("zuul.routes.users.path: /u/**\n", &[("users", "/u/**", "service users")]);
    check("zuul.routes.users.url: http://h:1/b/\n", &[("users", "/users/**", "url http://h:1/b/ /b")]);
    check("zuul.routes.users.service-id: x\n", &[("users", "/users/**", "service x")]);
    check("zuul.routes.users.location: x\n", &[("users", "/users/**", "service x")]);
    check("zuul.routes.users.location: https://h\n", &[("users", "/users/**", "url https://h ")]);
    check("zuul.routes.l: {path: /l/**, url: 'forward:/local'}\n", &[("l", "/l/**", "forward /local")]);
    check("zuul.routes.x: {id: y, path: /x/**}\n", &[("y", "/x/**", "service x")]);
    check("zuul.routes.x: {service-id: s, url: 'http://h'}\n", &[("x", "/x/**", "url http://h ")]);
}

#[test]
fn ids_are_opaque() {
    let yaml = "zuul.routes:\n  \"[api.v2]\": /v2/**\n  api-v2: /d/**\n  api_v2: /u/**\n  API-V2: /c/**\n  \"urn:t:1\": /urn/**\n  Admin/1/*: /ad/**\n";
    let ids: Vec<_> = config(yaml).routes.iter().map(|route| route.id.clone()).collect();
    assert_eq!(ids, ["api.v2", "api-v2", "api_v2", "API-V2", "urn:t:1", "Admin/1/*"]);
    let yaml = "zuul.routes.p: {path: /p, service-id: api.v2}\n\"[api.v2]\":\n  ribbon:\n    listOfServers: h:1\n";
    assert_eq!(config(yaml).backends["api.v2"].servers.len(), 1);
    let yaml = "zuul.routes.p: {path: /p, service-id: api.v2}\napi.v2:\n  ribbon:\n    listOfServers: h:1\n";
    assert_eq!(config(yaml).backends["api.v2"].servers.len(), 1);
    let dotted = errors("zuul.routes:\n  api.v2:\n    path: /v2/**\n");
    assert_eq!(
        dotted,
        [
            "error: gateway.yaml:3: zuul.routes.api.v2.path: unknown key; the id of a route with a dot in it is written \"[a.b]\""
        ]
    );
}

#[test]
fn order_is_the_documents() {
    let yaml = "zuul.routes.z: /z/**\nzuul:\n  routes:\n    all: /**\n    a: /a/**\n";
    assert_eq!(config(yaml).routes.iter().map(|route| route.id.clone()).collect::<Vec<_>>(), ["z", "all", "a"]);
}

#[test]
fn absent_null_and_empty_sensitive_headers_are_three_things() {
    let own = |line: &str| {
        let config = config(&format!("zuul.routes.a:\n  path: /a/**\n  {line}\n"));
        config.routes[0].sensitive_headers.clone().map(|names| names.into_iter().collect::<Vec<_>>())
    };
    assert_eq!(own(""), None);
    assert_eq!(own("sensitiveHeaders:"), Some(vec![]));
    assert_eq!(own("sensitiveHeaders: \"\""), Some(vec![]));
    assert_eq!(own("sensitive-headers: X-Sens, Authorization"), Some(vec!["authorization".into(), "x-sens".into()]));
    assert_eq!(own("sensitive-headers: [Cookie]"), Some(vec!["cookie".into()]));
    assert_eq!(own("custom-sensitive-headers: true"), Some(vec![]));
    assert_eq!(own("custom-sensitive-headers: false"), None);
    assert_eq!(own("sensitive-headers: a\n  custom-sensitive-headers: false"), None);
    let global = |yaml: &str| config(yaml).zuul.sensitive_headers.into_iter().collect::<Vec<_>>();
    assert_eq!(global(""), ["authorization", "cookie", "set-cookie"]);
    assert_eq!(global("zuul.sensitiveHeaders:\n"), [""; 0]);
    assert_eq!(global("zuul.sensitiveHeaders: ''\n"), [""; 0]);
    assert_eq!(global("zuul.sensitiveHeaders: Authorization\n"), ["authorization"]);
}

#[test]
fn faults_of_routes_are_named() {
    #[track_caller]
    fn check(yaml: &str, expected: &str) {
        assert_eq!(errors(yaml), [expected]);
    }
    check(
        "zuul.routes:\n  a: /a/**\n  b: /b/**\n  a: /c/**\n",
        "error: gateway.yaml:4: zuul.routes.a: given twice, first on line 2",
    );
    check(
        "zuul.routes.a: {path: /a/**}\nzuul.routes.b: {id: a, path: /b/**}\n",
        "error: gateway.yaml:2: zuul.routes.b: a second route of the id a, first at gateway.yaml:1",
    );
    check(
        "zuul.routes.a.servceId: x\n",
        "error: gateway.yaml:1: zuul.routes.a.servceId: unknown key; did you mean zuul.routes.a.service-id?",
    );
    check(
        "zuul.routes.a.url: ftp://h/\n",
        "error: gateway.yaml:1: zuul.routes.a.url: a url begins with http://, https:// or forward:/",
    );
    check("zuul.routes.a.url: http://\n", "error: gateway.yaml:1: zuul.routes.a.url: the host is missing");
    check(
        "zuul.routes.a: {url: 'http://h'}\nzuul.routes.b: {service-id: a}\n",
        "error: gateway.yaml:2: zuul.routes.b: a would be both a service and a url route, and limits are found by that name; give one of \
         them another id",
    );
    check(
        "zuul.routes.a: {sensitive-headers: 'X Y'}\n",
        "error: gateway.yaml:1: zuul.routes.a.sensitive-headers: \"X Y\" can't be the name of a header field",
    );
    check(
        "zuul.routes.a: {strip-prefix: 1, stripPrefix: 0}\n",
        "error: gateway.yaml:1: zuul.routes.a.stripPrefix: given twice, first as zuul.routes.a.strip-prefix on line 1",
    );
    check(
        "zuul.routes.a.strip-prefix: maybe\n",
        "error: gateway.yaml:1: zuul.routes.a.strip-prefix: must be true or false",
    );
}

#[test]
fn what_is_taken_otherwise_than_it_seems_is_told() {
    let same = "zuul.routes.a: /x/**\nzuul.routes.b: /x/**\n";
    assert_eq!(
        warnings(same),
        [
            "warning: gateway.yaml:2: zuul.routes.b: has the same path as the route a (gateway.yaml:1), whose place it takes: /x/**"
        ]
    );
    assert_eq!(config(same).routes.iter().map(|route| route.id.clone()).collect::<Vec<_>>(), ["b"]);
    assert_eq!(
        warnings("zuul.routes.a.url: http://h/?x=1\n"),
        ["warning: gateway.yaml:1: zuul.routes.a.url: the query and fragment of the url are left out, as in Zuul"]
    );
    assert_eq!(
        warnings("zuul.routes.a.url: users\n"),
        ["warning: gateway.yaml:1: zuul.routes.a.url: is no url; taken for a service id, as in Zuul"]
    );
}

#[test]
fn retryable_comes_from_the_route_else_from_zuul() {
    let yaml = "zuul.retryable: true\nzuul.routes.a: /a/**\nzuul.routes.b: {path: /b/**, retryable: false}\n";
    assert_eq!(config(yaml).routes.iter().map(|route| route.retryable).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn patterns_are_checked_where_they_are_written() {
    let yaml = "zuul:\n  ignored-patterns: \"/x/{y:a+}\"\n  routes:\n    a:\n      service-id: s\n      path: \"/b/{x:[0-9]+}/**\"\n    b: /c/{z:b}\nserver.port: many\n";
    let said = errors(yaml);
    let at = |line: &str, key: &str| {
        said.iter().any(|fault| fault.starts_with(&format!("error: gateway.yaml:{line}: {key}: ")))
    };
    assert!(at("2", "zuul.ignored-patterns") && at("6", "zuul.routes.a.path") && at("7", "zuul.routes.b"), "{said:?}");
    assert_eq!(said.len(), 4, "all at once: {said:?}");
}

#[test]
fn a_fault_draws_no_other_one_after_it() {
    let faults = crate::config::load_str(
        "zuul.routes.a: {path: /a/**, url: 'ftp://h'}\nzuul.eureka.a.semaphore.maxSemaphores: 5\n",
    );
    let said: Vec<_> = faults.unwrap_err().iter().map(ToString::to_string).collect();
    assert!(matches!(&said[..], [only] if only.contains("url")), "{said:?}");
}

#[test]
fn a_route_file_is_no_configuration() {
    let said = errors("{\"routeDefinitionList\": [{\"id\": \"a\"}, {\"id\": \"b\"}]}\n");
    assert!(matches!(&said[..], [only] if only.contains("gateway.routes-file")), "{said:?}");
}
