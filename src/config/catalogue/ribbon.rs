//! `ribbon.*` and `<service>.ribbon.*`, and what belongs to service discovery.
//!
//! Each of Ribbon's keys stands twice, for all services and for one, and is spelt as Archaius reads it. What a key comes to is decided in
//! `resolve::backends`.

use super::{COUNT, Effect, Key, Kind, MILLIS, POSITIVE, Unit, acts, inert};

const NOT_READ: &str = "the HTTP client of Zuul doesn't read it; write MaxConnectionsPerHost and MaxTotalConnections";
const ONE_CLIENT: &str = "there is one HTTP client, and it speaks HTTP/1.1";
const NO_CLIENT_CERTIFICATE: &str = "certificates are verified against the usual roots, and none of our own is shown";
const NO_REDIRECTS: &str = "redirects are passed on to the client, as Zuul does";

macro_rules! for_all_and_for_one {
    ($($name:literal, $kind:expr, $default:literal, $effect:expr, $doc:literal;)+) => {
        &[$(
            Key { name: concat!("ribbon.", $name), kind: $kind, default: $default, effect: $effect, doc: $doc },
            Key { name: concat!("<service...>.ribbon.", $name), kind: $kind, default: "", effect: $effect, doc: $doc },
        )+]
    };
}

const LATER: Effect = Effect::Later("it is not built");
const SECONDS: Kind = Kind::Duration { unit: Unit::Seconds, min: -1 };
const RETRIES: Kind = Kind::Count { min: 0, max: 100 };

const PAIRS: &[Key] = for_all_and_for_one![
    "listOfServers", Kind::List, "", Effect::Acts, "Servers as host:port, between commas; https:// before one for TLS.";
    "ConnectTimeout", MILLIS, "1s", Effect::Acts, "Longest connect and TLS handshake.";
    "ReadTimeout", MILLIS, "1s", Effect::Acts, "Longest gap between two reads; 0 for no bound.";
    "MaxTotalConnections", POSITIVE, "200", Effect::Acts, "Connections per service.";
    "MaxConnectionsPerHost", POSITIVE, "50", Effect::Acts, "Connections per server of a service.";
    "IsSecure", Kind::Flag, "", Effect::Acts, "Whether servers without a scheme are spoken to over TLS; unset: those on 443 and 8443.";
    "PoolKeepAliveTime", SECONDS, "900s", Effect::Acts, "Longest life of a pooled connection; 0 or less for no bound.";
    "PoolKeepAliveTimeUnits", Kind::Choice(&["SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS", "MINUTES", "HOURS", "DAYS"]),
        "SECONDS", Effect::Acts, "The unit of PoolKeepAliveTime.";
    "MaxAutoRetries", RETRIES, "0", Effect::Acts, "Further attempts on the same server, on retryable routes.";
    "MaxAutoRetriesNextServer", RETRIES, "1", Effect::Acts, "Further servers that are tried, on retryable routes; counts in the Hystrix timeout even without.";
    "OkToRetryOnAllOperations", Kind::Flag, "false", Effect::Acts, "Whether other requests than GET are sent again; a failed connect is followed by another attempt for all.";
    "retryableStatusCodes", Kind::List, "", Effect::Acts, "Answers with these statuses are not passed on while attempts are left.";
    "NFLoadBalancerRuleClassName", Kind::Text, "ZoneAvoidanceRule", Effect::Acts,
        "How one of several servers is chosen: Ribbon's rules, with or without com.netflix.loadbalancer., or least-outstanding-p2c.";
    "NFLoadBalancerPingClassName", Kind::Text, "DummyPing", Effect::Acts,
        "Who says which servers are up: PingUrl asks them; DummyPing, NoOpPing and PingConstant ask nobody.";
    "NFLoadBalancerPingInterval", SECONDS, "30s", Effect::Acts, "Pause between two rounds of pings; 0 or less is ignored.";
    "NFLoadBalancerMaxTotalPingTime", SECONDS, "2s", Effect::Acts, "Longest wait for the answer to a ping.";
    "NFLoadBalancerClassName", Kind::Any, "", Effect::Inert("there is one balancer; its rule chooses"), "";
    "NIWSServerListClassName", Kind::Text, "", LATER, "Where the list of servers comes from; listOfServers until then.";
    "NIWSServerListFilterClassName", Kind::Text, "", LATER, "Which servers of the list are taken.";
    "ServerListUpdaterClassName", Kind::Text, "", LATER, "Who refreshes the list.";
    "ServerListRefreshInterval", Kind::Any, "", LATER, "How often the list of servers is read anew.";
    "ServerWeightTaskTimerInterval", MILLIS, "30s", Effect::Acts, "How often WeightedResponseTimeRule makes new weights.";
    "ActiveConnectionsLimit", COUNT, "", Effect::Acts,
        "Requests in flight at which a server is passed over by AvailabilityFilteringRule, ZoneAvoidanceRule and least-outstanding-p2c.";
    "EnableZoneAffinity", Kind::Flag, "", LATER, "Whether servers of the own zone come first.";
    "EnableZoneExclusivity", Kind::Flag, "", LATER, "Whether servers of the own zone are the only ones.";
    "DeploymentContextBasedVipAddresses", Kind::Text, "", LATER, "The name in the registry.";
    "UseIPAddrForServer", Kind::Flag, "", LATER, "Whether a registered server is called by address.";
    "ForceClientPortConfiguration", Kind::Flag, "", LATER, "Whether Port wins over the registry's.";
    "Port", Kind::Any, "", LATER, "The port of registered servers.";
    "SecurePort", Kind::Any, "", LATER, "The TLS port of registered servers.";
    "TargetRegion", Kind::Text, "", LATER, "The region whose servers are taken.";
    "eureka.enabled", Kind::Flag, "true", Effect::Later("servers come from listOfServers alone"), "Whether servers come from Eureka.";
    "eager-load.enabled", Kind::Any, "", Effect::Inert("nothing is loaded lazily"), "";
    "eager-load.clients", Kind::Any, "", Effect::Inert("nothing is loaded lazily"), "";
    "FollowRedirects", Kind::Any, "", Effect::Inert(NO_REDIRECTS), "";
    "GZipPayload", Kind::Any, "", Effect::Inert("bodies are passed on as they are"), "";
    "EnableGZIPContentEncodingFilter", Kind::Any, "", Effect::Inert("bodies are passed on as they are"), "";
    "ConnectionCleanerRepeatInterval", Kind::Any, "", Effect::Inert("a pooled connection is probed before its use"), "";
    "ConnectionPoolCleanerTaskEnabled", Kind::Any, "", Effect::Inert("a pooled connection is probed before its use"), "";
    "ConnIdleEvictTimeMilliSeconds", Kind::Any, "", Effect::Inert("a pooled connection is probed before its use"), "";
    "ConnectionManagerTimeout", Kind::Any, "", Effect::Inert("write zuul.host.connection-request-timeout-millis"), "";
    "SocketTimeout", Kind::Any, "", Effect::Inert("nobody reads it; write ReadTimeout"), "";
    "MaxHttpConnectionsPerHost", Kind::Any, "", Effect::Inert(NOT_READ), "";
    "MaxTotalHttpConnections", Kind::Any, "", Effect::Inert(NOT_READ), "";
    "EnableConnectionPool", Kind::Any, "", Effect::Inert("connections are always pooled"), "";
    "PoolMinThreads", Kind::Any, "", Effect::Inert(ONE_CLIENT), "";
    "PoolMaxThreads", Kind::Any, "", Effect::Inert(ONE_CLIENT), "";
    "ReceiveBufferSize", Kind::Any, "", Effect::Inert("the system sizes the buffers of sockets"), "";
    "SendBufferSize", Kind::Any, "", Effect::Inert("the system sizes the buffers of sockets"), "";
    "StaleCheckingEnabled", Kind::Any, "", Effect::Inert("a pooled connection is probed before its use"), "";
    "RequestSpecificRetryOn", Kind::Any, "", Effect::Inert("nothing sets it per request"), "";
    "PrioritizeVipAddressBasedServers", Kind::Any, "", Effect::Inert("a service has one list of servers"), "";
    "EnablePrimeConnections", Kind::Any, "", Effect::Inert("connections are opened when they are needed"), "";
    "IsHostnameValidationRequired", Kind::Any, "", Effect::Inert("certificates of services are always verified"), "";
    "IsClientAuthRequired", Kind::Any, "", Effect::Inert(NO_CLIENT_CERTIFICATE), "";
    "KeyStore", Kind::Any, "", Effect::Inert(NO_CLIENT_CERTIFICATE), "";
    "KeyStorePassword", Kind::Any, "", Effect::Inert(NO_CLIENT_CERTIFICATE), "";
    "TrustStore", Kind::Any, "", Effect::Inert(NO_CLIENT_CERTIFICATE), "";
    "TrustStorePassword", Kind::Any, "", Effect::Inert(NO_CLIENT_CERTIFICATE), "";
    "ProxyHost", Kind::Any, "", Effect::Inert("services are called directly"), "";
    "ProxyPort", Kind::Any, "", Effect::Inert("services are called directly"), "";
    "AppName", Kind::Any, "", Effect::Inert("a service has one name"), "";
    "Version", Kind::Any, "", Effect::Inert("a service has one name"), "";
    "VipAddress", Kind::Any, "", Effect::Inert("a service has one name"), "";
    "InitializeNFLoadBalancer", Kind::Any, "", Effect::Inert("a service always has a balancer"), "";
    "ClientClassName", Kind::Any, "", Effect::Inert(ONE_CLIENT), "";
    "http.client.enabled", Kind::Any, "", Effect::Inert(ONE_CLIENT), "";
    "httpclient.enabled", Kind::Any, "", Effect::Inert(ONE_CLIENT), "";
    "okhttp.enabled", Kind::Any, "", Effect::Inert(ONE_CLIENT), "";
    "restclient.enabled", Kind::Any, "", Effect::Inert(ONE_CLIENT), "";
];

const DISCOVERY: &[Key] = &[
    Key {
        name: "eureka.**",
        kind: Kind::Any,
        default: "",
        effect: Effect::Later("name the servers in <service>.ribbon.listOfServers"),
        doc: "The registry that services' servers come from.",
    },
    acts(
        "niws.loadbalancer.<service...>.connectionFailureCountThreshold",
        POSITIVE,
        "3",
        "Successive connection failures that black a server out; `default` as service for all of them.",
    ),
    acts(
        "niws.loadbalancer.<service...>.circuitTripTimeoutFactorSeconds",
        SECONDS,
        "10s",
        "Length of the blackout at the threshold; each further failure doubles it.",
    ),
    acts("niws.loadbalancer.<service...>.circuitTripMaxTimeoutSeconds", SECONDS, "30s", "Longest blackout."),
    acts(
        "niws.loadbalancer.availabilityFilteringRule.activeConnectionsLimit",
        COUNT,
        "",
        "ActiveConnectionsLimit for all services.",
    ),
    acts(
        "niws.loadbalancer.availabilityFilteringRule.filterCircuitTripped",
        Kind::Flag,
        "true",
        "Whether the rules with an ActiveConnectionsLimit pass blacked-out servers over.",
    ),
    inert("niws.loadbalancer.**", "statistics are kept without windows: nothing in them has to be forgotten"),
];

pub(super) const KEYS: &[Key] = &{
    let mut all = [DISCOVERY[0]; PAIRS.len() + DISCOVERY.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < PAIRS.len() { PAIRS[at] } else { DISCOVERY[at - PAIRS.len()] };
        at += 1;
    }
    all
};
