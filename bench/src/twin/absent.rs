//! What a configuration asks for and the twin does not have: told at the start and in reports, never passed over in silence.
//!
//! The list says what the twin has. A key that acts in portcullis and is not here is absent by that alone, so a feature that portcullis
//! gains later is told without anybody thinking of the twin.

use portcullis::config::model::{BalancingRule, IsolationConfig, Scheme};
use portcullis::config::{Config, Loaded, Place, catalogue};
use std::io;

/// Keys that do here what they do in portcullis.
const HERE: &[&str] = &[
    "server.port",
    "server.address",
    "server.tomcat.accept-count",
    "server.tomcat.max-connections",
    "server.tomcat.connection-timeout",
    "server.connection-timeout",
    "server.tomcat.max-keep-alive-requests",
    "server.max-http-header-size",
    "server.tomcat.uri-encoding",
    "server.shutdown",
    "server.error.include-message",
    "spring.application.name",
    "spring.lifecycle.timeout-per-shutdown-phase",
    "spring.profiles.**",
    "spring.profiles.active",
    "spring.profiles.include",
    "info.**",
    "management.**",
    "zuul.prefix",
    "zuul.strip-prefix",
    "zuul.routes.<id>",
    "zuul.routes.<id>.id",
    "zuul.routes.<id>.path",
    "zuul.routes.<id>.service-id",
    "zuul.routes.<id>.url",
    "zuul.routes.<id>.location",
    "zuul.routes.<id>.strip-prefix",
    "zuul.routes.<id>.sensitive-headers",
    "zuul.routes.<id>.custom-sensitive-headers",
    "zuul.add-proxy-headers",
    "zuul.add-host-header",
    "zuul.ignored-patterns",
    "zuul.ignored-headers",
    "zuul.sensitive-headers",
    "zuul.decode-url",
    "zuul.remove-semicolon-content",
    "zuul.servlet-path",
    "zuul.include-debug-header",
    "zuul.debug.request",
    "zuul.debug.parameter",
    "zuul.ribbon-isolation-strategy",
    "zuul.semaphore.max-semaphores",
    "zuul.eureka.<service...>.semaphore.maxSemaphores",
    "zuul.thread-pool.use-separate-thread-pools",
    "zuul.thread-pool.thread-pool-key-prefix",
    "zuul.host.max-total-connections",
    "zuul.host.max-per-route-connections",
    "zuul.host.connect-timeout-millis",
    "zuul.host.socket-timeout-millis",
    "zuul.host.connection-request-timeout-millis",
    "zuul.host.time-to-live",
    "zuul.host.time-unit",
    "ribbon.listOfServers",
    "ribbon.ConnectTimeout",
    "ribbon.ReadTimeout",
    "ribbon.MaxTotalConnections",
    "ribbon.MaxConnectionsPerHost",
    "ribbon.PoolKeepAliveTime",
    "ribbon.PoolKeepAliveTimeUnits",
    "hystrix.command.<key...>.execution.isolation.strategy",
    "hystrix.command.<key...>.execution.isolation.semaphore.maxConcurrentRequests",
    "hystrix.command.<key...>.execution.isolation.thread.timeoutInMilliseconds",
    "hystrix.command.<key...>.execution.timeout.enabled",
    "hystrix.command.<key...>.threadPoolKeyOverride",
    "hystrix.command.<key...>.circuitBreaker.**",
    "hystrix.command.<key...>.metrics.**",
    "gateway.circuit-breaker.**",
    "hystrix.threadpool.<key...>.coreSize",
    "hystrix.threadpool.<key...>.maximumSize",
    "hystrix.threadpool.<key...>.allowMaximumSizeToDivergeFromCoreSize",
    "hystrix.threadpool.<key...>.maxQueueSize",
    "hystrix.threadpool.<key...>.queueSizeRejectionThreshold",
    "gateway.compat",
    "gateway.client.max-body-size",
    "gateway.trusted-proxies",
    "gateway.encoded-delimiters.<id>",
    "gateway.access-log.format",
    "gateway.access-log.file",
    "gateway.example.port",
    "gateway.routes-file",
];

/// Keys of the model that is compared: an asynchronous gateway has no such thing.
const OF_THREADS: &[&str] = &[
    "server.container",
    "server.tomcat.threads.max",
    "server.tomcat.max-threads",
    "server.tomcat.threads.min-spare",
    "server.tomcat.min-spare-threads",
    "server.tomcat.threads.max-queue-capacity",
    "gateway.queue.timeout",
    "gateway.workers.runnable",
    "gateway.workers.scheduling",
    "hystrix.threadpool.<key...>.keepAliveTimeMinutes",
];

/// What portcullis does unless it is written otherwise, and the twin never: the key, and the value that makes them alike.
const ON_BY_DEFAULT: &[(&str, &str, &str)] = &[("gateway.client.min-rate", "0", "a least rate of clients")];

/// One line for each thing that the configuration asks for and the twin does otherwise or not at all.
pub fn from(loaded: &Loaded) -> Vec<String> {
    let mut lines = Vec::new();
    for property in loaded.properties.properties.iter().filter(|property| property.origin != Place::Default) {
        let key = property.key.strip_prefix("<service...>.").unwrap_or(property.key);
        let is_alike = ON_BY_DEFAULT.iter().any(|(name, off, _)| *name == key && property.value == *off);
        if !acts(property.key) || is_alike || HERE.iter().any(|here| covers(here, key)) {
            continue;
        }
        lines.push(match OF_THREADS.contains(&key) {
            true => format!("no counterpart in the twin, which has no worker threads: {}", property.name),
            false => format!("not in the twin: {}", property.name),
        });
    }
    lines.extend(by_default(loaded));
    lines.extend(of_the_model(&loaded.config));
    lines
}

fn acts(name: &str) -> bool {
    catalogue().iter().any(|key| key.name == name && key.acts())
}

/// What holds without being written.
fn by_default(loaded: &Loaded) -> impl Iterator<Item = String> {
    let is_written = |name: &str| {
        let written = loaded.properties.properties.iter().filter(|property| property.origin != Place::Default);
        written.into_iter().any(|property| property.key == name)
    };
    let silent = ON_BY_DEFAULT.iter().filter(move |(name, ..)| acts(name) && !is_written(name));
    silent.map(|(name, off, what)| format!("not in the twin: {what}, which is on unless {name} is {off}"))
}

/// What only the resolved configuration tells.
fn of_the_model(config: &Config) -> Vec<String> {
    let mut lines = Vec::new();
    if config.server.keep_alive_timeout != Some(config.server.connection_timeout) {
        lines.push("not in the twin: a keep-alive timeout other than the connection timeout".into());
    }
    for backend in config.backends.values() {
        if backend.held_back > 0 {
            let octets = backend.held_back;
            lines.push(format!(
                "not in the twin: an answer's head waits for {octets} octets of its body (gateway.compat: zuul1): {}",
                backend.id
            ));
        }
        if matches!(backend.isolation, IsolationConfig::Thread { .. }) {
            lines.push(format!("THREAD is counted as places in the twin, without threads: {}", backend.id));
        }
        if backend.servers.len() > 1 && backend.balance.rule != BalancingRule::RoundRobin {
            let rule = backend.balance.rule.name();
            lines.push(format!(
                "not in the twin: {rule}; the servers of {} are asked in turn, whatever they answer",
                backend.id
            ));
        }
    }
    lines
}

fn covers(here: &str, key: &str) -> bool {
    here.strip_suffix("**").map_or(here == key, |above| key.starts_with(above))
}

/// Refuses what the twin could only do wrong.
///
/// # Errors
/// A server that is spoken to over TLS.
pub(super) fn refuse(config: &Config) -> io::Result<()> {
    let servers = config.backends.values().flat_map(|backend| &backend.servers);
    match servers.into_iter().find(|server| server.scheme == Scheme::Https) {
        Some(server) => {
            let what = format!("not in the twin: TLS to the upstream {}", server.authority());
            Err(io::Error::new(io::ErrorKind::Unsupported, what))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "zuul.routes.up: {path: /**, url: 'http://127.0.0.1:1'}\n";
    const ALIKE: &str = "gateway.client.min-rate: 0\n";

    #[track_caller]
    fn check(yaml: &str, expected: &[&str]) {
        let loaded = portcullis::config::load_str(&format!("{PLAIN}{yaml}")).unwrap();
        assert_eq!(from(&loaded), expected);
    }

    #[test]
    fn what_is_not_here_is_told_and_what_is_here_is_not() {
        let alike = |more: &str| format!("{ALIKE}{more}");
        check(ALIKE, &[]);
        check(&alike("management.server.port: 0\nzuul.sensitive-headers: ''\nribbon.ReadTimeout: 5\n"), &[]);
        let pool = "no counterpart in the twin, which has no worker threads: server.tomcat.max-threads";
        check(&alike("server.tomcat.max-threads: 5\n"), &[pool]);
        check(&alike("server.tomcat.max-swallow-size: 5\n"), &["not in the twin: server.tomcat.max-swallow-size"]);
        // What does nothing in portcullis either is its own warning's affair.
        check(&alike("zuul.set-content-length: true\n"), &[]);
    }

    #[test]
    fn every_key_that_is_listed_is_one_of_portcullis() {
        let by_default = ON_BY_DEFAULT.iter().map(|(name, ..)| name);
        for name in HERE.iter().chain(OF_THREADS).chain(by_default) {
            let known = |key: &portcullis::config::Key| {
                covers(name, key.name.strip_prefix("<service...>.").unwrap_or(key.name)) || key.name == *name
            };
            assert!(catalogue().iter().any(known), "{name}");
        }
    }

    #[test]
    fn what_is_on_by_default_is_told_until_it_is_turned_off() {
        let loaded = portcullis::config::load_str(PLAIN).unwrap();
        let expected = ON_BY_DEFAULT.iter().filter(|(name, ..)| acts(name)).count();
        assert_eq!(from(&loaded).len(), expected);
        assert!(from(&loaded)[0].ends_with("which is on unless gateway.client.min-rate is 0"), "{:?}", from(&loaded));
        let loaded = portcullis::config::load_str(&format!("{PLAIN}gateway.client.min-rate: 9\n")).unwrap();
        assert!(from(&loaded).contains(&"not in the twin: gateway.client.min-rate".to_owned()));
    }

    #[test]
    fn tls_is_refused_and_places_are_called_so() {
        let loaded = portcullis::config::load_str("zuul.routes.up: {path: /**, url: 'https://a.test'}\n").unwrap();
        assert!(refuse(&loaded.config).unwrap_err().to_string().contains("TLS to the upstream a.test"));
        let yaml =
            "zuul: {ribbon-isolation-strategy: THREAD, routes: {svc: {path: /**}}}\nsvc.ribbon.listOfServers: 'a:1'\n";
        let loaded = portcullis::config::load_str(yaml).unwrap();
        assert!(refuse(&loaded.config).is_ok());
        let two = portcullis::config::load_str("zuul.routes.svc: {path: /**}\nsvc.ribbon.listOfServers: 'a:1,b:1'\n")
            .unwrap();
        assert!(from(&two).iter().any(|line| line.contains("the servers of svc are asked in turn")));
        assert!(from(&loaded).contains(&"THREAD is counted as places in the twin, without threads: svc".to_owned()));
        let compat = "gateway.compat: zuul1\nzuul.routes.svc: {path: /**}\nsvc.ribbon.listOfServers: 'a:1'\n";
        let loaded = portcullis::config::load_str(compat).unwrap();
        assert!(from(&loaded).iter().any(|line| line.contains("waits for 8192 octets of its body")));
    }
}
