//! The client as an upstream call sees it: interim heads lose what the route withholds, and body octets are counted and bounded.

use crate::client::{BodyLength, Client, ClientError, Downstream, Woken};
use crate::deadline::Deadline;
use crate::exchange;
use crate::router::Route;
use http::{HeaderMap, StatusCode};
use std::os::fd::BorrowedFd;

/// A client for the length of one call.
pub(super) struct Attended<'a> {
    pub(super) client: &'a mut dyn Client,
    pub(super) route: &'a Route,
    /// Octets of the request's body so far.
    pub(super) received: &'a mut u64,
    /// The most of them that are passed on.
    pub(super) max_body: Option<u64>,
}

impl Downstream for Attended<'_> {
    fn length(&self) -> BodyLength {
        self.client.length()
    }

    fn read_now(&mut self, into: &mut [u8]) -> Result<Option<usize>, ClientError> {
        let read = self.client.read_now(into)?;
        *self.received += read.unwrap_or(0) as u64;
        // What is too much is not handed over, so the request upstream is never whole.
        if is_beyond(self.max_body, *self.received) { Err(ClientError::TooLarge) } else { Ok(read) }
    }

    fn wait(&mut self, other: Option<BorrowedFd<'_>>, by: Deadline) -> Result<Woken, ClientError> {
        self.client.wait(other, by)
    }

    fn interim(&mut self, status: StatusCode, fields: &HeaderMap) -> Result<(), ClientError> {
        self.client.interim(status, &exchange::interim_fields(self.route, fields))
    }
}

/// Whether a body of so many octets is longer than it may be.
pub(super) fn is_beyond(most: Option<u64>, octets: u64) -> bool {
    most.is_some_and(|most| octets > most)
}
