//! How servers are chosen and watched: class names of Ribbon become rules and pings.
//!
//! A class that is not Netflix' own is an error: Java can't be loaded here, and whoever wrote a rule of their own relies on which server
//! is asked. Going on with another rule could send requests where they must not go.

use super::backends::{Names, Ribbon, ribbon};
use crate::config::fault::Fault;
use crate::config::model::{BalanceConfig, BalancingRule, BlackoutConfig, PingConfig};
use crate::config::name::nearest;
use crate::config::settings::Setting;

const NETFLIX: &str = "com.netflix.loadbalancer.";
const DISCOVERY_PING: &str = "com.netflix.niws.loadbalancer.NIWSDiscoveryPing";
/// Pings of Ribbon that ask nobody.
const NO_PINGS: [&str; 3] = ["DummyPing", "NoOpPing", "PingConstant"];
const PING_URL: &str = "PingUrl";

const RULE: Names = ribbon!("NFLoadBalancerRuleClassName");
const PING: Names = ribbon!("NFLoadBalancerPingClassName");
const PING_INTERVAL: Names = ribbon!("NFLoadBalancerPingInterval");
const PING_TIME: Names = ribbon!("NFLoadBalancerMaxTotalPingTime");
const ACTIVE_LIMIT: Names = ribbon!("ActiveConnectionsLimit");
const WEIGHT_INTERVAL: Names = ribbon!("ServerWeightTaskTimerInterval");
const THRESHOLD: &str = "niws.loadbalancer.<service...>.connectionFailureCountThreshold";
const FACTOR: &str = "niws.loadbalancer.<service...>.circuitTripTimeoutFactorSeconds";
const LONGEST: &str = "niws.loadbalancer.<service...>.circuitTripMaxTimeoutSeconds";
const COMMON_ACTIVE_LIMIT: &str = "niws.loadbalancer.availabilityFilteringRule.activeConnectionsLimit";
const FILTER: &str = "niws.loadbalancer.availabilityFilteringRule.filterCircuitTripped";
const PATHS: Names = ("gateway.ping.<service...>.path", "gateway.ping.path");
const CONTENTS: Names = ("gateway.ping.<service...>.expected-content", "gateway.ping.expected-content");

/// Of one service.
pub(super) fn of_a_service(read: Ribbon<'_>, faults: &mut Vec<Fault>) -> BalanceConfig {
    let (all, default) = (read.settings.all(), BalanceConfig::default());
    let limit = read.amount(ACTIVE_LIMIT).or_else(|| all.amount(COMMON_ACTIVE_LIMIT));
    BalanceConfig {
        rule: rule(read, faults),
        // Ribbon's default, the largest int, is no bound.
        active_connections_limit: limit.and_then(|n| u32::try_from(n).ok()).filter(|&n| n < i32::MAX as u32),
        filter_circuit_tripped: all.flag(FILTER).unwrap_or(default.filter_circuit_tripped),
        blackout: blackout(read),
        weight_interval: read.time(WEIGHT_INTERVAL).flatten().unwrap_or(default.weight_interval),
        ping: ping(read, faults),
    }
}

fn blackout(read: Ribbon<'_>) -> BlackoutConfig {
    let (own, common) = (read.settings.one(read.id), read.settings.one("default"));
    let default = BlackoutConfig::default();
    let threshold = own.amount(THRESHOLD).or_else(|| common.amount(THRESHOLD)).and_then(|n| u32::try_from(n).ok());
    let time = |name, default| own.time(name).or_else(|| common.time(name)).map_or(default, Option::unwrap_or_default);
    BlackoutConfig {
        threshold: threshold.unwrap_or(default.threshold),
        factor: time(FACTOR, default.factor),
        longest: time(LONGEST, default.longest),
    }
}

fn rule(read: Ribbon<'_>, faults: &mut Vec<Fault>) -> BalancingRule {
    const OURS: usize = 1;
    let common = match read.settings.all().choice("gateway.balancer") {
        Some(OURS) => BalancingRule::LeastOutstanding,
        _ => BalanceConfig::default().rule,
    };
    let Some((setting, class)) = class(read, RULE) else { return common };
    let simple = match class.strip_prefix(NETFLIX).unwrap_or(&class) {
        "ResponseTimeWeightedRule" => BalancingRule::WeightedResponseTime.name(),
        simple => simple,
    };
    let known = BalancingRule::ALL.iter().copied();
    known.clone().find(|rule| rule.name() == simple).unwrap_or_else(|| {
        let names: Vec<_> = known.map(BalancingRule::name).collect();
        unknown(setting, &class, "rules", &names, faults);
        common
    })
}

fn ping(read: Ribbon<'_>, faults: &mut Vec<Fault>) -> Option<PingConfig> {
    let (setting, class) = class(read, PING)?;
    match class.strip_prefix(NETFLIX).unwrap_or(&class) {
        PING_URL => Some(ping_url(read, faults)),
        simple if NO_PINGS.contains(&simple) => None,
        "NIWSDiscoveryPing" | DISCOVERY_PING => {
            let message = "no registry is asked yet: every server counts as up".to_owned();
            tell(Fault::warning(&setting.place, setting.name.clone(), message), faults);
            None
        }
        _ => {
            let names = [&NO_PINGS[..], &[PING_URL]].concat();
            unknown(setting, &class, "pings", &names, faults);
            None
        }
    }
}

fn ping_url(read: Ribbon<'_>, faults: &mut Vec<Fault>) -> PingConfig {
    let default = PingConfig::default();
    let written =
        read.setting(PATHS).map(|setting| (setting, setting.value.text())).filter(|(_, path)| !path.is_empty());
    if let Some((setting, _)) = written.as_ref().filter(|(_, path)| !is_target(path)) {
        let message = "must be a path as it stands in a request: it begins with / and holds no blanks".to_owned();
        tell(Fault::error(&setting.place, setting.name.clone(), message), faults);
    }
    PingConfig {
        path: written.map_or(default.path, |(_, path)| path),
        expected_content: read.text(CONTENTS),
        // Ribbon goes on with its default when it is told less than a second.
        interval: read.time(PING_INTERVAL).flatten().unwrap_or(default.interval),
        timeout: read.time(PING_TIME).flatten().unwrap_or(default.timeout),
    }
}

fn is_target(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|octet| octet.is_ascii_graphic() && octet != b'#')
}

/// The class that is written, if one is.
fn class(read: Ribbon<'_>, names: Names) -> Option<(&Setting, String)> {
    Some((read.setting(names)?, read.text(names)?))
}

fn unknown(setting: &Setting, class: &str, what: &str, names: &[&str], faults: &mut Vec<Fault>) {
    let message = format!("{class:?}: Java classes can't be loaded; the {what} are {}", names.join(", "));
    let near = nearest(class.rsplit('.').next().unwrap_or(class), names.iter().copied()).map(str::to_owned);
    tell(Fault::error(&setting.place, setting.name.clone(), message).meaning(near), faults);
}

/// A key for all services is looked at once for each.
fn tell(fault: Fault, faults: &mut Vec<Fault>) {
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}
