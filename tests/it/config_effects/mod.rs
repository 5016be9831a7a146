//! Keys of the configuration: each is shown by what it does to requests, not by how it is parsed.
//!
//! Many keys have their test where their subject is (timeouts, streaming, shutdown, isolation, headers, forwarding, management). What is left stands here, by
//! name space, and [`every_key_that_acts_is_named_in_a_test`] keeps the whole list honest.

mod gateway;
mod hystrix;
mod ribbon;
mod server;
mod sources;
mod zuul;

use std::path::Path;

/// Every key that must have an effect, as tests write it; a dot at the end stands for what follows.
const ACTING: &[&str] = &[
    "server.port",
    "server.address",
    "server.container",
    "server.tomcat.max-threads",
    "server.tomcat.min-spare-threads",
    "server.tomcat.threads.max",
    "server.tomcat.threads.min-spare",
    "server.tomcat.threads.max-queue-capacity",
    "server.tomcat.accept-count",
    "server.tomcat.max-connections",
    "server.tomcat.connection-timeout",
    "server.tomcat.keep-alive-timeout",
    "server.tomcat.max-keep-alive-requests",
    "server.tomcat.uri-encoding",
    "server.tomcat.relaxed-path-chars",
    "server.tomcat.relaxed-query-chars",
    "server.tomcat.max-swallow-size",
    "server.max-http-header-size",
    "server.error.include-message",
    "server.shutdown",
    "spring.lifecycle.timeout-per-shutdown-phase",
    "zuul.prefix",
    "zuul.stripPrefix",
    "zuul.addProxyHeaders",
    "zuul.addHostHeader",
    "zuul.ignoredPatterns",
    "zuul.ignoredHeaders",
    "zuul.sensitiveHeaders",
    "zuul.decodeUrl",
    "zuul.removeSemicolonContent",
    "zuul.servletPath",
    "zuul.sslHostnameValidationEnabled",
    "zuul.includeDebugHeader",
    "zuul.ribbonIsolationStrategy",
    "zuul.semaphore.maxSemaphores",
    "zuul.eureka.up.semaphore.maxSemaphores",
    "zuul.threadPool.useSeparateThreadPools",
    "zuul.threadPool.threadPoolKeyPrefix",
    "zuul.debug.request",
    "zuul.debug.parameter",
    "zuul.host.maxTotalConnections",
    "zuul.host.maxPerRouteConnections",
    "zuul.host.connectTimeoutMillis",
    "zuul.host.socketTimeoutMillis",
    "zuul.host.connectionRequestTimeoutMillis",
    "zuul.host.timeToLive",
    "zuul.routes.up.sensitiveHeaders",
    "zuul.routes.up.customSensitiveHeaders",
    "ribbon.ReadTimeout",
    "ribbon.ConnectTimeout",
    "ribbon.MaxTotalConnections",
    "ribbon.MaxConnectionsPerHost",
    "ribbon.IsSecure",
    ".ribbon.listOfServers",
    "hystrix.threadpool.default.coreSize",
    "hystrix.threadpool.default.maximumSize",
    "hystrix.threadpool.default.allowMaximumSizeToDivergeFromCoreSize",
    "hystrix.threadpool.default.maxQueueSize",
    "hystrix.threadpool.default.queueSizeRejectionThreshold",
    "hystrix.command.up.execution.isolation.strategy",
    "hystrix.command.up.execution.isolation.semaphore.maxConcurrentRequests",
    "hystrix.command.up.execution.isolation.thread.timeoutInMilliseconds",
    "hystrix.command.default.execution.isolation.thread.timeoutInMilliseconds",
    "hystrix.command.up.execution.timeout.enabled",
    "management.server.port",
    "management.server.address",
    "management.endpoints.web.base-path",
    "management.endpoints.web.exposure.include",
    "management.endpoints.web.exposure.exclude",
    "management.endpoint.health.show-details",
    "info.app.name",
    "logging.level.",
    "gateway.compat",
    "gateway.queue.timeout",
    "gateway.client.min-rate",
    "gateway.client.max-body-size",
    "gateway.access-log.format",
    "gateway.access-log.file",
    "gateway.routes-file",
    "gateway.example.port",
];

#[test]
fn every_key_that_acts_is_named_in_a_test() {
    let mut sources = String::new();
    read_all(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it")), &mut sources);
    let untested: Vec<_> = ACTING.iter().filter(|key| !sources.contains(*key)).collect();
    assert!(untested.is_empty(), "no test sets {untested:?}");
}

/// Every source of the tests but this one, which names each key.
fn read_all(dir: &Path, into: &mut String) {
    for entry in std::fs::read_dir(dir).expect("the tests can be read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_all(&path, into);
        } else if path.ends_with("config_effects/mod.rs") {
            continue;
        } else {
            into.push_str(&std::fs::read_to_string(&path).expect("sources are text"));
        }
    }
}
