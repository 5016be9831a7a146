//! The actuator: health, info, routes, filters, metrics and prometheus below one base path, with Spring Boot 2.3's semantics.
//!
//! An [`Actuator`] answers from the head alone and never blocks; only `hystrix.stream` goes on after that, in the background. The gateway
//! asks it below its routes when the actuator has no port of its own; with `management.server.port`, a front of two threads serves it
//! through [`ManagementHandler`]. What it tells comes in by closures and [`Collect`], so that it knows no other part of the gateway.

mod filters;
mod handler;
mod health;
mod index;
mod info;
mod metrics;
mod page;
mod process;
mod prometheus;
mod routes;
mod snapshot;
mod stream;

pub use filters::FilterLine;
pub use handler::ManagementHandler;
pub use health::{Component, Health, Status};
pub use page::Answer;
pub use process::ProcessMeters;
pub use routes::RouteLine;
pub use stream::{Attendant, EventStream, Events};

use crate::config::model::ManagementConfig;
use crate::metrics::Collect;
use crate::query::{decode_segment, parameters};
use crate::wire::head::RequestHead;
use http::Method;
use index::ENDPOINTS;
use page::Page;
use snapshot::Snapshot;
use std::sync::Arc;
use std::time::SystemTime;

/// Where the actuator's answers come from.
pub struct Sources {
    /// Everything that counts.
    pub collect: Vec<Arc<dyn Collect>>,
    /// The routes in force, in order.
    pub routes: Arc<dyn Fn() -> Vec<RouteLine> + Send + Sync>,
    /// The steps of a request.
    pub filters: Vec<FilterLine>,
    /// How the gateway is.
    pub health: Arc<dyn Fn() -> Health + Send + Sync>,
    /// What `hystrix.stream` sends.
    pub stream: Arc<EventStream>,
}

/// Answers requests below `management.endpoints.web.base-path`.
pub struct Actuator {
    config: ManagementConfig,
    base: String,
    sources: Sources,
}

/// What an endpoint reads of a request.
#[derive(Clone, Copy, Debug)]
struct Ask<'a> {
    method: &'a Method,
    path: &'a [u8],
    query: &'a [u8],
    host: Option<&'a [u8]>,
    /// Whether its connection can be left to the stream.
    can_subscribe: bool,
}

impl Actuator {
    /// An actuator that tells what `sources` know.
    pub fn new(config: &ManagementConfig, sources: Sources) -> Self {
        let base = config.base_path.trim_end_matches('/').to_owned();
        Self { config: config.clone(), base, sources }
    }

    /// The answer to `head`; `None` when its path is none of the actuator's. `can_subscribe`: the connection can outlive its request.
    pub fn page(&self, head: &RequestHead, can_subscribe: bool) -> Option<Answer> {
        self.page_at(head, (head.path(), head.query().unwrap_or_default()), can_subscribe)
    }

    /// The answer to a request that was forwarded to another path and query (`forward:`).
    pub fn page_at(&self, head: &RequestHead, (path, query): (&[u8], &[u8]), can_subscribe: bool) -> Option<Answer> {
        let ask = Ask { method: head.method(), path, query, host: head.host(), can_subscribe };
        self.answer(ask).map(|page| page.into_answer(head, SystemTime::now()))
    }

    /// `None` when the path is not below the base path. With the base path `/` only the exposed endpoints are ours, and there is no list
    /// of links, as in Spring.
    fn answer(&self, ask: Ask<'_>) -> Option<Page> {
        let below = below(self.base.as_bytes(), ask.path)?;
        let segments: Vec<String> = below.split(|&b| b == b'/').map(decode_segment).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let Some(allowed) = self.methods(&segments) else {
            return (!self.base.is_empty()).then(|| Page::not_found("no such endpoint is exposed"));
        };
        if !allowed.split(", ").any(|method| method == ask.method.as_str()) {
            return Some(Page::method_not_allowed(allowed));
        }
        Some(self.endpoint(&segments, ask))
    }

    /// The methods of what these segments name; `None` when it does not exist or is not exposed.
    fn methods(&self, segments: &[&str]) -> Option<&'static str> {
        let id = segments[0];
        if id.is_empty() {
            return (segments.len() == 1 && !self.base.is_empty()).then_some("GET, HEAD");
        }
        let (_, further) = ENDPOINTS.iter().find(|(name, _)| *name == id)?;
        let deep_enough = segments.len() == 1 || (segments.len() == 2 && further.is_some() && !segments[1].is_empty());
        if !deep_enough || !self.config.exposure.exposes(id) {
            return None;
        }
        Some(match segments {
            ["routes"] => "GET, HEAD, POST",
            ["hystrix.stream"] => "GET",
            _ => "GET, HEAD",
        })
    }

    /// A POST to the routes reads them anew; so does every other request for them.
    fn endpoint(&self, segments: &[&str], ask: Ask<'_>) -> Page {
        let further = segments.get(1).copied();
        match segments[0] {
            "filters" => filters::page(&self.sources.filters),
            "health" => health::page((self.sources.health)(), further, self.config.show_details),
            "hystrix.stream" => stream::page(&self.sources.stream, ask.can_subscribe),
            "info" => info::page(&self.config.info),
            "metrics" => self.metrics(further, ask.query),
            "prometheus" => prometheus::page(&Snapshot::take(&self.sources.collect)),
            "routes" => routes::page(&(self.sources.routes)(), further == Some("details")),
            _ => index::page(&self.base, ask.host, |id| self.config.exposure.exposes(id)),
        }
    }

    fn metrics(&self, name: Option<&str>, query: &[u8]) -> Page {
        let snapshot = Snapshot::take(&self.sources.collect);
        let Some(name) = name else { return metrics::names(&snapshot) };
        let tags: Vec<String> = parameters(query).filter(|(n, _)| n == "tag").map(|(_, value)| value).collect();
        metrics::meter(&snapshot, name, &tags)
    }
}

/// What follows the base path, without the slash between and one at the end (Boot 2 matches with and without).
fn below<'a>(base: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(base)?;
    let Some(rest) = rest.strip_prefix(b"/") else { return rest.is_empty().then_some(rest) };
    Some(rest.strip_suffix(b"/").unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::model::EndpointExposure;
    use page::Content;

    fn actuator(base: &str, include: &[&str]) -> Actuator {
        let include = include.iter().map(ToString::to_string).collect();
        let exposure = EndpointExposure { include, exclude: vec!["info".into()] };
        let config = ManagementConfig { base_path: base.into(), exposure, ..ManagementConfig::default() };
        let routes = || vec![RouteLine { full_path: "/a/**".into(), location: "a".into(), ..RouteLine::default() }];
        let collect: Vec<Arc<dyn Collect>> = vec![Arc::new(snapshot::fake::Sample3)];
        let health = Arc::new(Health::default);
        let stream = stream::fake::stream(500, 1);
        Actuator::new(&config, Sources { collect, routes: Arc::new(routes), filters: Vec::new(), health, stream })
    }

    #[track_caller]
    fn check(actuator: &Actuator, method: Method, target: &str, expected: Option<(u16, &str)>) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let ask =
            Ask { method: &method, path: path.as_bytes(), query: query.as_bytes(), host: None, can_subscribe: true };
        let found = actuator.answer(ask).map(|page| {
            let body = match page.content {
                Content::Json(value) => value.to_string(),
                Content::Text(media_type, _) => media_type.to_owned(),
                Content::Allow(methods) => methods.to_owned(),
                Content::Error(_) => String::new(),
                Content::Stream(_) => "events".to_owned(),
            };
            (page.status.as_u16(), body)
        });
        let expected = expected.map(|(status, body)| (status, body.to_owned()));
        assert_eq!(found, expected, "{method} {target}");
    }

    #[test]
    fn exposed_endpoints_answer_below_the_base_path_only() {
        let all = actuator("/actuator", &["*"]);
        for target in ["/actuator/health", "/actuator/health/", "/actuator/health?x=/"] {
            check(&all, Method::GET, target, Some((200, r#"{"status":"UP"}"#)));
        }
        for target in ["/", "/health", "/actuators", "/actuatorhealth", "/x/actuator", "*"] {
            check(&all, Method::GET, target, None);
        }
        for target in [
            "/actuator/nothing",
            "/actuator/info",
            "/actuator/health/a/b",
            "/actuator//health",
            "/actuator/info/x",
            "/actuator/HEALTH",
        ] {
            check(&all, Method::GET, target, Some((404, "")));
        }
        check(&all, Method::GET, "/actuator/hystrix.stream", Some((200, "events")));
        check(&all, Method::HEAD, "/actuator/routes", Some((200, r#"{"/a/**":"a"}"#)));
        check(&all, Method::POST, "/actuator/routes", Some((200, r#"{"/a/**":"a"}"#)));
        check(&all, Method::GET, "/actuator/routes/anything", Some((200, r#"{"/a/**":"a"}"#)));
        check(&all, Method::GET, "/actuator/prometheus", Some((200, "text/plain;version=0.0.4;charset=utf-8")));
    }

    #[test]
    fn what_is_not_exposed_does_not_exist() {
        let default = actuator("/manage/", &["health"]);
        let links = r#"{"_links":{"self":{"href":"/manage","templated":false},"health":{"href":"/manage/health","templated":false},"health-path":{"href":"/manage/health/{*path}","templated":true}}}"#;
        check(&default, Method::GET, "/manage", Some((200, links)));
        check(&default, Method::GET, "/manage/", Some((200, links)));
        check(&default, Method::GET, "/manage/metrics", Some((404, "")));
        check(&default, Method::POST, "/manage/routes", Some((404, "")));
    }

    #[test]
    fn other_methods_are_told_what_there_is() {
        let all = actuator("/actuator", &["*"]);
        check(&all, Method::DELETE, "/actuator/routes", Some((405, "GET, HEAD, POST")));
        check(&all, Method::POST, "/actuator/routes/details", Some((405, "GET, HEAD")));
        check(&all, Method::POST, "/actuator/health", Some((405, "GET, HEAD")));
        check(&all, Method::PUT, "/actuator", Some((405, "GET, HEAD")));
        check(&all, Method::HEAD, "/actuator/hystrix.stream", Some((405, "GET")));
    }

    #[test]
    fn a_meter_is_named_in_the_path_and_narrowed_in_the_query() {
        let all = actuator("/actuator", &["*"]);
        let meter = r#"{"name":"portcullis.refused","description":"Refusals.","baseUnit":null,"measurements":[{"statistic":"COUNT","value":3.0}],"availableTags":[{"tag":"stage","values":["queue"]}]}"#;
        check(&all, Method::GET, "/actuator/metrics/portcullis%2erefused?tag=reason%3Aqueue_full", Some((200, meter)));
        check(&all, Method::GET, "/actuator/metrics/portcullis.refused?tag=x", Some((400, "")));
        check(&all, Method::GET, "/actuator/metrics/x", Some((404, "")));
    }

    #[test]
    fn the_base_path_may_be_the_root() {
        let root = actuator("/", &["health", "metrics"]);
        check(&root, Method::GET, "/health", Some((200, r#"{"status":"UP"}"#)));
        check(&root, Method::GET, "/routes", None);
        check(&root, Method::GET, "/product/list", None);
        check(&root, Method::GET, "/", None);
    }
}
