//! Remarks on the choice among servers: rules without a choice, pings that nobody heeds, limits that never bind.

use super::{Advice, permits, remark};
use crate::config::model::{BackendConfig, BalanceConfig, BalancingRule, Config, PingConfig};

pub(super) fn balancing(config: &Config) -> Vec<Advice> {
    let remarks = |backend| [nothing_to_choose(backend), unheeded(backend), no_path(backend), limit(backend)];
    config.backends.values().flat_map(|backend| remarks(backend)).flatten().collect()
}

fn key(backend: &BackendConfig, key: &str) -> String {
    format!("{}.ribbon.{key}", backend.id)
}

/// A rule that looks at statistics, and one server. The default, and what `gateway.balancer` gives to all services alike, are no mistake.
fn nothing_to_choose(backend: &BackendConfig) -> Option<Advice> {
    use BalancingRule::{AvailabilityFiltering, BestAvailable, WeightedResponseTime};
    let rule = backend.balance.rule;
    let looks = matches!(rule, WeightedResponseTime | BestAvailable | AvailabilityFiltering);
    (looks && backend.servers.len() == 1).then(|| {
        let message = format!("{} has one server to choose from, which is asked whatever its state", rule.name());
        remark(key(backend, "NFLoadBalancerRuleClassName"), message)
    })
}

fn unheeded(backend: &BackendConfig) -> Option<Advice> {
    let BalanceConfig { rule, ping, .. } = &backend.balance;
    let heedless = matches!(rule, BalancingRule::ZoneAvoidance | BalancingRule::BestAvailable);
    (heedless && ping.is_some()).then(|| {
        let message = format!(
            "{} asks servers whatever pings find (as in Ribbon): write AvailabilityFilteringRule, RoundRobinRule or \
             least-outstanding-p2c",
            rule.name()
        );
        remark(key(backend, "NFLoadBalancerPingClassName"), message)
    })
}

fn no_path(backend: &BackendConfig) -> Option<Advice> {
    let ping = backend.balance.ping.as_ref()?;
    (ping.path == PingConfig::default().path).then(|| {
        let message = "PingUrl asks for /, which may be dear or not there; write a path that tells health".to_owned();
        remark(format!("gateway.ping.{}.path", backend.id), message)
    })
}

/// A limit that the rule doesn't look at, or that is never reached.
fn limit(backend: &BackendConfig) -> Option<Advice> {
    use BalancingRule::{AvailabilityFiltering, LeastOutstanding, ZoneAvoidance};
    let BalanceConfig { rule, active_connections_limit, .. } = backend.balance;
    let limit = active_connections_limit? as usize;
    let message = if !matches!(rule, AvailabilityFiltering | LeastOutstanding | ZoneAvoidance) {
        format!("{} does not look at it", rule.name())
    } else if permits(backend).is_some_and(|permits| limit >= permits) {
        format!("{limit} is never passed by {} permits", permits(backend)?)
    } else if permits(backend).is_some_and(|permits| limit * backend.servers.len() < permits) {
        let all = limit * backend.servers.len();
        format!(
            "it holds for {all} of {} requests at once: beyond, every server is at its limit, and all are asked again",
            permits(backend)?
        )
    } else {
        return None;
    };
    Some(remark(key(backend, "ActiveConnectionsLimit"), message))
}
