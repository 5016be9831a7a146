//! `/get`: the request as the service saw it, in the members that httpbin made common.

use super::json_reply;
use crate::query::parameters;
use crate::reply::Reply;
use crate::wire::head::RequestHead;
use http::StatusCode;
use serde_json::{Map, Value, json};
use std::net::SocketAddr;

/// Method, url, arguments, fields and the other end of the connection.
pub(super) fn reply(head: &RequestHead, peer: SocketAddr) -> Reply {
    let body = json!({
        "method": head.method().as_str(),
        "url": url(head),
        "args": arguments(head),
        "headers": fields(head),
        "origin": peer.ip().to_canonical().to_string(),
    });
    json_reply(StatusCode::OK, &body)
}

fn url(head: &RequestHead) -> String {
    let target = String::from_utf8_lossy(head.target());
    match head.host() {
        Some(host) if target.starts_with('/') => format!("http://{}{target}", String::from_utf8_lossy(host)),
        _ => target.into_owned(),
    }
}

/// A name that comes more than once has a list.
fn arguments(head: &RequestHead) -> Map<String, Value> {
    let mut arguments = Map::new();
    for (name, value) in parameters(head.query().unwrap_or_default()) {
        match arguments.get_mut(&name) {
            None => _ = arguments.insert(name, value.into()),
            Some(Value::Array(values)) => values.push(value.into()),
            Some(first) => *first = json!([first.take(), value]),
        }
    }
    arguments
}

/// Names in the case received; lines of one name are joined by a comma, as they may be (RFC 9110 5.3).
fn fields(head: &RequestHead) -> Map<String, Value> {
    let mut fields: Map<String, Value> = Map::new();
    for (name, value) in head.fields() {
        let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
        let known = fields.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(&name));
        match known {
            Some((_, all)) => *all = format!("{}, {value}", all.as_str().unwrap_or_default()).into(),
            None => _ = fields.insert(name.into_owned(), value.into()),
        }
    }
    fields
}
