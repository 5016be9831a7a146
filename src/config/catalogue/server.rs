//! `server.*`: the front, in Tomcat's words (Spring Boot 2.3's ServerProperties; the newer names of Boot 2.5 and 3.3 too).
//!
//! What belongs to other containers, to servlets or to Tomcat's inside is known, and says why it does nothing. What a key comes to is
//! decided in `resolve::front`.

use super::{COUNT, Key, Kind, OR_MINUS, PORT, POSITIVE, Unit, acts, inert};

const TOMCAT: &str = "it tunes Tomcat's inside, which is not here";
const OTHER_CONTAINER: &str =
    "it belongs to a container that is not here; server.tomcat.* is read whatever the container";
const SERVLET: &str = "there is no servlet here";
const TRUSTED: &str =
    "X-Forwarded-* of the client are never trusted for routing; they are extended, as zuul.add-proxy-headers says";
const TLS: &str = "the listener speaks plain HTTP; let a balancer in front end TLS";

/// Keys that had another name before Boot 2.3, newer name first; both are read.
const RENAMED: [(&str, &str); 3] = [
    ("server.tomcat.threads.max", "server.tomcat.max-threads"),
    ("server.tomcat.threads.min-spare", "server.tomcat.min-spare-threads"),
    ("server.tomcat.connection-timeout", "server.connection-timeout"),
];

/// The older name of a key, if it has one.
pub(crate) fn former_name(name: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(newer, _)| *newer == name).map(|(_, older)| *older)
}

/// Waiting for octets of a client; Tomcat takes less than nothing for "no bound".
const WAIT: Kind = Kind::Duration { unit: Unit::Millis, min: -1 };
/// More threads are a typing error that would cost the machine its memory.
const WORKERS: Kind = Kind::Count { min: 1, max: 1 << 16 };
/// Each worker has a buffer of twice that size.
const LARGEST_HEAD: i64 = 16 << 20;

pub(super) const KEYS: &[Key] = &[
    acts("server.port", PORT, "8080", "Port to listen on; 0 lets the system pick one."),
    acts("server.address", Kind::Text, "0.0.0.0", "Address to listen on: IPv4, IPv6 or localhost."),
    acts("server.container", Kind::Choice(&["native", "tiny-http"]), "native", "Which HTTP server is in front."),
    acts("server.tomcat.threads.max", WORKERS, "200", "The most workers: requests served at once. At most 65536."),
    acts("server.tomcat.max-threads", WORKERS, "", "The name of server.tomcat.threads.max before Boot 2.3."),
    acts("server.tomcat.threads.min-spare", POSITIVE, "10", "Workers that are kept while there is nothing to do."),
    acts(
        "server.tomcat.min-spare-threads",
        POSITIVE,
        "",
        "The name of server.tomcat.threads.min-spare before Boot 2.3.",
    ),
    acts(
        "server.tomcat.threads.max-queue-capacity",
        COUNT,
        "",
        "Requests that may wait for a worker; more are refused as queue_full. Default and upper bound: max-connections.",
    ),
    acts("server.tomcat.accept-count", POSITIVE, "100", "Backlog of the listening socket."),
    acts("server.tomcat.max-connections", POSITIVE, "8192", "Open connections; beyond, nothing is accepted."),
    acts(
        "server.tomcat.connection-timeout",
        WAIT,
        "60s",
        "Longest wait for a head, for each part of a body, for each write; -1 for 24 hours.",
    ),
    acts("server.connection-timeout", WAIT, "", "The name of server.tomcat.connection-timeout before Boot 2.3."),
    acts(
        "server.tomcat.keep-alive-timeout",
        WAIT,
        "",
        "Longest wait for the next request on a connection; -1 for no bound. Default: connection-timeout. Behind a balancer, longer than it keeps idle connections; they hold no thread.",
    ),
    acts(
        "server.tomcat.max-keep-alive-requests",
        OR_MINUS,
        "-1",
        "Requests on one connection; 1 for no keep-alive, -1 for no bound (Tomcat's default is 100).",
    ),
    acts(
        "server.max-http-header-size",
        Kind::Size { min: 256, max: LARGEST_HEAD },
        "8KB",
        "Longest request line (414), and longest set of fields (431); at most 16MB.",
    ),
    acts(
        "server.tomcat.max-swallow-size",
        Kind::Size { min: -1, max: i64::MAX },
        "2MB",
        "How much of an unread body is read and dropped to keep the connection; negative for as much as comes in half a second.",
    ),
    acts("server.tomcat.uri-encoding", Kind::Text, "UTF-8", "How matching reads octets like %E4: UTF-8 or ISO-8859-1."),
    acts("server.tomcat.relaxed-path-chars", Kind::List, "", "Characters let through in a path: of \"<>[\\]^`{|}."),
    acts("server.tomcat.relaxed-query-chars", Kind::List, "", "Characters let through in a query: of \"<>[\\]^`{|}."),
    acts(
        "server.shutdown",
        Kind::Choice(&["graceful", "immediate"]),
        "graceful",
        "Whether requests that run are finished when the gateway is told to stop (Spring's default is immediate).",
    ),
    acts(
        "server.error.include-message",
        Kind::Choice(&["never", "always", "on-param"]),
        "never",
        "With gateway.compat zuul1: who is told Zuul's message; on-param for those who ask with ?message.",
    ),
    inert("server.compression.**", "answers are passed on as the upstream encoded them"),
    inert("server.error.**", "errors are answered as JSON with a reason, without exceptions and traces"),
    inert("server.ssl.**", TLS),
    inert("server.http2.**", "clients are served HTTP/1.1"),
    inert("server.server-header", "no Server field of the gateway's own is sent"),
    inert("server.forward-headers-strategy", TRUSTED),
    inert("server.use-forward-headers", TRUSTED),
    inert("server.tomcat.remoteip.**", TRUSTED),
    inert("server.tomcat.internal-proxies", TRUSTED),
    inert("server.tomcat.port-header", TRUSTED),
    inert("server.tomcat.protocol-header", TRUSTED),
    inert("server.tomcat.protocol-header-https-value", TRUSTED),
    inert("server.tomcat.host-header", TRUSTED),
    inert("server.tomcat.remote-ip-header", TRUSTED),
    inert("server.servlet.context-path", "routes are matched from the root of the path; use zuul.prefix"),
    inert("server.context-path", "routes are matched from the root of the path; use zuul.prefix"),
    inert("server.servlet.**", SERVLET),
    inert("server.servlet-path", SERVLET),
    inert("server.session.**", SERVLET),
    inert("server.display-name", SERVLET),
    inert("server.jsp-servlet.**", SERVLET),
    inert("server.context-parameters.**", SERVLET),
    inert("server.reactive.**", OTHER_CONTAINER),
    inert("server.undertow.**", OTHER_CONTAINER),
    inert("server.jetty.**", OTHER_CONTAINER),
    inert("server.netty.**", OTHER_CONTAINER),
    inert("server.max-http-post-size", "forms are not parsed, so their size has no bound of its own"),
    inert("server.tomcat.max-http-post-size", "forms are not parsed, so their size has no bound of its own"),
    inert("server.tomcat.max-http-form-post-size", "forms are not parsed, so their size has no bound of its own"),
    inert("server.tomcat.max-http-header-size", "Boot 2.1 and later read server.max-http-header-size"),
    inert("server.tomcat.accesslog.**", "the access log is set by gateway.access-log.*"),
    inert("server.tomcat.access-log-enabled", "the access log is set by gateway.access-log.*"),
    inert("server.tomcat.access-log-pattern", "the access log is set by gateway.access-log.*"),
    inert("server.tomcat.max-http-response-header-size", TOMCAT),
    inert("server.tomcat.processor-cache", TOMCAT),
    inert("server.tomcat.background-processor-delay", TOMCAT),
    inert("server.tomcat.basedir", TOMCAT),
    inert("server.tomcat.mbeanregistry.**", TOMCAT),
    inert("server.tomcat.additional-tld-skip-patterns", TOMCAT),
    inert("server.tomcat.redirect-context-root", TOMCAT),
    inert("server.tomcat.use-relative-redirects", TOMCAT),
    inert("server.tomcat.resource.**", TOMCAT),
    inert("server.tomcat.reject-illegal-header", "malformed fields are always refused"),
];
