//! Whole calls against a scripted origin, by theme, each over both clients.

#[allow(clippy::duplicate_mod, reason = "the same themes, over each client")]
mod native;
#[allow(clippy::duplicate_mod, reason = "the same themes, over each client")]
mod over_ureq;

use super::testing::{Origin, Peer, Step, TestClient, drain, limits, request, server};
use super::{Answer, CallError, CallLimits, Caller, OutboundRequest, Server};
use crate::cancel::Cancel;
use crate::config::model::HttpClient;
use crate::reason::Reason;
use std::sync::Arc;

/// What a theme calls with, over one client.
macro_rules! calls_over {
    ($client:expr) => {
        const CLIENT: HttpClient = $client;

        /// One call with a client of its own and no switch.
        fn call(server: &Arc<Server>, request: OutboundRequest, down: &mut TestClient) -> Result<Answer, CallError> {
            Caller::new(CLIENT).call(server, request, down, &limits(), &Cancel::default())
        }

        /// One GET within other limits, with a switch.
        fn get_within(server: &Arc<Server>, limits: &CallLimits, cancel: &Cancel) -> Result<Answer, CallError> {
            Caller::new(CLIENT).call(server, request("GET", "/", &[]), &mut TestClient::silent(), limits, cancel)
        }

        fn get(server: &Arc<Server>) -> Result<Answer, CallError> {
            get_within(server, &limits(), &Cancel::default())
        }
    };
}
use calls_over;

pub(super) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// So many connections are there, none in use, none waited for.
#[track_caller]
pub(super) fn is_idle(server: &Server, connections: usize) {
    are_idle_and_busy(server, connections, 0);
}

#[track_caller]
pub(super) fn are_idle_and_busy(server: &Server, idle: usize, busy: usize) {
    let counts = server.pool();
    assert_eq!((counts.idle, counts.open - counts.idle, counts.pending), (idle, busy, 0), "idle, busy, waited for");
}

#[track_caller]
pub(super) fn fails(outcome: Result<impl std::fmt::Debug, CallError>, reason: Reason, detail: &str) -> CallError {
    let error = outcome.expect_err("it did not fail");
    assert_eq!(error.reason, reason, "{error}");
    assert!(error.detail.contains(detail), "{error}");
    error
}

/// The answer whole.
#[track_caller]
pub(super) fn whole(answer: Result<Answer, CallError>) -> (u16, String) {
    let mut answer = answer.unwrap();
    (answer.status.as_u16(), drain(&mut answer).unwrap())
}

/// An origin that plays `first` on its first connection and answers properly on all others.
pub(super) fn first(first: impl Fn(&mut Peer) + Send + Sync + 'static) -> Origin {
    Origin::start(move |number, peer| {
        if number == 0 {
            return first(peer);
        }
        while peer.head().is_some() {
            peer.send(OK);
        }
    })
}
