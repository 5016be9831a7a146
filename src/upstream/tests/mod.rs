//! Whole calls against a scripted origin, by theme.

mod bodies;
mod idle;
mod interims;
mod limits;
mod numbers;
mod pooling;
mod requests;
mod reuse;
mod tls;
mod uploads;

use super::testing::{Origin, Peer, Step, TestClient, call, drain, get, request, server};
use super::{Answer, CallError, Server};
use crate::reason::Reason;

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
