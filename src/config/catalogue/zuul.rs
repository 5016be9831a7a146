//! `zuul.*` (ZuulProperties of Hoxton), `zuul.eureka.*` and `error.path`.
//!
//! Keys that undo damage which Zuul does and we don't (re-encoded queries, lost lengths) are known and do nothing. What a key comes to is
//! decided in `resolve::zuul`, `resolve::routes` and `resolve::backends`.

use super::{Key, Kind, MILLIS, OR_MINUS, POSITIVE, acts, inert, later, matching};

const RAW: &str = "query and path are always forwarded octet for octet";

pub(super) const KEYS: &[Key] = &[
    acts("zuul.prefix", Kind::Text, "", "Path before that of every route."),
    acts("zuul.strip-prefix", Kind::Flag, "true", "Whether zuul.prefix is removed before forwarding."),
    acts("zuul.retryable", Kind::Flag, "false", "Default of the routes' retryable."),
    acts("zuul.routes.<id>", Kind::Text, "", "A route in short: its path, or `path=location`."),
    acts("zuul.routes.<id>.id", Kind::Text, "", "The route's id; default: the key."),
    acts("zuul.routes.<id>.path", Kind::Text, "", "Ant pattern; default: /<id>/**."),
    acts("zuul.routes.<id>.service-id", Kind::Text, "", "The service it leads to; default: the id."),
    acts("zuul.routes.<id>.url", Kind::Text, "", "The url it leads to, or forward:/path for a page of the gateway."),
    acts("zuul.routes.<id>.location", Kind::Text, "", "A url or a service id."),
    acts("zuul.routes.<id>.strip-prefix", Kind::Flag, "true", "Whether the path up to its first wildcard is removed."),
    acts(
        "zuul.routes.<id>.retryable",
        Kind::Flag,
        "",
        "Whether requests may be sent again, by Ribbon's keys of the service; default: zuul.retryable. Url routes: no effect, as in Zuul.",
    ),
    acts(
        "zuul.routes.<id>.sensitive-headers",
        Kind::List,
        "",
        "The route's own list in place of zuul.sensitive-headers, even when empty.",
    ),
    acts(
        "zuul.routes.<id>.custom-sensitive-headers",
        Kind::Flag,
        "",
        "True without a list of its own: nothing is sensitive. False: the global list, whatever stands in its own.",
    ),
    acts("zuul.add-proxy-headers", Kind::Flag, "true", "Whether X-Forwarded-* are added."),
    acts("zuul.add-host-header", Kind::Flag, "false", "Whether the client's Host is forwarded."),
    acts("zuul.ignored-patterns", Kind::List, "", "Ant patterns of paths that are never routed."),
    acts("zuul.ignored-headers", Kind::List, "", "Fields that are removed in both directions, on every route."),
    acts(
        "zuul.sensitive-headers",
        Kind::List,
        "Cookie,Set-Cookie,Authorization",
        "Fields that are removed in both directions, unless the route has a list of its own.",
    ),
    matching("zuul.decode-url", Kind::Flag, "true", "Whether routes are matched against the decoded path."),
    matching("zuul.remove-semicolon-content", Kind::Flag, "true", "Whether `;x=y` is left out when matching."),
    acts("zuul.servlet-path", Kind::Text, "/zuul", "A second path under which every route can be had; empty for none."),
    acts(
        "zuul.ssl-hostname-validation-enabled",
        Kind::Flag,
        "true",
        "False trusts every certificate, on url routes only.",
    ),
    acts("zuul.include-debug-header", Kind::Flag, "false", "Whether X-Zuul-Debug-Header is sent when debugging is on."),
    acts("zuul.debug.request", Kind::Flag, "false", "Debugging for every request."),
    acts("zuul.debug.parameter", Kind::Text, "debug", "The query parameter that turns debugging on."),
    acts(
        "zuul.ribbon-isolation-strategy",
        Kind::Choice(&["SEMAPHORE", "THREAD"]),
        "SEMAPHORE",
        "How the requests to a service are bounded: a count of permits, or a pool of threads.",
    ),
    acts("zuul.semaphore.max-semaphores", POSITIVE, "100", "Concurrent requests per service; more get 503 at once."),
    acts("zuul.eureka.<service...>.semaphore.maxSemaphores", POSITIVE, "", "The same for one service."),
    acts("zuul.thread-pool.use-separate-thread-pools", Kind::Flag, "false", "Under THREAD: one pool per service."),
    acts("zuul.thread-pool.thread-pool-key-prefix", Kind::Text, "", "Prefix of the names of those pools."),
    acts("zuul.host.max-total-connections", POSITIVE, "200", "Connections of all url routes together."),
    acts("zuul.host.max-per-route-connections", POSITIVE, "20", "Connections per server of a url route."),
    acts("zuul.host.connect-timeout-millis", MILLIS, "2s", "Longest connect and TLS handshake, url routes."),
    acts(
        "zuul.host.socket-timeout-millis",
        MILLIS,
        "10s",
        "Longest gap between two reads, url routes; 0 for no bound.",
    ),
    acts(
        "zuul.host.connection-request-timeout-millis",
        MILLIS,
        "2s",
        "Longest wait for an upstream connection, every route; 0 or less waits for ever, as Zuul does by default. Under gateway.compat: zuul1 \
         it is about url routes alone, and without it they wait for ever too.",
    ),
    acts(
        "zuul.host.time-to-live",
        OR_MINUS,
        "-1",
        "Longest life of a pooled connection, url routes; 0 or less for no bound.",
    ),
    acts(
        "zuul.host.time-unit",
        Kind::Choice(&["MILLISECONDS", "NANOSECONDS", "MICROSECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS"]),
        "MILLISECONDS",
        "The unit of zuul.host.time-to-live.",
    ),
    inert("zuul.ratelimit.**", RATES),
    later("zuul.ignored-services", Kind::List, "", "Discovered services that get no route of their own."),
    later("zuul.ignore-local-service", Kind::Flag, "true", "Whether the gateway's own service gets no route."),
    inert("zuul.ignore-security-headers", "it acts beside Spring Security only"),
    inert("zuul.force-original-query-string-encoding", RAW),
    inert("zuul.set-content-length", "the upstream's Content-Length is always passed on"),
    inert("zuul.initial-stream-buffer-size", "bodies are streamed with buffers of our own"),
    inert("zuul.max.host.connections", "it is an older name; write zuul.host.max-total-connections"),
    inert("zuul.use-filter", SERVLETS),
    inert("zuul.trace-request-body", "no traces are kept, so no body is"),
    inert("zuul.ribbon.eager-load.**", "nothing is loaded lazily"),
    inert("zuul.ribbon.**", "there is one HTTP client"),
    inert("zuul.<filter>.<type>.disable", "the Java filter of that name is not here"),
    inert("zuul.filter.**", "Groovy filters are not loaded"),
    inert("zuul.debug.**", "there is no such debugging"),
    inert("error.path", "errors are answered at once, without a forward"),
];

const RATES: &str = "its policies count in fixed windows and combine keys; write gateway.rate-limit.routes.<id>";
const SERVLETS: &str = "there is neither a servlet nor a servlet filter here";
