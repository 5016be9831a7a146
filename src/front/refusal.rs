//! Refusals that need no worker: a canned answer, sent at once or not at all.
//!
//! Called by the housekeeper for what is too much, too old or too slow, and by whoever meets a request while the front drains. One send that
//! does not wait; then the connection is closed in stages. A client that is gone is closed silently, and one that sent nothing is not refused
//! but given back.

use super::input::Received;
use super::shared::Shared;
use super::slots::Owned;
use crate::client::Refused;
use crate::reason::Reason;
use crate::reply;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

impl Shared {
    /// Refuses the request of a connection that kept octets of it, or has some to read. Since when it waited is for the log.
    pub(super) fn refuse(&self, owned: Owned<'_>, reason: Reason, since: Instant) {
        self.refuse_for(owned, reason, "", since);
    }

    /// The same, with what exactly for the log.
    pub(super) fn refuse_for(&self, owned: Owned<'_>, reason: Reason, detail: &'static str, since: Instant) {
        let kept = !owned.state().unread.is_empty();
        let there = if kept { Received::Octets(1) } else { owned.socket().as_ref().map_or(Received::End, peek) };
        match there {
            Received::Octets(_) => self.refuse_unseen(owned, reason, detail, since),
            Received::End | Received::Broken => self.stats.aborted.add_one(),
            Received::Nothing => self.give_back(owned, since),
        }
    }

    /// Refuses without a look at what is there.
    pub(super) fn refuse_now(&self, owned: Owned<'_>, reason: Reason, since: Instant) {
        self.refuse_unseen(owned, reason, "", since);
    }

    fn refuse_unseen(&self, owned: Owned<'_>, reason: Reason, detail: &'static str, since: Instant) {
        let peer = owned.state().peer;
        let sent = owned.socket().as_ref().map_or(0, |socket| self.send_refusal(socket, reason));
        self.tell_refused(&Refused { reason, status: reason.status(), detail: detail.into(), peer, since, sent });
        self.linger(owned);
    }

    /// Refuses a connection that has no slot.
    pub(super) fn refuse_bare(&self, socket: TcpStream, peer: SocketAddr, reason: Reason) {
        let sent = self.send_refusal(&socket, reason);
        let (status, since) = (reason.status(), self.clock.now());
        self.tell_refused(&Refused { reason, status, detail: "".into(), peer, since, sent });
        self.linger_bare(socket);
    }

    fn send_refusal(&self, socket: &TcpStream, reason: Reason) -> usize {
        let now = self.clock.wall();
        send_at_once(socket, &reply::canned_refusal(reason, reply::retry_after(now), now))
    }

    fn give_back(&self, owned: Owned<'_>, since: Instant) {
        if let Err(owned) = self.release(owned, since, Some(self.config.connection_timeout)) {
            self.enqueue_one(owned, since);
        }
    }
}

/// What the socket holds, left there.
pub(super) fn peek(socket: &TcpStream) -> Received {
    match recv(socket, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((0, _)) => Received::End,
        Ok((count, _)) => Received::Octets(count),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Received::Nothing,
        Err(_) => Received::Broken,
    }
}

/// One send that does not wait; says how many octets the system took.
pub(super) fn send_at_once(socket: &TcpStream, octets: &[u8]) -> usize {
    send(socket, octets, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).unwrap_or(0)
}
