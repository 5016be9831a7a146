//! Where connections stand: one slot each, found by slot number and generation.
//!
//! A slot is at once the connection's permit (`server.tomcat.max-connections`): a [`Vacancy`] is taken before the accept, and comes back
//! when the connection ends. [`Owned`] is the one way to a socket and its state; only a claim makes it, and dropping it closes, also in a
//! panic. An idle connection costs its slot and a descriptor: no buffer, no thread.

use super::sleep::NEVER;
use super::word::{Announced, Generation, News, Word};
use crate::cancel::Cancel;
use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// A connection by slot and generation; worthless once the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    slot: u32,
    generation: Generation,
}

impl Token {
    /// As one word, for the ready set.
    pub(super) fn number(self) -> u64 {
        u64::from(self.generation.0) << 32 | u64::from(self.slot)
    }

    pub(super) fn from_number(number: u64) -> Self {
        Self { slot: number as u32, generation: Generation((number >> 32) as u32) }
    }
}

/// What a connection keeps between two visits of a worker.
#[derive(Debug)]
pub(super) struct State {
    /// Octets received and not used yet: a head that is not whole, or requests in line. Empty, and without memory, while it is idle.
    pub(super) unread: Vec<u8>,
    /// The other end.
    pub(super) peer: SocketAddr,
    /// Since when it waits for a request: it was accepted, or found idle after an answer.
    pub(super) since: Option<Instant>,
    /// When the first octet of a head came that is not whole.
    pub(super) head_since: Option<Instant>,
    /// Requests answered.
    pub(super) served: u64,
}

impl State {
    /// Whether a request has begun. The empty lines that some clients send after a body begin none (RFC 9112 2.2).
    pub(super) fn has_begun(octets: &[u8]) -> bool {
        octets.iter().any(|octet| !matches!(octet, b'\r' | b'\n'))
    }

    fn new(peer: SocketAddr) -> Self {
        Self { unread: Vec::new(), peer, since: None, head_since: None, served: 0 }
    }
}

struct Slot {
    word: Word,
    /// When the housekeeper must look after the connection, while nobody owns it.
    due: AtomicU64,
    /// The owner reads it for as long as it serves; another thread may read it too, to shut the socket down.
    socket: RwLock<Option<TcpStream>>,
    cancel: Arc<Cancel>,
    state: Mutex<State>,
}

pub(super) struct Slots {
    slots: Box<[Slot]>,
    vacant: Mutex<Vec<u32>>,
    freed: Condvar,
}

impl Slots {
    pub(super) fn new(capacity: usize) -> Self {
        let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let slot = |_| Slot {
            word: Word::vacant(),
            due: AtomicU64::new(NEVER),
            socket: RwLock::new(None),
            cancel: Arc::default(),
            state: Mutex::new(State::new(nobody)),
        };
        let capacity = u32::try_from(capacity).unwrap_or(u32::MAX - 1);
        Self {
            slots: (0..capacity).map(slot).collect(),
            vacant: Mutex::new((0..capacity).rev().collect()),
            freed: Condvar::new(),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Connections that stand in a slot, and vacancies that are taken.
    pub(super) fn in_use(&self) -> usize {
        self.slots.len() - self.vacant.lock().len()
    }

    /// Takes a slot, if one is free.
    pub(super) fn try_take(&self) -> Option<Vacancy<'_>> {
        let index = self.vacant.lock().pop()?;
        Some(Vacancy { slots: self, index: Some(index) })
    }

    /// Takes a slot, waiting for one; `None` once `stop` is true (see [`Self::wake_takers`]).
    pub(super) fn take(&self, stop: impl Fn() -> bool) -> Option<Vacancy<'_>> {
        let mut vacant = self.vacant.lock();
        loop {
            if stop() {
                return None;
            }
            if let Some(index) = vacant.pop() {
                return Some(Vacancy { slots: self, index: Some(index) });
            }
            self.freed.wait(&mut vacant);
        }
    }

    /// Makes those who wait for a slot look at their stop condition.
    pub(super) fn wake_takers(&self) {
        let _vacant = self.vacant.lock();
        self.freed.notify_all();
    }

    /// Waits until every slot is free, or `by` has passed; says how many are not.
    pub(super) fn wait_until_free(&self, by: Option<Instant>) -> usize {
        let mut vacant = self.vacant.lock();
        while vacant.len() < self.slots.len() {
            match by {
                None => self.freed.wait(&mut vacant),
                Some(by) if self.freed.wait_until(&mut vacant, by).timed_out() => break,
                Some(_) => {}
            }
        }
        self.slots.len() - vacant.len()
    }

    /// Leaves an event for a connection. `Some`: the caller owns it now. A hang-up on an owned one throws its switch.
    pub(super) fn announce(&self, token: Token, news: News) -> Option<Owned<'_>> {
        let slot = self.slots.get(token.slot as usize)?;
        match slot.word.announce(token.generation, news) {
            Announced::Claimed => Some(Owned { slots: self, token }),
            Announced::Left { first_hangup } => {
                if first_hangup {
                    self.if_open(token, |_| slot.cancel.throw());
                }
                None
            }
            Announced::Stale => None,
        }
    }

    /// Runs `work` on the socket if the connection still stands in its slot, whoever owns it: its end waits meanwhile.
    pub(super) fn if_open<R>(&self, token: Token, work: impl FnOnce(&TcpStream) -> R) -> Option<R> {
        let slot = &self.slots[token.slot as usize];
        let socket = slot.socket.read();
        socket.as_ref().filter(|_| slot.word.is(token.generation)).map(work)
    }

    /// Claims every idle connection whose deadline has passed at `now`; says when the next is due. `all` takes the others too.
    pub(super) fn claim_due<'a>(&'a self, now: u64, all: bool, mut take: impl FnMut(Owned<'a>)) -> u64 {
        let mut next = NEVER;
        for (index, slot) in (0..).zip(&self.slots) {
            let due = slot.due.load(Relaxed);
            if slot.word.generation().is_none() {
                continue;
            }
            if due > now && !all {
                // An owned one counts too, needlessly at worst: its owner sets a new deadline when it releases.
                next = next.min(due);
                continue;
            }
            let Some(generation) = slot.word.claim() else { continue };
            let owned = Owned { slots: self, token: Token { slot: index, generation } };
            let due = slot.due.load(Relaxed);
            match if due <= now || all { Ok(()) } else { Err(due) } {
                Ok(()) => take(owned),
                // It was served and released between the two looks.
                Err(due) => match owned.release(due) {
                    Ok(()) => next = next.min(due),
                    Err(owned) => take(owned),
                },
            }
        }
        next
    }

    /// Closes an idle connection that never was in the ready set. One that is owned by now is its owner's affair.
    pub(super) fn discard(&self, token: Token) {
        let word = &self.slots[token.slot as usize].word;
        if word.is(token.generation) && word.claim().is_some() {
            drop(Owned { slots: self, token });
        }
    }

    /// Cuts every connection short: its owner's blocking calls end, and so do its upstream exchanges. Says how many there were.
    pub(super) fn cut_all(&self) -> usize {
        let mut cut = 0;
        for (index, slot) in (0..).zip(&self.slots) {
            let Some(generation) = slot.word.generation() else { continue };
            let shut = self.if_open(Token { slot: index, generation }, |socket| {
                slot.cancel.throw();
                let _ = socket.shutdown(Shutdown::Both);
            });
            cut += usize::from(shut.is_some());
        }
        cut
    }

    /// Makes what was [deposited](Owned::deposit) a guard again.
    pub(super) fn resume(&self, deposit: Deposit) -> Owned<'_> {
        Owned { slots: self, token: deposit.0 }
    }

    fn give_back(&self, index: u32) {
        self.vacant.lock().push(index);
        self.freed.notify_all();
    }
}

/// A free slot, taken: the permit to accept a connection. Comes back on drop, or when the connection that [`Self::open`] put there ends.
pub(super) struct Vacancy<'a> {
    slots: &'a Slots,
    index: Option<u32>,
}

impl Vacancy<'_> {
    /// Puts a connection into the slot, idle, to be looked after at `due`.
    pub(super) fn open(mut self, socket: TcpStream, peer: SocketAddr, accepted: Instant, due: u64) -> Option<Token> {
        let index = self.index.take()?;
        let slot = &self.slots.slots[index as usize];
        *slot.state.lock() = State { since: Some(accepted), ..State::new(peer) };
        slot.due.store(due, Relaxed);
        let mut place = slot.socket.write();
        slot.cancel.reset();
        *place = Some(socket);
        Some(Token { slot: index, generation: slot.word.open() })
    }
}

impl Drop for Vacancy<'_> {
    fn drop(&mut self) {
        if let Some(index) = self.index {
            self.slots.give_back(index);
        }
    }
}

/// A connection that the caller alone may serve, refuse or end. Dropping it closes the connection.
pub(super) struct Owned<'a> {
    slots: &'a Slots,
    token: Token,
}

/// An [`Owned`] put away, in the queue for instance. Dropping it would leave its connection to nobody: give it to [`Slots::resume`].
#[must_use = "its connection would belong to nobody"]
#[derive(Debug)]
pub(super) struct Deposit(Token);

impl<'a> Owned<'a> {
    pub(super) fn token(&self) -> Token {
        self.token
    }

    /// The socket, for as long as the guard lives; an end must wait that long.
    pub(super) fn socket(&self) -> RwLockReadGuard<'a, Option<TcpStream>> {
        self.slot().socket.read()
    }

    pub(super) fn state(&self) -> MutexGuard<'a, State> {
        self.slot().state.lock()
    }

    pub(super) fn cancel(&self) -> Arc<Cancel> {
        self.slot().cancel.clone()
    }

    /// See [`Word::hung_up`].
    pub(super) fn hung_up(&self) -> bool {
        self.slot().word.hung_up()
    }

    /// See [`Word::take_ready`].
    pub(super) fn take_ready(&self) -> bool {
        self.slot().word.take_ready()
    }

    /// Gives the connection back, to be looked after at `due`.
    ///
    /// # Errors
    /// Itself, when something arrived meanwhile: read again.
    pub(super) fn release(self, due: u64) -> Result<(), Self> {
        let slot = self.slot();
        slot.due.store(due, Relaxed);
        if slot.word.release() {
            std::mem::forget(self);
            return Ok(());
        }
        Err(self)
    }

    /// Puts it away, still owned.
    pub(super) fn deposit(self) -> Deposit {
        let deposit = Deposit(self.token);
        std::mem::forget(self);
        deposit
    }

    fn slot(&self) -> &'a Slot {
        &self.slots.slots[self.token.slot as usize]
    }
}

impl Drop for Owned<'_> {
    /// The order of an end: descriptor, generation, slot and permit.
    fn drop(&mut self) {
        let slot = self.slot();
        drop(slot.socket.write().take());
        slot.state.lock().unread = Vec::new();
        slot.word.close();
        self.slots.give_back(self.token.slot);
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_costs_little_more_than_its_descriptor() {
        assert!(size_of::<Slot>() <= 176, "{}", size_of::<Slot>());
    }

    #[test]
    fn a_vacancy_that_is_not_used_comes_back() {
        let slots = Slots::new(1);
        let taken = slots.try_take();
        assert!(taken.is_some() && slots.try_take().is_none());
        assert_eq!(slots.in_use(), 1);
        assert!(slots.take(|| true).is_none(), "stopped");
        drop(taken);
        assert_eq!(slots.wait_until_free(None), 0);
    }
}
