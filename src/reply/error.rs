//! Error answers: Spring's JSON body plus `reason`, a small page for browsers, and the reason as a field, so that the word of the answer can
//! be found in log and metrics.
//!
//! ```text
//! {"timestamp":"2026-11-30T09:57:59.126+00:00","status":503,"error":"Service Unavailable","message":"...","path":"/x","reason":"queue_full"}
//! ```
//!
//! With `gateway.compat: zuul1` status and body are Zuul 1's own, as Spring Boot 2.3 sends them; only `X-Gateway-Reason` remains ours. Its
//! messages are told where `server.error.include-message` asks for them.

use super::zuul1;
use crate::config::Config;
use crate::config::model::{BackendKind, Compat, IncludeMessage};
use crate::query::parameter;
use crate::reason::{Cause, Reason};
use crate::reply::Reply;
use crate::reply::accept::{Form, preferred};
use crate::wire::HeadError;
use crate::wire::head::RequestHead;
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

/// What went wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure<'a> {
    /// Why, in one word.
    pub reason: Reason,
    /// What exactly, where Zuul 1 tells that apart.
    pub cause: Option<Cause>,
    /// Why, in a sentence for whoever reads the answer; may be empty. It must not tell addresses of servers behind the gateway.
    pub message: &'a str,
    /// What kind of backend failed, if any was tried: Zuul 1 answers a slow url route otherwise than a slow service.
    pub backend: Option<BackendKind>,
    /// Host and port of the server that was asked, if any was: for Zuul 1's messages only.
    pub server: Option<&'a str>,
    /// `Retry-After` in seconds, where it is known; else a few, for reasons that ask to retry.
    pub retry_after: Option<u64>,
}

impl From<Reason> for Failure<'_> {
    fn from(reason: Reason) -> Self {
        Self { reason, cause: None, message: "", backend: None, server: None, retry_after: None }
    }
}

/// Makes error answers.
#[derive(Clone, Copy, Debug)]
pub struct ErrorAnswers {
    /// `gateway.compat`.
    pub compat: Compat,
    /// `server.error.include-message`; counts with `zuul1` alone.
    pub include_message: IncludeMessage,
}

impl ErrorAnswers {
    /// As the configuration wants them.
    pub fn new(config: &Config) -> Self {
        Self { compat: config.gateway.compat, include_message: config.server.include_message }
    }

    /// The answer to `head`, if there is one, in the form that it prefers.
    pub fn error(&self, failure: Failure<'_>, head: Option<&RequestHead>, now: SystemTime) -> Reply {
        let status = match self.compat {
            Compat::None => failure.reason.status(),
            Compat::Zuul1 => zuul1::status(&failure),
        };
        let message = match self.compat {
            Compat::None => failure.message.into(),
            Compat::Zuul1 if self.includes_message(head) => zuul1::message(&failure),
            Compat::Zuul1 => Cow::default(),
        };
        let form = head.map_or(Form::Json, preferred);
        if self.compat == Compat::Zuul1 && zuul1::is_error_page(&failure, head) {
            return with_reason(Body::of_springs_page(&message, now).reply(form), failure.reason, None);
        }
        let reason = (self.compat == Compat::None).then(|| failure.reason.name());
        let body = Body { reason, ..Body::of(status, &message, now) };
        // Zuul's failures carry no path, since they don't come from the container's own error dispatch; a missing route's do.
        let tells_path = self.compat == Compat::None || failure.reason == Reason::NoRoute;
        let path = head.filter(|_| tells_path).map(|head| String::from_utf8_lossy(head.path()));
        let body = Body { path: path.as_deref(), ..body };
        let asks_to_retry = failure.reason.asks_to_retry() && status == failure.reason.status();
        let retry_after = asks_to_retry.then(|| failure.retry_after.unwrap_or_else(|| retry_after(now)));
        with_reason(body.reply(form), failure.reason, retry_after)
    }

    /// `BasicErrorController`: any value of the parameter but `false` asks for the message.
    fn includes_message(&self, head: Option<&RequestHead>) -> bool {
        match self.include_message {
            IncludeMessage::Never => false,
            IncludeMessage::Always => true,
            IncludeMessage::OnParam => {
                let asked = head.and_then(|head| parameter(head.query()?, "message"));
                asked.is_some_and(|value| !value.eq_ignore_ascii_case("false"))
            }
        }
    }
}

/// The complete answer to a head that can't be served, whatever `gateway.compat` says; the connection closes after it.
pub fn head_error(error: &HeadError, now: SystemTime) -> Vec<u8> {
    head_reply(error, now).closing_octets(now)
}

/// The same, for servers that write heads themselves.
pub fn head_reply(error: &HeadError, now: SystemTime) -> Reply {
    let (reason, message) = (error.reason(), error.to_string());
    let body = Body { reason: Some(reason.name()), ..Body::of(error.status(), &message, now) };
    with_reason(body.reply(Form::Json), reason, None)
}

/// The complete answer to a connection whose request was not read: `retry_after` in seconds, for reasons that ask to retry. The connection
/// closes after it.
pub fn canned_refusal(reason: Reason, retry_after: u64, now: SystemTime) -> Vec<u8> {
    let body = Body { reason: Some(reason.name()), ..Body::of(reason.status(), "", now) };
    let retry_after = reason.asks_to_retry().then_some(retry_after);
    with_reason(body.reply(Form::Json), reason, retry_after).closing_octets(now)
}

/// Seconds for `Retry-After`: 1 to 3, spread by the clock, so that those who were refused together don't come back together.
pub fn retry_after(now: SystemTime) -> u64 {
    let nanoseconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    1 + u64::from(nanoseconds / 1000) % 3
}

fn with_reason(reply: Reply, reason: Reason, retry_after: Option<u64>) -> Reply {
    let reply = reply.with("X-Gateway-Reason", HeaderValue::from_static(reason.name()));
    match retry_after {
        Some(seconds) => reply.with("Retry-After", HeaderValue::from(seconds)),
        None => reply,
    }
}

/// The members of the JSON body, in Spring's order.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip)]
    status: StatusCode,
    timestamp: String,
    /// The status as the body tells it: the answer's, but for Spring's page that was asked for without an error.
    #[serde(rename = "status")]
    told: u16,
    error: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl<'a> Body<'a> {
    fn of(status: StatusCode, message: &'a str, now: SystemTime) -> Self {
        let error = status.canonical_reason().unwrap_or_default();
        let timestamp = crate::wire::date::iso_8601(now);
        Self { status, timestamp, told: status.as_u16(), error, message, path: None, reason: None }
    }

    /// Of Spring's error page where there is no error to tell (`DefaultErrorAttributes`).
    fn of_springs_page(message: &'a str, now: SystemTime) -> Self {
        Self { told: 999, error: "None", ..Self::of(StatusCode::INTERNAL_SERVER_ERROR, message, now) }
    }

    fn reply(&self, form: Form) -> Reply {
        match form {
            Form::Json => Reply::new(self.status, "application/json", self.json()),
            Form::Html => Reply::new(self.status, "text/html;charset=UTF-8", self.page()),
            Form::Empty => Reply::empty(self.status),
        }
    }

    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings and a number always become JSON")
    }

    fn page(&self) -> String {
        let title = format!("{} {}", self.told, self.error);
        let lines = [Some(self.message), self.reason].into_iter().flatten().filter(|line| !line.is_empty());
        let lines: String = lines.map(|line| format!("<p>{}</p>", escaped(line))).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\
             <body><h1>{title}</h1>{lines}</body></html>\n"
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::model::Relaxed;
    use crate::wire::testing::relaxed_request;
    use std::time::Duration;

    /// 2026-11-30T09:57:59.126Z.
    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(1_796_032_679_126)
    }

    fn head(fields: &str) -> RequestHead {
        let relaxed = Relaxed { path: b"\"".to_vec(), query: Vec::new() };
        relaxed_request(&format!("GET /a%20b/\"?message HTTP/1.1\r\nHost: a{fields}"), &relaxed)
    }

    fn failure(reason: Reason) -> Failure<'static> {
        Failure { message: "too <many>", ..reason.into() }
    }

    fn answers(compat: Compat, include_message: IncludeMessage) -> ErrorAnswers {
        ErrorAnswers { compat, include_message }
    }

    fn error(compat: Compat, failure: Failure<'_>, fields: &str) -> Reply {
        answers(compat, IncludeMessage::Never).error(failure, Some(&head(fields)), now())
    }

    fn field<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
        reply.fields.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_str().unwrap())
    }

    #[test]
    fn an_error_is_told_in_springs_words_and_ours() {
        let reply = error(Compat::None, failure(Reason::SemaphoreFull), "");
        assert_eq!(reply.status, 503);
        assert_eq!(
            reply.body,
            r#"{"timestamp":"2026-11-30T09:57:59.126+00:00","status":503,"error":"Service Unavailable","message":"too <many>","path":"/a%20b/\"","reason":"semaphore_full"}"#
        );
        assert_eq!(field(&reply, "Content-Type"), Some("application/json"));
        assert_eq!(field(&reply, "X-Gateway-Reason"), Some("semaphore_full"));
        assert!(["1", "2", "3"].contains(&field(&reply, "Retry-After").unwrap()));
    }

    #[test]
    fn browsers_get_a_page_in_which_nothing_is_markup() {
        let reply = error(Compat::None, failure(Reason::NoRoute), "\r\nAccept: text/html");
        assert_eq!((reply.status.as_u16(), field(&reply, "Content-Type")), (404, Some("text/html;charset=UTF-8")));
        let page = std::str::from_utf8(&reply.body).unwrap();
        assert!(page.contains("<h1>404 Not Found</h1><p>too &lt;many&gt;</p><p>no_route</p>"), "{page}");
        assert_eq!(field(&reply, "Retry-After"), None);
    }

    #[test]
    fn who_takes_neither_json_nor_html_gets_the_fields_alone() {
        let reply = error(Compat::None, failure(Reason::Internal), "\r\nAccept: application/xml");
        assert_eq!((reply.status.as_u16(), reply.body.len()), (500, 0));
        assert_eq!(field(&reply, "Content-Type"), None);
        assert_eq!(field(&reply, "X-Gateway-Reason"), Some("internal"));
    }

    #[test]
    fn zuul_1_answers_as_it_did() {
        let reply = error(Compat::Zuul1, failure(Reason::SemaphoreFull), "");
        assert_eq!(reply.status, 500);
        assert_eq!(
            reply.body,
            r#"{"timestamp":"2026-11-30T09:57:59.126+00:00","status":500,"error":"Internal Server Error","message":""}"#
        );
        assert_eq!(field(&reply, "X-Gateway-Reason"), Some("semaphore_full"));
        assert_eq!(field(&reply, "Retry-After"), None);
        let reply = error(Compat::Zuul1, failure(Reason::NoRoute), "");
        assert!(reply.body.ends_with(br#""status":404,"error":"Not Found","message":"","path":"/a%20b/\""}"#));
    }

    #[test]
    fn springs_error_page_finds_no_error_when_it_is_asked_for() {
        let asked = crate::wire::testing::request("GET /error?x HTTP/1.1\r\nHost: a");
        let check = |compat, reason: Reason, status: u16, told: u64| {
            let reply = answers(compat, IncludeMessage::Never).error(reason.into(), Some(&asked), now());
            let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
            assert_eq!((reply.status.as_u16(), body["status"].as_u64()), (status, Some(told)), "{compat:?} {reason}");
            body
        };
        let body = check(Compat::Zuul1, Reason::NoRoute, 500, 999);
        assert_eq!((&body["error"], body.get("path")), (&"None".into(), None));
        check(Compat::Zuul1, Reason::ConnectFailed, 500, 500);
        check(Compat::None, Reason::NoRoute, 404, 404);
    }

    #[test]
    fn zuul_1_tells_messages_to_those_who_are_meant_to_see_them() {
        let full = Failure { backend: Some(BackendKind::Service), ..failure(Reason::SemaphoreFull) };
        let check = |compat, include, head: &RequestHead, expected: &str| {
            let reply = answers(compat, include).error(full, Some(head), now());
            let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
            assert_eq!(body["message"], expected, "{include:?}");
        };
        let asking = head("");
        let plain = crate::wire::testing::request("GET /?message=FALSE HTTP/1.1\r\nHost: a");
        check(Compat::Zuul1, IncludeMessage::Never, &asking, "");
        check(Compat::Zuul1, IncludeMessage::Always, &plain, "REJECTED_SEMAPHORE_EXECUTION");
        check(Compat::Zuul1, IncludeMessage::OnParam, &asking, "REJECTED_SEMAPHORE_EXECUTION");
        check(Compat::Zuul1, IncludeMessage::OnParam, &plain, "");
        check(Compat::None, IncludeMessage::Never, &plain, "too <many>");
    }

    #[test]
    fn every_reason_has_a_status_that_can_be_sent_but_the_one_of_a_client_that_left() {
        for &reason in Reason::ALL.iter().filter(|&&reason| reason != Reason::ClientAborted) {
            for compat in [Compat::None, Compat::Zuul1] {
                let reply = answers(compat, IncludeMessage::Never).error(reason.into(), None, now());
                assert!(reply.status.canonical_reason().is_some(), "{reason}");
                let retries = field(&reply, "Retry-After").is_some();
                assert_eq!(retries, matches!(reply.status.as_u16(), 429 | 503), "{reason}");
                assert!(!reply.body.windows(7).any(|seven| seven == b"\"path\":"), "no head, no path");
            }
        }
    }

    #[test]
    fn a_refused_head_is_told_what_is_wrong() {
        let octets = String::from_utf8(head_error(&HeadError::BareLf { line: 3 }, now())).unwrap();
        let body = r#"{"timestamp":"2026-11-30T09:57:59.126+00:00","status":400,"error":"Bad Request","message":"bare LF in field line 3","reason":"bad_request"}"#;
        let expected = format!(
            "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nX-Gateway-Reason: bad_request\r\n\
             Date: Mon, 30 Nov 2026 09:57:59 GMT\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(octets, expected);
        let octets = head_error(&HeadError::VersionUnsupported, now());
        assert!(octets.starts_with(b"HTTP/1.1 505 HTTP Version Not Supported\r\n"));
    }

    #[test]
    fn a_canned_refusal_is_whole_and_closes() {
        let octets = String::from_utf8(canned_refusal(Reason::QueueFull, 2, now())).unwrap();
        let (head, body) = octets.split_once("\r\n\r\n").unwrap();
        assert_eq!(
            head.split("\r\n").collect::<Vec<_>>(),
            [
                "HTTP/1.1 503 Service Unavailable",
                "Content-Type: application/json",
                "X-Gateway-Reason: queue_full",
                "Retry-After: 2",
                "Date: Mon, 30 Nov 2026 09:57:59 GMT",
                &format!("Content-Length: {}", body.len()),
                "Connection: close",
            ]
        );
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&body["status"], &body["reason"]), (&503.into(), &"queue_full".into()));
        assert_eq!(body.get("path"), None);
        let octets = String::from_utf8(canned_refusal(Reason::HeadTimeout, 2, now())).unwrap();
        assert!(octets.starts_with("HTTP/1.1 408 Request Timeout\r\n") && !octets.contains("Retry-After"));
    }

    #[test]
    fn those_refused_together_are_not_told_to_come_back_together() {
        let told: Vec<_> = (0..3).map(|us| retry_after(UNIX_EPOCH + Duration::from_micros(us))).collect();
        assert_eq!(told, [1, 2, 3]);
    }
}
