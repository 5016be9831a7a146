//! What an expert would remark about a configuration that is valid: limits that never bind, limits that bind by accident, fields that
//! vanish. `check` prints it; nothing depends on it.
//!
//! Pure: a [`Config`] in, sentences out.

mod balance;
mod command;
mod retries;

use super::model::{BackendConfig, BackendKind, Config, IsolationConfig, RouteConfig, RouteTarget, ThreadPoolConfig};
use std::fmt;

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The key to look at.
    pub key: String,
    /// What follows from its value.
    pub message: String,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

/// Every remark about this configuration.
pub fn advice(config: &Config) -> Vec<Advice> {
    let remarks = [
        semaphores(config),
        waits(config),
        shared_pool(config),
        wide_pools(config),
        connections(config),
        servers(config),
        balance::balancing(config),
        thresholds(config),
        command::commands(config),
        retries::retries(config),
        headers(config),
    ];
    remarks.into_iter().flatten().collect()
}

fn remark(key: impl Into<String>, message: String) -> Advice {
    Advice { key: key.into(), message }
}

/// Ids with an equal value, so that fifty routes make one remark.
fn grouped<T: PartialEq>(items: impl Iterator<Item = (T, String)>) -> Vec<(T, Vec<String>)> {
    let mut groups: Vec<(T, Vec<String>)> = Vec::new();
    for (value, id) in items {
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, ids)) => ids.push(id),
            None => groups.push((value, vec![id])),
        }
    }
    groups
}

fn permits(backend: &BackendConfig) -> Option<usize> {
    match backend.isolation {
        IsolationConfig::Semaphore { max_concurrent_requests } => Some(max_concurrent_requests),
        _ => None,
    }
}

fn semaphores(config: &Config) -> Vec<Advice> {
    let workers = config.server.max_threads;
    let wide = config
        .backends
        .values()
        .filter_map(|b| Some(((permits(b)?, b.adaptive.is_some()), b.id.clone())))
        .filter(|((count, _), _)| *count >= workers);
    let remarks = grouped(wide).into_iter().map(|((count, adapts), ids)| {
        let (key, up_to) =
            if adapts { ("gateway.limits.<id>.ceiling", "up to ") } else { ("zuul.semaphore.max-semaphores", "") };
        let message = format!(
            "{up_to}{count} permits for {} are never all taken by {workers} workers (server.tomcat.threads.max): one slow backend can hold every \
             worker",
            ids.join(", ")
        );
        remark(key, message)
    });
    remarks.collect()
}

/// A wait for a permit is no part of the deadline.
fn waits(config: &Config) -> Vec<Advice> {
    let (key, wait) = ("gateway.isolation.max-wait", config.gateway.max_wait);
    if wait.is_zero() {
        return Vec::new();
    }
    if !config.backends.is_empty() && config.backends.values().all(|backend| permits(backend).is_none()) {
        return vec![remark(key, "no semaphore to wait for: pools have queues of their own (maxQueueSize)".into())];
    }
    let longer = config.backends.values().filter(|backend| permits(backend).is_some()).filter_map(|backend| {
        let deadline = backend.deadline.filter(|deadline| *deadline < wait)?;
        Some((deadline, backend.id.clone()))
    });
    let remarks = grouped(longer).into_iter().map(|(deadline, ids)| {
        let message = format!(
            "requests to {} may wait {wait:?} for a permit, longer than the {deadline:?} that their answer may take after that",
            ids.join(", ")
        );
        remark(key, message)
    });
    remarks.collect()
}

/// A worker waits for its pool thread, so threads beyond the workers never run.
fn wide_pools(config: &Config) -> Vec<Advice> {
    let workers = config.server.max_threads;
    let wide = config.thread_pools.iter().filter(|(_, pool)| pool.maximum_size >= workers);
    let remarks = wide.map(|(key, pool)| {
        let message = format!(
            "{} threads are never all used by {workers} workers (server.tomcat.threads.max): one slow backend can hold every worker",
            pool.maximum_size
        );
        remark(format!("hystrix.threadpool.{key}"), message)
    });
    remarks.collect()
}

fn shared_pool(config: &Config) -> Vec<Advice> {
    let pools = config.backends.values().filter_map(|backend| match &backend.isolation {
        IsolationConfig::Thread { pool_key } => Some((pool_key.clone(), backend.id.clone())),
        _ => None,
    });
    let small = grouped(pools).into_iter().filter_map(|(key, ids)| {
        let most = config.thread_pools.get(&key)?.maximum_size;
        let shared = ids.len() > 1 || key == "RibbonCommand";
        (shared && most <= 10).then(|| {
            let message = format!(
                "{most} threads serve all requests to {}; write hystrix.threadpool.default.coreSize, and \
                 zuul.thread-pool.use-separate-thread-pools: true for a pool each",
                ids.join(", ")
            );
            remark(format!("hystrix.threadpool.{key}"), message)
        })
    });
    small.collect()
}

/// Hystrix looks at the queue before it looks for a thread.
fn thresholds(config: &Config) -> Vec<Advice> {
    let closed = |pool: &ThreadPoolConfig| pool.max_queue_size.is_some() && pool.queue_size_rejection_threshold == 0;
    let remarks = config.thread_pools.iter().filter(|(_, pool)| closed(pool)).map(|(key, _)| {
        let message = "0, with a queue, refuses every request, even while threads are free (as in Hystrix)".to_owned();
        remark(format!("hystrix.threadpool.{key}.queueSizeRejectionThreshold"), message)
    });
    remarks.collect()
}

/// Connections that run out before permits, threads or workers do.
fn connections(config: &Config) -> Vec<Advice> {
    let scarce = config.backends.values().filter_map(|backend| {
        let servers = backend.servers.len().max(1);
        let most = (backend.max_connections_per_host * servers).min(backend.max_total_connections);
        let wanted = match &backend.isolation {
            IsolationConfig::Semaphore { max_concurrent_requests } => *max_concurrent_requests,
            IsolationConfig::Thread { pool_key } => config.thread_pools.get(pool_key)?.maximum_size,
            IsolationConfig::None => usize::MAX,
        };
        let wanted = wanted.min(config.server.max_threads);
        let ends = backend.connection_request_timeout.is_some();
        (most < wanted).then(|| ((backend.kind, most, wanted, ends), backend.id.clone()))
    });
    let remarks = grouped(scarce).into_iter().map(|((kind, most, wanted, ends), ids)| {
        let key = match kind {
            BackendKind::Url => "zuul.host.max-per-route-connections",
            BackendKind::Service => "ribbon.MaxConnectionsPerHost",
        };
        let then =
            if ends { ", then get 503 upstream_pool_timeout" } else { " as long as it takes, each with its worker" };
        let message = format!(
            "{most} connections for up to {wanted} requests at once to {}: the others wait for one{then}",
            ids.join(", ")
        );
        remark(key, message)
    });
    remarks.collect()
}

fn servers(config: &Config) -> Vec<Advice> {
    let without = config.backends.values().filter(|backend| backend.servers.is_empty());
    let remarks = without.map(|backend| {
        let message = "no servers: every request gets 503 no_server".to_string();
        remark(format!("{}.ribbon.listOfServers", backend.id), message)
    });
    remarks.collect()
}

/// The most asked question of all: where did cookies and Authorization go?
fn headers(config: &Config) -> Vec<Advice> {
    let sensitive = &config.zuul.sensitive_headers;
    let by_default =
        |route: &&RouteConfig| route.sensitive_headers.is_none() && !matches!(route.target, RouteTarget::Forward(_));
    let ids: Vec<_> = config.routes.iter().filter(by_default).map(|route| route.id.as_str()).collect();
    if ids.is_empty() || sensitive.is_empty() {
        return Vec::new();
    }
    let fields: Vec<_> = sensitive.iter().map(String::as_str).collect();
    let message = format!(
        "{} are removed from requests and answers of {}; an empty zuul.routes.<id>.sensitive-headers lets them through",
        fields.join(", "),
        ids.join(", ")
    );
    vec![remark("zuul.sensitive-headers", message)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_str;

    #[track_caller]
    pub(super) fn check(yaml: &str, expected: &[&str]) {
        let loaded = load_str(yaml).unwrap_or_else(|faults| panic!("{faults:?}"));
        let said: Vec<_> = advice(&loaded.config).iter().map(Advice::to_string).collect();
        let agree = said.len() == expected.len() && said.iter().zip(expected).all(|(line, text)| line.contains(text));
        assert!(agree, "{yaml}\nexpected {expected:#?}\nsaid {said:#?}");
    }

    /// A service without anything to remark.
    const QUIET: &str =
        "zuul.sensitive-headers:\nzuul.routes.s: /s/**\ns.ribbon: {listOfServers: h:1, MaxConnectionsPerHost: 100}\n";

    #[test]
    fn limits_that_bind_by_accident_or_never_are_named() {
        check(QUIET, &[]);
        let wide = "zuul.semaphore.max-semaphores: 200\ns.ribbon.MaxConnectionsPerHost: 200\n";
        let base = "zuul.sensitive-headers:\nzuul.routes.s: /s/**\ns.ribbon.listOfServers: h:1\n";
        check(
            &format!("{base}{wide}"),
            &["zuul.semaphore.max-semaphores: 200 permits for s are never all taken by 200 workers"],
        );
        check(base, &["ribbon.MaxConnectionsPerHost: 50 connections for up to 100 requests at once to s"]);
        let urls = "zuul.sensitive-headers:\nzuul.routes: {a: {url: 'http://h'}, b: {url: 'http://h'}}\n";
        check(urls, &["zuul.host.max-per-route-connections: 20 connections for up to 100 requests at once to a, b"]);
        check(&format!("{urls}zuul.host.max-per-route-connections: 100\n"), &[]);
        check(&format!("{urls}server.tomcat.max-threads: 20\nzuul.semaphore.max-semaphores: 15\n"), &[]);
        let endless = "zuul.host.max-per-route-connections: 20 connections for up to 200 requests at once to a, b: the others wait for one as \
                       long as it takes";
        check(&format!("{urls}gateway.compat: zuul1\n"), &[endless]);
    }

    #[test]
    fn a_ceiling_that_never_binds_is_named() {
        let adaptive = format!("{QUIET}gateway.limit: vegas\ns.ribbon.MaxConnectionsPerHost: 200\n");
        let adaptive = adaptive.replace(", MaxConnectionsPerHost: 100", "");
        check(&adaptive, &[]);
        let remark = "gateway.limits.<id>.ceiling: up to 300 permits for s are never all taken by 200 workers";
        check(&format!("{adaptive}gateway.limits.s.ceiling: 300\n"), &[remark]);
    }

    #[test]
    fn waits_that_make_no_sense_are_named() {
        let wait = |time: &str| format!("{QUIET}gateway.isolation.max-wait: {time}\n");
        check(&wait("4s"), &[]);
        let longer = "gateway.isolation.max-wait: requests to s may wait 4.001s for a permit, longer than the 4s";
        check(&wait("4001ms"), &[longer]);
        let pools = "zuul.ribbon-isolation-strategy: THREAD\nhystrix.threadpool.default.coreSize: 50\n";
        check(&format!("{}{pools}", wait("1s")), &["gateway.isolation.max-wait: no semaphore to wait for"]);
    }

    #[test]
    fn a_pool_that_is_larger_than_the_workers_is_named() {
        let pool = |workers: usize| {
            let threads = "zuul.ribbon-isolation-strategy: THREAD\nhystrix.threadpool.default.coreSize: 50\n";
            format!("{QUIET}{threads}server.tomcat.max-threads: {workers}\n")
        };
        check(&pool(51), &[]);
        check(&pool(50), &["hystrix.threadpool.RibbonCommand: 50 threads are never all used by 50 workers"]);
    }

    #[test]
    fn a_small_shared_pool_is_named() {
        let threads = format!("{QUIET}zuul.ribbon-isolation-strategy: THREAD\n");
        check(&threads, &["hystrix.threadpool.RibbonCommand: 10 threads serve all requests to s"]);
        check(&format!("{threads}hystrix.threadpool.default.coreSize: 50\n"), &[]);
        check(&format!("{threads}zuul.thread-pool.use-separate-thread-pools: true\n"), &[]);
    }

    #[test]
    fn a_queue_that_refuses_everything_is_named() {
        let pool = |rest: &str| {
            format!(
                "{QUIET}zuul.ribbon-isolation-strategy: THREAD\nhystrix.threadpool.default: {{coreSize: 50, queueSizeRejectionThreshold: 0{rest}}}\n"
            )
        };
        check(&pool(""), &[]);
        let remark =
            "hystrix.threadpool.RibbonCommand.queueSizeRejectionThreshold: 0, with a queue, refuses every request";
        check(&pool(", maxQueueSize: 9"), &[remark]);
    }

    #[test]
    fn services_without_servers_are_named() {
        check(
            "zuul.sensitive-headers:\nzuul.routes.s: /s/**\nribbon.MaxConnectionsPerHost: 100\n",
            &["s.ribbon.listOfServers: no servers"],
        );
    }

    #[test]
    fn choices_without_effect_are_named() {
        let one = |keys: &str| QUIET.replace('}', &format!(", {keys}}}"));
        let two = |keys: &str| one(keys).replace("h:1", "'h:1,h:2'");
        let rule = |name: &str| format!("NFLoadBalancerRuleClassName: {name}");
        let choice = "s.ribbon.NFLoadBalancerRuleClassName: BestAvailableRule has one server to choose from";
        check(&one(&rule("BestAvailableRule")), &[choice]);
        check(&two(&rule("BestAvailableRule")), &[]);
        check(&one(&rule("RoundRobinRule")), &[]);
        let ping = "NFLoadBalancerPingClassName: PingUrl";
        let (unheeded, path) =
            ("s.ribbon.NFLoadBalancerPingClassName: ZoneAvoidanceRule asks", "gateway.ping.s.path: ");
        check(&two(ping), &[unheeded, path]);
        check(&format!("{}gateway.ping.path: /up\n", two(ping)), &[unheeded]);
        check(&two(&format!("{ping}, {}", rule("RoundRobinRule"))), &[path]);
        let limit = |n: usize| two(&format!("ActiveConnectionsLimit: {n}"));
        check(&limit(100), &["s.ribbon.ActiveConnectionsLimit: 100 is never passed by 100 permits"]);
        check(&limit(49), &["s.ribbon.ActiveConnectionsLimit: it holds for 98 of 100 requests at once"]);
        check(&limit(50), &[]);
        let blind = format!("ActiveConnectionsLimit: 50, {}", rule("RandomRule"));
        check(&two(&blind), &["s.ribbon.ActiveConnectionsLimit: RandomRule does not look at it"]);
    }

    #[test]
    fn headers_that_vanish_are_named() {
        let yaml = "zuul.routes:\n  s: {path: /s/**}\n  t: {path: /t/**, service-id: s, sensitive-headers: ''}\n\
                    s.ribbon: {listOfServers: h:1, MaxConnectionsPerHost: 100}\n";
        check(
            yaml,
            &["zuul.sensitive-headers: authorization, cookie, set-cookie are removed from requests and answers of s;"],
        );
    }
}
