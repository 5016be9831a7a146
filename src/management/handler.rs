//! Serves an [`Actuator`] alone, on `management.server.port`: a front of two threads calls it.
//!
//! It never blocks but for the client itself, and what it answers is no traffic: it is neither logged nor counted.

use super::Actuator;
use super::page::Page;
use crate::client::{Client, Ending, Handler, Refused, Request};
use std::sync::Arc;
use std::time::SystemTime;

/// The handler of the management port.
pub struct ManagementHandler {
    actuator: Arc<Actuator>,
}

impl ManagementHandler {
    /// For `actuator`; what is not below its base path is not found.
    pub fn new(actuator: Arc<Actuator>) -> Self {
        Self { actuator }
    }
}

impl Handler for ManagementHandler {
    type Local = ();

    fn local(&self) {}

    fn serve(&self, _local: &mut (), request: Request, client: &mut dyn Client) -> Ending {
        let head = &request.head;
        let nothing = || Page::not_found("only the actuator is here").into_answer(head, SystemTime::now());
        self.actuator.page(head, client.subscription().is_some()).unwrap_or_else(nothing).send(head, client)
    }

    fn refused(&self, _refusal: &Refused) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::fake::{FakeClient, request};
    use crate::config::model::ManagementConfig;
    use crate::management::stream::fake;
    use crate::management::{Health, Sources};

    fn handler() -> ManagementHandler {
        let health = || Health { draining: true, components: Vec::new() };
        let (collect, routes, filters) = (Vec::new(), Arc::new(Vec::new), Vec::new());
        let sources = Sources { collect, routes, filters, health: Arc::new(health), stream: fake::stream(500, 1) };
        ManagementHandler::new(Arc::new(Actuator::new(&ManagementConfig::default(), sources)))
    }

    #[track_caller]
    fn check(lines: &str, start: &str, end: &str) {
        let mut client = FakeClient::new();
        assert_eq!(handler().serve(&mut (), request(lines), &mut client), Ending::Done);
        let text = client.text();
        assert!(text.starts_with(start) && text.ends_with(end), "{lines}: {text}");
    }

    #[test]
    fn pages_are_answered_with_their_status_and_type() {
        let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/vnd.spring-boot.actuator.v3+json\r\nContent-Length: 27\r\n\r\n";
        check("GET /actuator/health HTTP/1.1\r\nHost: a", head, "\r\n\r\n{\"status\":\"OUT_OF_SERVICE\"}");
        check("HEAD /actuator/health HTTP/1.1\r\nHost: a", head, "\r\n\r\n");
        check("GET /actuator/info HTTP/1.1\r\nHost: a", "HTTP/1.1 200 OK\r\n", "\r\n\r\n{}");
        check("GET http://a/actuator/info?x HTTP/1.1\r\nHost: a", "HTTP/1.1 200 OK\r\n", "\r\n\r\n{}");
    }

    #[test]
    fn nothing_else_is_on_this_port() {
        let end = r#""status":404,"error":"Not Found","message":"only the actuator is here","path":"/product/list"}"#;
        check("GET /product/list HTTP/1.1\r\nHost: a", "HTTP/1.1 404 Not Found\r\n", end);
        let end = r#""message":"no such endpoint is exposed","path":"/actuator/metrics"}"#;
        check("GET /actuator/metrics HTTP/1.1\r\nHost: a", "HTTP/1.1 404 Not Found\r\n", end);
        let end = "\r\nContent-Type: application/json\r\nAllow: GET, HEAD\r\n";
        let mut client = FakeClient::new();
        handler().serve(&mut (), request("POST /actuator/health HTTP/1.1\r\nHost: a"), &mut client);
        assert!(client.text().starts_with("HTTP/1.1 405 Method Not Allowed") && client.text().contains(end));
    }
}
