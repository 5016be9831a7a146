//! What a configuration asks for and the twin does not have: told at the start and in reports, never passed over in silence.
//!
//! The list says what the twin has. A key that acts in portcullis and is not here is absent by that alone, so a feature that portcullis
//! gains later is told without anybody thinking of the twin.

use portcullis::config::model::{IsolationConfig, Scheme};
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
    "zuul.routes.**",
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
    "hystrix.threadpool.<key...>.coreSize",
    "hystrix.threadpool.<key...>.maximumSize",
    "hystrix.threadpool.<key...>.allowMaximumSizeToDivergeFromCoreSize",
    "hystrix.threadpool.<key...>.maxQueueSize",
    "hystrix.threadpool.<key...>.queueSizeRejectionThreshold",
    "gateway.compat",
    "gateway.client.max-body-size",
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

/// One line for each thing that the configuration asks for and the twin does otherwise or not at all.
pub fn from(loaded: &Loaded) -> Vec<String> {
    let mut lines = Vec::new();
    for property in loaded.properties.properties.iter().filter(|property| property.origin != Place::Default) {
        let acts = catalogue().iter().any(|key| key.name == property.key && key.acts());
        let key = property.key.strip_prefix("<service...>.").unwrap_or(property.key);
        if !acts || HERE.iter().any(|here| covers(here, key)) {
            continue;
        }
        lines.push(match OF_THREADS.contains(&key) {
            true => format!("no counterpart in the twin, which has no worker threads: {}", property.name),
            false => format!("not in the twin: {}", property.name),
        });
    }
    lines.extend(otherwise(&loaded.config));
    lines
}

/// What holds without being written.
fn otherwise(config: &Config) -> Vec<String> {
    let mut lines = Vec::new();
    if config.gateway.client_min_rate > 0 {
        lines.push(
            "not in the twin: gateway.client.min-rate; clients are bounded by the connection timeout alone".into(),
        );
    }
    if config.server.keep_alive_timeout != Some(config.server.connection_timeout) {
        lines.push(
            "not in the twin: a keep-alive timeout of its own; the connection timeout holds between requests".into(),
        );
    }
    let by_places =
        config.backends.values().filter(|backend| matches!(backend.isolation, IsolationConfig::Thread { .. }));
    lines.extend(
        by_places.map(|backend| format!("THREAD is counted as places in the twin, without threads: {}", backend.id)),
    );
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

    const PLAIN: &str = "zuul.routes.up: {path: /**, url: 'http://127.0.0.1:1'}\ngateway.client.min-rate: 0\n";

    #[track_caller]
    fn check(more: &str, expected: &[&str]) {
        let loaded = portcullis::config::load_str(&format!("{PLAIN}{more}")).unwrap();
        assert_eq!(from(&loaded), expected);
    }

    #[test]
    fn what_is_not_here_is_told_and_what_is_here_is_not() {
        check("", &["not in the twin: gateway.client.min-rate"]);
        let rate = "not in the twin: gateway.client.min-rate";
        check("management.server.port: 0\nzuul.sensitive-headers: ''\nribbon.ReadTimeout: 5\n", &[rate]);
        let pool = "no counterpart in the twin, which has no worker threads: server.tomcat.max-threads";
        check("server.tomcat.max-threads: 5\n", &[rate, pool]);
        check("server.tomcat.max-swallow-size: 5\n", &[rate, "not in the twin: server.tomcat.max-swallow-size"]);
        // What does nothing in portcullis either is its own warning's affair.
        check("zuul.set-content-length: true\n", &[rate]);
    }

    #[test]
    fn tls_is_refused_and_places_are_called_so() {
        let loaded = portcullis::config::load_str("zuul.routes.up: {path: /**, url: 'https://a.test'}\n").unwrap();
        assert!(refuse(&loaded.config).unwrap_err().to_string().contains("TLS to the upstream a.test"));
        let yaml =
            "zuul: {ribbon-isolation-strategy: THREAD, routes: {svc: {path: /**}}}\nsvc.ribbon.listOfServers: 'a:1'\n";
        let loaded = portcullis::config::load_str(yaml).unwrap();
        assert!(refuse(&loaded.config).is_ok());
        assert!(from(&loaded).contains(&"THREAD is counted as places in the twin, without threads: svc".to_owned()));
    }
}
