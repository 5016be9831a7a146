//! `gateway.rate-limit.*`: a limit for each route that one is written for.

use crate::config::fault::Fault;
use crate::config::model::{RateLimitConfig, RateLimitKey, RateLimitsConfig, RouteConfig};
use crate::config::settings::{Read, Setting, Settings};
use http::HeaderName;
use std::collections::BTreeMap;
use std::time::Duration;

const PREFIX: &str = "gateway.rate-limit.routes.<id>.";
const REQUESTS: &str = "gateway.rate-limit.routes.<id>.requests";
const KEY: &str = "gateway.rate-limit.routes.<id>.key";
const BURST: &str = "gateway.rate-limit.routes.<id>.burst";

/// The longest time in which an empty bucket may fill: beyond it the arithmetic has no room.
const LONGEST_FILL: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(super) fn rate_limits(settings: &Settings, routes: &[RouteConfig], faults: &mut Vec<Fault>) -> RateLimitsConfig {
    let default = RateLimitsConfig::default();
    let mut limits = BTreeMap::new();
    for setting in settings.iter().filter(|setting| setting.key.name.starts_with(PREFIX)) {
        let id = &setting.ids[0];
        if limits.contains_key(id) {
            continue;
        }
        if id != "*" && routes.iter().all(|route| route.id != *id) {
            let message = format!("there is no route {id}; nothing is limited by it");
            faults.push(Fault::warning(&setting.place, setting.name.clone(), message));
        }
        limits.insert(id.clone(), limit(settings.one(id), setting, faults));
    }
    RateLimitsConfig {
        max_keys: settings.all().amount("gateway.rate-limit.max-keys").unwrap_or(default.max_keys),
        routes: limits.into_iter().filter_map(|(id, limit)| Some((id, limit?))).collect(),
    }
}

/// `None` for a fault. `any` is one of its settings.
fn limit(read: Read<'_>, any: &Setting, faults: &mut Vec<Fault>) -> Option<RateLimitConfig> {
    let Some(requests) = read.count(REQUESTS).and_then(|number| u32::try_from(number).ok()) else {
        if read.setting(REQUESTS).is_none() {
            let message = "needs the key `requests` beside it";
            faults.push(Fault::error(&any.place, any.name.clone(), message));
        }
        return None;
    };
    let per = read.bounded_time("gateway.rate-limit.routes.<id>.per").unwrap_or(Duration::from_secs(1));
    let burst = read.count(BURST).and_then(|number| u32::try_from(number).ok()).unwrap_or(requests);
    let limit = RateLimitConfig { requests, per, burst, key: key(read, faults)? };
    let fill = limit.interval().checked_mul(burst).filter(|fill| *fill <= LONGEST_FILL);
    if let Some(setting) = read.setting(BURST).filter(|_| fill.is_none()) {
        let message = "so many would take more than a year to come back";
        faults.push(Fault::error(&setting.place, setting.name.clone(), message));
        return None;
    }
    Some(limit)
}

fn key(read: Read<'_>, faults: &mut Vec<Fault>) -> Option<RateLimitKey> {
    let Some(text) = read.words(KEY) else { return Some(RateLimitKey::Route) };
    let (kind, name) = text.split_once(':').map_or((text.as_str(), None), |(kind, name)| (kind, Some(name.trim())));
    let key = match (kind.trim().to_lowercase().as_str(), name) {
        ("route", None) => Some(RateLimitKey::Route),
        ("address", None) => Some(RateLimitKey::Address),
        ("header", Some(name)) => HeaderName::try_from(name).ok().map(RateLimitKey::Header),
        _ => None,
    };
    if let Some(setting) = read.setting(KEY).filter(|_| key.is_none()) {
        let message = "must be route, address, or header: and the name of a field";
        faults.push(Fault::error(&setting.place, setting.name.clone(), message));
    }
    key
}
