//! A connection after its request: owned still, and keeping its slot, but by the stream that it was left to and not by a worker.
//!
//! Its events are muted down to hang-ups, so that what its client sends wakes nobody and stays in the socket. A hang-up is left in the
//! ownership word, where each send looks first.

use super::native_client::SEND;
use super::shared::Shared;
use super::slots::{Deposit, Owned};
use crate::client::{ClientError, EventConnection, Subscription};
use rustix::io::Errno;
use std::net::TcpStream;
use std::sync::Arc;

pub(super) struct Streaming {
    shared: Arc<Shared>,
    /// `None` once the client is gone.
    deposit: Option<Deposit>,
}

impl Streaming {
    /// Leaves a connection to `subscription`.
    pub(super) fn begin(shared: &Arc<Shared>, owned: Owned<'_>, subscription: Box<dyn Subscription>) {
        if let Some(socket) = owned.socket().as_ref() {
            // If it fails, what the client sends wakes a worker for nothing now and then.
            let _ = shared.ready.mute(socket, owned.token());
        }
        let deposit = Some(owned.deposit());
        subscription.begin(Box::new(Self { shared: shared.clone(), deposit }));
    }
}

impl EventConnection for Streaming {
    fn send_now(&mut self, octets: &[u8]) -> Result<usize, ClientError> {
        let owned = self.deposit.take().map(|deposit| self.shared.slots.resume(deposit)).ok_or(ClientError::Gone)?;
        let sent = match owned.socket().as_ref() {
            Some(socket) if !owned.hung_up() => send(socket, octets),
            _ => Err(ClientError::Gone),
        };
        if sent.is_ok() {
            self.deposit = Some(owned.deposit());
        } // else dropping `owned` closes it
        sent
    }

    fn is_draining(&self) -> bool {
        self.shared.is_draining()
    }

    fn finish(mut self: Box<Self>) {
        let Some(owned) = self.deposit.take().map(|deposit| self.shared.slots.resume(deposit)) else { return };
        if let Some(socket) = owned.socket().as_ref() {
            // What came meanwhile is to be discarded. If this fails, the close may be a reset.
            let _ = self.shared.ready.unmute(socket, owned.token());
        }
        self.shared.linger(owned);
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        if let Some(deposit) = self.deposit.take() {
            drop(self.shared.slots.resume(deposit));
        }
    }
}

fn send(socket: &TcpStream, octets: &[u8]) -> Result<usize, ClientError> {
    if octets.is_empty() {
        return Ok(0);
    }
    match rustix::net::send(socket, octets, SEND) {
        Ok(sent) => Ok(sent),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(0),
        Err(_) => Err(ClientError::Gone),
    }
}
