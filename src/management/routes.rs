//! `/actuator/routes` and `/actuator/routes/details`, as Zuul's RoutesEndpoint tells them.

use super::page::Page;
use serde_json::{Map, Value, json};

/// One route as the endpoint tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteLine {
    /// The route's id.
    pub id: String,
    /// The whole pattern, prefixes included: `/api/users/**`.
    pub full_path: String,
    /// The url or the service id, or `forward:/path`.
    pub location: String,
    /// The pattern without [`Self::prefix`].
    pub path: String,
    /// What is stripped before forwarding; empty for nothing.
    pub prefix: String,
    /// `retryable`.
    pub retryable: bool,
    /// The route's own sensitive headers, in lower case.
    pub sensitive_headers: Vec<String>,
    /// Whether the route has such a list, even an empty one.
    pub custom_sensitive_headers: bool,
    /// Whether anything is stripped.
    pub prefix_stripped: bool,
}

/// Patterns and locations in order; `details` for `/routes/details`. Of two routes with one pattern the first is told: it is the one that acts.
pub(super) fn page(routes: &[RouteLine], details: bool) -> Page {
    let mut all = Map::new();
    for route in routes {
        let value = || if details { detail(route) } else { route.location.clone().into() };
        all.entry(route.full_path.as_str()).or_insert_with(value);
    }
    Page::json(Value::Object(all))
}

/// Members that are empty are left out, as Zuul does.
fn detail(route: &RouteLine) -> Value {
    let mut detail = Map::new();
    let mut tell = |name: &str, value: Value| detail.insert(name.into(), value);
    tell("id", route.id.as_str().into());
    tell("fullPath", route.full_path.as_str().into());
    tell("location", route.location.as_str().into());
    tell("path", route.path.as_str().into());
    if !route.prefix.is_empty() {
        tell("prefix", route.prefix.as_str().into());
    }
    tell("retryable", route.retryable.into());
    if !route.sensitive_headers.is_empty() {
        tell("sensitiveHeaders", json!(route.sensitive_headers));
    }
    tell("customSensitiveHeaders", route.custom_sensitive_headers.into());
    tell("prefixStripped", route.prefix_stripped.into());
    Value::Object(detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::page::Content;

    fn lines() -> Vec<RouteLine> {
        let product = RouteLine {
            id: "product".into(),
            full_path: "/product/**".into(),
            location: "http://127.0.0.1:9001".into(),
            path: "/product/**".into(),
            ..RouteLine::default()
        };
        let forward = RouteLine {
            id: "fwd".into(),
            full_path: "/fwd/**".into(),
            location: "forward:/local".into(),
            path: "/**".into(),
            prefix: "/fwd".into(),
            prefix_stripped: true,
            ..RouteLine::default()
        };
        let own = RouteLine {
            full_path: "/own/**".into(),
            sensitive_headers: vec!["x-sens".into(), "authorization".into()],
            custom_sensitive_headers: true,
            ..product.clone()
        };
        let shadowed = RouteLine { location: "never".into(), ..product.clone() };
        vec![product, forward, own, shadowed]
    }

    #[track_caller]
    fn check(details: bool, expected: &str) {
        let Content::Json(value) = page(&lines(), details).content else { panic!("JSON expected") };
        assert_eq!(value.to_string(), expected);
    }

    #[test]
    fn routes_are_told_in_order() {
        check(
            false,
            r#"{"/product/**":"http://127.0.0.1:9001","/fwd/**":"forward:/local","/own/**":"http://127.0.0.1:9001"}"#,
        );
    }

    #[test]
    fn details_leave_out_what_is_empty() {
        check(
            true,
            concat!(
                r#"{"/product/**":{"id":"product","fullPath":"/product/**","location":"http://127.0.0.1:9001","path":"/product/**","retryable":false,"customSensitiveHeaders":false,"prefixStripped":false},"#,
                r#""/fwd/**":{"id":"fwd","fullPath":"/fwd/**","location":"forward:/local","path":"/**","prefix":"/fwd","retryable":false,"customSensitiveHeaders":false,"prefixStripped":true},"#,
                r#""/own/**":{"id":"product","fullPath":"/own/**","location":"http://127.0.0.1:9001","path":"/product/**","retryable":false,"sensitiveHeaders":["x-sens","authorization"],"customSensitiveHeaders":true,"prefixStripped":false}}"#
            ),
        );
    }
}
