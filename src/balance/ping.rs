//! One ping: a GET whose answer says whether a server is up, over the connections that requests use.
//!
//! Ribbon's `PingUrl`, but bounded in time. A ping for which no connection comes free says nothing: the server is busy, not down.

use crate::cancel::Cancel;
use crate::client::{BodyLength, ClientError, Downstream, Woken};
use crate::config::model::PingConfig;
use crate::deadline::Deadline;
use crate::reason::Reason;
use crate::upstream::{Answer, CallError, CallLimits, Caller, OutboundRequest, Server};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// What is read of an answer that should have some content, beyond the length of that.
const PIECE: usize = 1024;

/// What a ping found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The answer was the one that means so.
    Up,
    /// Why it is down.
    Down(String),
    /// Nothing: the server was not asked.
    Nothing,
}

/// Asks once; takes no longer than the configured time, for connecting no longer than a request may, and ends at once when `cancel` is
/// thrown while the answer is waited for.
pub(super) fn ping(
    caller: &mut Caller,
    server: &Arc<Server>,
    (config, connect_timeout): (&PingConfig, Duration),
    cancel: &Cancel,
) -> Found {
    let timeout = config.timeout;
    let limits = CallLimits {
        deadline: Deadline::after(timeout),
        connect_timeout: connect_timeout.min(timeout),
        read_timeout: Some(timeout),
        connection_request_timeout: Some(timeout),
    };
    let outcome = caller.call(server, request(config), &mut NoBody, &limits, cancel);
    match outcome.and_then(|answer| judge(answer, config.expected_content.as_deref())) {
        Ok(found) => found,
        Err(error) => failed(&error),
    }
}

fn request(config: &PingConfig) -> OutboundRequest {
    let fields = HeaderMap::from_iter([(header::USER_AGENT, HeaderValue::from_static("portcullis"))]);
    OutboundRequest { method: Method::GET, target: Bytes::copy_from_slice(config.path.as_bytes()), fields }
}

/// Expected content decides alone, as in Ribbon; without it the status does.
fn judge(mut answer: Answer, expected: Option<&str>) -> Result<Found, CallError> {
    let as_expected = match expected {
        Some(expected) => begins_and_ends_as(&mut answer, expected.as_bytes())?,
        None => answer.status == StatusCode::OK,
    };
    Ok(match as_expected {
        true => Found::Up,
        false if expected.is_some() => Found::Down("the content differs".into()),
        false => Found::Down(format!("status {}", answer.status)),
    })
}

fn begins_and_ends_as(answer: &mut Answer, expected: &[u8]) -> Result<bool, CallError> {
    let (mut content, mut piece) = (Vec::new(), [0; PIECE]);
    while content.len() <= expected.len() {
        match answer.body.read(&mut piece)? {
            0 => return Ok(content == expected),
            count => content.extend_from_slice(&piece[..count]),
        }
    }
    Ok(false)
}

fn failed(error: &CallError) -> Found {
    match error.reason {
        Reason::UpstreamPoolTimeout | Reason::ClientAborted | Reason::Internal => Found::Nothing,
        _ => Found::Down(error.to_string()),
    }
}

/// The client of a ping: it has no body to send, and nobody to tell of interim answers.
struct NoBody;

impl Downstream for NoBody {
    fn length(&self) -> BodyLength {
        BodyLength::None
    }

    fn read_now(&mut self, _: &mut [u8]) -> Result<Option<usize>, ClientError> {
        Ok(Some(0))
    }

    fn wait(&mut self, _: Option<BorrowedFd<'_>>, _: Deadline) -> Result<Woken, ClientError> {
        Ok(Woken::Client)
    }

    fn interim(&mut self, _: StatusCode, _: &HeaderMap) -> Result<(), ClientError> {
        Ok(())
    }
}
