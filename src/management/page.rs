//! What an actuator endpoint answers, before it becomes a response: a status, a media type, a body.
//!
//! The endpoints make pages and know nothing of connections; [`super::Actuator::page`] turns them into replies. Errors carry Spring's body.

use crate::reason::Reason;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::Value;

/// The media type of Boot 2.2 and 2.3's actuator, which a client gets that asks for nothing in particular.
pub(super) const ACTUATOR_V3: &str = "application/vnd.spring-boot.actuator.v3+json";
const ACTUATOR_V2: &str = "application/vnd.spring-boot.actuator.v2+json";
const JSON: &str = "application/json";

/// One answer.
#[derive(Debug, PartialEq)]
pub(super) struct Page {
    pub(super) status: StatusCode,
    pub(super) content: Content,
}

/// The body of a page.
#[derive(Debug, PartialEq)]
pub(super) enum Content {
    /// An endpoint's JSON, in the actuator's media type.
    Json(Value),
    /// Text in the media type given.
    Text(&'static str, String),
    /// An error of the request, in Spring's shape; the message says what is wrong with it.
    Error(String),
    /// The method is not among these.
    Allow(&'static str),
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

    pub(super) fn method_not_allowed(allow: &'static str) -> Self {
        Self { status: StatusCode::METHOD_NOT_ALLOWED, content: Content::Allow(allow) }
    }
}

/// The media type for an endpoint's JSON: what the client names first of the three that Boot offers, else the newest.
pub(super) fn json_type(accept: &[u8]) -> &'static str {
    let named = |range: &[u8]| {
        let range = range.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
        [ACTUATOR_V3, ACTUATOR_V2, JSON].into_iter().find(|offer| range.eq_ignore_ascii_case(offer.as_bytes()))
    };
    accept.split(|&b| b == b',').find_map(named).unwrap_or(ACTUATOR_V3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_offer_that_is_named_is_taken() {
        for (accept, expected) in [
            ("", ACTUATOR_V3),
            ("*/*", ACTUATOR_V3),
            ("application/json", JSON),
            ("text/html, Application/JSON;q=0.9, */*", JSON),
            ("application/vnd.spring-boot.actuator.v2+json, application/json", ACTUATOR_V2),
            ("text/html", ACTUATOR_V3),
        ] {
            assert_eq!(json_type(accept.as_bytes()), expected, "{accept}");
        }
    }
}
