//! `gateway.*`: what is ours alone.

use http::HeaderName;
use ipnet::IpNet;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// `gateway.*`, and `server.container`.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// `server.container`: native (default) or tiny-http.
    pub container: Container,
    /// `gateway.http-client`: native (default) or ureq.
    pub http_client: HttpClient,
    /// `gateway.compat`: `zuul1` answers with Zuul's own statuses and messages, and has the limits that these follow from: see
    /// [`super::IsolationConfig::None`], [`super::BackendConfig::connection_request_timeout`] and [`super::BackendConfig::held_back`].
    pub compat: Compat,
    /// `gateway.queue.timeout`: the longest wait in the ready queue; default 5 s.
    pub queue_timeout: Duration,
    /// `gateway.queue.order`: default fifo.
    pub queue_order: QueueOrder,
    /// `gateway.queue.codel`: default off.
    pub queue_codel: bool,
    /// `gateway.isolation.max-wait`: the longest wait for a permit; default zero, which is none.
    pub max_wait: Duration,
    /// `gateway.workers.runnable`: how many workers should not be blocked; default 8 per core, at least min-spare, at most max-threads.
    pub runnable: usize,
    /// `gateway.workers.scheduling`: default batch.
    pub scheduling: Scheduling,
    /// `gateway.client.min-rate`: octets per second below which a body or a reader is cut off; default 250, 0 for none.
    pub client_min_rate: u64,
    /// `gateway.client.max-body-size`: octets of a request body that are passed on at most; default no bound.
    pub client_max_body_size: Option<u64>,
    /// `gateway.trusted-proxies`: whose `X-Forwarded-*` and `Forwarded` fields are believed; default `None`, everybody's.
    pub trusted_proxies: Option<Vec<IpNet>>,
    /// `gateway.access-log.*`.
    pub access_log: AccessLogConfig,
    /// `gateway.example`: the embedded example service, started in this process when present.
    pub example: Option<ExampleConfig>,
    /// `gateway.routes-file`: a JSON route file (`routeDefinitionList`, `ribbonDefinitionList`).
    pub routes_file: Option<PathBuf>,
    /// `gateway.rate-limit.*`.
    pub rate_limits: RateLimitsConfig,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            container: Container::Native,
            http_client: HttpClient::Native,
            compat: Compat::None,
            queue_timeout: Duration::from_secs(5),
            queue_order: QueueOrder::Fifo,
            queue_codel: false,
            max_wait: Duration::ZERO,
            runnable: 16,
            scheduling: Scheduling::Batch,
            client_min_rate: 250,
            client_max_body_size: None,
            trusted_proxies: None,
            access_log: AccessLogConfig::default(),
            example: None,
            routes_file: None,
            rate_limits: RateLimitsConfig::default(),
        }
    }
}

/// `server.container`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// Our own front.
    Native,
    /// `tiny_http`: not hardened.
    TinyHttp,
}

/// `gateway.http-client`: what speaks HTTP with the servers, as `ribbon.okhttp.enabled` chooses it in Zuul.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpClient {
    /// Our own.
    Native,
    /// ureq's Agent.
    Ureq,
}

/// `gateway.compat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compat {
    /// Our statuses.
    None,
    /// Zuul 1's, and what they follow from.
    Zuul1,
}

/// `gateway.queue.order`: who of those that wait for a worker is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrder {
    /// Who waits longest.
    Fifo,
    /// Who came last, once the queue has not been empty for a tenth of a second; else who waits longest.
    AdaptiveLifo,
}

/// `gateway.workers.scheduling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// `SCHED_BATCH`: woken threads do not preempt.
    Batch,
    /// What the system gives.
    Normal,
}

/// `gateway.access-log.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLogConfig {
    /// `format`: combined (default), json or off.
    pub format: AccessLogFormat,
    /// `file`: where to; default standard output.
    pub file: Option<PathBuf>,
}

impl Default for AccessLogConfig {
    fn default() -> Self {
        Self { format: AccessLogFormat::Combined, file: None }
    }
}

/// How an access log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLogFormat {
    /// No access log.
    Off,
    /// Combined Log Format, then what is ours as `key=value`.
    Combined,
    /// One JSON object a line.
    Json,
}

/// `gateway.example.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleConfig {
    /// `gateway.example.port`: on 127.0.0.1; 0 lets the system pick.
    pub port: u16,
}

/// `gateway.rate-limit.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimitsConfig {
    /// `max-keys`: how many clients each limit remembers; default 100000.
    pub max_keys: usize,
    /// `routes.<id>`: the limits, by the id of their route; `*` is for each route without one of its own.
    pub routes: BTreeMap<String, RateLimitConfig>,
}

impl RateLimitsConfig {
    /// The limit of the route of this id.
    pub fn of(&self, route: &str) -> Option<&RateLimitConfig> {
        self.routes.get(route).or_else(|| self.routes.get("*"))
    }
}

impl Default for RateLimitsConfig {
    fn default() -> Self {
        Self { max_keys: 100_000, routes: BTreeMap::new() }
    }
}

/// `gateway.rate-limit.routes.<id>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimitConfig {
    /// `requests`: how many a client may make in [`Self::per`], in the long run.
    pub requests: u32,
    /// `per`: default 1 s.
    pub per: Duration,
    /// `burst`: how many it may make at once after a pause; default [`Self::requests`].
    pub burst: u32,
    /// `key`: what tells clients apart; default none, so that all of the route's requests count together.
    pub key: RateLimitKey,
}

impl RateLimitConfig {
    /// The time in which one more request becomes possible.
    pub fn interval(&self) -> Duration {
        (self.per / self.requests.max(1)).max(Duration::from_nanos(1))
    }
}

/// `gateway.rate-limit.routes.<id>.key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateLimitKey {
    /// `route`: all requests of the route count together.
    Route,
    /// `address`: that of the connection's other end or, where that is one of `gateway.trusted-proxies`, of who stood before those; an
    /// IPv6 network of 64 bits counts as one client.
    Address,
    /// `header:<name>`: the first value of this field; requests without it count together.
    Header(HeaderName),
}
