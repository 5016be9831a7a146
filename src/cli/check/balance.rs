//! What `check` says about the choice among a service's servers.

use super::span;
use crate::config::Config;
use crate::config::model::{BackendConfig, BackendKind, BalancingRule, PingConfig};

/// The lines of one backend: none for a url route, which has one server.
pub(super) fn lines(backend: &BackendConfig) -> Vec<(&'static str, String)> {
    if backend.kind == BackendKind::Url {
        return Vec::new();
    }
    let (balance, blackout) = (&backend.balance, &backend.balance.blackout);
    let mut lines = vec![
        ("rule", balance.rule.name().to_owned()),
        (
            "blackout of a server",
            format!(
                "after {} connection failures in a row: {}, doubling up to {}",
                blackout.threshold,
                span(blackout.factor.min(blackout.longest)),
                span(blackout.longest)
            ),
        ),
        ("ping", balance.ping.as_ref().map_or("none".into(), ping)),
    ];
    if balance.rule == BalancingRule::WeightedResponseTime {
        lines.push(("new weights", format!("every {}", span(balance.weight_interval))));
    }
    lines.extend(balance.active_connections_limit.map(|limit| ("active per server", limit.to_string())));
    lines
}

fn ping(ping: &PingConfig) -> String {
    let meaning = if ping.expected_content.is_some() { "the expected content" } else { "200" };
    format!("GET {} every {}, up if {meaning} within {}", ping.path, span(ping.interval), span(ping.timeout))
}

/// Threads that ping: one a service.
pub(super) fn threads(config: &Config) -> usize {
    config.backends.values().filter(|backend| backend.balance.ping.is_some()).count()
}
