//! `hystrix.command.<key>.*` but isolation and timeout: circuit breaker, metrics and fallback of one backend, with Hystrix's defaults.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode};
use std::sync::Arc;
use std::time::Duration;

/// What surrounds the calls of one backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandConfig {
    /// `circuitBreaker.*`.
    pub circuit: CircuitConfig,
    /// `metrics.*`.
    pub metrics: MetricsConfig,
    /// `fallback.*`, and what answers.
    pub fallback: FallbackConfig,
    /// `metrics.rollingStats.*` of the backend's thread pool; without meaning under a semaphore.
    pub pool_window: WindowConfig,
}

/// `circuitBreaker.*`, and how it closes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitConfig {
    /// `enabled`: default true; url routes have one only where one of these keys names their own id.
    pub enabled: bool,
    /// `requestVolumeThreshold`: so many requests in the window before it is judged; default 20.
    pub request_volume_threshold: u32,
    /// `sleepWindowInMilliseconds`: how long an open circuit lets nothing through; default 5 s.
    pub sleep_window: Duration,
    /// `errorThresholdPercentage`: the share of failures at which it opens; default 50.
    pub error_threshold_percentage: u32,
    /// `forceOpen`: default false.
    pub force_open: bool,
    /// `forceClosed`: default false.
    pub force_closed: bool,
    /// `gateway.circuit-breaker.mode`: default the algorithm of Hystrix 1.5.18.
    pub mode: CircuitMode,
    /// `gateway.circuit-breaker.count-5xx`: whether an upstream's 5xx is a failure; default false, as in Hystrix.
    pub counts_5xx: bool,
}

/// How an open circuit closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitMode {
    /// Hystrix 1.5.18: one test a sleep window; any success closes.
    SingleTest,
    /// Hystrix 1.5.12: after the sleep window one request decides.
    HalfOpen,
}

/// `metrics.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricsConfig {
    /// `rollingStats.*`: default 10 buckets of 1 s.
    pub counts: WindowConfig,
    /// `rollingPercentile.*`: default 6 buckets of 10 s; `None` when `enabled` is false.
    pub latency: Option<WindowConfig>,
    /// `healthSnapshot.intervalInMilliseconds`: how often the circuit's view is made anew; default 500 ms.
    pub health_interval: Duration,
}

/// A window that rolls bucket by bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// `timeInMilliseconds`: all buckets together.
    pub time: Duration,
    /// `numBuckets`, at least 1.
    pub buckets: usize,
}

/// `fallback.*`, and `gateway.fallback.<key>.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackConfig {
    /// `isolation.semaphore.maxConcurrentRequests`: so many fallbacks at once; default 10.
    pub max_concurrent_requests: usize,
    /// What answers; `None` without one, or when `enabled` is false.
    pub answer: Option<Arc<FallbackAnswer>>,
}

/// What answers in place of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FallbackAnswer {
    /// An answer of its own.
    Static(StaticAnswer),
    /// `forward`: the answer to a request for this path of the gateway itself. With `/**` at its end, what the service would have been
    /// asked stands in place of it.
    Forward(String),
}

/// An answer that is there from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticAnswer {
    /// `status`; default 200.
    pub status: StatusCode,
    /// `headers`, as they are sent; `text/plain;charset=UTF-8` is the default type of a body.
    pub fields: Vec<(HeaderName, HeaderValue)>,
    /// `body`, or what stood in `body-file` at the start.
    pub body: Bytes,
}

impl Default for FallbackConfig {
    fn default() -> Self {
        Self { max_concurrent_requests: 10, answer: None }
    }
}

impl WindowConfig {
    /// So many buckets of so many seconds each.
    pub const fn of_seconds(buckets: usize, each: u64) -> Self {
        Self { time: Duration::from_secs(buckets as u64 * each), buckets }
    }

    /// How long one bucket is.
    pub fn bucket(&self) -> Duration {
        self.time / u32::try_from(self.buckets).unwrap_or(u32::MAX)
    }
}

impl Default for CommandConfig {
    fn default() -> Self {
        let (circuit, metrics) = (CircuitConfig::default(), MetricsConfig::default());
        Self { circuit, metrics, fallback: FallbackConfig::default(), pool_window: metrics.counts }
    }
}

impl Default for CircuitConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            request_volume_threshold: 20,
            sleep_window: Duration::from_secs(5),
            error_threshold_percentage: 50,
            force_open: false,
            force_closed: false,
            mode: CircuitMode::SingleTest,
            counts_5xx: false,
        }
    }
}

impl Default for MetricsConfig {
    fn default() -> Self {
        Self {
            counts: WindowConfig::of_seconds(10, 1),
            latency: Some(WindowConfig::of_seconds(6, 10)),
            health_interval: Duration::from_millis(500),
        }
    }
}
