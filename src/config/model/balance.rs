//! How the servers of a service are chosen and watched: Ribbon's rule, the blackout of servers that fail, pings.

use std::time::Duration;

/// `<service>.ribbon.NFLoadBalancer*`, `niws.loadbalancer.*` and `gateway.balancer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalanceConfig {
    /// `NFLoadBalancerRuleClassName`, else `gateway.balancer`; default [`BalancingRule::ZoneAvoidance`].
    pub rule: BalancingRule,
    /// `ActiveConnectionsLimit`: requests in flight at which a server is passed over; default no bound.
    pub active_connections_limit: Option<u32>,
    /// `niws.loadbalancer.availabilityFilteringRule.filterCircuitTripped`: whether availability looks at blackouts; default true.
    pub filter_circuit_tripped: bool,
    /// When a server is passed over, and how long.
    pub blackout: BlackoutConfig,
    /// `ServerWeightTaskTimerInterval`: how often response times become weights; default 30 s.
    pub weight_interval: Duration,
    /// `NFLoadBalancerPingClassName` and what belongs to it; `None` (default) counts every server as up.
    pub ping: Option<PingConfig>,
}

/// `niws.loadbalancer.<service>.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlackoutConfig {
    /// `connectionFailureCountThreshold`: successive connection failures that begin it; default 3.
    pub threshold: u32,
    /// `circuitTripTimeoutFactorSeconds`: its length at the threshold, doubled by each further failure; default 10 s.
    pub factor: Duration,
    /// `circuitTripMaxTimeoutSeconds`: its greatest length; default 30 s.
    pub longest: Duration,
}

/// `PingUrl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PingConfig {
    /// `gateway.ping.path`: path and query of the GET; default `/`.
    pub path: String,
    /// `gateway.ping.expected-content`: the body that means up, whatever the status; `None` (default): status 200 means up.
    pub expected_content: Option<String>,
    /// `NFLoadBalancerPingInterval`: from the end of a round to the next; default 30 s.
    pub interval: Duration,
    /// `NFLoadBalancerMaxTotalPingTime`: the longest wait for one answer; default 2 s.
    pub timeout: Duration,
}

macro_rules! rules {
    ($($(#[$doc:meta])+ $rule:ident = $name:literal;)+) => {
        /// How one of several servers is chosen.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum BalancingRule { $($(#[$doc])+ $rule,)+ }

        impl BalancingRule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$rule,)+];

            /// Its name, as it is configured: Netflix' class without the package, or ours.
            pub fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)+ }
            }
        }
    };
}

rules! {
    /// Each server that is up in turn; none after ten that are not.
    RoundRobin = "RoundRobinRule";
    /// Any server that is up.
    Random = "RandomRule";
    /// Any server that is up, those that answer sooner more often.
    WeightedResponseTime = "WeightedResponseTimeRule";
    /// The server with the fewest requests in flight that is not blacked out; of several the first.
    BestAvailable = "BestAvailableRule";
    /// In turn those that are up, neither blacked out nor at their limit.
    AvailabilityFiltering = "AvailabilityFilteringRule";
    /// In turn, and never none while one is up.
    Retry = "RetryRule";
    /// In turn those that are neither blacked out nor at their limit, all if none is left; Spring Cloud's default.
    ZoneAvoidance = "ZoneAvoidanceRule";
    /// Of two random servers that one with fewer requests in flight; ours.
    LeastOutstanding = "least-outstanding-p2c";
}

impl Default for BalanceConfig {
    fn default() -> Self {
        Self {
            rule: BalancingRule::ZoneAvoidance,
            active_connections_limit: None,
            filter_circuit_tripped: true,
            blackout: BlackoutConfig::default(),
            weight_interval: Duration::from_secs(30),
            ping: None,
        }
    }
}

impl Default for BlackoutConfig {
    fn default() -> Self {
        Self { threshold: 3, factor: Duration::from_secs(10), longest: Duration::from_secs(30) }
    }
}

impl Default for PingConfig {
    fn default() -> Self {
        Self {
            path: "/".into(),
            expected_content: None,
            interval: Duration::from_secs(30),
            timeout: Duration::from_secs(2),
        }
    }
}
