//! Stand-in for `wire::reply` until it is merged: canned answers for refusals and for heads that cannot be parsed.

use crate::reason::Reason;
use crate::wire::{HeadError, date::http_date};
use http::StatusCode;
use std::time::SystemTime;

pub(super) fn canned_refusal(reason: Reason, retry_after: u64, now: SystemTime) -> Vec<u8> {
    let retry = if reason.asks_to_retry() { format!("Retry-After: {retry_after}\r\n") } else { String::new() };
    answer(reason.status(), reason, &retry, now)
}

pub(super) fn head_error(error: HeadError, now: SystemTime) -> Vec<u8> {
    answer(error.status(), error.reason(), "", now)
}

fn answer(status: StatusCode, reason: Reason, more: &str, now: SystemTime) -> Vec<u8> {
    let body = format!("{{\"status\":{},\"reason\":\"{reason}\"}}", status.as_u16());
    let date = String::from_utf8_lossy(&http_date(now)).into_owned();
    format!(
        "HTTP/1.1 {status}\r\nDate: {date}\r\nX-Gateway-Reason: {reason}\r\n{more}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
