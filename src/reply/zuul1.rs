//! What Zuul 1 says when it fails (`gateway.compat: zuul1`): its statuses and its messages, as seen on a running one.
//!
//! The messages name servers behind the gateway, as Zuul's do; so they are told only where `server.error.include-message` asks for it.
//! Services fail in Hystrix's words, url routes in those of the exception. Only [`super::error`] asks.

use super::Failure;
use crate::config::model::BackendKind;
use crate::reason::{Cause, Reason};
use crate::wire::head::RequestHead;
use http::StatusCode;
use std::borrow::Cow;
use std::net::IpAddr;

/// The status: a `ZuulException` is 500 but for a service whose server was too slow. Where Zuul has no such failure, it is that of Tomcat
/// in front of it, or ours.
pub(super) fn status(failure: &Failure<'_>) -> StatusCode {
    match failure.reason {
        Reason::Timeout if is_read_timeout_of_a_service(failure) => StatusCode::GATEWAY_TIMEOUT,
        Reason::Timeout
        | Reason::SemaphoreFull
        | Reason::PoolFull
        | Reason::CircuitOpen
        | Reason::NoServer
        | Reason::UpstreamPoolTimeout
        | Reason::ConnectFailed
        | Reason::ConnectTimeout
        | Reason::UpstreamBadResponse
        | Reason::UpstreamAborted
        | Reason::FallbackRejected => StatusCode::INTERNAL_SERVER_ERROR,
        other => other.status(),
    }
}

/// Whether a client asked for Spring's error page itself, which is there without a route, and where nothing has failed.
pub(super) fn is_error_page(failure: &Failure<'_>, head: Option<&RequestHead>) -> bool {
    failure.reason == Reason::NoRoute && head.is_some_and(|head| matches!(head.path(), b"/error" | b"/error/"))
}

/// A passed deadline is Hystrix's; spring-retry wraps what a retryable route failed with, so that Zuul does not know it any more.
fn is_read_timeout_of_a_service(failure: &Failure<'_>) -> bool {
    let is_other = matches!(failure.cause, Some(Cause::Deadline | Cause::Retryable));
    failure.backend == Some(BackendKind::Service) && !is_other
}

/// The message; our own where Zuul has no such failure.
pub(super) fn message<'a>(failure: &Failure<'a>) -> Cow<'a, str> {
    match (failure.reason, failure.backend) {
        (Reason::NoRoute, _) => "No message available".into(),
        (Reason::Timeout, Some(_)) if failure.cause == Some(Cause::Deadline) => "TIMEOUT".into(),
        (_, Some(_)) if failure.cause == Some(Cause::Body) => "post:SendResponseFilter".into(),
        (_, Some(BackendKind::Service)) if failure.cause == Some(Cause::Retryable) => "COMMAND_EXCEPTION".into(),
        (reason, Some(BackendKind::Service)) => of_hystrix(reason).map_or(failure.message.into(), Cow::from),
        (reason, Some(BackendKind::Url)) if status(failure) == StatusCode::INTERNAL_SERVER_ERROR => {
            of_exception(reason, failure.cause, failure.server.unwrap_or_default())
        }
        _ => failure.message.into(),
    }
}

/// `HystrixRuntimeException.FailureType`, and `ClientException.ErrorType` below it.
fn of_hystrix(reason: Reason) -> Option<&'static str> {
    Some(match reason {
        Reason::Timeout => "com.netflix.zuul.exception.ZuulException: Hystrix Readed time out",
        Reason::SemaphoreFull => "REJECTED_SEMAPHORE_EXECUTION",
        Reason::PoolFull => "REJECTED_THREAD_EXECUTION",
        Reason::CircuitOpen => "SHORTCIRCUIT",
        Reason::FallbackRejected => "REJECTED_SEMAPHORE_FALLBACK",
        Reason::NoServer
        | Reason::UpstreamPoolTimeout
        | Reason::ConnectFailed
        | Reason::ConnectTimeout
        | Reason::UpstreamBadResponse
        | Reason::UpstreamAborted => "GENERAL",
        _ => return None,
    })
}

/// What HttpClient's exceptions say; `Forwarding error` stands for those without a text, and for those whose text is the JVM's own.
fn of_exception(reason: Reason, cause: Option<Cause>, server: &str) -> Cow<'static, str> {
    match (reason, cause) {
        (Reason::Timeout, _) => "Read timed out".into(),
        (Reason::UpstreamPoolTimeout, _) => "Timeout waiting for connection from pool".into(),
        (_, Some(Cause::NoAnswer)) => format!("{server} failed to respond").into(),
        (_, Some(Cause::Refused(ip, port))) => not_connected(server, (ip, port), "Connection refused").into(),
        (_, Some(Cause::ConnectTimeout(ip, port))) => not_connected(server, (ip, port), "Connect timed out").into(),
        _ => "Forwarding error".into(),
    }
}

/// `HttpHostConnectException`: the name, and the address as `InetAddress` prints it.
fn not_connected(server: &str, (ip, port): (IpAddr, u16), why: &str) -> String {
    let host = server.strip_suffix(&format!(":{port}")).unwrap_or(server);
    let name = if host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() { "" } else { host };
    format!("Connect to {host}:{port} [{name}/{ip}] failed: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use BackendKind::{Service, Url};

    #[track_caller]
    fn check((reason, cause): (Reason, Option<Cause>), backend: BackendKind, code: u16, text: &str) {
        let failure = Failure {
            cause,
            backend: Some(backend),
            server: Some("api.test:9001"),
            message: "our own",
            ..reason.into()
        };
        assert_eq!((status(&failure).as_u16(), &*message(&failure)), (code, text), "{reason} of a {backend:?}");
    }

    fn plain(reason: Reason) -> (Reason, Option<Cause>) {
        (reason, None)
    }

    #[test]
    fn services_fail_in_the_words_of_hystrix() {
        let read = (Reason::Timeout, Some(Cause::ReadTimeout));
        check(read, Service, 504, "com.netflix.zuul.exception.ZuulException: Hystrix Readed time out");
        check((Reason::Timeout, Some(Cause::Deadline)), Service, 500, "TIMEOUT");
        check(plain(Reason::SemaphoreFull), Service, 500, "REJECTED_SEMAPHORE_EXECUTION");
        check(plain(Reason::PoolFull), Service, 500, "REJECTED_THREAD_EXECUTION");
        check(plain(Reason::CircuitOpen), Service, 500, "SHORTCIRCUIT");
        check(plain(Reason::NoServer), Service, 500, "GENERAL");
        check(plain(Reason::ConnectTimeout), Service, 500, "GENERAL");
        check((Reason::UpstreamAborted, Some(Cause::NoAnswer)), Service, 500, "GENERAL");
        check(plain(Reason::UpstreamBadResponse), Service, 500, "GENERAL");
    }

    #[test]
    fn a_body_fails_in_the_filter_that_sends_it() {
        check((Reason::UpstreamAborted, Some(Cause::Body)), Service, 500, "post:SendResponseFilter");
        check((Reason::UpstreamBadResponse, Some(Cause::Body)), Url, 500, "post:SendResponseFilter");
    }

    #[test]
    fn a_retryable_route_has_one_word_for_all_failures() {
        for reason in [Reason::Timeout, Reason::ConnectFailed, Reason::ConnectTimeout, Reason::UpstreamAborted] {
            check((reason, Some(Cause::Retryable)), Service, 500, "COMMAND_EXCEPTION");
        }
        check((Reason::Timeout, Some(Cause::Deadline)), Service, 500, "TIMEOUT");
    }

    #[test]
    fn url_routes_fail_in_the_words_of_the_exception() {
        let ip = IpAddr::from([127, 0, 0, 1]);
        let refused = "Connect to api.test:9001 [api.test/127.0.0.1] failed: Connection refused";
        check((Reason::ConnectFailed, Some(Cause::Refused(ip, 9001))), Url, 500, refused);
        let slow = "Connect to api.test:9001 [api.test/127.0.0.1] failed: Connect timed out";
        check((Reason::ConnectTimeout, Some(Cause::ConnectTimeout(ip, 9001))), Url, 500, slow);
        check((Reason::Timeout, Some(Cause::ReadTimeout)), Url, 500, "Read timed out");
        check((Reason::UpstreamAborted, Some(Cause::NoAnswer)), Url, 500, "api.test:9001 failed to respond");
        check(plain(Reason::UpstreamPoolTimeout), Url, 500, "Timeout waiting for connection from pool");
        check(plain(Reason::UpstreamBadResponse), Url, 500, "Forwarding error");
        let literal = not_connected("127.0.0.1:9001", (ip, 9001), "x");
        assert_eq!(literal, "Connect to 127.0.0.1:9001 [/127.0.0.1] failed: x");
        let without_port = not_connected("api.test", (ip, 80), "x");
        assert_eq!(without_port, "Connect to api.test:80 [api.test/127.0.0.1] failed: x");
    }

    #[test]
    fn what_zuul_does_not_know_is_told_in_our_words() {
        check(plain(Reason::BodyTooLarge), Url, 413, "our own");
        check(plain(Reason::BodyTooLarge), Service, 413, "our own");
        check(plain(Reason::QueueFull), Service, 503, "our own");
        check(plain(Reason::NoRoute), Service, 404, "No message available");
    }
}
