//! Servers, isolation, timeouts: what each key comes to, and which of several wins.
//!
//! Precedence is Hystrix's as Zuul uses it: the command's own key, then what Zuul sets, and `default` only where Zuul looks it up.

use super::{config, errors, warnings};
use crate::config::model::{
    AdaptiveLimit, BackendConfig, BackoffConfig, IsolationConfig, LimitLaw, RetryBudgetConfig, ShowDetails,
    ThreadPoolConfig,
};
use http::StatusCode;
use std::time::Duration;

const SERVICE: &str = "zuul.routes.s: /s/**\n";
const URL: &str = "zuul.routes.u: {path: /u/**, url: 'http://h:1'}\n";

fn service(yaml: &str) -> BackendConfig {
    (*config(&format!("{SERVICE}{yaml}")).backends["s"]).clone()
}

fn url(yaml: &str) -> BackendConfig {
    (*config(&format!("{URL}{yaml}")).backends["u"]).clone()
}

fn semaphore(count: usize) -> IsolationConfig {
    IsolationConfig::Semaphore { max_concurrent_requests: count }
}

fn pool(key: &str) -> IsolationConfig {
    IsolationConfig::Thread { pool_key: key.into() }
}

#[test]
fn the_semaphore_of_a_service_is_hystrixs_then_zuuls() {
    let command = "hystrix.command.s.execution.isolation.semaphore.maxConcurrentRequests: 1\n";
    let own = "zuul.eureka.s.semaphore.maxSemaphores: 2\n";
    let all = "zuul.semaphore.max-semaphores: 3\n";
    let default = "hystrix.command.default.execution.isolation.semaphore.maxConcurrentRequests: 4\n";
    assert_eq!(service(&format!("{command}{own}{all}{default}")).isolation, semaphore(1));
    assert_eq!(service(&format!("{own}{all}{default}")).isolation, semaphore(2));
    assert_eq!(service(&format!("{all}{default}")).isolation, semaphore(3));
    assert_eq!(service(default).isolation, semaphore(100));
}

#[test]
fn limits_adapt_by_their_own_law_then_by_that_of_all() {
    let adaptive = |law, floor| Some(AdaptiveLimit { law, floor });
    let of = |yaml: &str| {
        let service = service(yaml);
        (service.adaptive, service.isolation)
    };
    assert_eq!(of(""), (None, semaphore(100)));
    assert_eq!(of("gateway.limit: vegas\n"), (adaptive(LimitLaw::Vegas, 1), semaphore(100)));
    let default = "gateway.limit: vegas\ngateway.limits.default: {law: aimd, floor: 7, ceiling: 30}\n";
    assert_eq!(of(default), (adaptive(LimitLaw::Aimd, 7), semaphore(30)));
    let own = format!("{default}gateway.limits.s: {{law: gradient2, floor: 9}}\n");
    assert_eq!(of(&own), (adaptive(LimitLaw::Gradient2, 9), semaphore(30)));
    assert_eq!(of(&format!("{default}gateway.limits.s.law: fixed\n")), (None, semaphore(100)));
    let small = "gateway.limit: aimd\nzuul.semaphore.max-semaphores: 5\n";
    assert_eq!(of(small), (adaptive(LimitLaw::Aimd, 5), semaphore(5)));
    assert_eq!(url("gateway.limits.u.law: vegas\n").adaptive, adaptive(LimitLaw::Vegas, 1));
}

#[test]
fn limits_that_cannot_adapt_are_told() {
    let told = errors(&format!("{SERVICE}gateway.limit: aimd\ngateway.limits.default.floor: 101\n"));
    assert_eq!(
        told,
        ["error: gateway.yaml:3: gateway.limits.default.floor: 101 is above the ceiling of s, which is 100"]
    );
    let threads = "zuul.routes.t: /t/**\nzuul.ribbon-isolation-strategy: THREAD\ngateway.limit: vegas\n";
    let told = warnings(&format!("{SERVICE}{threads}"));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(":4: gateway.limit: has no effect on services with a thread pool"), "{told:?}");
    let told = warnings(&format!("{SERVICE}gateway.limits.s.floor: 3\n"));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("gateway.limits.s.floor: has no effect on a fixed limit"), "{told:?}");
    let told = warnings(&format!("{SERVICE}gateway.limits.t.law: vegas\n"));
    assert!(told[0].contains("gateway.limits.t.law: t: no route leads to"), "{told:?}");
}

#[test]
fn the_strategy_is_the_commands_then_zuuls() {
    let default = "hystrix.command.default.execution.isolation.strategy: THREAD\n";
    assert_eq!(service(default).isolation, semaphore(100));
    let zuul = "zuul.ribbonIsolationStrategy: thread\n";
    assert_eq!(service(zuul).isolation, pool("RibbonCommand"));
    assert_eq!(
        service(&format!("{zuul}hystrix.command.s.execution.isolation.strategy: SEMAPHORE\n")).isolation,
        semaphore(100)
    );
    assert_eq!(service("hystrix.command.s.execution.isolation.strategy: THREAD\n").isolation, pool("RibbonCommand"));
    let separate = format!("{zuul}zuul.thread-pool: {{use-separate-thread-pools: true, thread-pool-key-prefix: p-}}\n");
    assert_eq!(service(&separate).isolation, pool("p-s"));
    assert_eq!(service(&format!("{separate}hystrix.command.s.threadPoolKeyOverride: o\n")).isolation, pool("o"));
}

#[test]
fn url_routes_have_a_semaphore_of_their_own() {
    assert_eq!(url("").isolation, semaphore(100));
    assert_eq!(url("zuul.host.max-per-route-connections: 300\n").isolation, semaphore(300));
    assert_eq!(
        url("zuul.host.max-per-route-connections: 300\nzuul.semaphore.max-semaphores: 5\n").isolation,
        semaphore(5)
    );
    assert_eq!(
        url("zuul.semaphore.max-semaphores: 5\nzuul.eureka.u.semaphore.maxSemaphores: 6\n").isolation,
        semaphore(6)
    );
    let all = "zuul.eureka.u.semaphore.maxSemaphores: 6\nhystrix.command.u.execution.isolation.semaphore.maxConcurrentRequests: 7\n";
    assert_eq!(url(all).isolation, semaphore(7));
    assert_eq!(url("zuul.ribbon-isolation-strategy: THREAD\n").isolation, semaphore(100));
    let compat = url("gateway.compat: zuul1\nhystrix.command.u.execution.isolation.thread.timeoutInMilliseconds: 5\n");
    assert_eq!((compat.isolation, compat.deadline), (IsolationConfig::None, None));
}

#[test]
fn the_deadline_of_a_service_is_its_own_then_the_default_then_the_formula() {
    let own = "hystrix.command.s.execution.isolation.thread.timeoutInMilliseconds: 60000\n";
    let default = "hystrix.command.default.execution.isolation.thread.timeoutInMilliseconds: 70000\n";
    let millis = |yaml: &str| service(yaml).deadline.map(|deadline| deadline.as_millis());
    assert_eq!(millis(""), Some(4000));
    assert_eq!(millis(default), Some(70000));
    assert_eq!(millis(&format!("{own}{default}")), Some(60000));
    assert_eq!(millis("ribbon: {ReadTimeout: 3000, ConnectTimeout: 500}\n"), Some(7000));
    assert_eq!(millis("ribbon.MaxAutoRetries: 1\ns.ribbon.MaxAutoRetriesNextServer: 2\n"), Some(12000));
    assert_eq!(millis(&format!("{own}hystrix.command.default.execution.timeout.enabled: false\n")), None);
    assert_eq!(millis("hystrix.command.s.execution.timeout.enabled: false\n"), None);
    let again =
        "hystrix.command.default.execution.timeout.enabled: false\nhystrix.command.s.execution.timeout.enabled: true\n";
    assert_eq!(millis(again), Some(4000));
    assert_eq!(millis("hystrix.command.s.execution.isolation.thread.timeoutInMilliseconds: 0\n"), Some(4000));
}

#[test]
fn a_deadline_below_the_formula_is_told() {
    let yaml = format!(
        "{SERVICE}zuul.routes.t: /t/**\nhystrix.command.default.execution.isolation.thread.timeoutInMilliseconds: 1000\n"
    );
    let told = warnings(&yaml);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("1000 ms is less than the 4000 ms that Ribbon's keys allow"), "{told:?}");
}

#[test]
fn the_deadline_of_a_url_route_is_its_own() {
    assert_eq!(url("hystrix.command.default.execution.isolation.thread.timeoutInMilliseconds: 1\n").deadline, None);
    let own = "hystrix.command.u.execution.isolation.thread.timeoutInMilliseconds: 9s\n";
    assert_eq!(url(own).deadline, Some(Duration::from_secs(9)));
    assert_eq!(url(&format!("{own}hystrix.command.u.execution.timeout.enabled: off\n")).deadline, None);
}

#[test]
fn connections_of_services_are_ribbons() {
    let default = service("");
    assert_eq!((default.max_total_connections, default.max_connections_per_host), (200, 50));
    assert_eq!((default.connect_timeout, default.read_timeout), (Duration::from_secs(1), Some(Duration::from_secs(1))));
    assert_eq!(default.connection_request_timeout, Some(Duration::from_secs(2)));
    assert_eq!(default.time_to_live, Some(Duration::from_secs(900)));
    assert!(default.servers.is_empty());
    let own = service(
        "ribbon: {ReadTimeout: 5s, MaxConnectionsPerHost: 5}\ns.ribbon: {ReadTimeout: 0, MaxTotalConnections: 6}\n",
    );
    assert_eq!((own.max_total_connections, own.max_connections_per_host, own.read_timeout), (6, 5, None));
    assert_eq!(
        service("ribbon: {PoolKeepAliveTime: 2, PoolKeepAliveTimeUnits: MINUTES}\n").time_to_live,
        Some(Duration::from_secs(120))
    );
    assert_eq!(service("ribbon.PoolKeepAliveTime: -1\n").time_to_live, None);
    assert_eq!(service("zuul.host.connection-request-timeout-millis: -1\n").connection_request_timeout, None);
}

#[test]
fn connections_are_waited_for_as_in_zuul_under_compat() {
    let compat = "gateway.compat: zuul1\n";
    let written = format!("{compat}zuul.host.connection-request-timeout-millis: 300\n");
    let short = Some(Duration::from_millis(300));
    assert_eq!([compat, &written].map(|yaml| service(yaml).connection_request_timeout), [None, None]);
    assert_eq!([compat, &written].map(|yaml| url(yaml).connection_request_timeout), [None, short]);
    assert_eq!([service(compat).held_back, url(compat).held_back, service("").held_back], [8192, 0, 0]);
}

#[test]
fn servers_are_listed_in_order() {
    let servers = |yaml: &str| {
        service(yaml).servers.iter().map(|s| format!("{:?} {}", s.scheme, s.authority())).collect::<Vec<_>>()
    };
    assert_eq!(servers("s.ribbon.listOfServers: b:1, a:2,https://c\n"), ["Http b:1", "Http a:2", "Https c"]);
    assert_eq!(servers("s.ribbon.listOfServers: [b:1, a:443]\n"), ["Http b:1", "Https a"]);
    assert_eq!(servers("s.ribbon: {listOfServers: 'b:1', IsSecure: true}\n"), ["Https b:1"]);
    let wrong = errors(&format!("{SERVICE}s.ribbon.listOfServers: 'a:1,b:x'\n"));
    assert_eq!(
        wrong,
        [
            "error: gateway.yaml:2: s.ribbon.listOfServers: \"b:x\": \"x\" is no port (an IPv6 address stands in brackets)"
        ]
    );
}

#[test]
fn connections_of_url_routes_are_zuuls() {
    let default = url("");
    assert_eq!((default.max_total_connections, default.max_connections_per_host), (200, 20));
    assert_eq!(
        (default.connect_timeout, default.read_timeout),
        (Duration::from_secs(2), Some(Duration::from_secs(10)))
    );
    assert_eq!((default.time_to_live, default.verify_tls), (None, true));
    let own = url(
        "zuul.host: {socketTimeoutMillis: 0, timeToLive: 3, timeUnit: SECONDS}\nzuul.sslHostnameValidationEnabled: false\n",
    );
    assert_eq!((own.read_timeout, own.time_to_live, own.verify_tls), (None, Some(Duration::from_secs(3)), false));
    assert!(service("zuul.sslHostnameValidationEnabled: false\n").verify_tls);
}

#[test]
fn pools_have_their_own_keys_then_the_defaults() {
    let pool = |yaml: &str| config(&format!("{SERVICE}zuul.ribbon-isolation-strategy: THREAD\n{yaml}")).thread_pools["RibbonCommand"];
    assert_eq!(pool(""), ThreadPoolConfig::default());
    let sizes = "hystrix.threadpool.default: {coreSize: 20, maximumSize: 50}\n";
    assert_eq!((pool(sizes).core_size, pool(sizes).maximum_size), (20, 20));
    let diverging = format!("{sizes}hystrix.threadpool.RibbonCommand.allowMaximumSizeToDivergeFromCoreSize: true\n");
    assert_eq!(pool(&diverging).maximum_size, 50);
    assert_eq!(pool(&format!("{diverging}hystrix.threadpool.RibbonCommand.coreSize: 60\n")).maximum_size, 60);
    let queue = pool(
        "hystrix.threadpool.default: {maxQueueSize: 30, queueSizeRejectionThreshold: 7, keepAliveTimeMinutes: 2}\n",
    );
    assert_eq!((queue.max_queue_size, queue.queue_size_rejection_threshold), (Some(30), 7));
    assert_eq!(queue.keep_alive, Duration::from_secs(120));
    assert_eq!(pool("hystrix.threadpool.default.maxQueueSize: 0\n").max_queue_size, None);
    assert!(config(SERVICE).thread_pools.is_empty());
}

#[test]
fn the_front_takes_old_and_new_names() {
    let old = config("server.tomcat: {max-threads: 30, min-spare-threads: 3}\nserver.connection-timeout: 7s\n").server;
    let new = config("server.tomcat: {threads: {max: 30, min-spare: 3}, connection-timeout: 7000}\n").server;
    assert_eq!(format!("{old:?}"), format!("{new:?}"));
    assert_eq!((new.max_threads, new.min_spare_threads), (30, 3));
    assert_eq!(new.keep_alive_timeout, Some(Duration::from_secs(7)));
    let both = "server.tomcat: {max-threads: 30, threads: {max: 40}}\n";
    assert_eq!(config(both).server.max_threads, 40);
    assert_eq!(
        warnings(both),
        ["warning: gateway.yaml:1: server.tomcat.max-threads: server.tomcat.threads.max is set too, and counts"]
    );
}

#[test]
fn limits_of_the_front_are_kept_within_each_other() {
    let queue = |yaml: &str| config(yaml).server.max_queue_capacity;
    assert_eq!(queue(""), 8192);
    assert_eq!(queue("server.tomcat.max-connections: 50\n"), 50);
    assert_eq!(queue("server.tomcat: {max-connections: 50, threads.max-queue-capacity: 2147483647}\n"), 50);
    assert_eq!(queue("server.tomcat.threads.max-queue-capacity: 0\n"), 0);
    assert_eq!(config("server.tomcat.max-threads: 4\n").server.min_spare_threads, 4);
    assert!(warnings("server.tomcat: {max-threads: 4, min-spare-threads: 5}\n")[0].contains("more than the 4 workers"));
    let runnable = |yaml: &str| config(yaml).gateway.runnable;
    assert_eq!(runnable("gateway.workers.runnable: 100\nserver.tomcat.max-threads: 20\n"), 20);
    assert_eq!(runnable("gateway.workers.runnable: 1\nserver.tomcat.min-spare-threads: 20\n"), 20);
}

/// What a worker's buffer, or the workers themselves, could never have is refused here, and not by the allocator.
#[test]
fn what_no_machine_can_give_is_refused() {
    assert_eq!(config("server.max-http-header-size: 16MB\n").server.max_http_header_size, 16 << 20);
    assert_eq!(
        errors("server.max-http-header-size: 8388607TB\n"),
        ["error: gateway.yaml:1: server.max-http-header-size: must be at most 16777216 octets"]
    );
    for name in ["threads.max", "max-threads"] {
        assert_eq!(config(&format!("server.tomcat.{name}: 65536\n")).server.max_threads, 65_536);
        let faults = errors(&format!("server.tomcat.{name}: 2147483648\n"));
        assert_eq!(faults, [format!("error: gateway.yaml:1: server.tomcat.{name}: must be at most 65536")]);
    }
}

#[test]
fn no_bound_is_said_by_minus_one() {
    let tomcat = "server.tomcat: {keep-alive-timeout: -1, max-keep-alive-requests: -1, max-swallow-size: -1, connection-timeout: -1}\n";
    let server = config(tomcat).server;
    assert_eq!(
        (server.keep_alive_timeout, server.max_keep_alive_requests, server.max_swallow_size),
        (None, None, None)
    );
    assert_eq!(server.connection_timeout, Duration::from_secs(24 * 60 * 60));
    assert_eq!(config("server.tomcat.max-keep-alive-requests: 1\n").server.max_keep_alive_requests, Some(1));
}

#[test]
fn relaxed_characters_are_those_that_can_be_forwarded() {
    let yaml = "server.tomcat.relaxed-query-chars: '|,{,}'\nserver.tomcat.relaxed-path-chars: ['[', '^']\n";
    let (relaxed, told) = (config(yaml).server.relaxed, warnings(yaml));
    let all: usize = relaxed.path.len() + relaxed.query.len();
    let refused: usize = told.iter().map(|line| line.matches([',', '|', '{', '}', '[', '^']).count()).sum();
    assert_eq!(all + refused, 5, "{relaxed:?} {told:?}");
    assert!(errors("server.tomcat.relaxed-query-chars: '|,a'\n")[0].contains("takes only these"));
}

#[test]
fn management_has_springs_semantics() {
    let management = |yaml: &str| config(yaml).management;
    assert!(management("").port.is_none() && management("").exposure.exposes("health"));
    assert!(!management("").exposure.exposes("metrics"));
    assert_eq!(management("management.server.port: 8081\n").port, Some(8081));
    assert_eq!(management("server.port: 8081\nmanagement.server.port: 8081\n").port, None);
    let nothing = management("management.server.port: -1\n");
    assert!(nothing.port.is_none() && !nothing.exposure.exposes("health"));
    let all = management(
        "management.endpoints.web.exposure: {include: '*', exclude: env}\nmanagement.endpoint.metrics.enabled: false\n",
    );
    assert!(all.exposure.exposes("routes") && !all.exposure.exposes("env") && !all.exposure.exposes("metrics"));
    assert_eq!(management("management.endpoints.web.base-path: manage/\n").base_path, "/manage");
    assert_eq!(management("management.endpoints.web.base-path: /\n").base_path, "");
    assert_eq!(management("management.endpoint.health.show-details: ALWAYS\n").show_details, ShowDetails::Always);
    assert_eq!(management("info: {app: {name: x, version: 1.10}}\n").info[0], ("app.name".into(), "x".into()));
}

#[test]
fn levels_are_springs() {
    use log::LevelFilter::{Debug, Error, Off};
    let logging = config("logging.level:\n  root: error\n  org.springframework: DEBUG\n  com.netflix: off\n").logging;
    assert_eq!(logging, [("root".into(), Error), ("org.springframework".into(), Debug), ("com.netflix".into(), Off)]);
    assert!(errors("logging.level.root: loud\n")[0].contains("must be one of trace"));
}

#[test]
fn retries_are_ribbons_on_retryable_routes() {
    let retry = |yaml: &str| service(&format!("zuul.retryable: true\n{yaml}")).retry;
    let by_default = retry("").expect("one on the next server");
    assert_eq!((by_default.same_server, by_default.next_server, by_default.most_attempts()), (0, 1, 2));
    assert_eq!((by_default.all_operations, by_default.statuses.len(), by_default.max_body), (false, 0, 64 * 1024));
    assert_eq!(by_default.budget, Some(RetryBudgetConfig { percent: 20, min_per_second: 10 }));
    assert_eq!(by_default.backoff, None);
    assert_eq!(service("").retry, None, "no route is retryable");
    assert_eq!(retry("ribbon.MaxAutoRetriesNextServer: 0\n"), None);
    assert_eq!(url("zuul.retryable: true\nribbon.MaxAutoRetries: 2\n").retry, None);
    let own = retry("ribbon.MaxAutoRetries: 1\ns.ribbon: {MaxAutoRetries: 2, MaxAutoRetriesNextServer: 3}\n");
    assert_eq!(own.map(|own| own.most_attempts()), Some(12));
    let statuses = retry("ribbon.retryableStatusCodes: '502, 503'\n").map(|retry| retry.statuses);
    assert_eq!(statuses, Some(vec![StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE]));
    assert_eq!(retry("gateway.retry-budget: -1\n").and_then(|retry| retry.budget), None);
    let (base, max) = (Duration::from_millis(25), Duration::from_millis(250));
    let backoff = retry("gateway.retry.backoff.base-interval: 25\n").and_then(|retry| retry.backoff);
    assert_eq!(backoff, Some(BackoffConfig { base, max }));
    for status in ["0", "199", "600", "99999", "x"] {
        let yaml = format!("zuul.routes.s: /s/**\nribbon.retryableStatusCodes: {status}\n");
        assert_eq!(errors(&yaml).len(), 1, "{status}");
    }
}
