//! What Hystrix's stream tells of a command and of a thread pool: every member in the order of a running Hystrix 1.5.18.
//!
//! Members that have no meaning here have Hystrix's own defaults, since dashboards refuse an event without them: collapsed and cached
//! requests, the emits of observable commands, request cache and log, and permits under thread isolation. Differences: the rolling counts
//! run without a listener; `99.5` is that percentile (Hystrix tells the 99th in its place); a command without a deadline has the timeout 0;
//! the permits of a limit that moves are its ceiling.

use super::{CircuitState, Command, Counts, Event, Latencies, PoolMetrics};
use crate::config::model::{IsolationConfig, ThreadPoolConfig};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The group that Zuul puts all its commands in, and the pool of those that name none.
const GROUP: &str = "RibbonCommand";
/// `execution.isolation.semaphore.maxConcurrentRequests` where no semaphore is used.
const UNUSED_PERMITS: usize = 10;
const PERCENTILES: [(&str, f64); 9] = [
    ("0", 0.0),
    ("25", 25.0),
    ("50", 50.0),
    ("75", 75.0),
    ("90", 90.0),
    ("95", 95.0),
    ("99", 99.0),
    ("99.5", 99.5),
    ("100", 100.0),
];

/// What a thread pool itself counts.
#[derive(Clone, Copy, Debug)]
pub struct PoolState {
    /// `hystrix.threadpool.<key>.*`.
    pub config: ThreadPoolConfig,
    /// Places whose requests are under way: unlike Hystrix's, up to the end of the answer.
    pub active: usize,
    /// Calls that a thread brought to their end.
    pub completed: u64,
    /// Places that wait for one to come back.
    pub queued: usize,
    /// Threads now.
    pub threads: usize,
    /// The most threads there have been.
    pub largest: usize,
}

/// Appends the event of a command, once it has had a request.
pub fn tell_command(command: &Command, out: &mut String, now: Instant, wall: SystemTime) {
    let (metrics, under_way) = (command.metrics(), command.metrics().under_way());
    let totals = metrics.totals();
    if under_way > 0 || Event::ALL.iter().any(|&event| totals.get(event) > 0) {
        tell(&CommandEvent::of(command, now, wall), out);
    }
}

/// Appends the event of a thread pool, once one of its threads has completed a call.
pub fn tell_pool(metrics: &PoolMetrics, pool: PoolState, out: &mut String, now: Instant, wall: SystemTime) {
    if pool.completed > 0 {
        tell(&PoolEvent::of(metrics, pool, now, wall), out);
    }
}

fn tell(event: &impl Serialize, out: &mut String) {
    // Numbers, flags and strings always become JSON.
    if let Ok(json) = serde_json::to_string(event) {
        out.extend(["data: ", &json, "\n\n"]);
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CommandEvent<'a> {
    r#type: &'static str,
    name: &'a str,
    group: &'static str,
    current_time: u64,
    is_circuit_breaker_open: bool,
    error_percentage: u32,
    error_count: u64,
    request_count: u64,
    #[serde(flatten)]
    counts: RollingCounts,
    current_concurrent_execution_count: u64,
    rolling_max_concurrent_execution_count: u64,
    #[serde(rename = "latencyExecute_mean")]
    latency_execute_mean: u64,
    latency_execute: Percentiles,
    #[serde(rename = "latencyTotal_mean")]
    latency_total_mean: u64,
    latency_total: Percentiles,
    #[serde(flatten)]
    properties: Properties,
    reporting_hosts: u32,
    thread_pool: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RollingCounts {
    rolling_count_bad_requests: u64,
    rolling_count_collapsed_requests: u64,
    rolling_count_emit: u64,
    rolling_count_exceptions_thrown: u64,
    rolling_count_failure: u64,
    rolling_count_fallback_emit: u64,
    rolling_count_fallback_failure: u64,
    rolling_count_fallback_missing: u64,
    rolling_count_fallback_rejection: u64,
    rolling_count_fallback_success: u64,
    rolling_count_responses_from_cache: u64,
    rolling_count_semaphore_rejected: u64,
    rolling_count_short_circuited: u64,
    rolling_count_success: u64,
    rolling_count_thread_pool_rejected: u64,
    rolling_count_timeout: u64,
}

#[derive(Serialize)]
struct Properties {
    #[serde(rename = "propertyValue_circuitBreakerRequestVolumeThreshold")]
    request_volume_threshold: u32,
    #[serde(rename = "propertyValue_circuitBreakerSleepWindowInMilliseconds")]
    sleep_window: u64,
    #[serde(rename = "propertyValue_circuitBreakerErrorThresholdPercentage")]
    error_threshold_percentage: u32,
    #[serde(rename = "propertyValue_circuitBreakerForceOpen")]
    force_open: bool,
    #[serde(rename = "propertyValue_circuitBreakerForceClosed")]
    force_closed: bool,
    #[serde(rename = "propertyValue_circuitBreakerEnabled")]
    enabled: bool,
    #[serde(rename = "propertyValue_executionIsolationStrategy")]
    strategy: &'static str,
    #[serde(rename = "propertyValue_executionIsolationThreadTimeoutInMilliseconds")]
    thread_timeout: u64,
    #[serde(rename = "propertyValue_executionTimeoutInMilliseconds")]
    timeout: u64,
    #[serde(rename = "propertyValue_executionIsolationThreadInterruptOnTimeout")]
    interrupt_on_timeout: bool,
    #[serde(rename = "propertyValue_executionIsolationThreadPoolKeyOverride")]
    pool_key_override: Option<String>,
    #[serde(rename = "propertyValue_executionIsolationSemaphoreMaxConcurrentRequests")]
    permits: usize,
    #[serde(rename = "propertyValue_fallbackIsolationSemaphoreMaxConcurrentRequests")]
    fallback_permits: usize,
    #[serde(rename = "propertyValue_metricsRollingStatisticalWindowInMilliseconds")]
    window: u64,
    #[serde(rename = "propertyValue_requestCacheEnabled")]
    request_cache: bool,
    #[serde(rename = "propertyValue_requestLogEnabled")]
    request_log: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PoolEvent<'a> {
    r#type: &'static str,
    name: &'a str,
    current_time: u64,
    current_active_count: usize,
    current_completed_task_count: u64,
    current_core_pool_size: usize,
    current_largest_pool_size: usize,
    current_maximum_pool_size: usize,
    current_pool_size: usize,
    current_queue_size: usize,
    current_task_count: u64,
    rolling_count_threads_executed: u64,
    rolling_max_active_threads: u64,
    rolling_count_command_rejections: u64,
    #[serde(rename = "propertyValue_queueSizeRejectionThreshold")]
    queue_size_rejection_threshold: usize,
    #[serde(rename = "propertyValue_metricsRollingStatisticalWindowInMilliseconds")]
    window: u64,
    reporting_hosts: u32,
}

/// Latencies in whole milliseconds, by percentile.
struct Percentiles(Latencies);

impl Serialize for Percentiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(PERCENTILES.len()))?;
        for (name, percent) in PERCENTILES {
            map.serialize_entry(name, &millis(self.0.percentile(percent)))?;
        }
        map.end()
    }
}

impl<'a> CommandEvent<'a> {
    fn of(command: &'a Command, now: Instant, wall: SystemTime) -> Self {
        let (config, metrics) = (command.config(), command.metrics());
        let (health, rolling) = (metrics.health(now), metrics.rolling(now));
        let [execute, total] = metrics.latencies(now);
        Self {
            r#type: "HystrixCommand",
            name: &config.id,
            group: GROUP,
            current_time: epoch_millis(wall),
            is_circuit_breaker_open: command.circuit() != CircuitState::Closed,
            error_percentage: health.error_percentage(),
            error_count: health.errors,
            request_count: health.total,
            counts: RollingCounts::of(&rolling.counts),
            current_concurrent_execution_count: metrics.under_way(),
            rolling_max_concurrent_execution_count: rolling.most_under_way,
            latency_execute_mean: millis(execute.mean()),
            latency_execute: Percentiles(execute),
            latency_total_mean: millis(total.mean()),
            latency_total: Percentiles(total),
            properties: Properties::of(command),
            reporting_hosts: 1,
            thread_pool: command.pool().map_or(GROUP, |pool| pool.key()),
        }
    }
}

impl RollingCounts {
    fn of(counts: &Counts) -> Self {
        Self {
            rolling_count_bad_requests: counts.get(Event::BadRequest),
            rolling_count_collapsed_requests: 0,
            rolling_count_emit: 0,
            rolling_count_exceptions_thrown: counts.exceptions_thrown(),
            rolling_count_failure: counts.get(Event::Failure),
            rolling_count_fallback_emit: 0,
            rolling_count_fallback_failure: counts.get(Event::FallbackFailure),
            rolling_count_fallback_missing: counts.get(Event::FallbackMissing),
            rolling_count_fallback_rejection: counts.get(Event::FallbackRejection),
            rolling_count_fallback_success: counts.get(Event::FallbackSuccess),
            rolling_count_responses_from_cache: 0,
            rolling_count_semaphore_rejected: counts.get(Event::SemaphoreRejected),
            rolling_count_short_circuited: counts.get(Event::ShortCircuited),
            rolling_count_success: counts.get(Event::Success),
            rolling_count_thread_pool_rejected: counts.get(Event::ThreadPoolRejected),
            rolling_count_timeout: counts.get(Event::Timeout),
        }
    }
}

impl Properties {
    fn of(command: &Command) -> Self {
        let config = command.config();
        let circuit = &config.command.circuit;
        let (strategy, permits) = match config.isolation {
            IsolationConfig::Semaphore { max_concurrent_requests } => ("SEMAPHORE", max_concurrent_requests),
            IsolationConfig::Thread { .. } => ("THREAD", UNUSED_PERMITS),
            IsolationConfig::None => ("SEMAPHORE", usize::MAX),
        };
        let timeout = millis(config.deadline.unwrap_or_default());
        Self {
            request_volume_threshold: circuit.request_volume_threshold,
            sleep_window: millis(circuit.sleep_window),
            error_threshold_percentage: circuit.error_threshold_percentage,
            force_open: circuit.force_open,
            force_closed: circuit.force_closed,
            enabled: circuit.enabled,
            strategy,
            thread_timeout: timeout,
            timeout,
            interrupt_on_timeout: true,
            pool_key_override: config.thread_pool_key_override.clone(),
            permits,
            fallback_permits: config.command.fallback.max_concurrent_requests,
            window: millis(config.command.metrics.counts.time),
            request_cache: true,
            request_log: true,
        }
    }
}

impl<'a> PoolEvent<'a> {
    fn of(metrics: &'a PoolMetrics, pool: PoolState, now: Instant, wall: SystemTime) -> Self {
        let rolling = metrics.rolling(now);
        Self {
            r#type: "HystrixThreadPool",
            name: metrics.key(),
            current_time: epoch_millis(wall),
            current_active_count: pool.active,
            current_completed_task_count: pool.completed,
            current_core_pool_size: pool.config.core_size,
            current_largest_pool_size: pool.largest,
            current_maximum_pool_size: pool.config.maximum_size,
            current_pool_size: pool.threads,
            current_queue_size: pool.queued,
            current_task_count: pool.completed + (pool.active + pool.queued) as u64,
            rolling_count_threads_executed: rolling.threads_executed,
            rolling_max_active_threads: rolling.most_active,
            rolling_count_command_rejections: rolling.rejections,
            queue_size_rejection_threshold: pool.config.queue_size_rejection_threshold,
            window: millis(metrics.window().time),
            reporting_hosts: 1,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn epoch_millis(wall: SystemTime) -> u64 {
    millis(wall.duration_since(UNIX_EPOCH).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_str;
    use std::sync::Arc;

    const A_MINUTE: Duration = Duration::from_secs(60);

    /// 2026-11-30, as in the fixtures.
    fn wall(millis: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(millis)
    }

    fn command(yaml: &str, pool: Option<Arc<PoolMetrics>>, origin: Instant) -> Command {
        let config = load_str(yaml).unwrap().config;
        Command::new(&config.backends["product-service"], pool, origin)
    }

    /// One request that took so long.
    fn run(command: &Command, event: Event, began: Instant, took: Duration) {
        let mut run = command.begin(began).unwrap();
        run.admitted();
        run.end(event, Duration::ZERO, began + took);
    }

    #[test]
    fn a_command_is_told_as_hystrix_tells_it() {
        let origin = Instant::now();
        let command =
            command("zuul.routes.product-service: /p/**\nproduct-service.ribbon.listOfServers: h:1", None, origin);
        let mut out = String::new();
        tell_command(&command, &mut out, origin, wall(1));
        assert_eq!(out, "", "nothing was asked of it yet");
        for event in [Event::Success, Event::Success, Event::Timeout] {
            run(&command, event, origin, Duration::ZERO);
        }
        tell_command(&command, &mut out, origin + Duration::from_millis(999), wall(1_796_033_282_175));
        assert_eq!(out, concat!(include_str!("dashboard/command.txt"), "\n"), "as a running Zuul told it");
    }

    #[test]
    fn the_permits_of_a_moving_limit_are_its_ceiling() {
        let yaml = "zuul.routes.product-service: /p/**\ngateway.limits.product-service: {law: vegas, ceiling: 90}\n";
        let permits = |yaml: &str| Properties::of(&command(yaml, None, Instant::now())).permits;
        assert_eq!((permits(yaml), permits("zuul.routes.product-service: /p/**")), (90, 100));
    }

    #[test]
    fn what_happened_is_told_when_its_second_is_over() {
        let origin = Instant::now();
        let yaml = "zuul.routes.product-service: /p/**\nproduct-service.ribbon.listOfServers: h:1\n\
                    zuul.ribbon-isolation-strategy: THREAD\nhystrix.command.product-service: {threadPoolKeyOverride: own, \
                    circuitBreaker: {forceClosed: true}, metrics.rollingPercentile.timeInMilliseconds: 6000}\n";
        let command = command(yaml, None, origin);
        run(&command, Event::Success, origin, Duration::from_millis(100));
        run(&command, Event::Success, origin, Duration::from_millis(300));
        run(&command, Event::FallbackMissing, origin, Duration::ZERO);
        let mut out = String::new();
        tell_command(&command, &mut out, origin + Duration::from_secs(5), wall(1));
        let event: serde_json::Value = serde_json::from_str(out.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!((&event["rollingCountSuccess"], &event["rollingCountExceptionsThrown"]), (&2.into(), &1.into()));
        assert_eq!((&event["rollingMaxConcurrentExecutionCount"], &event["requestCount"]), (&1.into(), &2.into()));
        assert_eq!(event["propertyValue_executionIsolationStrategy"], "THREAD");
        assert_eq!(event["propertyValue_executionIsolationThreadPoolKeyOverride"], "own");
        assert_eq!(event["propertyValue_circuitBreakerForceClosed"], true);
        // A histogram of two digits.
        let near = |latency: &serde_json::Value, millis: u64| latency.as_u64().unwrap().abs_diff(millis) <= millis / 50;
        let latencies = &event["latencyTotal"];
        assert!(near(&event["latencyTotal_mean"], 200) && near(&latencies["0"], 100), "{event}");
        assert!(near(&latencies["99.5"], 300) && near(&latencies["100"], 300), "{event}");
        let mut later = String::new();
        tell_command(&command, &mut later, origin + A_MINUTE, wall(1));
        assert!(later.contains("\"rollingCountSuccess\":0,") && later.contains("\"latencyTotal_mean\":0,"), "{later}");
    }

    #[test]
    fn a_pool_is_told_as_hystrix_tells_it() {
        let origin = Instant::now();
        let window = crate::config::model::WindowConfig { time: Duration::from_secs(10), buckets: 10 };
        let metrics = PoolMetrics::new("product-service", window, 200, origin);
        let config = ThreadPoolConfig { core_size: 200, maximum_size: 200, ..ThreadPoolConfig::default() };
        let idle = PoolState { config, active: 0, completed: 0, queued: 0, threads: 0, largest: 0 };
        let mut out = String::new();
        tell_pool(&metrics, idle, &mut out, origin, wall(1));
        assert_eq!(out, "", "it has done nothing yet");
        let used = PoolState { completed: 2, threads: 2, largest: 2, ..idle };
        tell_pool(&metrics, used, &mut out, origin, wall(1_796_033_306_619));
        assert_eq!(out, concat!(include_str!("dashboard/pool.txt"), "\n"), "as a running Zuul told it");
    }
}
