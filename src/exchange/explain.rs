//! Why a request goes where it goes, in words: for `portcullis routes [METHOD] PATH`. Uses [`plan`] itself, so that it cannot tell another
//! story than the gateway acts.
//!
//! Returns a value that prints itself; reads no file and asks no network: the servers it names are the configured ones.

use super::plan::{ALLOW, Peer, Plan, Planned, Refusal, Rules, plan};
use crate::config::Config;
use crate::config::model::{Scheme, ServerAddress};
use crate::router::{MatchPath, Route, Router};
use crate::wire::head::RequestHead;
use http::header::HOST;
use std::fmt;

/// What becomes of one request; prints itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Method and target, as asked.
    pub request: String,
    /// The path that patterns are matched against, when it is not the path itself.
    pub matched_as: Option<String>,
    /// What becomes of it.
    pub outcome: Outcome,
}

/// Where a request ends up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes upstream.
    Proxied {
        /// The route's id and full path.
        route: String,
        /// The backend's id.
        backend: String,
        /// Its servers as `scheme://authority`; empty when none is configured.
        servers: Vec<String>,
        /// Method and target that the upstream sees.
        request: String,
        /// The fields that the upstream sees, but for framing; without `zuul.add-host-header`, Host is that of the first server.
        fields: Vec<(String, String)>,
        /// Names that the client sent and the upstream does not see.
        dropped: Vec<String>,
    },
    /// One of the gateway's own pages answers.
    Forwarded {
        /// The route's id and full path.
        route: String,
        /// The page.
        page: String,
    },
    /// The gateway answers or refuses: the status and why.
    Answered {
        /// The status.
        status: u16,
        /// Why.
        why: String,
    },
}

/// Explains what would become of the request.
pub fn explain(config: &Config, router: &Router, head: &RequestHead, peer: &Peer) -> Explanation {
    let rules = Rules::new(config);
    let path = MatchPath::read(head.path(), router.reading()).ok();
    let matched_as =
        path.as_ref().filter(|path| path.text().as_bytes() != path.raw()).map(|path| path.text().to_owned());
    let outcome = match plan(router, &rules, head, peer) {
        Ok(Planned::Proxy(plan)) => proxied(config, head, &plan),
        Ok(Planned::Forward { route, path }) => Outcome::Forwarded { route: named(route), page: text(&path) },
        Ok(Planned::None) => answered(404, no_route(router, path.as_ref())),
        Ok(Planned::Options) => answered(200, format!("the gateway itself, Allow: {ALLOW}")),
        Ok(Planned::MethodNotAllowed) => answered(405, format!("the method is not forwarded, Allow: {ALLOW}")),
        Err(Refusal { reason, detail }) => answered(reason.status().as_u16(), format!("{reason}: {detail}")),
    };
    Explanation { request: format!("{} {}", head.method(), text(head.target())), matched_as, outcome }
}

fn proxied(config: &Config, head: &RequestHead, plan: &Plan<'_>) -> Outcome {
    let backend = plan.route.backend.clone().unwrap_or_default();
    let servers = config.backends.get(&backend).map(|backend| &backend.servers);
    let servers: &[ServerAddress] = servers.map_or(&[], |servers| servers);
    let mut dropped: Vec<String> = head.fields().map(|(name, _)| text(name).to_ascii_lowercase()).collect();
    dropped.retain(|name| name != "host" && !plan.fields.contains_key(name));
    let fields = plan.fields.iter().filter_map(|(name, value)| match (name, value.as_bytes()) {
        (&HOST, b"") => Some((name.to_string(), servers.first()?.authority())),
        (_, value) => Some((name.to_string(), text(value))),
    });
    Outcome::Proxied {
        route: named(plan.route),
        servers: servers.iter().map(address).collect(),
        backend,
        request: format!("{} {}", plan.method, text(&plan.target)),
        fields: fields.collect(),
        dropped,
    }
}

fn no_route(router: &Router, path: Option<&MatchPath<'_>>) -> String {
    match path.and_then(|path| router.ignored_by(path)) {
        Some(pattern) => format!("no_route: zuul.ignored-patterns has {pattern}"),
        None => {
            format!("no_route: none of {} routes matches; the gateway's own pages are asked", router.routes().len())
        }
    }
}

fn address(server: &ServerAddress) -> String {
    let scheme = if server.scheme == Scheme::Https { "https" } else { "http" };
    format!("{scheme}://{}", server.authority())
}

fn answered(status: u16, why: String) -> Outcome {
    Outcome::Answered { status, why }
}

fn named(route: &Route) -> String {
    format!("{} ({})", route.config.id, route.full_path)
}

fn text(octets: &[u8]) -> String {
    octets.escape_ascii().to_string()
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.request)?;
        if let Some(path) = &self.matched_as {
            writeln!(f, "  matched as  {path}")?;
        }
        write!(f, "{}", self.outcome)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proxied { route, backend, servers, request, fields, dropped } => {
                let servers = if servers.is_empty() { "no server configured".into() } else { servers.join(", ") };
                writeln!(f, "  route       {route}")?;
                writeln!(f, "  backend     {backend}: {servers}")?;
                writeln!(f, "  upstream    {request}")?;
                for (name, value) in fields {
                    writeln!(f, "              {name}: {value}")?;
                }
                if !dropped.is_empty() {
                    writeln!(f, "  not sent    {}", dropped.join(", "))?;
                }
                Ok(())
            }
            Self::Forwarded { route, page } => writeln!(f, "  route       {route}\n  own page    {page}"),
            Self::Answered { status, why } => writeln!(f, "  answer      {status} {why}"),
        }
    }
}
