//! Circuit breaker and metrics of one backend: Hystrix's keys, with its precedence.
//!
//! Zuul sets none of them in code, so a command's own key wins over `hystrix.command.default.*`, that over what Hystrix has built in.

use super::fallback;
use crate::config::fault::Fault;
use crate::config::model::{
    BackendKind, CircuitConfig, CircuitMode, CommandConfig, Compat, FallbackConfig, MetricsConfig, WindowConfig,
};
use crate::config::settings::{Read, Settings};
use std::time::Duration;

macro_rules! circuit_key {
    ($key:literal) => {
        concat!("hystrix.command.<key...>.circuitBreaker.", $key)
    };
}

macro_rules! metrics_key {
    ($key:literal) => {
        concat!("hystrix.command.<key...>.metrics.", $key)
    };
}

const ENABLED: &str = circuit_key!("enabled");
const VOLUME: &str = circuit_key!("requestVolumeThreshold");
const SLEEP: &str = circuit_key!("sleepWindowInMilliseconds");
const PERCENTAGE: &str = circuit_key!("errorThresholdPercentage");
const FORCE_OPEN: &str = circuit_key!("forceOpen");
const FORCE_CLOSED: &str = circuit_key!("forceClosed");
const CIRCUIT: [&str; 6] = [ENABLED, VOLUME, SLEEP, PERCENTAGE, FORCE_OPEN, FORCE_CLOSED];

const FALLBACK_ENABLED: &str = "hystrix.command.<key...>.fallback.enabled";
const FALLBACK_PERMITS: &str = "hystrix.command.<key...>.fallback.isolation.semaphore.maxConcurrentRequests";

const COUNTS: Window = (metrics_key!("rollingStats.timeInMilliseconds"), metrics_key!("rollingStats.numBuckets"));
const LATENCY: Window =
    (metrics_key!("rollingPercentile.timeInMilliseconds"), metrics_key!("rollingPercentile.numBuckets"));
const LATENCY_ENABLED: &str = metrics_key!("rollingPercentile.enabled");
const HEALTH: &str = metrics_key!("healthSnapshot.intervalInMilliseconds");
const POOL: Window = (
    "hystrix.threadpool.<key...>.metrics.rollingStats.timeInMilliseconds",
    "hystrix.threadpool.<key...>.metrics.rollingStats.numBuckets",
);

/// Of the health, in its window.
const MOST_SLICES: u128 = 100_000;

/// The keys of a window: its time, and its number of buckets.
type Window = (&'static str, &'static str);

/// Looks up what surrounds the calls of one backend.
#[derive(Clone, Copy)]
pub(super) struct Command<'a> {
    pub(super) settings: &'a Settings,
    pub(super) id: &'a str,
    pub(super) kind: BackendKind,
    pub(super) compat: Compat,
}

impl<'a> Command<'a> {
    pub(super) fn resolve(self, pool_key: Option<&str>, faults: &mut Vec<Fault>) -> CommandConfig {
        let metrics = MetricsConfig::default();
        let counts = self.window(self.id, COUNTS, metrics.counts, faults);
        let latency = self.window(self.id, LATENCY, WindowConfig::of_seconds(6, 10), faults);
        CommandConfig {
            circuit: self.circuit(),
            metrics: MetricsConfig {
                counts,
                latency: Some(latency).filter(|_| self.first(|read| read.flag(LATENCY_ENABLED)) != Some(false)),
                health_interval: self.health_interval(counts, faults),
            },
            fallback: self.fallback(faults),
            pool_window: self.window(pool_key.unwrap_or("default"), POOL, metrics.counts, faults),
        }
    }

    /// Each slice of the window is remembered, so there can't be any number of them.
    fn health_interval(self, window: WindowConfig, faults: &mut Vec<Fault>) -> Duration {
        let default = MetricsConfig::default().health_interval;
        let interval = self.first(|read| read.bounded_time(HEALTH)).unwrap_or(default);
        let slices = window.time.as_nanos() / interval.as_nanos().max(1);
        if slices <= MOST_SLICES {
            return interval;
        }
        if let Some(setting) =
            self.first(|read| read.setting(HEALTH)).or_else(|| self.first(|read| read.setting(COUNTS.0)))
        {
            let message =
                format!("{slices} snapshots in metrics.rollingStats.timeInMilliseconds: {MOST_SLICES} at most");
            tell(Fault::error(&setting.place, setting.name.clone(), message), faults);
        }
        default
    }

    fn circuit(self) -> CircuitConfig {
        let (all, default) = (self.settings.all(), CircuitConfig::default());
        let amount = |name| self.first(|read| read.amount(name)).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        CircuitConfig {
            enabled: self.has_circuit() && self.first(|read| read.flag(ENABLED)).unwrap_or(default.enabled),
            request_volume_threshold: amount(VOLUME).unwrap_or(default.request_volume_threshold),
            sleep_window: self.first(|read| read.time(SLEEP)).map_or(default.sleep_window, Option::unwrap_or_default),
            error_threshold_percentage: amount(PERCENTAGE).unwrap_or(default.error_threshold_percentage),
            force_open: self.first(|read| read.flag(FORCE_OPEN)).unwrap_or(default.force_open),
            force_closed: self.first(|read| read.flag(FORCE_CLOSED)).unwrap_or(default.force_closed),
            mode: match all.choice("gateway.circuit-breaker.mode") {
                Some(1) => CircuitMode::HalfOpen,
                _ => CircuitMode::SingleTest,
            },
            counts_5xx: all.flag("gateway.circuit-breaker.count-5xx").unwrap_or(default.counts_5xx),
        }
    }

    /// A service has its own or that of `*`, as in Zuul; a url route has only its own, and in Zuul none.
    fn fallback(self, faults: &mut Vec<Fault>) -> FallbackConfig {
        let named = match (self.kind, self.compat) {
            (BackendKind::Service, _) => &[self.id, fallback::ALL][..],
            (BackendKind::Url, Compat::None) => &[self.id],
            (BackendKind::Url, Compat::Zuul1) => &[],
        };
        let enabled = self.first(|read| read.flag(FALLBACK_ENABLED)) != Some(false);
        let answer = named.iter().find_map(|id| fallback::answer(self.settings.one(id), faults));
        FallbackConfig {
            max_concurrent_requests: self
                .first(|read| read.amount(FALLBACK_PERMITS))
                .unwrap_or(FallbackConfig::default().max_concurrent_requests),
            answer: answer.filter(|_| enabled),
        }
    }

    /// Every service has; a url route only where a key names it, and never in Zuul 1.
    fn has_circuit(self) -> bool {
        let own = self.settings.one(self.id);
        self.kind == BackendKind::Service
            || self.compat == Compat::None && CIRCUIT.iter().any(|name| own.setting(name).is_some())
    }

    fn first<T>(self, read: impl Fn(Read<'a>) -> Option<T>) -> Option<T> {
        [self.settings.one(self.id), self.settings.one("default")].into_iter().find_map(read)
    }

    /// Hystrix refuses a command whose window is no whole number of buckets.
    fn window(self, id: &str, (time, buckets): Window, default: WindowConfig, faults: &mut Vec<Fault>) -> WindowConfig {
        let reads = [self.settings.one(id), self.settings.one("default")];
        let of = |name| reads.iter().find_map(|read| read.setting(name));
        let window = WindowConfig {
            time: reads.iter().find_map(|read| read.bounded_time(time)).unwrap_or(default.time),
            buckets: reads.iter().find_map(|read| read.amount(buckets)).unwrap_or(default.buckets),
        };
        let (total, each) = (window.time.as_millis(), window.buckets as u128);
        if (each > total || total % each != 0)
            && let Some(setting) = of(buckets).or_else(|| of(time))
        {
            let message = format!("{total} ms are no whole number of milliseconds in each of {each} buckets");
            tell(Fault::error(&setting.place, setting.name.clone(), message), faults);
            return default;
        }
        window
    }
}

/// Once, though several backends may have it by `default`.
fn tell(fault: Fault, faults: &mut Vec<Fault>) {
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}
