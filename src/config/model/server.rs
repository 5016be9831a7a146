//! `server.*`: the front, in Tomcat's words.

use std::net::IpAddr;
use std::time::Duration;

/// `server.*` and `spring.lifecycle.*`.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// `server.address`; default all.
    pub address: IpAddr,
    /// `server.port`; default 8080, 0 lets the system pick.
    pub port: u16,
    /// `server.tomcat.max-threads` or `threads.max`; default 200.
    pub max_threads: usize,
    /// `server.tomcat.min-spare-threads` or `threads.min-spare`; default 10.
    pub min_spare_threads: usize,
    /// `server.tomcat.threads.max-queue-capacity`; default and upper bound is [`Self::max_connections`].
    pub max_queue_capacity: usize,
    /// `server.tomcat.accept-count`: the listen backlog; default 100.
    pub accept_count: usize,
    /// `server.tomcat.max-connections`; default 8192.
    pub max_connections: usize,
    /// `server.tomcat.connection-timeout` (and `server.connection-timeout`); default 60 s: head, each body read, each write.
    pub connection_timeout: Duration,
    /// `server.tomcat.keep-alive-timeout`; default [`Self::connection_timeout`]; `None` (-1) is no bound.
    pub keep_alive_timeout: Option<Duration>,
    /// `server.tomcat.max-keep-alive-requests`; `None` (unset or -1) is no bound, 1 means no keep-alive.
    pub max_keep_alive_requests: Option<u64>,
    /// `server.max-http-header-size`; default 8 KB; bounds the request line and the fields, each.
    pub max_http_header_size: usize,
    /// `server.tomcat.max-swallow-size`; default 2 MB; `None` (negative) is no bound.
    pub max_swallow_size: Option<u64>,
    /// `server.tomcat.uri-encoding`; true for UTF-8 (the default), false for ISO-8859-1: how matching reads `%E4`.
    pub uri_is_utf8: bool,
    /// `server.tomcat.relaxed-path-chars` and `relaxed-query-chars`.
    pub relaxed: Relaxed,
    /// `server.error.include-message`; default never, as in Boot 2.3: whether Zuul 1's messages are told, with `gateway.compat: zuul1`.
    pub include_message: IncludeMessage,
    /// `server.shutdown`; default graceful here.
    pub shutdown: Shutdown,
    /// `spring.lifecycle.timeout-per-shutdown-phase`; default 30 s.
    pub shutdown_timeout: Duration,
}

/// Octets that no URI may hold and that are let through all the same, as in Tomcat: of `"<>[\]^{|}` and the backtick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relaxed {
    /// In the path.
    pub path: Vec<u8>,
    /// In the query.
    pub query: Vec<u8>,
}

/// `server.error.include-message`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeMessage {
    /// To nobody.
    #[default]
    Never,
    /// To everybody.
    Always,
    /// To requests with the query parameter `message`.
    OnParam,
}

/// `server.shutdown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shutdown {
    /// Finish what runs, within the phase timeout.
    #[default]
    Graceful,
    /// Cut at once.
    Immediate,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            address: IpAddr::from([0, 0, 0, 0]),
            port: 8080,
            max_threads: 200,
            min_spare_threads: 10,
            max_queue_capacity: 8192,
            accept_count: 100,
            max_connections: 8192,
            connection_timeout: Duration::from_secs(60),
            keep_alive_timeout: Some(Duration::from_secs(60)),
            max_keep_alive_requests: None,
            max_http_header_size: 8 * 1024,
            max_swallow_size: Some(2 * 1024 * 1024),
            uri_is_utf8: true,
            relaxed: Relaxed::default(),
            include_message: IncludeMessage::Never,
            shutdown: Shutdown::Graceful,
            shutdown_timeout: Duration::from_secs(30),
        }
    }
}
