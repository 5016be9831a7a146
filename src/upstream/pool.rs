//! Connections that servers share a limit of: idle ones last in first out, caps that hold exactly, and a queue of who waits.
//!
//! ```text
//! check-out: idle one of this server -> room below both caps -> evict another server's coldest idle one -> wait in line
//! ```
//!
//! Everything is decided under one lock, which is never held across a system call but the waking of a waiter: links are probed, opened and
//! closed outside. After each change the line is served in order of arrival, so that room left over is room that nobody waiting can use,
//! and newcomers overtake no one who waits for the same. Only [`super::lease`] takes connections from here and gives them back.

use super::alarm::Alarm;
use super::link::Link;
use crate::cancel::{Cancelled, ShutDown};
use crate::deadline::Deadline;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// The limit of upstream connections that some servers share: those of a service, or those of all url routes. Idle ones count.
pub struct ConnectionLimit {
    max_total: usize,
    state: Mutex<State>,
    /// Of who looks after idle connections.
    alarm: Arc<Alarm>,
}

#[derive(Default)]
struct State {
    open: usize,
    shelves: Vec<Shelf>,
    line: VecDeque<Waiting>,
    next_ticket: u64,
}

/// One server's part.
#[derive(Default)]
struct Shelf {
    max: usize,
    open: usize,
    waiting: usize,
    /// The coldest first.
    idle: Vec<Idle>,
    vacant: bool,
}

/// A link that nobody uses.
pub(super) struct Idle {
    pub(super) link: Link,
    pub(super) since: Instant,
}

/// A place in the line.
struct Waiting {
    ticket: u64,
    shelf: usize,
    grant: Option<Grant>,
    cancelled: bool,
    called: Arc<Condvar>,
}

/// Ends one wait from another thread.
pub(super) struct WaitSwitch {
    limit: Arc<ConnectionLimit>,
    ticket: u64,
}

/// What a check-out gives. It counts as one open connection until it is given back.
pub(super) enum Grant {
    /// An idle connection, not probed yet.
    Reuse(Idle),
    /// The right to open one.
    Open,
}

/// Why a check-out gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotGranted {
    /// No connection came free in time.
    Expired,
    /// The client left meanwhile.
    Cancelled,
}

/// The numbers of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Connections that exist or are being made, idle ones included.
    pub open: usize,
    /// Connections that nobody uses.
    pub idle: usize,
    /// Requests that wait for one.
    pub pending: usize,
    /// The most that there can be of [`Self::open`].
    pub max: usize,
}

impl ConnectionLimit {
    /// At most `max_total` connections, at least one.
    pub fn new(max_total: usize) -> Arc<Self> {
        Self::watched(max_total, &Arc::default())
    }

    /// The same; the alarm rings when a connection is pooled, for who calls [`Server::evict`](super::Server::evict) and may be asleep.
    pub fn watched(max_total: usize, alarm: &Arc<Alarm>) -> Arc<Self> {
        Arc::new(Self { max_total: max_total.max(1), state: Mutex::default(), alarm: alarm.clone() })
    }

    /// The most connections there can be.
    pub fn max_total(&self) -> usize {
        self.max_total
    }

    /// The connections that there are, of all servers.
    pub fn open(&self) -> usize {
        self.state.lock().open
    }

    /// A place for one more server, with a cap of its own.
    pub(super) fn enrol(&self, max: usize) -> usize {
        let mut state = self.state.lock();
        let shelf = Shelf { max: max.max(1), ..Shelf::default() };
        match state.shelves.iter().position(|shelf| shelf.vacant) {
            Some(index) => {
                state.shelves[index] = shelf;
                index
            }
            None => {
                state.shelves.push(shelf);
                state.shelves.len() - 1
            }
        }
    }

    /// The server is gone, and nobody uses a connection of it.
    pub(super) fn retire(&self, shelf: usize) {
        let mut state = self.state.lock();
        let idle = std::mem::take(&mut state.shelves[shelf].idle);
        state.close(shelf, idle.len());
        state.shelves[shelf].vacant = true;
        let evicted = state.serve_line(self.max_total);
        drop(state);
        drop((idle, evicted));
    }

    /// A connection, or the right to open one, if need be after a wait in line. Before the wait `waits` is given the switch that ends it;
    /// it says by when the wait has to end, and gives what is to be kept as long as it takes.
    pub(super) fn check_out<W>(
        self: &Arc<Self>,
        shelf: usize,
        waits: impl FnOnce(Arc<WaitSwitch>) -> Result<(Deadline, W), Cancelled>,
    ) -> Result<Grant, NotGranted> {
        let mut state = self.state.lock();
        let mut evicted = None;
        if let Some(grant) = state.grant(shelf, self.max_total, &mut evicted) {
            drop(state);
            drop(evicted);
            return Ok(grant);
        }
        let called = Arc::new(Condvar::new());
        let ticket = state.queue_up(shelf, called.clone());
        match waits(Arc::new(WaitSwitch { limit: self.clone(), ticket })) {
            Ok((by, _kept)) => wait(&mut state, &called, ticket, by),
            Err(Cancelled) => {
                state.cancel(ticket);
                state.collect(ticket, true).unwrap_or(Err(NotGranted::Cancelled))
            }
        }
    }

    /// Another idle connection instead of one that turned out dead.
    pub(super) fn exchange(&self, shelf: usize) -> Option<Idle> {
        let mut state = self.state.lock();
        let idle = state.shelves[shelf].idle.pop()?;
        state.close(shelf, 1);
        let evicted = state.serve_line(self.max_total);
        drop(state);
        drop(evicted);
        Some(idle)
    }

    /// A connection that can be used again.
    pub(super) fn park(&self, shelf: usize, link: Link, now: Instant) {
        let mut state = self.state.lock();
        state.shelves[shelf].idle.push(Idle { link, since: now });
        let evicted = state.serve_line(self.max_total);
        drop(state);
        self.alarm.ring();
        drop(evicted);
    }

    /// One connection fewer: it was closed, or never opened.
    pub(super) fn release(&self, shelf: usize) {
        let mut state = self.state.lock();
        state.close(shelf, 1);
        let evicted = state.serve_line(self.max_total);
        drop(state);
        drop(evicted);
    }

    /// Takes out the connections that have been idle since before `since`, to be looked at; they still count.
    pub(super) fn take_cold(&self, shelf: usize, since: Instant) -> Vec<Idle> {
        let mut state = self.state.lock();
        let idle = &mut state.shelves[shelf].idle;
        let cold = idle.iter().take_while(|idle| idle.since < since).count();
        idle.drain(..cold).collect()
    }

    /// Puts back what [`Self::take_cold`] took and what is still of use of it; `closed` others were not.
    pub(super) fn put_back(&self, shelf: usize, cold: Vec<Idle>, closed: usize) {
        let mut state = self.state.lock();
        state.shelves[shelf].idle.splice(0..0, cold);
        state.close(shelf, closed);
        let evicted = state.serve_line(self.max_total);
        drop(state);
        drop(evicted);
    }

    /// The numbers of one server.
    pub(super) fn counts(&self, shelf: usize) -> PoolCounts {
        let state = self.state.lock();
        let shelf = &state.shelves[shelf];
        PoolCounts { open: shelf.open, idle: shelf.idle.len(), pending: shelf.waiting, max: shelf.max }
    }
}

impl std::fmt::Debug for ConnectionLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionLimit").field("max_total", &self.max_total).field("open", &self.open()).finish()
    }
}

impl State {
    /// What `shelf` can have at once. An idle connection of another server that had to make room is left in `evicted`.
    fn grant(&mut self, shelf: usize, max_total: usize, evicted: &mut Option<Idle>) -> Option<Grant> {
        if let Some(idle) = self.shelves[shelf].idle.pop() {
            return Some(Grant::Reuse(idle));
        }
        if self.shelves[shelf].open >= self.shelves[shelf].max {
            return None;
        }
        if self.open >= max_total {
            *evicted = Some(self.evict_coldest()?);
        }
        self.shelves[shelf].open += 1;
        self.open += 1;
        Some(Grant::Open)
    }

    fn evict_coldest(&mut self) -> Option<Idle> {
        let coldest = |shelf: &Shelf| shelf.idle.first().map(|idle| idle.since);
        let (index, _) = self
            .shelves
            .iter()
            .enumerate()
            .filter_map(|(i, s)| Some((i, coldest(s)?)))
            .min_by_key(|(_, since)| *since)?;
        self.close(index, 1);
        Some(self.shelves[index].idle.remove(0))
    }

    fn close(&mut self, shelf: usize, count: usize) {
        self.shelves[shelf].open -= count;
        self.open -= count;
    }

    fn queue_up(&mut self, shelf: usize, called: Arc<Condvar>) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.shelves[shelf].waiting += 1;
        self.line.push_back(Waiting { ticket, shelf, grant: None, cancelled: false, called });
        ticket
    }

    /// What the holder of `ticket` was granted, leaving the line with it, or without when it is cancelled or has `expired`.
    fn collect(&mut self, ticket: u64, expired: bool) -> Option<Result<Grant, NotGranted>> {
        let at = self.place(ticket)?;
        let waiting = &self.line[at];
        if waiting.grant.is_none() && !waiting.cancelled && !expired {
            return None;
        }
        let waiting = self.line.remove(at)?;
        self.shelves[waiting.shelf].waiting -= 1;
        let without = if waiting.cancelled { NotGranted::Cancelled } else { NotGranted::Expired };
        Some(waiting.grant.ok_or(without))
    }

    fn cancel(&mut self, ticket: u64) {
        if let Some(at) = self.place(ticket) {
            self.line[at].cancelled = true;
            self.line[at].called.notify_one();
        }
    }

    fn place(&self, ticket: u64) -> Option<usize> {
        self.line.iter().position(|waiting| waiting.ticket == ticket)
    }

    /// Grants what can be granted, first come first served. Idle connections that had to make room are returned, to be closed.
    fn serve_line(&mut self, max_total: usize) -> Vec<Idle> {
        let mut closed = Vec::new();
        for at in 0..self.line.len() {
            if self.line[at].grant.is_some() || self.line[at].cancelled {
                continue;
            }
            let mut evicted = None;
            if let Some(grant) = self.grant(self.line[at].shelf, max_total, &mut evicted) {
                self.line[at].grant = Some(grant);
                self.line[at].called.notify_one();
            }
            closed.extend(evicted);
        }
        closed
    }
}

impl ShutDown for WaitSwitch {
    fn shut_down(&self) {
        self.limit.state.lock().cancel(self.ticket);
    }
}

/// Waits until the holder of `ticket` is called, or `by`.
fn wait(state: &mut MutexGuard<'_, State>, called: &Condvar, ticket: u64, by: Deadline) -> Result<Grant, NotGranted> {
    let mut expired = false;
    loop {
        if let Some(ended) = state.collect(ticket, expired) {
            return ended;
        }
        expired = match by.moment() {
            None => {
                called.wait(state);
                false
            }
            Some(moment) => called.wait_until(state, moment).timed_out(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    const NEVER: Deadline = Deadline::NEVER;

    fn grant(limit: &Arc<ConnectionLimit>, shelf: usize, by: Deadline) -> Result<(), NotGranted> {
        match limit.check_out(shelf, |_| Ok((by, ()))) {
            Ok(Grant::Open) => Ok(()),
            Ok(Grant::Reuse(_)) => panic!("nothing was parked"),
            Err(none) => Err(none),
        }
    }

    #[track_caller]
    fn until_pending(limit: &ConnectionLimit, shelf: usize, pending: usize) {
        let bound = Deadline::after(Duration::from_secs(20));
        while limit.counts(shelf).pending != pending {
            assert!(!bound.has_passed(), "nobody queued up");
            std::thread::yield_now();
        }
    }

    #[test]
    fn who_came_first_is_served_first() {
        let limit = ConnectionLimit::new(1);
        let shelf = limit.enrol(5);
        grant(&limit, shelf, NEVER).unwrap();
        let (tell, served) = channel();
        for number in 0..4 {
            let (limit, tell) = (limit.clone(), tell.clone());
            let waiter = limit.clone();
            std::thread::spawn(move || {
                grant(&waiter, shelf, NEVER).unwrap();
                tell.send(number).unwrap();
            });
            until_pending(&limit, shelf, number + 1);
        }
        for number in 0..4 {
            limit.release(shelf);
            assert_eq!(served.recv().unwrap(), number);
            assert_eq!(limit.open(), 1);
        }
        limit.release(shelf);
        assert_eq!(limit.counts(shelf), PoolCounts { max: 5, ..PoolCounts::default() });
    }

    #[test]
    fn who_cannot_be_served_holds_up_nobody_else() {
        let limit = ConnectionLimit::new(2);
        let (full, other) = (limit.enrol(1), limit.enrol(1));
        grant(&limit, full, NEVER).unwrap();
        let waiter = limit.clone();
        let waiting = std::thread::spawn(move || grant(&waiter, full, NEVER));
        until_pending(&limit, full, 1);
        grant(&limit, other, NEVER).unwrap();
        limit.release(other);
        assert_eq!(limit.counts(full).pending, 1);
        limit.release(full);
        assert_eq!(waiting.join().unwrap(), Ok(()));
        limit.release(full);
        assert_eq!(limit.open(), 0);
    }

    #[test]
    fn a_wait_that_expires_leaves_the_line() {
        let limit = ConnectionLimit::new(1);
        let shelf = limit.enrol(1);
        grant(&limit, shelf, NEVER).unwrap();
        let soon = Deadline::after(Duration::from_millis(5));
        assert_eq!(grant(&limit, shelf, soon), Err(NotGranted::Expired));
        assert_eq!(grant(&limit, shelf, soon), Err(NotGranted::Expired), "an expired wait needs no clock");
        assert_eq!(limit.counts(shelf), PoolCounts { open: 1, max: 1, ..PoolCounts::default() });
        limit.release(shelf);
        assert_eq!(grant(&limit, shelf, soon), Ok(()), "what is free needs no wait");
    }

    #[test]
    fn a_retired_servers_place_is_used_again() {
        let limit = ConnectionLimit::new(9);
        let (one, two) = (limit.enrol(1), limit.enrol(2));
        limit.retire(one);
        assert_eq!(limit.enrol(7), one);
        assert_eq!((limit.counts(one).max, limit.counts(two).max), (7, 2));
    }
}
