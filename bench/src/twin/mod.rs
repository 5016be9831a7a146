//! The asynchronous twin: the same gateway on tokio and hyper, so that what is compared is the way of waiting and nothing else.
//!
//! ```text
//! accept -> hyper connection -> head -> plan -> circuit -> admission (permit | place) -> call (lease, send, head) -> relay -> log and counts
//! ```
//!
//! What a request becomes, which limit refuses it, what it is answered and how it is logged and counted comes from `portcullis` itself:
//! `exchange::plan`, `command`, `isolation`, `reply`, `access_log`, `counts`. Here is only what moves octets and waits. It is built as its friends
//! would build it: one task a connection, kept-alive upstream connections in a stack for each server, bodies streamed frame by frame,
//! `TCP_NODELAY`, no look-up of names, and no lock shared by all requests but those stacks and, under THREAD,
//! a pool's books.
//!
//! Where it cannot be the same, it says so: [`absent::from`] names what a configuration asks for and the twin does not have, and a thread
//! pool is counted as places without threads.

pub mod absent;
mod admission;
mod backend;
mod call;
mod gateway;
mod inbound;
mod lease;
mod listener;
mod notes;
mod places;
mod relay;
mod run;
mod stall;
mod upload;

pub use run::{Twin, main};

use std::borrow::Cow;

use portcullis::client::ClientError;
use portcullis::config::model::BackendKind;
use portcullis::reason::{Cause, Reason};

/// Why a request is not answered as its client hoped, before an answer was begun.
#[derive(Debug)]
struct Failure {
    reason: Reason,
    cause: Option<Cause>,
    /// For the log.
    detail: Cow<'static, str>,
    /// For the client, where the fault is its own.
    message: Cow<'static, str>,
    backend: Option<BackendKind>,
}

impl Failure {
    fn new(reason: Reason, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { reason, cause: None, detail: detail.into(), message: "".into(), backend: None }
    }

    fn of_client(reason: Reason, detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = detail.into();
        Self { message: detail.clone(), ..Self::new(reason, detail) }
    }

    fn by(self, cause: Cause) -> Self {
        Self { cause: Some(cause), ..self }
    }

    fn at(self, backend: BackendKind) -> Self {
        Self { backend: Some(backend), ..self }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::of_client(error.reason(), error.message())
    }
}
