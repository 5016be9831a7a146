//! Rules, blackouts and pings: which class names mean what, and which of several keys wins.

use super::{config, errors, warnings};
use crate::config::model::{BalanceConfig, BalancingRule, BlackoutConfig, PingConfig};
use std::time::Duration;

fn balance(yaml: &str) -> BalanceConfig {
    config(&format!("zuul.routes.s: /s/**\n{yaml}")).backends["s"].balance.clone()
}

const RULE: &str = "s.ribbon.NFLoadBalancerRuleClassName";
const PING: &str = "s.ribbon.NFLoadBalancerPingClassName";

#[test]
fn rules_have_netflixs_names_with_or_without_the_package() {
    for &rule in BalancingRule::ALL {
        assert_eq!(balance(&format!("{RULE}: {}\n", rule.name())).rule, rule);
        if rule != BalancingRule::LeastOutstanding {
            assert_eq!(balance(&format!("{RULE}: com.netflix.loadbalancer.{}\n", rule.name())).rule, rule);
        }
    }
    assert_eq!(balance(&format!("{RULE}: ResponseTimeWeightedRule\n")).rule, BalancingRule::WeightedResponseTime);
    assert_eq!(balance("").rule, BalancingRule::ZoneAvoidance);
}

#[test]
fn the_rule_of_a_service_wins_over_that_of_all() {
    let (own, all) = (format!("{RULE}: RandomRule\n"), "ribbon.NFLoadBalancerRuleClassName: RetryRule\n");
    let ours = "gateway.balancer: least-outstanding-p2c\n";
    assert_eq!(balance(&format!("{ours}{all}{own}")).rule, BalancingRule::Random);
    assert_eq!(balance(&format!("{ours}{all}")).rule, BalancingRule::Retry);
    assert_eq!(balance(ours).rule, BalancingRule::LeastOutstanding);
    assert_eq!(balance("gateway.balancer: ribbon\n").rule, BalancingRule::ZoneAvoidance);
}

#[track_caller]
fn refused(yaml: &str, expected: &str) {
    let faults = errors(&format!("zuul.routes.s: /s/**\n{yaml}"));
    let said: Vec<_> = faults.iter().map(ToString::to_string).collect();
    assert!(said.len() == 1 && said[0].contains(expected), "{said:?}");
}

#[test]
fn classes_of_other_peoples_own_are_refused() {
    refused(
        &format!("{RULE}: com.acme.CanaryRule\n"),
        "\"com.acme.CanaryRule\": Java classes can't be loaded; the rules are",
    );
    refused(&format!("{RULE}: RoundRobbinRule\n"), "did you mean RoundRobinRule?");
    refused(&format!("{PING}: com.acme.Ping\n"), "the pings are DummyPing, NoOpPing, PingConstant, PingUrl");
    refused(
        "ribbon.NFLoadBalancerRuleClassName: X\nzuul.routes.t: /t/**\n",
        "ribbon.NFLoadBalancerRuleClassName: \"X\"",
    );
}

#[test]
fn pings_ask_only_when_they_have_somebody_to_ask() {
    for nobody in ["DummyPing", "com.netflix.loadbalancer.NoOpPing", "PingConstant"] {
        assert_eq!(balance(&format!("{PING}: {nobody}\n")).ping, None);
    }
    let eureka = format!("zuul.routes.s: /s/**\n{PING}: com.netflix.niws.loadbalancer.NIWSDiscoveryPing\n");
    assert!(warnings(&eureka).iter().any(|fault| fault.to_string().contains("every server counts as up")));
    let url = format!("{PING}: com.netflix.loadbalancer.PingUrl\n");
    assert_eq!(balance(&url).ping, Some(PingConfig::default()));
    let keys = "s.ribbon: {NFLoadBalancerPingInterval: 5, NFLoadBalancerMaxTotalPingTime: 1}\n\
                gateway.ping: {path: /all, expected-content: fine, s: {path: '/one?x'}}\n";
    let expected = PingConfig {
        path: "/one?x".into(),
        expected_content: Some("fine".into()),
        interval: Duration::from_secs(5),
        timeout: Duration::from_secs(1),
    };
    assert_eq!(balance(&format!("{url}{keys}")).ping, Some(expected));
    let ignored = balance(&format!("{url}s.ribbon.NFLoadBalancerPingInterval: 0\n")).ping.map(|ping| ping.interval);
    assert_eq!(ignored, Some(Duration::from_secs(30)));
    for path in ["health", "'/a b'", "'/a#b'"] {
        refused(&format!("{url}gateway.ping.s.path: {path}\n"), "must be a path");
    }
}

#[test]
fn blackouts_are_niwss() {
    assert_eq!(balance("").blackout, BlackoutConfig::default());
    let of = |id: &str, n: u32| {
        format!(
            "niws.loadbalancer.{id}: {{connectionFailureCountThreshold: {n}, circuitTripTimeoutFactorSeconds: {n}, \
             circuitTripMaxTimeoutSeconds: 9{n}}}\n"
        )
    };
    let second = Duration::from_secs(1);
    let expected = |n: u32| BlackoutConfig { threshold: n, factor: n * second, longest: (90 + n) * second };
    assert_eq!(balance(&of("default", 4)).blackout, expected(4));
    assert_eq!(balance(&format!("{}{}", of("default", 4), of("s", 5))).blackout, expected(5));
}

#[test]
fn blackouts_of_nobody_are_told_once() {
    let told = |name: &str| warnings(&format!("zuul.routes.s: /s/**\nniws.loadbalancer.{name}: 1\n"));
    let (nobody, window) =
        (told("t.connectionFailureCountThreshold"), told("serverStats.activeRequestsCount.effectiveWindowSeconds"));
    assert!(nobody.len() == 1 && nobody[0].contains("no route leads to a service"), "{nobody:?}");
    assert!(window.len() == 1 && window[0].contains("has no effect here"), "{window:?}");
}

#[test]
fn limits_are_the_services_then_ribbons_then_niwss() {
    let (own, all) = ("s.ribbon.ActiveConnectionsLimit: 1\n", "ribbon.ActiveConnectionsLimit: 2\n");
    let niws =
        "niws.loadbalancer.availabilityFilteringRule: {activeConnectionsLimit: 3, filterCircuitTripped: false}\n";
    assert_eq!(balance(&format!("{own}{all}{niws}")).active_connections_limit, Some(1));
    assert_eq!(balance(&format!("{all}{niws}")).active_connections_limit, Some(2));
    assert_eq!(balance(niws).active_connections_limit, Some(3));
    assert_eq!(balance("s.ribbon.ActiveConnectionsLimit: 2147483647\n").active_connections_limit, None);
    assert!(balance("").filter_circuit_tripped && !balance(niws).filter_circuit_tripped);
    let weights = "ribbon.ServerWeightTaskTimerInterval: 1000\n";
    assert_eq!(balance(weights).weight_interval, Duration::from_secs(1));
}
