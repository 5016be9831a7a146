//! Connections that servers share a limit of: idle ones last in first out, caps that hold exactly, and a queue of who waits.
//!
//! ```text
//! check-out: idle one of this server -> room below both caps -> evict another server's coldest idle one -> wait in line
//! ```
//!
//! Everything is decided under one lock, which is never held across a system call but the waking of a waiter: links are probed, opened and
//! closed outside. After each change the line is served in order of arrival, so that room left over is room that nobody waiting can use,
//! and newcomers overtake no one who waits for the same. Only [`super::lease`] takes connections from here and gives them back.

use super::link::Link;
use crate::deadline::Deadline;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The limit of upstream connections that some servers share: those of a service, or those of all url routes. Idle ones count.
pub struct ConnectionLimit {
    max_total: usize,
    state: Mutex<State>,
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
    called: Arc<Condvar>,
}

/// What a check-out gives. It counts as one open connection until it is given back.
pub(super) enum Grant {
    /// An idle connection, not probed yet.
    Reuse(Idle),
    /// The right to open one.
    Open,
}

/// No connection came free in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoneFree;

/// The numbers of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Connections that exist or are being made, idle ones included.
    pub open: usize,
    /// Connections that nobody uses.
    pub idle: usize,
    /// Requests that wait for one.
    pub pending: usize,
}

impl ConnectionLimit {
    /// At most `max_total` connections, at least one.
    pub fn new(max_total: usize) -> Arc<Self> {
        Arc::new(Self { max_total: max_total.max(1), state: Mutex::default() })
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

    /// A connection, or the right to open one; waits in line until `by`. `waits` is called before the wait, if there is one.
    pub(super) fn check_out<W>(
        &self,
        shelf: usize,
        by: Deadline,
        waits: impl FnOnce() -> W,
    ) -> Result<Grant, NoneFree> {
        let mut state = self.state.lock();
        let mut evicted = None;
        if let Some(grant) = state.grant(shelf, self.max_total, &mut evicted) {
            drop(state);
            drop(evicted);
            return Ok(grant);
        }
        let _waits = waits();
        let called = Arc::new(Condvar::new());
        let ticket = state.queue_up(shelf, called.clone());
        loop {
            let expired = match by.moment() {
                None => {
                    called.wait(&mut state);
                    false
                }
                Some(moment) => called.wait_until(&mut state, moment).timed_out(),
            };
            if let Some(grant) = state.collect(ticket, expired) {
                return grant;
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
        PoolCounts { open: shelf.open, idle: shelf.idle.len(), pending: shelf.waiting }
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
        self.line.push_back(Waiting { ticket, shelf, grant: None, called });
        ticket
    }

    /// What the holder of `ticket` was granted, leaving the line with it, or without when it has `expired`.
    fn collect(&mut self, ticket: u64, expired: bool) -> Option<Result<Grant, NoneFree>> {
        let at = self.line.iter().position(|waiting| waiting.ticket == ticket)?;
        if self.line[at].grant.is_none() && !expired {
            return None;
        }
        let waiting = self.line.remove(at)?;
        self.shelves[waiting.shelf].waiting -= 1;
        Some(waiting.grant.ok_or(NoneFree))
    }

    /// Grants what can be granted, first come first served. Idle connections that had to make room are returned, to be closed.
    fn serve_line(&mut self, max_total: usize) -> Vec<Idle> {
        let mut closed = Vec::new();
        for at in 0..self.line.len() {
            if self.line[at].grant.is_some() {
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

/// How long a check-out may wait: `budget`, but no longer than `by`.
pub(super) fn patience(budget: Option<Duration>, by: Deadline) -> Deadline {
    Deadline::after_some(budget).nearer(by)
}
