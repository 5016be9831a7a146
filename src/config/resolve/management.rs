//! `management.*`, `info.*` and `logging.level.*`.
//!
//! Spring's several ways to hide an endpoint (not included, excluded, disabled, no port at all) become one exposure here, so that whoever
//! serves endpoints asks one question.

use super::front;
use super::zuul::as_prefix;
use crate::config::fault::Fault;
use crate::config::model::{EndpointExposure, ManagementConfig, ShowDetails, StreamConfig};
use crate::config::settings::Settings;
use crate::config::values;

pub(super) fn management(settings: &Settings, server_port: u16, faults: &mut Vec<Fault>) -> ManagementConfig {
    let (read, default) = (settings.all(), ManagementConfig::default());
    let port = read.count("management.server.port");
    let listens_itself = |port: &u16| *port != server_port || *port == 0;
    ManagementConfig {
        port: port.and_then(|port| u16::try_from(port).ok()).filter(listens_itself),
        address: front::address(read, "management.server.address", faults),
        base_path: read.text("management.endpoints.web.base-path").map_or(default.base_path, |path| as_prefix(&path)),
        exposure: exposure(settings, port == Some(-1)),
        show_details: match read.choice("management.endpoint.health.show-details") {
            Some(1) => ShowDetails::Always,
            _ => ShowDetails::Never,
        },
        info: with_key(settings, "info.<key...>"),
        stream: StreamConfig {
            interval: read
                .bounded_time("hystrix.stream.dashboard.intervalInMilliseconds")
                .unwrap_or(default.stream.interval),
            max_clients: read
                .amount("hystrix.config.stream.maxConcurrentConnections")
                .unwrap_or(default.stream.max_clients),
        },
    }
}

/// What can be asked; `management.server.port: -1` leaves nothing, and an endpoint can be taken out by its own key.
fn exposure(settings: &Settings, nothing: bool) -> EndpointExposure {
    let read = settings.all();
    let include = read.items("management.endpoints.web.exposure.include");
    let mut exclude = read.items("management.endpoints.web.exposure.exclude").unwrap_or_default();
    if nothing {
        exclude.push("*".into());
    }
    let disabled = settings.iter().filter(|setting| setting.key.name == "management.endpoint.<id>.enabled");
    exclude.extend(
        disabled
            .filter(|setting| values::flag(&setting.value.text()) == Ok(false))
            .map(|setting| setting.ids[0].clone()),
    );
    EndpointExposure { include: include.unwrap_or(EndpointExposure::default().include), exclude }
}

pub(super) fn logging(settings: &Settings) -> Vec<(String, log::LevelFilter)> {
    let levels = with_key(settings, "logging.level.<logger...>");
    levels.into_iter().map(|(logger, level)| (logger, level_of(&level))).collect()
}

/// Spring's levels; its values were checked before.
fn level_of(text: &str) -> log::LevelFilter {
    match text.to_lowercase().as_str() {
        "off" | "false" => log::LevelFilter::Off,
        "fatal" | "error" => log::LevelFilter::Error,
        "warn" => log::LevelFilter::Warn,
        "debug" => log::LevelFilter::Debug,
        "trace" => log::LevelFilter::Trace,
        _ => log::LevelFilter::Info,
    }
}

/// Ids and values of a key with one id, in order.
fn with_key(settings: &Settings, name: &str) -> Vec<(String, String)> {
    let found = settings.iter().filter(|setting| setting.key.name == name);
    found.map(|setting| (setting.ids[0].clone(), setting.value.text())).collect()
}
