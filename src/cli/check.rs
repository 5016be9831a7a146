//! `portcullis check`: what a start with this configuration would mean, told before it happens.
//!
//! First every fault, each on a line of its own with file, line and key; then, if there is none, routes, the limits of every stage in the
//! order in which a request meets them, the threads there can be, and advice. It binds no port and resolves no name.

mod balance;
mod command;

use super::{Exit, print, tell};
use crate::config::model::{
    AdaptiveLimit, BackendConfig, BackendKind, Container, IsolationConfig, LimitLaw, QueueOrder, RateLimitKey,
    RetryConfig, StreamConfig,
};
use crate::config::{self, Config, Sources};
use crate::container::tiny;
use crate::router::{Route, Router};
use crate::server;
use std::fmt::Write;
use std::time::Duration;

/// Prints the report; fine when there is no fault.
pub(super) fn check(sources: &Sources, dump: bool) -> Exit {
    let loaded = match config::load(sources) {
        Ok(loaded) => loaded,
        Err(faults) => {
            tell(&faults);
            return Exit::Failed;
        }
    };
    tell(&loaded.warnings);
    let router = match Router::new(&loaded.config) {
        Ok(router) => router,
        Err(faults) => {
            tell(&faults);
            return Exit::Failed;
        }
    };
    if dump {
        print(&loaded.properties.to_string());
        return Exit::Fine;
    }
    print(&report(&loaded.config, &router));
    Exit::Fine
}

/// The whole report; writing to a `String` cannot fail, so results of `write!` are dropped.
fn report(config: &Config, router: &Router) -> String {
    let mut out = String::new();
    routes(&mut out, router);
    front(&mut out, config);
    rate_limits(&mut out, config);
    backends(&mut out, config);
    threads(&mut out, config);
    container(&mut out, config);
    advice(&mut out, config, router);
    out
}

fn routes(out: &mut String, router: &Router) {
    let _ = writeln!(out, "routes, in the order in which they are tried:");
    for route in router.routes() {
        let _ =
            writeln!(out, "  {:<16} {}; not passed on: {}", route.config.id, route.mapping(), route.withheld_names());
    }
    if router.routes().is_empty() {
        let _ = writeln!(out, "  none: every request is answered with 404");
    }
}

fn front(out: &mut String, config: &Config) {
    let server = &config.server;
    let _ = writeln!(out, "\nlimits of the front ({}:{}):", server.address, server.port);
    let mut line = |what: &str, value: String| {
        let _ = writeln!(out, "  {what:<28} {value}");
    };
    line("kernel backlog", server.accept_count.to_string());
    line("open connections", server.max_connections.to_string());
    line(
        "workers",
        format!("{} to {}, {} kept runnable", server.min_spare_threads, server.max_threads, config.gateway.runnable),
    );
    line("ready queue", ready_queue(config));
    line("request line, fields", format!("{} octets each, 100 fields", server.max_http_header_size));
    line("head, body read, write", span(server.connection_timeout));
    line(
        "request body",
        config.gateway.client_max_body_size.map_or("no bound".into(), |most| format!("{most} octets")),
    );
    line("idle connection", bound(server.keep_alive_timeout));
    line("requests per connection", server.max_keep_alive_requests.map_or("no bound".into(), |n| n.to_string()));
    if config.management.exposure.exposes("hystrix.stream") {
        line("clients of hystrix.stream", stream(config));
    }
}

fn stream(config: &Config) -> String {
    let StreamConfig { interval, max_clients } = config.management.stream;
    match (config.gateway.container, config.management.port) {
        (Container::TinyHttp, None) => "none: 501, since tiny-http cannot send events".into(),
        _ => format!("{max_clients}, told every {}", span(interval)),
    }
}

fn rate_limits(out: &mut String, config: &Config) {
    let limits = &config.gateway.rate_limits;
    if limits.routes.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nrate limits, before any limit of a backend (at most {} clients each):", limits.max_keys);
    for (id, limit) in &limits.routes {
        let by = match &limit.key {
            RateLimitKey::Route => "all requests together".to_owned(),
            RateLimitKey::Address => "each client address".to_owned(),
            RateLimitKey::Header(name) => format!("each value of {name}"),
        };
        let _ =
            writeln!(out, "  {id:<28} {} per {}, {} at once, for {by}", limit.requests, span(limit.per), limit.burst);
    }
}

fn ready_queue(config: &Config) -> String {
    let gateway = &config.gateway;
    let order = match gateway.queue_order {
        QueueOrder::Fifo => "",
        QueueOrder::AdaptiveLifo => ", the newest first when it stands",
    };
    let codel = if gateway.queue_codel { ", at most 5ms for who comes when it stands" } else { "" };
    format!("{}, at most {}{order}{codel}", config.server.max_queue_capacity, span(gateway.queue_timeout))
}

fn backends(out: &mut String, config: &Config) {
    for backend in config.backends.values() {
        let kind = match backend.kind {
            BackendKind::Service => "service",
            BackendKind::Url => "url route",
        };
        let servers: Vec<_> = backend.servers.iter().map(|s| s.authority()).collect();
        let servers = if servers.is_empty() { "no server".to_owned() } else { servers.join(", ") };
        let _ = writeln!(out, "\nlimits of {kind} {} ({servers}):", backend.id);
        backend_limits(out, config, backend);
    }
}

fn backend_limits(out: &mut String, config: &Config, backend: &BackendConfig) {
    let mut line = |what: &str, value: String| {
        let _ = writeln!(out, "  {what:<28} {value}");
    };
    match &backend.isolation {
        IsolationConfig::Semaphore { max_concurrent_requests } => {
            line("semaphore", semaphore(*max_concurrent_requests, backend.adaptive));
            line(
                "wait for a permit",
                Some(config.gateway.max_wait).filter(|wait| !wait.is_zero()).map_or("none".into(), span),
            );
        }
        IsolationConfig::Thread { pool_key } => line("thread pool", pool(config, pool_key)),
        IsolationConfig::None => line("isolation", "none".into()),
    }
    let (total, each) = (backend.max_total_connections, backend.max_connections_per_host);
    line("upstream connections", format!("{total} in all, {each} per server"));
    line("wait for a connection", bound(backend.connection_request_timeout));
    line("connect", span(backend.connect_timeout));
    line("read", bound(backend.read_timeout));
    line("deadline", bound(backend.deadline));
    if backend.held_back > 0 {
        line("head of an answer", format!("after the first {} octets of a body of known length", backend.held_back));
    }
    line("attempts", backend.retry.as_ref().map_or("1".into(), attempts));
    balance::lines(backend).into_iter().for_each(|(what, value)| line(what, value));
    line("circuit", command::circuit(backend));
    line("metrics", command::metrics(backend));
    line("fallback", command::fallback(backend));
}

fn attempts(retry: &RetryConfig) -> String {
    let most = retry.most_attempts();
    let what = if retry.all_operations { "all methods" } else { "GET; others while nothing was sent" };
    let budget = retry.budget.map_or("no budget".into(), |budget| {
        format!("retries up to {} % of the requests and {} a second", budget.percent, budget.min_per_second)
    });
    format!("up to {most} on retryable routes ({what}), bodies up to {} octets, {budget}", retry.max_body)
}

fn semaphore(most: usize, adaptive: Option<AdaptiveLimit>) -> String {
    let Some(AdaptiveLimit { law, floor }) = adaptive else { return most.to_string() };
    let law = match law {
        LimitLaw::Vegas => "vegas",
        LimitLaw::Gradient2 => "gradient2",
        LimitLaw::Aimd => "aimd",
    };
    format!("{floor} to {most}, by {law}")
}

fn pool(config: &Config, key: &str) -> String {
    let pool = config.thread_pools.get(key).copied().unwrap_or_default();
    let queue = pool.max_queue_size.map_or("no queue".into(), |size| {
        format!("queue {} (refuses from {})", size, pool.queue_size_rejection_threshold.min(size))
    });
    format!("{key}: {} to {} threads, {queue}", pool.core_size, pool.maximum_size)
}

fn threads(out: &mut String, config: &Config) {
    let pools: usize = config.thread_pools.values().map(|pool| pool.maximum_size).sum();
    let management = config.management.port.map_or(0, |_| FRONT_THREADS + server::SIDE_WORKERS);
    let example = config.gateway.example.as_ref().map_or(0, |_| FRONT_THREADS + server::EXAMPLE_WORKERS);
    let others = FIXED_THREADS + FRONT_THREADS + management + example + balance::threads(config);
    let most = config.server.max_threads + pools + others;
    let _ = writeln!(
        out,
        "\nthreads: at most {most} ({} workers, {pools} in isolation pools, {others} others){}",
        config.server.max_threads,
        match config.gateway.container {
            Container::Native => "",
            Container::TinyHttp => ", and one more for each open connection, of which tiny-http bounds neither",
        }
    );
}

/// main, signals, drain, background, resolver, log.
const FIXED_THREADS: usize = 6;
/// Acceptor and housekeeper of one listener.
const FRONT_THREADS: usize = 2;

fn container(out: &mut String, config: &Config) {
    if config.gateway.container == Container::TinyHttp {
        let _ = writeln!(out, "\nserver.container is tiny-http, which is not hardened and cannot give:");
        for (what, why) in tiny::shortcomings() {
            let _ = writeln!(out, "  - {what}: {why}");
        }
    }
}

fn advice(out: &mut String, config: &Config, router: &Router) {
    let mut advice: Vec<String> = router.shadowed().map(|(later, earlier)| shadow(later, earlier)).collect();
    advice.extend(config::advice(config).iter().map(ToString::to_string));
    advice.extend(command::forwards(config, router));
    advice.extend(descriptors(config));
    if !advice.is_empty() {
        let _ = writeln!(out, "\nwarnings, each worth a second look:");
    }
    for line in advice {
        let _ = writeln!(out, "  - {line}");
    }
}

/// A route that no request can reach.
fn shadow(later: &Route, earlier: &Route) -> String {
    format!(
        "zuul.routes.{}: never reached: the earlier route {} ({}) takes everything that {} matches; put the narrower one first",
        later.config.id, earlier.config.id, earlier.full_path, later.full_path
    )
}

/// Each client connection may need an upstream one: too few descriptors show as refused connections under load.
fn descriptors(config: &Config) -> Option<String> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum?;
    let wanted = 2 * config.server.max_connections as u64;
    (limit < wanted).then(|| {
        format!(
            "the hard limit of open files is {limit}, below twice max-connections ({wanted}): raise it (ulimit -Hn)"
        )
    })
}

fn bound(time: Option<Duration>) -> String {
    time.map_or("no bound".into(), span)
}

fn span(time: Duration) -> String {
    format!("{time:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report on a configuration without faults.
    fn report_on(yaml: &str) -> String {
        let config = config::load_str(yaml).unwrap().config;
        report(&config, &Router::new(&config).unwrap())
    }

    #[track_caller]
    fn says(yaml: &str, lines: &[&str]) {
        let report = report_on(yaml);
        for line in lines {
            assert!(report.contains(line), "{line:?} is not in:\n{report}");
        }
    }

    const ONE: &str = "zuul.routes.shop: {path: /shop/**, url: 'http://h:81'}\n";

    #[test]
    fn routes_and_every_limit_are_told() {
        let lines = [
            "  shop             /shop/** -> http://h:81/**; not passed on: authorization, cookie, set-cookie\n",
            "limits of the front (0.0.0.0:8080):",
            "  workers                      10 to 200,",
            "  ready queue                  8192, at most 5s\n",
            "limits of url route shop (h:81):",
            "  semaphore                    100\n",
            "  upstream connections         200 in all, 20 per server\n",
            "  deadline                     no bound\n",
        ];
        says(ONE, &lines);
        says("server.port: 1", &["  none: every request is answered with 404\n"]);
    }

    #[test]
    fn rates_are_told() {
        let rates = "gateway.rate-limit: {max-keys: 9, routes: {shop: {requests: 5, burst: 7, key: address}, '*': {requests: 2, per: 1m}}}\n";
        let lines = [
            "rate limits, before any limit of a backend (at most 9 clients each):\n",
            "  shop                         5 per 1s, 7 at once, for each client address\n",
            "  *                            2 per 60s, 2 at once, for all requests together\n",
        ];
        says(&format!("{ONE}{rates}"), &lines);
        assert!(!report_on(ONE).contains("rate limits"));
    }

    #[test]
    fn who_may_listen_to_the_stream_is_told() {
        let line = "  clients of hystrix.stream    ";
        assert!(!report_on(ONE).contains(line));
        let exposed = "management.endpoints.web.exposure.include: hystrix.stream\n";
        says(exposed, &[&format!("{line}5, told every 500ms\n")]);
        let tiny = format!("{exposed}server.container: tiny-http\n");
        says(&tiny, &[&format!("{line}none: 501, since tiny-http cannot send events\n")]);
        says(&format!("{tiny}management.server.port: 1\n"), &[&format!("{line}5, told every 500ms\n")]);
    }

    #[test]
    fn adaptive_limits_and_waits_are_told() {
        says(ONE, &["  wait for a permit            none\n"]);
        let all = "gateway.limit: gradient2\ngateway.limits.shop.ceiling: 90\ngateway.isolation.max-wait: 250\n";
        says(
            &format!("{ONE}{all}gateway.queue: {{order: adaptive-lifo, codel: on}}\n"),
            &[
                "  semaphore                    20 to 90, by gradient2\n",
                "  wait for a permit            250ms\n",
                "  ready queue                  8192, at most 5s, the newest first when it stands, at most 5ms for who comes when it stands\n",
            ],
        );
        says(
            &format!("{ONE}gateway.limits.shop.law: aimd\n"),
            &["  semaphore                    20 to 100, by aimd\n"],
        );
        says(
            &format!("{ONE}gateway.limits.default.law: vegas\n"),
            &["  semaphore                    1 to 100, by vegas\n"],
        );
    }

    #[test]
    fn pools_are_told_with_their_queues() {
        let base = "zuul.routes.s: /s/**\nzuul.ribbon-isolation-strategy: THREAD\n";
        says(base, &["limits of service s (no server):", "RibbonCommand: 10 to 10 threads, no queue\n"]);
        let queue = format!("{base}hystrix.threadpool.default.maxQueueSize: 9\n");
        says(&queue, &["RibbonCommand: 10 to 10 threads, queue 9 (refuses from 5)\n"]);
    }

    #[test]
    fn circuits_and_fallbacks_are_told() {
        let lines = ["  circuit                      none\n", "  fallback                     none\n"];
        says(ONE, &lines);
        let base = "zuul.routes.s: /s/**\n";
        let opens =
            "  circuit                      opens at 50 % failures of 20 or more requests in 10s; one test every 5s\n";
        says(
            base,
            &[opens, "  metrics                      counts 10 x 1s, percentiles 6 x 10s; judged every 500ms\n"],
        );
        let key = |rest: &str| format!("hystrix.command.s.metrics.{rest}\n");
        let without = [base, &key("rollingPercentile.enabled: false"), &key("rollingStats.numBuckets: 20")].concat();
        says(&without, &["counts 20 x 500ms, percentiles none; judged every 500ms\n"]);
        says(&format!("{base}gateway.circuit-breaker.count-5xx: true\n"), &["50 % failures, 5xx included, of 20"]);
        let half = format!("{base}gateway.circuit-breaker.mode: half-open\ngateway.fallback.*.body: sorry\n");
        says(&half, &["; half open after 5s\n", "  fallback                     200 OK with 5 octets, 10 at once\n"]);
        let forced =
            format!("{base}hystrix.command.s.circuitBreaker.forceOpen: true\ngateway.fallback.s.forward: /x\n");
        says(&forced, &["  circuit                      forced open\n", "forward to /x, 10 at once\n"]);
        says(&format!("{base}hystrix.command.s.circuitBreaker.forceClosed: true\n"), &["forced closed\n"]);
    }

    #[test]
    fn forwards_without_a_target_are_told() {
        let forward = |path: &str| format!("{ONE}zuul.routes.s: /s/**\ngateway.fallback.s.forward: {path}\n");
        let start = "  - gateway.fallback: the forward of s to";
        says(&forward("/nowhere?x"), &[&format!("{start} /nowhere?x leads to no route: every fallback fails\n")]);
        says(&forward("/nowhere/**"), &[&format!("{start} /nowhere/** leads to no route")]);
        says(&forward("/s/sorry"), &[&format!("{start} /s/sorry leads to itself: what failed is asked again\n")]);
        says(&forward("/shop/../x"), &[&format!("{start} /shop/../x is no path that can be asked for\n")]);
        for path in ["/shop/**", "/shop/sorry?x=1", "/actuator/health"] {
            assert!(!report_on(&forward(path)).contains(start), "{path}");
        }
        let elsewhere = format!("{}management.server.port: 1\n", forward("/actuator/health"));
        says(&elsewhere, &[&format!("{start} /actuator/health leads to no route")]);
    }

    #[test]
    fn the_choice_among_servers_is_told() {
        let service = "zuul.routes.s: /s/**\ns.ribbon.listOfServers: h:1,h:2\n";
        let default = [
            "limits of service s (h:1, h:2):",
            "  rule                         ZoneAvoidanceRule\n",
            "  blackout of a server         after 3 connection failures in a row: 10s, doubling up to 30s\n",
            "  ping                         none\n",
        ];
        says(service, &default);
        let rule = "s.ribbon.NFLoadBalancerRuleClassName: com.netflix.loadbalancer.WeightedResponseTimeRule\n";
        let ping = "s.ribbon.NFLoadBalancerPingClassName: PingUrl\ngateway.ping.path: /up\n";
        let more = [
            "  rule                         WeightedResponseTimeRule\n",
            "  new weights                  every 30s\n",
            "  ping                         GET /up every 30s, up if 200 within 2s\n",
            "threads: at most 209 (200 workers, 0 in isolation pools, 9 others)\n",
        ];
        says(&format!("{service}{rule}{ping}"), &more);
        assert!(!report_on(ONE).contains("  rule "));
    }

    #[test]
    fn threads_are_added_up() {
        says(ONE, &["threads: at most 208 (200 workers, 0 in isolation pools, 8 others)\n"]);
        let more = "server.tomcat.max-threads: 50\nmanagement.server.port: 1\nzuul.ribbon-isolation-strategy: THREAD\n";
        says(
            &format!("{ONE}{more}zuul.routes.s: /s/**\n"),
            &["threads: at most 72 (50 workers, 10 in isolation pools, 12 others)\n"],
        );
        let unbounded = ", and one more for each open connection, of which tiny-http bounds neither\n";
        says("server.container: tiny-http", &[unbounded]);
        says("gateway.example.port: 1", &["threads: at most 410 (200 workers, 0 in isolation pools, 210 others)\n"]);
    }

    #[test]
    fn what_is_worth_a_second_look_is_told() {
        let narrow = format!("{ONE}zuul.routes.sale: {{path: /shop/sale/**, url: 'http://h:81'}}\n");
        let shadow = "  - zuul.routes.sale: never reached: the earlier route shop (/shop/**) takes everything";
        says(&narrow, &["warnings, each worth a second look:", shadow, "  - zuul.sensitive-headers: "]);
        assert!(!report_on(ONE).contains("tiny-http"));
        says(
            "server.container: tiny-http",
            &["server.container is tiny-http, which is not hardened and cannot give:\n  - "],
        );
    }
}
