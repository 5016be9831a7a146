//! What an actuator endpoint answers, before it becomes a response: a status, a media type, a body.
//!
//! The endpoints make pages and know nothing of connections; [`super::Actuator::page`] turns them into replies. Errors carry Spring's body.

use super::stream::Place;
use crate::client::{Client, Ending};
use crate::reply::Reply;
use crate::wire::date;
use crate::wire::head::RequestHead;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};
use std::time::SystemTime;

/// The media type of Boot 2.2 and 2.3's actuator, which a client gets that asks for nothing in particular.
const ACTUATOR_V3: &str = "application/vnd.spring-boot.actuator.v3+json";
const ACTUATOR_V2: &str = "application/vnd.spring-boot.actuator.v2+json";
const JSON: &str = "application/json";

/// One answer.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) status: StatusCode,
    pub(super) content: Content,
}

/// An answer of the actuator, ready to be sent.
#[derive(Debug)]
pub struct Answer {
    /// Its head, and its body if that is whole.
    pub reply: Reply,
    place: Option<Place>,
}

impl Answer {
    /// Sends it as the answer to `head`, or the beginning of it.
    pub fn send(self, head: &RequestHead, client: &mut dyn Client) -> Ending {
        match self.place {
            Some(place) => place.begin(&self.reply, head, client),
            None => self.reply.send(head, client),
        }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, place: None }
    }
}

/// The body of a page.
#[derive(Debug)]
pub(super) enum Content {
    /// An endpoint's JSON, in the actuator's media type.
    Json(Value),
    /// Text in the media type given.
    Text(&'static str, String),
    /// An error of the request, in Spring's shape; the message says what is wrong with it.
    Error(String),
    /// The method is not among these.
    Allow(&'static str),
    /// Events without an end, by this place at the stream.
    Stream(Place),
}

impl Page {
    pub(super) fn json(value: Value) -> Self {
        Self::json_with(StatusCode::OK, value)
    }

    pub(super) fn json_with(status: StatusCode, value: Value) -> Self {
        Self { status, content: Content::Json(value) }
    }

    pub(super) fn text(media_type: &'static str, body: String) -> Self {
        Self { status: StatusCode::OK, content: Content::Text(media_type, body) }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, content: Content::Error(message.into()) }
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, content: Content::Error(message.into()) }
    }

    pub(super) fn refused(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, content: Content::Error(message.into()) }
    }

    pub(super) fn stream(place: Place) -> Self {
        Self { status: StatusCode::OK, content: Content::Stream(place) }
    }

    pub(super) fn method_not_allowed(allow: &'static str) -> Self {
        Self { status: StatusCode::METHOD_NOT_ALLOWED, content: Content::Allow(allow) }
    }

    /// The answer to `head`.
    pub(super) fn into_answer(self, head: &RequestHead, now: SystemTime) -> Answer {
        match self.content {
            Content::Stream(place) => Answer { reply: Place::reply(), place: Some(place) },
            _ => Answer { reply: self.into_reply(head, now), place: None },
        }
    }

    /// The answer to `head` of a page that is whole; of a stream, the head.
    pub(super) fn into_reply(self, head: &RequestHead, now: SystemTime) -> Reply {
        let error = |message: &str| Reply::new(self.status, JSON, error_body(self.status, message, head, now));
        match self.content {
            Content::Json(value) => Reply::new(self.status, json_type(head), value.to_string()),
            Content::Text(media_type, text) => Reply::new(self.status, media_type, text),
            Content::Error(message) => error(&message),
            Content::Allow(methods) => error("").with("Allow", HeaderValue::from_static(methods)),
            Content::Stream(_) => Place::reply(),
        }
    }
}

/// Spring's error body. No reason word: the gateway refused nothing here.
fn error_body(status: StatusCode, message: &str, head: &RequestHead, now: SystemTime) -> String {
    let body = json!({
        "timestamp": date::iso_8601(now),
        "status": status.as_u16(),
        "error": status.canonical_reason().unwrap_or_default(),
        "message": message,
        "path": String::from_utf8_lossy(head.path()),
    });
    body.to_string()
}

/// The media type for an endpoint's JSON: what the client names first of the three that Boot offers, else the newest.
fn json_type(head: &RequestHead) -> &'static str {
    let named = |range: &[u8]| {
        let range = range.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
        [ACTUATOR_V3, ACTUATOR_V2, JSON].into_iter().find(|offer| range.eq_ignore_ascii_case(offer.as_bytes()))
    };
    head.values("accept").flat_map(|value| value.split(|&b| b == b',')).find_map(named).unwrap_or(ACTUATOR_V3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::request;
    use std::time::{Duration, UNIX_EPOCH};

    fn head(fields: &str) -> RequestHead {
        request(&format!("GET /actuator/x?y HTTP/1.1\r\nHost: a{fields}"))
    }

    #[test]
    fn the_first_offer_that_is_named_is_taken() {
        for (accept, expected) in [
            ("", ACTUATOR_V3),
            ("\r\nAccept: */*", ACTUATOR_V3),
            ("\r\nAccept: application/json", JSON),
            ("\r\nAccept: text/html, Application/JSON;q=0.9, */*", JSON),
            ("\r\nAccept: text/html\r\naccept: application/json", JSON),
            ("\r\nAccept: application/vnd.spring-boot.actuator.v2+json, application/json", ACTUATOR_V2),
            ("\r\nAccept: text/html", ACTUATOR_V3),
        ] {
            assert_eq!(json_type(&head(accept)), expected, "{accept}");
        }
    }

    #[test]
    fn errors_have_springs_shape() {
        let now = UNIX_EPOCH + Duration::from_millis(1001);
        let reply = Page::method_not_allowed("GET, HEAD").into_reply(&head(""), now);
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(reply.fields[1], ("Allow".into(), HeaderValue::from_static("GET, HEAD")));
        let expected = r#"{"timestamp":"1970-01-01T00:00:01.001+00:00","status":405,"error":"Method Not Allowed","message":"","path":"/actuator/x"}"#;
        assert_eq!(reply.body, expected);
        let reply = Page::not_found("no \"x\"").into_reply(&head(""), now);
        assert!(
            String::from_utf8_lossy(&reply.body).contains(r#""status":404,"error":"Not Found","message":"no \"x\"""#)
        );
    }
}
