//! A client for tests of handlers: gives a body in pieces and keeps what is written.

use super::{BodyLength, Client, ClientError, Downstream, Request, Woken};
use crate::cancel::Cancel;
use crate::deadline::Deadline;
use crate::wire::testing;
use http::{HeaderMap, StatusCode};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One request's client.
pub(crate) struct FakeClient {
    /// What reads give, in order: octets, `None` for nothing yet, or a failure; the end of the body when used up.
    pub(crate) body: VecDeque<Result<Option<Vec<u8>>, ClientError>>,
    /// What was written, and in how many writes.
    pub(crate) written: Vec<u8>,
    pub(crate) writes: usize,
    /// What every write fails with from this many octets on.
    pub(crate) fails_after: Option<usize>,
    pub(crate) may_persist: bool,
    pub(crate) waits: usize,
    pub(crate) cancel: Arc<Cancel>,
}

impl FakeClient {
    /// Without a body; the connection may persist.
    pub(crate) fn new() -> Self {
        Self {
            body: VecDeque::new(),
            written: Vec::new(),
            writes: 0,
            fails_after: None,
            may_persist: true,
            waits: 0,
            cancel: Arc::default(),
        }
    }

    /// What was written, as text, without the line of the date.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.written).into_owned();
        let lines: Vec<_> = text.split("\r\n").filter(|line| !line.starts_with("Date: ")).collect();
        lines.join("\r\n")
    }
}

/// A request of these lines, which are separated by CRLF and lack the last one.
#[track_caller]
pub(crate) fn request(lines: &str) -> Request {
    Request { head: testing::request(lines), received: Instant::now(), queued: Duration::ZERO }
}

impl Downstream for FakeClient {
    fn length(&self) -> BodyLength {
        if self.body.is_empty() { BodyLength::None } else { BodyLength::Chunked }
    }

    fn read_now(&mut self, into: &mut [u8]) -> Result<Option<usize>, ClientError> {
        match self.body.pop_front() {
            Some(Ok(Some(octets))) => {
                into[..octets.len()].copy_from_slice(&octets);
                Ok(Some(octets.len()))
            }
            Some(other) => other.map(|_| None),
            None => Ok(Some(0)),
        }
    }

    fn wait(&mut self, _other: Option<BorrowedFd<'_>>, _by: Deadline) -> Result<Woken, ClientError> {
        self.waits += 1;
        Ok(Woken::Client)
    }

    fn interim(&mut self, _status: StatusCode, _fields: &HeaderMap) -> Result<(), ClientError> {
        Ok(())
    }
}

impl Client for FakeClient {
    fn peer(&self) -> SocketAddr {
        ([192, 0, 2, 1], 4711).into()
    }

    fn local(&self) -> SocketAddr {
        ([192, 0, 2, 2], 80).into()
    }

    fn write(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), ClientError> {
        if self.fails_after.is_some_and(|most| self.written.len() >= most) {
            return Err(ClientError::Gone);
        }
        self.writes += 1;
        parts.iter().for_each(|part| self.written.extend_from_slice(part));
        Ok(())
    }

    fn may_persist(&mut self) -> bool {
        self.may_persist
    }

    fn cancel(&self) -> Arc<Cancel> {
        self.cancel.clone()
    }
}
