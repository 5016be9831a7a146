//! `gateway.fallback.<key>.*`: what answers in place of a service that failed. It is made whole at the start, so that nothing of it can be
//! missing when it is needed.

use crate::config::fault::Fault;
use crate::config::model::{FallbackAnswer, StaticAnswer};
use crate::config::settings::{Read, Setting};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use std::sync::Arc;

/// The key for all services, as in Zuul's FallbackProvider.
pub(super) const ALL: &str = "*";

const STATUS: &str = "gateway.fallback.<key...>.status";
const HEADERS: &str = "gateway.fallback.<key...>.headers";
const BODY: &str = "gateway.fallback.<key...>.body";
const BODY_FILE: &str = "gateway.fallback.<key...>.body-file";
const FORWARD: &str = "gateway.fallback.<key...>.forward";

/// Fields that say how an answer is framed or that belong to one hop: the gateway's own affair.
const OURS: [HeaderName; 6] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::DATE,
    header::TRAILER,
    header::UPGRADE,
];

/// The answer that these keys make, if one of them is there.
pub(super) fn answer(read: Read<'_>, faults: &mut Vec<Fault>) -> Option<Arc<FallbackAnswer>> {
    let first = [STATUS, HEADERS, BODY, BODY_FILE].into_iter().find_map(|name| read.setting(name));
    let answer = match (read.setting(FORWARD), first) {
        (None, None) => return None,
        (Some(forward), None) => FallbackAnswer::Forward(path(forward, faults)),
        (None, Some(_)) => FallbackAnswer::Static(whole(read, faults)),
        (Some(_), Some(other)) => {
            tell(other, "an answer is either forwarded or told here; leave forward or the others out", faults);
            return None;
        }
    };
    Some(Arc::new(answer))
}

/// Zuul's `forward:/path`, or the path alone.
fn path(setting: &Setting, faults: &mut Vec<Fault>) -> String {
    let text = setting.value.text();
    let path = text.strip_prefix("forward:").unwrap_or(&text);
    if !path.starts_with('/') || http::uri::PathAndQuery::try_from(path).is_err() {
        tell(setting, "must be a path of this gateway, such as /static/sorry or /backup/**", faults);
    }
    path.into()
}

fn whole(read: Read<'_>, faults: &mut Vec<Fault>) -> StaticAnswer {
    let body = body(read, faults);
    let items = read.items(HEADERS).unwrap_or_default();
    let mut fields: Vec<_> = items.iter().filter_map(|item| field(read, item, faults)).collect();
    if !body.is_empty() && fields.iter().all(|(name, _)| *name != header::CONTENT_TYPE) {
        fields.push((header::CONTENT_TYPE, HeaderValue::from_static("text/plain;charset=UTF-8")));
    }
    let status = read.amount(STATUS).and_then(|code| StatusCode::from_u16(u16::try_from(code).ok()?).ok());
    StaticAnswer { status: status.unwrap_or(StatusCode::OK), fields, body }
}

fn body(read: Read<'_>, faults: &mut Vec<Fault>) -> Bytes {
    let Some(file) = read.setting(BODY_FILE) else { return read.text(BODY).unwrap_or_default().into() };
    if read.setting(BODY).is_some() {
        tell(file, "a body is told here or read from a file; leave one of them out", faults);
    }
    match std::fs::read(file.path()) {
        Ok(octets) => octets.into(),
        Err(error) => {
            tell(file, format!("{} can't be read: {error}", file.path().display()), faults);
            Bytes::new()
        }
    }
}

fn field(read: Read<'_>, item: &str, faults: &mut Vec<Fault>) -> Option<(HeaderName, HeaderValue)> {
    let parsed = item.split_once(':').and_then(|(name, value)| {
        Some((name.trim().parse::<HeaderName>().ok()?, HeaderValue::from_str(value.trim()).ok()?))
    });
    let message = match &parsed {
        None => "each is written as Name: value; with commas in a value, write a list",
        Some((name, _)) if OURS.contains(name) => "the gateway frames answers and dates them itself",
        Some(_) => return parsed,
    };
    if let Some(setting) = read.setting(HEADERS) {
        tell(setting, format!("{item:?}: {message}"), faults);
    }
    None
}

/// Once, though several services may have it by `*`.
fn tell(setting: &Setting, message: impl Into<String>, faults: &mut Vec<Fault>) {
    let fault = Fault::error(&setting.place, setting.name.clone(), message);
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}
