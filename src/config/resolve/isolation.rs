//! How many requests at once, in what, and for how long: Hystrix's keys, with the precedence that Zuul gives them.
//!
//! A key of the command itself wins over what Zuul sets in code, that wins over `hystrix.command.default.*`. So `default` counts for the
//! timeout (which Zuul looks up itself) and for `execution.timeout.enabled` (which Zuul leaves alone), but for nothing else.

use super::backends::{CONNECT_TIMEOUT, READ_TIMEOUT, RETRIES, RETRIES_NEXT, Ribbon};
use crate::config::fault::Fault;
use crate::config::model::{BackendConfig, IsolationConfig, ThreadPoolConfig};
use crate::config::settings::Settings;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: &str = "hystrix.command.<key...>.execution.isolation.thread.timeoutInMilliseconds";
const ENABLED: &str = "hystrix.command.<key...>.execution.timeout.enabled";
const STRATEGY: &str = "hystrix.command.<key...>.execution.isolation.strategy";
const PERMITS: &str = "hystrix.command.<key...>.execution.isolation.semaphore.maxConcurrentRequests";
const THREAD: usize = 1;

/// Looks up the limits of one backend.
#[derive(Clone, Copy)]
pub(super) struct Isolation<'a> {
    pub(super) settings: &'a Settings,
    pub(super) id: &'a str,
}

impl Isolation<'_> {
    /// A semaphore, or a pool.
    pub(super) fn of_a_service(self) -> IsolationConfig {
        let all = self.settings.all();
        let own = self.settings.one(self.id);
        match own.choice(STRATEGY).or_else(|| all.choice("zuul.ribbon-isolation-strategy")) {
            Some(THREAD) => IsolationConfig::Thread { pool_key: self.pool_key() },
            _ => IsolationConfig::Semaphore {
                max_concurrent_requests: self
                    .own_permits()
                    .or_else(|| all.amount("zuul.semaphore.max-semaphores"))
                    .unwrap_or(100),
            },
        }
    }

    /// Always a semaphore; without a limit that was written, one that its connections fit in.
    pub(super) fn of_a_url_route(self, max_per_route_connections: usize) -> IsolationConfig {
        let written = || self.settings.all().amount("zuul.semaphore.max-semaphores");
        let permits = self.own_permits().or_else(written).unwrap_or(max_per_route_connections.max(100));
        IsolationConfig::Semaphore { max_concurrent_requests: permits }
    }

    fn own_permits(self) -> Option<usize> {
        let own = self.settings.one(self.id);
        own.amount(PERMITS).or_else(|| own.amount("zuul.eureka.<service...>.semaphore.maxSemaphores"))
    }

    /// The name of a pool that was written for this service.
    pub(super) fn pool_key_override(self) -> Option<String> {
        self.settings.one(self.id).words("hystrix.command.<key...>.threadPoolKeyOverride")
    }

    fn pool_key(self) -> String {
        let all = self.settings.all();
        if let Some(key) = self.pool_key_override() {
            return key;
        }
        match all.flag("zuul.thread-pool.use-separate-thread-pools") {
            Some(true) => {
                format!("{}{}", all.text("zuul.thread-pool.thread-pool-key-prefix").unwrap_or_default(), self.id)
            }
            _ => "RibbonCommand".into(),
        }
    }

    /// The timeout of this service, else of all, else what Ribbon may take. A shorter one is warned of, as Zuul does.
    pub(super) fn deadline_of_a_service(self, ribbon: Ribbon<'_>, faults: &mut Vec<Fault>) -> Option<Duration> {
        let (own, default) = (self.settings.one(self.id), self.settings.one("default"));
        if own.flag(ENABLED).or_else(|| default.flag(ENABLED)) == Some(false) {
            return None;
        }
        let needed = ribbon_timeout(ribbon);
        let (read, time) = match [own, default].into_iter().find_map(|read| Some((read, read.time(TIMEOUT).flatten()?)))
        {
            Some(written) => written,
            None => return Some(needed),
        };
        if let Some(setting) = read.setting(TIMEOUT).filter(|_| time < needed) {
            let fault = Fault::warning(&setting.place, setting.name.clone(), below(time, needed));
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        Some(time)
    }

    /// Only what names the route itself counts.
    pub(super) fn deadline_of_a_url_route(self) -> Option<Duration> {
        let own = self.settings.one(self.id);
        own.time(TIMEOUT).flatten().filter(|_| own.flag(ENABLED) != Some(false))
    }
}

fn below(time: Duration, needed: Duration) -> String {
    format!(
        "{} ms is less than the {} ms that Ribbon's keys allow: (ReadTimeout + ConnectTimeout) x (MaxAutoRetries + 1) x \
         (MaxAutoRetriesNextServer + 1)",
        time.as_millis(),
        needed.as_millis()
    )
}

/// Zuul's formula; the factor of the next server counts even though nothing is retried by default.
fn ribbon_timeout(ribbon: Ribbon<'_>) -> Duration {
    let second = Some(Duration::from_secs(1));
    let time = |names| ribbon.time(names).unwrap_or(second).unwrap_or_default();
    let tries = |names, default| u32::try_from(ribbon.amount(names).unwrap_or(default) + 1).unwrap_or(u32::MAX);
    let factor = tries(RETRIES, 0).saturating_mul(tries(RETRIES_NEXT, 1));
    (time(READ_TIMEOUT) + time(CONNECT_TIMEOUT)).saturating_mul(factor)
}

/// The pools that backends use, each with its own keys, else those of `default`.
pub(super) fn thread_pools(
    settings: &Settings,
    backends: &BTreeMap<String, Arc<BackendConfig>>,
) -> BTreeMap<String, ThreadPoolConfig> {
    let keys = backends.values().filter_map(|backend| match &backend.isolation {
        IsolationConfig::Thread { pool_key } => Some(pool_key.clone()),
        _ => None,
    });
    keys.map(|key| (key.clone(), thread_pool(settings, &key))).collect()
}

fn thread_pool(settings: &Settings, key: &str) -> ThreadPoolConfig {
    let default = ThreadPoolConfig::default();
    let read = [settings.one(key), settings.one("default")];
    let amount = |name| read.iter().find_map(|read| read.amount(name));
    let core_size = amount("hystrix.threadpool.<key...>.coreSize").unwrap_or(default.core_size);
    let diverges = "hystrix.threadpool.<key...>.allowMaximumSizeToDivergeFromCoreSize";
    let maximum_size = match read.iter().find_map(|read| read.flag(diverges)) {
        Some(true) => amount("hystrix.threadpool.<key...>.maximumSize").unwrap_or(default.maximum_size).max(core_size),
        _ => core_size,
    };
    let queue = read.iter().find_map(|read| read.count("hystrix.threadpool.<key...>.maxQueueSize"));
    ThreadPoolConfig {
        core_size,
        maximum_size,
        max_queue_size: queue.and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0),
        queue_size_rejection_threshold: amount("hystrix.threadpool.<key...>.queueSizeRejectionThreshold")
            .unwrap_or(default.queue_size_rejection_threshold),
        keep_alive: read
            .iter()
            .find_map(|read| read.time("hystrix.threadpool.<key...>.keepAliveTimeMinutes"))
            .map_or(default.keep_alive, Option::unwrap_or_default),
    }
}
