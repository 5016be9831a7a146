//! `/actuator`: links to every exposed endpoint (WebMvcEndpointHandlerMapping's links of Boot 2.3).

use super::page::Page;
use serde_json::{Map, Value, json};

/// The endpoints that there are, each with its further link: name and path, when it has one.
pub(super) const ENDPOINTS: [(&str, Option<(&str, &str)>); 7] = [
    ("filters", None),
    ("health", Some(("health-path", "/{*path}"))),
    ("hystrix.stream", None),
    ("info", None),
    ("metrics", Some(("metrics-requiredMetricName", "/{requiredMetricName}"))),
    ("prometheus", None),
    ("routes", Some(("routes-format", "/{format}"))),
];

/// Links below `base`, absolute when the client named a host.
pub(super) fn page(base: &str, host: Option<&[u8]>, exposed: impl Fn(&str) -> bool) -> Page {
    let origin = host.map(|host| format!("http://{}", String::from_utf8_lossy(host))).unwrap_or_default();
    let root = format!("{origin}{base}");
    let mut links = Map::new();
    links.insert("self".into(), link(&root, false));
    for (id, further) in ENDPOINTS.iter().filter(|(id, _)| exposed(id)) {
        links.insert((*id).into(), link(&format!("{root}/{id}"), false));
        if let Some((name, path)) = further {
            links.insert((*name).into(), link(&format!("{root}/{id}{path}"), true));
        }
    }
    Page::json(json!({ "_links": links }))
}

fn link(href: &str, templated: bool) -> Value {
    json!({ "href": href, "templated": templated })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::page::Content;

    #[track_caller]
    fn check(host: Option<&[u8]>, expected: &str) {
        let Content::Json(value) = page("/actuator", host, |id| id == "metrics").content else {
            panic!("JSON expected")
        };
        assert_eq!(value.to_string(), expected);
    }

    #[test]
    fn exposed_endpoints_are_linked() {
        check(
            Some(b"gw:8081"),
            r#"{"_links":{"self":{"href":"http://gw:8081/actuator","templated":false},"metrics":{"href":"http://gw:8081/actuator/metrics","templated":false},"metrics-requiredMetricName":{"href":"http://gw:8081/actuator/metrics/{requiredMetricName}","templated":true}}}"#,
        );
        check(
            None,
            r#"{"_links":{"self":{"href":"/actuator","templated":false},"metrics":{"href":"/actuator/metrics","templated":false},"metrics-requiredMetricName":{"href":"/actuator/metrics/{requiredMetricName}","templated":true}}}"#,
        );
    }
}
