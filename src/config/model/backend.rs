//! What routes lead to, with every limit resolved: Ribbon's, Hystrix's and `zuul.host.*` keys end here.

use super::{BalanceConfig, CommandConfig, RetryConfig};
use std::time::Duration;

/// Where a backend id comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// A service id with its `<id>.ribbon.*`.
    Service,
    /// A url route, by the route's id, with `zuul.host.*`.
    Url,
}

/// A service, or the server of a url route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendConfig {
    /// Service id or route id.
    pub id: String,
    /// Which of the two.
    pub kind: BackendKind,
    /// `<id>.ribbon.listOfServers` in order, or the url's one server.
    pub servers: Vec<ServerAddress>,
    /// `ribbon.ConnectTimeout` (1 s) or `zuul.host.connect-timeout-millis` (2 s): connect and TLS, all addresses together.
    pub connect_timeout: Duration,
    /// `ribbon.ReadTimeout` (1 s) or `zuul.host.socket-timeout-millis` (10 s): the longest gap between reads.
    pub read_timeout: Option<Duration>,
    /// `ribbon.MaxTotalConnections` (200); for url routes `zuul.host.max-total-connections`, which all of them share.
    pub max_total_connections: usize,
    /// `ribbon.MaxConnectionsPerHost` (50) or `zuul.host.max-per-route-connections` (20).
    pub max_connections_per_host: usize,
    /// `zuul.host.connection-request-timeout-millis`: the longest wait for a connection; default 2 s. `None` is no bound: 0 or less was
    /// written, or `gateway.compat: zuul1` has it so (by default, and for services always).
    pub connection_request_timeout: Option<Duration>,
    /// `ribbon.PoolKeepAliveTime` (900 s) or `zuul.host.time-to-live`: the longest life of a pooled connection; `None` is no bound.
    pub time_to_live: Option<Duration>,
    /// How concurrent requests are bounded.
    pub isolation: IsolationConfig,
    /// `threadPoolKeyOverride`, as it was written: the stream tells it.
    pub thread_pool_key_override: Option<String>,
    /// `gateway.limit` and `gateway.limits.<id>.*`: how the semaphore's limit moves; `None` is `fixed`. Without meaning for a thread pool.
    pub adaptive: Option<AdaptiveLimit>,
    /// The Hystrix timeout; `None` when `execution.timeout.enabled` is false, or for url routes without keys of their own.
    pub deadline: Option<Duration>,
    /// Circuit breaker, metrics and fallback.
    pub command: CommandConfig,
    /// When a request is sent again; `None` for url routes, and for services without a retryable route or a count of retries.
    pub retry: Option<RetryConfig>,
    /// Whether upstream certificates are verified; false only by `zuul.ssl-hostname-validation-enabled: false` on url routes.
    pub verify_tls: bool,
    /// Which of its servers is asked; without meaning for a url route, which has one.
    pub balance: BalanceConfig,
    /// How many octets of an answer of known length come before its head is sent, so that one that breaks off sooner can still become an
    /// error: 8192 for services under `gateway.compat: zuul1`, else 0, which holds nothing back.
    pub held_back: usize,
}

/// One upstream server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerAddress {
    /// http or https.
    pub scheme: Scheme,
    /// Name or address; IPv6 without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// Plain.
    Http,
    /// Over TLS.
    Https,
}

impl ServerAddress {
    /// `host[:port]` as Host and authority carry it: brackets around IPv6, no default port.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.scheme, self.port) {
            (Scheme::Http, 80) | (Scheme::Https, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// `execution.isolation.strategy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IsolationConfig {
    /// At most so many at once; more are refused as `semaphore_full`.
    Semaphore {
        /// `zuul.semaphore.max-semaphores` (100) and its overrides; of an adaptive limit the ceiling, `gateway.limits.<id>.ceiling` first.
        max_concurrent_requests: usize,
    },
    /// By the thread pool of this key.
    Thread {
        /// `RibbonCommand`, or prefix and service id with separate pools.
        pool_key: String,
    },
    /// Not bounded: url routes under `gateway.compat: zuul1`.
    None,
}

/// How a semaphore's limit finds itself; its ceiling is the semaphore's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveLimit {
    /// `gateway.limit`.
    pub law: LimitLaw,
    /// `gateway.limits.<id>.floor`: the fewest permits; default 1 for vegas and 20 for the others, as in concurrency-limits, but never
    /// above the ceiling.
    pub floor: usize,
}

/// By which law a limit moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitLaw {
    /// By the length of the queue that times tell of.
    Vegas,
    /// By how times have grown against their long average.
    Gradient2,
    /// By drops alone: one more for each answer, a tenth less for each drop.
    Aimd,
}

impl IsolationConfig {
    /// The thread pool's key, if there is one.
    pub fn pool_key(&self) -> Option<&str> {
        match self {
            Self::Thread { pool_key } => Some(pool_key),
            Self::Semaphore { .. } | Self::None => None,
        }
    }
}

/// `hystrix.threadpool.<key>.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPoolConfig {
    /// `coreSize`; default 10.
    pub core_size: usize,
    /// `maximumSize` (10), or [`Self::core_size`] unless `allowMaximumSizeToDivergeFromCoreSize`; never below core.
    pub maximum_size: usize,
    /// `maxQueueSize`; `None` (-1 or 0) is a hand-off without a queue.
    pub max_queue_size: Option<usize>,
    /// `queueSizeRejectionThreshold`; default 5; without meaning when there is no queue.
    pub queue_size_rejection_threshold: usize,
    /// `keepAliveTimeMinutes`; default 1 minute: idle threads above core end after it.
    pub keep_alive: Duration,
}

impl Default for ThreadPoolConfig {
    fn default() -> Self {
        Self {
            core_size: 10,
            maximum_size: 10,
            max_queue_size: None,
            queue_size_rejection_threshold: 5,
            keep_alive: Duration::from_secs(60),
        }
    }
}
