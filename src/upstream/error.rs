//! Why a call failed: inside the folder a [`Fault`], to its callers a [`CallError`] with the marks of the call.
//!
//! The reason is what the client is told, the detail what the log is told: which timer, which address, which octets.

use super::CallMarks;
use crate::client::ClientError;
use crate::reason::{Cause, Reason};
use std::borrow::Cow;
use std::io;

/// Why a call to an upstream failed.
#[derive(Debug)]
pub struct CallError {
    /// What the client is told.
    pub reason: Reason,
    /// What exactly failed, where that is told apart.
    pub cause: Option<Cause>,
    /// What the log is told.
    pub detail: Cow<'static, str>,
    /// Set when the client, not the upstream, failed.
    pub client: Option<ClientError>,
    /// What is known of the call.
    pub marks: CallMarks,
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.reason, self.detail)
    }
}

impl std::error::Error for CallError {}

/// A failure before the marks are added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) reason: Reason,
    pub(super) cause: Option<Cause>,
    pub(super) detail: Cow<'static, str>,
    pub(super) client: Option<ClientError>,
}

impl Fault {
    pub(super) fn new(reason: Reason, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { reason, cause: None, detail: detail.into(), client: None }
    }

    /// The same, with what exactly failed.
    pub(super) fn by(self, cause: Cause) -> Self {
        Self { cause: Some(cause), ..self }
    }

    /// The deadline passed, `when`.
    pub(super) fn deadline(when: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::Timeout, when).by(Cause::Deadline)
    }

    /// The read timeout passed, `when`.
    pub(super) fn read_timeout(when: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::Timeout, when).by(Cause::ReadTimeout)
    }

    /// The upstream broke HTTP.
    pub(super) fn bad_response(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::UpstreamBadResponse, detail)
    }

    /// The upstream closed or reset its connection too early.
    pub(super) fn aborted(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::UpstreamAborted, detail)
    }

    /// The client failed.
    pub(super) fn client(error: ClientError) -> Self {
        Self { client: Some(error), ..Self::new(error.reason(), error.message()) }
    }

    /// The connection failed during `doing`.
    pub(super) fn io(error: &io::Error, doing: &str) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Self::bad_response(format!("{doing}: {error}")),
            _ => Self::aborted(format!("{doing}: {error}")),
        }
    }

    /// Whether the connection was closed or reset: what a stale one does.
    pub(super) fn is_abort(&self) -> bool {
        self.reason == Reason::UpstreamAborted
    }

    pub(super) fn with(self, marks: CallMarks) -> CallError {
        CallError { reason: self.reason, cause: self.cause, detail: self.detail, client: self.client, marks }
    }
}
