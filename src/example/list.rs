//! `/product/list`: what benchmarks ask for, so its octets are made beforehand and only the date is put in.

use crate::client::{Client, Ending};
use crate::reply::Reply;
use crate::wire::head::RequestHead;
use crate::wire::{date, framing};
use http::{Method, StatusCode, Version};
use std::io::IoSlice;
use std::time::SystemTime;

const PRODUCTS: &str = r#"[{"id":1,"name":"Portcullis","price":1250.0},{"id":2,"name":"Drawbridge","price":980.5},{"id":3,"name":"Moat","price":4300.0}]"#;

/// The answer in the pieces around its date.
pub(super) struct List {
    before_date: &'static str,
    keep: String,
    close: String,
}

impl List {
    pub(super) fn new() -> Self {
        let after_date = |connection| format!("\r\nContent-Length: {}\r\n{connection}\r\n", PRODUCTS.len());
        Self {
            before_date: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: ",
            keep: after_date(""),
            close: after_date("Connection: close\r\n"),
        }
    }

    /// The same as any other reply, for those who have time.
    pub(super) fn reply() -> Reply {
        Reply::new(StatusCode::OK, "application/json", PRODUCTS)
    }

    /// Answers `head`.
    pub(super) fn send(&self, head: &RequestHead, client: &mut dyn Client) -> Ending {
        if head.version() != Version::HTTP_11 {
            return Self::reply().send(head, client);
        }
        let keep = !framing::wants_close(head) && client.may_persist();
        let after_date = if keep { &self.keep } else { &self.close };
        let date = date::http_date(SystemTime::now());
        let body = if head.method() == Method::HEAD { "" } else { PRODUCTS };
        let parts = [self.before_date.as_bytes(), &date, after_date.as_bytes(), body.as_bytes()];
        match client.write(&mut parts.map(IoSlice::new)) {
            Ok(()) if keep => Ending::Done,
            Ok(()) => Ending::Close,
            Err(_) => Ending::Abort,
        }
    }
}
