//! `zuul.*`: routes and headers (ZuulProperties).

use std::collections::BTreeSet;

/// `zuul.*` but the routes.
#[derive(Clone, Debug)]
pub struct ZuulConfig {
    /// `zuul.prefix`, with a leading and without a trailing slash, or empty.
    pub prefix: String,
    /// `zuul.strip-prefix`: removes [`Self::prefix`] before forwarding; default true.
    pub strip_prefix: bool,
    /// `zuul.add-proxy-headers`: `X-Forwarded-*`; default true.
    pub add_proxy_headers: bool,
    /// `zuul.add-host-header`: forwards the client's Host; default false.
    pub add_host_header: bool,
    /// `zuul.ignored-patterns`: Ant patterns that are never routed, against the path with the prefix.
    pub ignored_patterns: Vec<String>,
    /// `zuul.ignored-headers`, in lower case: dropped both ways.
    pub ignored_headers: BTreeSet<String>,
    /// `zuul.sensitive-headers`, in lower case: dropped both ways unless the route has its own; default cookie, set-cookie, authorization.
    pub sensitive_headers: BTreeSet<String>,
    /// `zuul.decode-url`: match on the decoded path; default true. Forwarding is octet for octet either way.
    pub decode_url: bool,
    /// `zuul.remove-semicolon-content`: match without `;x=y`; default true. Forwarding is octet for octet either way.
    pub remove_semicolon_content: bool,
    /// `zuul.servlet-path`: second mount point of the same routes; default `/zuul`, empty for none.
    pub servlet_path: String,
    /// `zuul.include-debug-header`: `X-Zuul-Debug-Header` on requests with the debug parameter.
    pub include_debug_header: bool,
    /// `zuul.debug.request`: debug routing for every request.
    pub debug_request: bool,
    /// `zuul.debug.parameter`: the query parameter that turns it on; default `debug`.
    pub debug_parameter: String,
    /// `zuul.ssl-hostname-validation-enabled`: false trusts every certificate, url routes only (as in Zuul); default true.
    pub ssl_hostname_validation_enabled: bool,
    /// `zuul.host.max-total-connections`: bound over all url routes; default 200.
    pub host_max_total_connections: usize,
}

impl Default for ZuulConfig {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            strip_prefix: true,
            add_proxy_headers: true,
            add_host_header: false,
            ignored_patterns: Vec::new(),
            ignored_headers: BTreeSet::new(),
            sensitive_headers: ["authorization", "cookie", "set-cookie"].map(String::from).into(),
            decode_url: true,
            remove_semicolon_content: true,
            servlet_path: "/zuul".into(),
            include_debug_header: false,
            debug_request: false,
            debug_parameter: "debug".into(),
            ssl_hostname_validation_enabled: true,
            host_max_total_connections: 200,
        }
    }
}

/// `zuul.routes.<id>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteConfig {
    /// The key below `zuul.routes`.
    pub id: String,
    /// `path`: an Ant pattern, without `zuul.prefix`; default `/<id>/**`.
    pub path: String,
    /// `url`, `service-id` or `location`.
    pub target: RouteTarget,
    /// `strip-prefix`: removes the pattern up to its first wildcard; default true.
    pub strip_prefix: bool,
    /// `retryable`; default `zuul.retryable`.
    pub retryable: bool,
    /// `sensitive-headers`, in lower case, when the route has a list of its own (`custom-sensitive-headers`), even an empty one.
    pub sensitive_headers: Option<BTreeSet<String>>,
    /// `gateway.encoded-delimiters.<id>`: whether a path with an encoded `/`, `\`, `;`, `?` or `#` is refused; default false.
    pub rejects_encoded_delimiters: bool,
}

/// Where a route leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteTarget {
    /// A service id: the backend of that id.
    Service(String),
    /// A url, as written: the backend of the route's id; `path` is the url's own path, without a trailing slash, or empty.
    Url {
        /// As written.
        url: String,
        /// Prepended to what is forwarded.
        path: String,
    },
    /// `forward:/path`: one of the gateway's own pages.
    Forward(String),
}
