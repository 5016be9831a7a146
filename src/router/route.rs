//! A route with everything worked out that does not depend on the request: its pattern, what is stripped, where it leads, which fields
//! pass. Never changes after it was made; shared by all workers, read by the actuator's `routes`.
//!
//! What stripping removes (SimpleRouteLocator), here by whole segments and at the front only:
//!
//! ```text
//! /zuul/api/shop/list?x=1      mount | zuul.prefix | literal segments of the route's pattern | rest
//!                              always | strip-prefix | the route's strip-prefix              | forwarded
//! ```

use super::ant::{Pattern, segments};
use super::fields::{FieldTable, ForwardedField, withheld};
use super::path::MatchPath;
use crate::config::model::{RouteConfig, RouteTarget, ZuulConfig};
use bytes::Bytes;
use http::HeaderValue;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A route.
#[derive(Debug)]
pub struct Route {
    /// As configured.
    pub config: RouteConfig,
    /// Its id, shared with every log line that names it.
    pub name: Arc<str>,
    /// Its place among the routes, in the order in which they are tried.
    pub index: usize,
    /// `zuul.prefix` and the route's path: what requests are matched against.
    pub full_path: String,
    /// What of [`Self::full_path`] is left after stripping: what the upstream sees, its own base path aside.
    pub forwarded_path: String,
    /// Service id, url as written, or `forward:/path`.
    pub location: String,
    /// `zuul.prefix` and what the route strips: the route's piece of `X-Forwarded-Prefix`; empty for none.
    pub prefix: String,
    /// The backend's id: the service's, or the route's own for a url; `None` for `forward:`.
    pub backend: Option<String>,
    /// The fields that `zuul.*` keeps from passing, both ways, in lower case: ignored and sensitive ones.
    pub withheld: BTreeSet<String>,
    pub(crate) prefix_value: Option<HeaderValue>,
    pub(crate) request_fields: FieldTable,
    pub(crate) answer_fields: FieldTable,
    pub(crate) adds: Adds,
    pub(super) pattern: Pattern,
    strip: Strip,
    /// Stands before what is forwarded; no slash at its end.
    base: String,
}

/// Which fields of the gateway's own a request is given: those whose names the configuration does not drop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adds {
    /// By the number of each.
    pub(crate) forwarded: [bool; ForwardedField::ALL.len()],
    pub(crate) via: bool,
    pub(crate) host: bool,
}

impl Adds {
    fn of(table: &FieldTable) -> Self {
        let forwarded = ForwardedField::ALL.map(|field| !table.drops(field.name().as_bytes()));
        Self { forwarded, via: !table.drops(b"via"), host: !table.drops(b"host") }
    }
}

/// How many leading segments are the prefix's, and how many of the pattern's own go with them.
#[derive(Clone, Copy, Debug)]
struct Strip {
    prefix: usize,
    keeps_prefix: bool,
    own: usize,
}

pub(super) const CONTROL_CHARACTER: &str = "holds a control character";

/// Why a route can't be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteFault {
    /// The key at fault: `zuul.routes.<id>.path` or `zuul.ignored-patterns`.
    pub key: String,
    /// What is wrong with its value.
    pub what: String,
}

impl Route {
    /// Works everything out.
    ///
    /// # Errors
    /// [`RouteFault`] when the pattern can't be offered.
    pub fn new(zuul: &ZuulConfig, config: &RouteConfig) -> Result<Self, RouteFault> {
        let path = with_leading_slash(&config.path);
        let fault = |what: String| RouteFault { key: format!("zuul.routes.{}.path", config.id), what };
        let pattern = Pattern::below(&zuul.prefix, &path).map_err(|unsupported| fault(unsupported.to_string()))?;
        let strip = Strip::of(zuul, config, &pattern);
        let prefix = format!("{}{}", zuul.prefix, rejoined(segments(&path).take(strip.own)));
        let prefix_value = HeaderValue::from_bytes(prefix.as_bytes()).map_err(|_| fault(CONTROL_CHARACTER.into()))?;
        let (location, base, backend) = destination(config);
        let request_fields = FieldTable::for_requests(zuul, config);
        Ok(Self {
            name: config.id.as_str().into(),
            index: 0,
            full_path: format!("{}{path}", zuul.prefix),
            forwarded_path: strip.forwarded(zuul, &path),
            prefix_value: (!prefix.is_empty()).then_some(prefix_value),
            prefix,
            location,
            backend,
            withheld: withheld(zuul, config),
            adds: Adds::of(&request_fields),
            request_fields,
            answer_fields: FieldTable::for_answers(zuul, config),
            pattern,
            strip,
            base,
            config: config.clone(),
        })
    }

    /// What a request is forwarded to: the base path, the prefix if it is kept, and the rest of the original octets with the query.
    /// `mounted` is the number of leading segments of `zuul.servlet-path`.
    pub(super) fn target(&self, origin_form: &Bytes, path: &MatchPath<'_>, mounted: usize) -> Bytes {
        let start = path.raw_end(mounted);
        let prefix_end = path.raw_end(mounted + self.strip.prefix);
        let rest = path.raw_end(mounted + self.strip.prefix + self.strip.own);
        let kept = if self.strip.keeps_prefix { start..prefix_end } else { start..start };
        let (kept, rest) = if kept.end == rest { (start..start, start) } else { (kept, rest) };
        if self.base.is_empty() && kept.is_empty() && origin_form[rest..].starts_with(b"/") {
            return origin_form.slice(rest..);
        }
        joined([self.base.as_bytes(), &origin_form[kept], &origin_form[rest..]])
    }

    /// How the route maps paths, for the start-up lines: `/api/users/** -> http://10.0.0.7/base/**`.
    pub fn mapping(&self) -> String {
        match &self.config.target {
            RouteTarget::Service(id) => format!("{} -> {id} {}", self.full_path, self.forwarded_path),
            RouteTarget::Url { url, path } => {
                let host = url.find("://").map_or(0, |at| at + 3);
                let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
                format!("{} -> {}{path}{}", self.full_path, &url[..end], self.forwarded_path)
            }
            RouteTarget::Forward(_) => format!("{} -> {}{}", self.full_path, self.location, self.forwarded_path),
        }
    }

    /// The fields that are not passed on, for the same lines: `cookie, set-cookie`, or `nothing`.
    pub fn withheld_names(&self) -> String {
        let names: Vec<&str> = self.withheld.iter().map(String::as_str).collect();
        if names.is_empty() { "nothing".into() } else { names.join(", ") }
    }

    /// Whether it leads to one of the gateway's own pages.
    pub fn is_forward(&self) -> bool {
        matches!(self.config.target, RouteTarget::Forward(_))
    }
}

impl Strip {
    /// The literal segments up to the first wildcard; a path without `*` has nothing to strip, as in Zuul.
    fn of(zuul: &ZuulConfig, config: &RouteConfig, pattern: &Pattern) -> Self {
        let prefix = segments(&zuul.prefix).count();
        let strips = config.strip_prefix && config.path.contains('*');
        let own = if strips { pattern.leading_literals() - prefix } else { 0 };
        Self { prefix, keeps_prefix: !zuul.strip_prefix, own }
    }

    /// What it leaves of a route's path, as a pattern.
    fn forwarded(self, zuul: &ZuulConfig, path: &str) -> String {
        let kept = if self.keeps_prefix { &*zuul.prefix } else { "" };
        let end = if path.ends_with('/') { "/" } else { "" };
        format!("{kept}{}{end}", rejoined(segments(path).skip(self.own)))
    }
}

impl fmt::Display for RouteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.what)
    }
}

impl std::error::Error for RouteFault {}

fn with_leading_slash(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

/// Segments with a slash before each.
fn rejoined<'a>(segments: impl Iterator<Item = &'a str>) -> String {
    segments.flat_map(|segment| ["/", segment]).collect()
}

/// Location, base path and backend.
fn destination(config: &RouteConfig) -> (String, String, Option<String>) {
    match &config.target {
        RouteTarget::Service(id) => (id.clone(), String::new(), Some(id.clone())),
        RouteTarget::Url { url, path } => (url.clone(), path.trim_end_matches('/').into(), Some(config.id.clone())),
        RouteTarget::Forward(path) => {
            let path = path.strip_prefix("forward:").unwrap_or(path);
            (format!("forward:{path}"), with_leading_slash(path).trim_end_matches('/').into(), None)
        }
    }
}

/// Base and kept prefix before the rest, which begins with a slash, a question mark, or not at all.
fn joined([base, kept, rest]: [&[u8]; 3]) -> Bytes {
    let mut target = Vec::with_capacity(base.len() + kept.len() + rest.len() + 1);
    target.extend_from_slice(base);
    target.extend_from_slice(kept);
    if target.is_empty() && !rest.starts_with(b"/") {
        target.push(b'/');
    }
    target.extend_from_slice(rest);
    target.into()
}
