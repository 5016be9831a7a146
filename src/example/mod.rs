//! The example service: something to route to, for a first try, for tests and for measuring.
//!
//! ```text
//! /product/list            a small JSON list, at once
//! /product/slow?ms=50      the same after a while
//! /product/upload          counts and hashes the body
//! /product/bytes?n=1048576 that many octets
//! /get?ms=0                the request as JSON, after a while
//! ```
//!
//! It is a handler like the gateway and is served by the same fronts, in this process or one of its own.

mod bytes;
mod echo;
mod list;
mod pause;
mod upload;

use crate::client::{Client, Ending, Handler, Refused, Request};
use crate::query::parameter;
use crate::reply::Reply;
use crate::wire::head::RequestHead;
use ::bytes::Bytes;
use http::StatusCode;
use list::List;
use serde_json::json;
use std::time::Duration;

/// The longest pause that can be asked for.
const LONGEST_PAUSE: u64 = 60_000;

/// The largest body that can be asked for.
const MOST_OCTETS: u64 = 1 << 40;

/// The example service.
pub struct Example {
    list: List,
}

impl Example {
    /// The service, its list made.
    pub fn new() -> Self {
        Self { list: List::new() }
    }
}

impl Default for Example {
    fn default() -> Self {
        Self::new()
    }
}

impl Handler for Example {
    /// Where uploads are read into; empty until one comes.
    type Local = Vec<u8>;

    fn local(&self) -> Vec<u8> {
        Vec::new()
    }

    fn serve(&self, buffer: &mut Vec<u8>, request: Request, client: &mut dyn Client) -> Ending {
        let head = &request.head;
        match head.path() {
            b"/product/list" => self.list.send(head, client),
            b"/product/slow" => after_pause(head, client, 50, || List::reply()),
            b"/product/upload" => upload::answer(head, buffer, client),
            b"/product/bytes" => match number(head, "n", 1 << 20, MOST_OCTETS) {
                Ok(count) => bytes::send(head, client, count),
                Err(refusal) => refusal.send(head, client),
            },
            b"/get" => {
                let peer = client.peer();
                after_pause(head, client, 0, || echo::reply(head, peer))
            }
            _ => problem(StatusCode::NOT_FOUND, "there is nothing here").send(head, client),
        }
    }

    fn refused(&self, _refusal: &Refused) {}
}

/// Answers after `?ms=` milliseconds, unless the client goes away meanwhile.
fn after_pause(head: &RequestHead, client: &mut dyn Client, default: u64, reply: impl FnOnce() -> Reply) -> Ending {
    let pause = match number(head, "ms", default, LONGEST_PAUSE) {
        Ok(pause) => Duration::from_millis(pause),
        Err(refusal) => return refusal.send(head, client),
    };
    match pause::pause(pause, &client.cancel()) {
        Ok(()) => reply().send(head, client),
        Err(_) => Ending::Abort,
    }
}

/// The value of a query parameter; the answer to send when it is no number or too large.
fn number(head: &RequestHead, name: &str, default: u64, most: u64) -> Result<u64, Reply> {
    let Some(value) = parameter(head.query().unwrap_or_default(), name) else { return Ok(default) };
    match value.parse() {
        Ok(number) if number <= most => Ok(number),
        _ => Err(problem(StatusCode::BAD_REQUEST, &format!("{name} must be a number from 0 to {most}"))),
    }
}

fn problem(status: StatusCode, message: &str) -> Reply {
    let error = status.canonical_reason().unwrap_or_default();
    json_reply(status, &json!({ "status": status.as_u16(), "error": error, "message": message }))
}

fn json_reply(status: StatusCode, body: &serde_json::Value) -> Reply {
    Reply::new(status, "application/json", Bytes::from(body.to_string()))
}
