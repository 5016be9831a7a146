//! A worker's receive buffer: what came from the connection that it serves and was not used yet.
//!
//! One per worker, so that an idle connection owns none. What is left when the worker leaves a connection moves to the connection and back.
//! It says what the drain rule of edge triggering needs: whether the socket is known to be empty.

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::net::TcpStream;

/// How a receive without waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// That many octets.
    Octets(usize),
    /// Nothing yet.
    Nothing,
    /// The peer sends nothing more.
    End,
    /// The connection is broken.
    Broken,
}

pub(super) struct Input {
    octets: Box<[u8]>,
    start: usize,
    end: usize,
    /// The last receive proved that the socket holds nothing.
    pub(super) drained: bool,
    /// The peer sends nothing more.
    pub(super) ended: bool,
}

impl Input {
    pub(super) fn new(capacity: usize) -> Self {
        Self { octets: vec![0; capacity].into_boxed_slice(), start: 0, end: 0, drained: false, ended: false }
    }

    /// Begins with a connection and what it kept.
    pub(super) fn begin(&mut self, kept: &[u8]) {
        let kept = &kept[..kept.len().min(self.octets.len())];
        self.octets[..kept.len()].copy_from_slice(kept);
        (self.start, self.end, self.drained, self.ended) = (0, kept.len(), false, false);
    }

    /// What came and was not used yet.
    pub(super) fn unread(&self) -> &[u8] {
        &self.octets[self.start..self.end]
    }

    pub(super) fn consume(&mut self, used: usize) {
        self.start = (self.start + used).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Receives behind what is unread. `hung_up` (see `Word::hung_up`) is asked after the call: a short receive then proves nothing.
    pub(super) fn receive(&mut self, socket: &TcpStream, hung_up: impl FnOnce() -> bool) -> Received {
        if self.start > 0 {
            self.octets.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let room = &mut self.octets[self.end..];
        let asked = room.len();
        let received = receive_now(socket, room);
        match received {
            Received::Octets(count) => {
                self.end += count;
                self.drained = count < asked && !hung_up();
            }
            Received::Nothing => self.drained = true,
            Received::End | Received::Broken => self.ended = true,
        }
        received
    }
}

/// One receive that does not wait.
pub(super) fn receive_now(socket: &TcpStream, into: &mut [u8]) -> Received {
    loop {
        match recv(socket, &mut *into, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Received::End,
            Ok((count, _)) => return Received::Octets(count),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return Received::Nothing,
            Err(_) => return Received::Broken,
        }
    }
}
