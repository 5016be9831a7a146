//! From a request head to what the upstream is to be asked: the one place where routing and field rules come together.
//!
//! Called once for each request, before any permit is taken. It neither waits nor fails on anything that a client may rightly send; what
//! it refuses is a [`Refusal`], what it does not route is for the gateway's own pages.

use super::request_fields::{max_forwards, request_fields};
use crate::config::Config;
use crate::reason::Reason;
use crate::router::{MatchPath, Route, Router, holds_encoded_delimiter};
use crate::wire::head::RequestHead;
use bytes::Bytes;
use http::{HeaderMap, Method};
use ipnet::IpNet;
use std::net::SocketAddr;
use std::sync::Arc;

/// What is answered to `OPTIONS *`, and as `Allow` beside a 405: every other method is for the upstream to judge.
pub const ALLOW: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// The two ends of the client's connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The client.
    pub remote: SocketAddr,
    /// Ourselves.
    pub local: SocketAddr,
    /// Whether the client speaks TLS to us.
    pub secure: bool,
}

/// What of `zuul.*` holds for every route.
#[derive(Clone, Debug)]
pub struct Rules {
    /// `zuul.add-proxy-headers`.
    pub add_proxy_headers: bool,
    /// `zuul.add-host-header`.
    pub add_host_header: bool,
    /// `gateway.trusted-proxies`; `None` is everybody.
    pub trusted_proxies: Option<Vec<IpNet>>,
    /// `zuul.include-debug-header`.
    pub include_debug_header: bool,
    /// `zuul.debug.request`.
    pub debug_request: bool,
    /// `zuul.debug.parameter`.
    pub debug_parameter: String,
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Planned<'r> {
    /// It goes upstream.
    Proxy(Plan<'r>),
    /// `forward:`: one of the gateway's own pages answers.
    Forward {
        /// The route.
        route: &'r Arc<Route>,
        /// The page's path, with the request's query.
        path: Bytes,
    },
    /// No route: the gateway's own pages, or 404 `no_route`.
    None,
    /// `OPTIONS *`, or OPTIONS with `Max-Forwards: 0`: answered 200 with [`ALLOW`] by the gateway itself (RFC 9110 7.6.2, 9.3.7).
    Options,
    /// TRACE: answered 405 with [`ALLOW`], since it would show fields that proxies add (as Tomcat does).
    MethodNotAllowed,
}

/// What the upstream is to be asked.
#[derive(Debug)]
pub struct Plan<'r> {
    /// The route.
    pub route: &'r Arc<Route>,
    /// The method, as received.
    pub method: Method,
    /// The target in origin-form: the octets that came, without what is stripped, behind the url's own path.
    pub target: Bytes,
    /// The fields to send, but for those that frame the body. Host is the first of them: with `zuul.add-host-header` the client's, else
    /// [`OF_THE_SERVER`](super::OF_THE_SERVER).
    pub fields: HeaderMap,
    /// Whether the answer is to carry `X-Zuul-Debug-Header`.
    pub debug: bool,
}

/// A request that can't be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// The same in words, for the error body and the log.
    pub detail: String,
}

/// What becomes of the request.
///
/// # Errors
/// [`Refusal`] with [`Reason::BadRequest`]: dot segments, encoded controls, octets that can't be sent on, or a loop.
pub fn plan<'r>(router: &'r Router, rules: &Rules, head: &RequestHead, peer: &Peer) -> Result<Planned<'r>, Refusal> {
    if *head.method() == Method::TRACE {
        return Ok(Planned::MethodNotAllowed);
    }
    if ends_here(head) {
        return Ok(Planned::Options);
    }
    plan_forward(router, rules, (head, &head.origin_form_bytes()), peer)
}

/// What becomes of the request when it is for another target, in origin-form: a forward of the gateway's own.
///
/// # Errors
/// As for [`plan`].
pub fn plan_forward<'r>(
    router: &'r Router,
    rules: &Rules,
    (head, origin_form): (&RequestHead, &Bytes),
    peer: &Peer,
) -> Result<Planned<'r>, Refusal> {
    let raw = origin_form.split(|&octet| octet == b'?').next().unwrap_or_default();
    let path = MatchPath::read(raw, router.reading());
    let path = path.map_err(|fault| Refusal::bad_request(&fault.to_string()))?;
    let Some(found) = router.find(&path) else { return Ok(Planned::None) };
    if found.route.config.rejects_encoded_delimiters && holds_encoded_delimiter(raw) {
        return Err(Refusal::bad_request("the path holds an encoded delimiter"));
    }
    let target = found.target(origin_form, &path);
    if found.route.is_forward() {
        return Ok(Planned::Forward { route: found.route, path: target });
    }
    Ok(Planned::Proxy(Plan {
        route: found.route,
        method: head.method().clone(),
        target,
        fields: request_fields(found.route, rules, head, peer)?,
        debug: rules.debugs(head),
    }))
}

impl Rules {
    /// Takes them from the configuration.
    pub fn new(config: &Config) -> Self {
        let zuul = &config.zuul;
        Self {
            trusted_proxies: config.gateway.trusted_proxies.clone(),
            add_proxy_headers: zuul.add_proxy_headers,
            add_host_header: zuul.add_host_header,
            include_debug_header: zuul.include_debug_header,
            debug_request: zuul.debug_request,
            debug_parameter: zuul.debug_parameter.clone(),
        }
    }

    /// Whether what the peer says about those before it is passed on.
    pub(super) fn believes(&self, peer: &Peer) -> bool {
        let client = peer.remote.ip().to_canonical();
        self.trusted_proxies.as_ref().is_none_or(|trusted| trusted.iter().any(|network| network.contains(&client)))
    }

    /// `DebugFilter`: the parameter's value has to be `true`, in lower case.
    fn debugs(&self, head: &RequestHead) -> bool {
        let asked = || {
            let mut pairs = head.query().unwrap_or_default().split(|&octet| octet == b'&');
            pairs.any(|pair| pair.strip_prefix(self.debug_parameter.as_bytes()) == Some(b"=true"))
        };
        self.include_debug_header && (self.debug_request || asked())
    }
}

impl Peer {
    /// The scheme that the client used.
    pub fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    pub(super) fn default_port(&self) -> &'static str {
        if self.secure { "443" } else { "80" }
    }
}

impl Refusal {
    pub(super) fn bad_request(detail: &str) -> Self {
        Self { reason: Reason::BadRequest, detail: detail.to_owned() }
    }
}

/// OPTIONS for the gateway itself.
fn ends_here(head: &RequestHead) -> bool {
    let is_last = || head.values("max-forwards").any(|left| max_forwards(left) == Some(0));
    *head.method() == Method::OPTIONS && (head.path() == b"*" || is_last())
}
