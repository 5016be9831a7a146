//! `server.*` and `gateway.*`: the front and what is ours alone.
//!
//! Limits that depend on each other are fitted here: the queue within the connections, the spare workers within all of them. Of two names
//! for one key, the stronger source counts, then the newer name.

use crate::config::catalogue::former_name;
use crate::config::fault::Fault;
use crate::config::model::{
    AccessLogConfig, AccessLogFormat, Compat, Container, ExampleConfig, GatewayConfig, HttpClient, IncludeMessage,
    QueueOrder, Relaxed, Scheduling, ServerConfig, Shutdown,
};
use crate::config::settings::Read;
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

pub(super) fn server(read: Read<'_>, faults: &mut Vec<Fault>) -> ServerConfig {
    let default = ServerConfig::default();
    let max_threads = amount(read, "server.tomcat.threads.max", faults).unwrap_or(default.max_threads);
    let max_connections = read.amount("server.tomcat.max-connections").unwrap_or(default.max_connections);
    let connection_timeout = newer(read, "server.tomcat.connection-timeout", faults);
    let connection_timeout =
        connection_timeout.and_then(|name| read.bounded_time(name)).unwrap_or(default.connection_timeout);
    let queue = read.amount("server.tomcat.threads.max-queue-capacity").unwrap_or(max_connections);
    let swallow = read.size("server.tomcat.max-swallow-size");
    ServerConfig {
        address: address(read, "server.address", faults).unwrap_or(default.address),
        port: port(read, "server.port").unwrap_or(default.port),
        max_threads,
        min_spare_threads: min_spare(read, max_threads, faults).unwrap_or(default.min_spare_threads.min(max_threads)),
        max_queue_capacity: queue.min(max_connections),
        accept_count: read.amount("server.tomcat.accept-count").unwrap_or(default.accept_count),
        max_connections,
        connection_timeout,
        keep_alive_timeout: read.time("server.tomcat.keep-alive-timeout").unwrap_or(Some(connection_timeout)),
        max_keep_alive_requests: read
            .count("server.tomcat.max-keep-alive-requests")
            .and_then(|number| u64::try_from(number).ok().filter(|&number| number > 0)),
        max_http_header_size: read
            .size("server.max-http-header-size")
            .and_then(|size| usize::try_from(size).ok())
            .unwrap_or(default.max_http_header_size),
        max_swallow_size: swallow.map_or(default.max_swallow_size, |size| u64::try_from(size).ok()),
        uri_is_utf8: uri_is_utf8(read, faults),
        relaxed: Relaxed {
            path: relaxed(read, "server.tomcat.relaxed-path-chars", faults),
            query: relaxed(read, "server.tomcat.relaxed-query-chars", faults),
        },
        include_message: match read.choice("server.error.include-message") {
            Some(1) => IncludeMessage::Always,
            Some(2) => IncludeMessage::OnParam,
            _ => IncludeMessage::Never,
        },
        shutdown: match read.choice("server.shutdown") {
            Some(1) => Shutdown::Immediate,
            _ => Shutdown::Graceful,
        },
        shutdown_timeout: read
            .time("spring.lifecycle.timeout-per-shutdown-phase")
            .map_or(default.shutdown_timeout, Option::unwrap_or_default),
    }
}

/// Which of two names of one key counts: that of the stronger source, else the newer one; a warning when both are there.
fn newer(read: Read<'_>, new: &'static str, faults: &mut Vec<Fault>) -> Option<&'static str> {
    let (newer, older) = (read.setting(new), former_name(new).and_then(|old| read.setting(old)));
    let (Some(newer), Some(older)) = (newer, older) else {
        return newer.or(older).map(|setting| setting.key.name);
    };
    let (wins, loser) = if older.place.rank() > newer.place.rank() { (older, newer) } else { (newer, older) };
    let message = format!("{} is set too, and counts", wins.key.name);
    faults.push(Fault::warning(&loser.place, loser.name.clone(), message));
    Some(wins.key.name)
}

fn amount(read: Read<'_>, new: &'static str, faults: &mut Vec<Fault>) -> Option<usize> {
    read.amount(newer(read, new, faults)?)
}

fn min_spare(read: Read<'_>, max_threads: usize, faults: &mut Vec<Fault>) -> Option<usize> {
    let name = newer(read, "server.tomcat.threads.min-spare", faults)?;
    let min_spare = read.amount(name)?;
    if let Some(setting) = read.setting(name).filter(|_| min_spare > max_threads) {
        let message = format!("more than the {max_threads} workers that there can be; taken for {max_threads}");
        faults.push(Fault::warning(&setting.place, setting.name.clone(), message));
    }
    Some(min_spare.min(max_threads))
}

pub(super) fn port(read: Read<'_>, name: &'static str) -> Option<u16> {
    read.count(name).and_then(|number| u16::try_from(number).ok())
}

pub(super) fn address(read: Read<'_>, name: &'static str, faults: &mut Vec<Fault>) -> Option<IpAddr> {
    let text = read.words(name)?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&text);
    let address = match bare {
        "localhost" => Some(IpAddr::from(Ipv4Addr::LOCALHOST)),
        _ => bare.parse().ok(),
    };
    if address.is_none() {
        let message = "must be an address, such as 127.0.0.1, ::1 or localhost; names are not looked up";
        faults.extend(read.setting(name).map(|setting| Fault::error(&setting.place, setting.name.clone(), message)));
    }
    address
}

fn uri_is_utf8(read: Read<'_>, faults: &mut Vec<Fault>) -> bool {
    let name = "server.tomcat.uri-encoding";
    let Some(text) = read.words(name) else { return true };
    match text.to_lowercase().as_str() {
        "utf-8" | "utf8" | "us-ascii" | "ascii" => true,
        "iso-8859-1" | "iso8859-1" | "iso8859_1" | "latin1" | "latin-1" => false,
        _ => {
            let message = "must be UTF-8 or ISO-8859-1";
            faults
                .extend(read.setting(name).map(|setting| Fault::error(&setting.place, setting.name.clone(), message)));
            true
        }
    }
}

/// The characters of a list, if Tomcat takes them; a warning names those that stay refused, since no upstream request can carry them.
fn relaxed(read: Read<'_>, name: &'static str, faults: &mut Vec<Fault>) -> Vec<u8> {
    const TAKEN: &[u8] = b"\"<>[\\]^`{|}";
    let (Some(items), Some(setting)) = (read.items(name), read.setting(name)) else { return Vec::new() };
    let octets: Vec<u8> = items.concat().into_bytes();
    if octets.iter().any(|octet| !TAKEN.contains(octet)) {
        let message = "takes only these characters: \" < > [ \\ ] ^ ` { | }";
        faults.push(Fault::error(&setting.place, setting.name.clone(), message));
    }
    let is_query = name.contains("query");
    let (carried, refused): (Vec<u8>, Vec<u8>) = octets.into_iter().partition(|&octet| is_carried(octet, is_query));
    if !refused.is_empty() {
        let list: Vec<_> = refused.iter().map(|&octet| char::from(octet).to_string()).collect();
        let message = format!("{} stay refused with 400: the upstream's client can't send them", list.join(" "));
        faults.push(Fault::warning(&setting.place, setting.name.clone(), message));
    }
    carried
}

/// Whether the URI type of the upstream's client takes the octet.
fn is_carried(octet: u8, in_query: bool) -> bool {
    let octet = char::from(octet);
    let target = if in_query { format!("/?{octet}") } else { format!("/{octet}") };
    http::uri::PathAndQuery::try_from(target.as_str()).is_ok()
}

pub(super) fn gateway(read: Read<'_>, server: &ServerConfig, faults: &mut Vec<Fault>) -> GatewayConfig {
    let default = GatewayConfig::default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runnable = read.amount("gateway.workers.runnable").unwrap_or(8 * cores);
    GatewayConfig {
        container: match read.choice("server.container") {
            Some(1) => Container::TinyHttp,
            _ => Container::Native,
        },
        http_client: match read.choice("gateway.http-client") {
            Some(1) => HttpClient::Ureq,
            _ => HttpClient::Native,
        },
        compat: match read.choice("gateway.compat") {
            Some(1) => Compat::Zuul1,
            _ => Compat::None,
        },
        queue_timeout: read.bounded_time("gateway.queue.timeout").unwrap_or(default.queue_timeout),
        queue_order: match read.choice("gateway.queue.order") {
            Some(1) => QueueOrder::AdaptiveLifo,
            _ => QueueOrder::Fifo,
        },
        queue_codel: read.flag("gateway.queue.codel").unwrap_or(default.queue_codel),
        max_wait: read.time("gateway.isolation.max-wait").map_or(default.max_wait, Option::unwrap_or_default),
        runnable: runnable.max(server.min_spare_threads).min(server.max_threads),
        scheduling: match read.choice("gateway.workers.scheduling") {
            Some(1) => Scheduling::Normal,
            _ => Scheduling::Batch,
        },
        client_min_rate: read.amount("gateway.client.min-rate").map_or(default.client_min_rate, |rate| rate as u64),
        client_max_body_size: read.size("gateway.client.max-body-size").and_then(|size| u64::try_from(size).ok()),
        trusted_proxies: trusted_proxies(read, faults),
        access_log: access_log(read),
        example: port(read, "gateway.example.port").map(|port| ExampleConfig { port }),
        routes_file: read.words("gateway.routes-file").map(Into::into),
        rate_limits: default.rate_limits,
    }
}

fn trusted_proxies(read: Read<'_>, faults: &mut Vec<Fault>) -> Option<Vec<IpNet>> {
    let name = "gateway.trusted-proxies";
    let (items, setting) = (read.items(name)?, read.setting(name)?);
    let mut networks = Vec::new();
    for item in items {
        match item.parse().or_else(|_| item.parse::<IpAddr>().map(IpNet::from)) {
            Ok(network) => networks.push(network),
            Err(_) => {
                let message = format!("{item:?} is no address and no network such as 10.0.0.0/8");
                faults.push(Fault::error(&setting.place, setting.name.clone(), message));
            }
        }
    }
    Some(networks)
}

fn access_log(read: Read<'_>) -> AccessLogConfig {
    AccessLogConfig {
        format: match read.choice("gateway.access-log.format") {
            Some(1) => AccessLogFormat::Json,
            Some(2) => AccessLogFormat::Off,
            _ => AccessLogFormat::Combined,
        },
        file: read.words("gateway.access-log.file").map(Into::into),
    }
}

/// A time in a unit that has a key of its own (`zuul.host.time-unit`, `PoolKeepAliveTimeUnits`).
pub(super) fn in_unit(number: i64, unit: &str) -> Option<Duration> {
    let number = u64::try_from(number).ok().filter(|&number| number > 0)?;
    let seconds = |factor: u64| Duration::from_secs(number.saturating_mul(factor));
    Some(match unit.to_uppercase().as_str() {
        "NANOSECONDS" => Duration::from_nanos(number),
        "MICROSECONDS" => Duration::from_micros(number),
        "MILLISECONDS" => Duration::from_millis(number),
        "MINUTES" => seconds(60),
        "HOURS" => seconds(60 * 60),
        "DAYS" => seconds(24 * 60 * 60),
        _ => seconds(1),
    })
}
