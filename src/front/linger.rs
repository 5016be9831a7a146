//! The last second of a connection that was closed from our side: what still comes is discarded, so that no reset destroys the answer
//! before the client has read it (RFC 9112 9.6).
//!
//! Any thread hands a connection over; the housekeeper discards and closes. Connections without a slot come here too: those that a drain
//! found in the backlog when every slot was taken.

use super::input::{Received, receive_now};
use super::shared::Shared;
use super::slots::{Deposit, Owned};
use parking_lot::Mutex;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const LINGER: Duration = Duration::from_secs(1);
const BLOCK: usize = 16 * 1024;
/// Blocks discarded at a time, so that one client cannot keep the housekeeper.
const BLOCKS: usize = 16;

enum Connection {
    Slot(Deposit),
    Bare(TcpStream),
}

struct Lingering {
    connection: Connection,
    until: Instant,
    /// There was more than was discarded at once.
    more: bool,
}

/// Connections that wait to be closed.
#[derive(Default)]
pub(super) struct Lingers {
    waiting: Mutex<Vec<Lingering>>,
    count: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Discarded {
    All,
    Some,
    ToTheEnd,
}

impl Shared {
    /// Closes in stages: our side now, the rest when the client has closed too, or a second has passed.
    pub(super) fn linger(&self, owned: Owned<'_>) {
        let discarded = owned.socket().as_ref().map_or(Discarded::ToTheEnd, close_our_side);
        if discarded != Discarded::ToTheEnd {
            self.add_lingering(Connection::Slot(owned.deposit()), discarded);
        }
    }

    /// The same for a connection that has no slot.
    pub(super) fn linger_bare(&self, socket: TcpStream) {
        let discarded = close_our_side(&socket);
        if discarded != Discarded::ToTheEnd {
            self.add_lingering(Connection::Bare(socket), discarded);
        }
    }

    /// How many linger.
    pub(super) fn lingering(&self) -> usize {
        self.lingers.count.load(Ordering::Acquire)
    }

    /// Discards what came, closes what is done or overdue. For the housekeeper, once a tick.
    pub(super) fn attend_lingering(&self, now: Instant) {
        if self.lingering() == 0 {
            return;
        }
        let batch = std::mem::take(&mut *self.lingers.waiting.lock());
        let before = batch.len();
        let kept: Vec<_> = batch.into_iter().filter_map(|lingering| self.attend(lingering, now)).collect();
        self.lingers.count.fetch_sub(before - kept.len(), Ordering::AcqRel);
        self.lingers.waiting.lock().extend(kept);
    }

    /// Closes all that linger.
    pub(super) fn end_lingering(&self) {
        let batch = std::mem::take(&mut *self.lingers.waiting.lock());
        self.lingers.count.fetch_sub(batch.len(), Ordering::AcqRel);
        for lingering in batch {
            if let Connection::Slot(deposit) = lingering.connection {
                drop(self.slots.resume(deposit));
            }
        }
    }

    fn add_lingering(&self, connection: Connection, discarded: Discarded) {
        let until = self.clock.now() + LINGER;
        self.lingers.waiting.lock().push(Lingering { connection, until, more: discarded == Discarded::Some });
        self.lingers.count.fetch_add(1, Ordering::AcqRel);
        self.end_calm();
    }

    fn attend(&self, lingering: Lingering, now: Instant) -> Option<Lingering> {
        let Lingering { connection, until, more } = lingering;
        if now >= until {
            if let Connection::Slot(deposit) = connection {
                drop(self.slots.resume(deposit));
            }
            return None;
        }
        let (connection, discarded) = match connection {
            Connection::Bare(socket) => {
                let discarded = discard(&socket);
                (Connection::Bare(socket), discarded)
            }
            Connection::Slot(deposit) => {
                let owned = self.slots.resume(deposit);
                // The ready set says when there is something, so most ticks cost no call.
                let looks = owned.take_ready() || more;
                let discarded =
                    if looks { owned.socket().as_ref().map_or(Discarded::ToTheEnd, discard) } else { Discarded::All };
                if discarded == Discarded::ToTheEnd {
                    return None; // `owned` closes it
                }
                (Connection::Slot(owned.deposit()), discarded)
            }
        };
        let more = discarded == Discarded::Some;
        (discarded != Discarded::ToTheEnd).then_some(Lingering { connection, until, more })
    }
}

fn close_our_side(socket: &TcpStream) -> Discarded {
    match socket.shutdown(Shutdown::Write) {
        Ok(()) => discard(socket),
        Err(_) => Discarded::ToTheEnd, // not connected any more
    }
}

fn discard(socket: &TcpStream) -> Discarded {
    let mut block = [0; BLOCK];
    for _ in 0..BLOCKS {
        match receive_now(socket, &mut block) {
            Received::Octets(_) => {}
            Received::Nothing => return Discarded::All,
            Received::End | Received::Broken => return Discarded::ToTheEnd,
        }
    }
    Discarded::Some
}
