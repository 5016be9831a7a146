//! What the threads of one front share, and the few verbs that concern more than one part of it.
//!
//! Each part keeps its own rules; here is only what must be done together: who queues a connection wakes a worker, who sets a deadline or
//! ends the calm wakes the housekeeper. No part of it is global: several fronts live in one process.

use super::clock::Clock;
use super::config::FrontConfig;
use super::idle::{Idle, Left};
use super::linger::Lingers;
use super::queue::{ReadyQueue, Waiting};
use super::ready_set::{ReadySet, Wake};
use super::sleep::{NEVER, Sleep};
use super::slots::{Owned, Slots};
use super::stats::Stats;
use super::workers::{Place, Workers};
use crate::client::Refused;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The half of a front that knows its handler's type.
pub(super) trait Service: Send + Sync {
    /// A worker's life.
    fn work(&self, shared: &Arc<Shared>, place: &Place);

    /// See [`crate::client::Handler::refused`].
    fn refused(&self, refusal: &Refused);
}

/// How far the front is on its way from start to end; only ever moves on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Stage {
    Open = 0,
    /// Accepts nothing any more and finishes what runs.
    Draining = 1,
    /// Every thread ends.
    Stopped = 2,
}

pub(super) struct Shared {
    pub(super) config: FrontConfig,
    pub(super) address: SocketAddr,
    pub(super) clock: Clock,
    pub(super) slots: Slots,
    pub(super) ready: ReadySet,
    pub(super) queue: ReadyQueue,
    pub(super) idle: Idle,
    pub(super) sleep: Sleep,
    pub(super) workers: Workers,
    pub(super) lingers: Lingers,
    pub(super) stats: Stats,
    pub(super) service: Box<dyn Service>,
    pub(super) housekeeper: OnceLock<Thread>,
    /// Readable once the acceptor has to end.
    pub(super) closing: OwnedFd,
    /// Milliseconds to which deadlines are rounded.
    grain: u64,
    stage: AtomicU8,
}

impl Shared {
    pub(super) fn new(config: FrontConfig, address: SocketAddr, service: Box<dyn Service>) -> io::Result<Self> {
        Ok(Self {
            address,
            clock: Clock::start(),
            slots: Slots::new(config.max_connections),
            ready: ReadySet::new()?,
            queue: ReadyQueue::new(config.queue_capacity, config.discipline()),
            idle: Idle::new(),
            sleep: Sleep::new(),
            workers: Workers::new(config.max_threads),
            lingers: Lingers::default(),
            stats: Stats::new(),
            service,
            housekeeper: OnceLock::new(),
            closing: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            grain: (config.shortest_timeout().as_millis() as u64 / 32).clamp(1, 256),
            stage: AtomicU8::new(Stage::Open as u8),
            config,
        })
    }

    pub(super) fn is_draining(&self) -> bool {
        self.stage.load(Ordering::Acquire) >= Stage::Draining as u8
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stage.load(Ordering::Acquire) >= Stage::Stopped as u8
    }

    pub(super) fn advance(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Ordering::AcqRel);
    }

    /// Whether a connection may be served again after so many answers (`server.tomcat.max-keep-alive-requests`).
    pub(super) fn allows_another(&self, answered: u64) -> bool {
        self.config.max_keep_alive_requests.is_none_or(|most| answered < most)
    }

    /// Adds owned connections to the ready queue and wakes who can take them.
    pub(super) fn enqueue(&self, batch: impl IntoIterator<Item = Waiting>) {
        let pushed = self.queue.push(batch);
        if pushed > 0 {
            self.ready.call(self.idle.to_wake(pushed));
            self.end_calm();
        }
    }

    /// Adds one that was not served yet.
    pub(super) fn enqueue_one(&self, owned: Owned<'_>, since: Instant) {
        self.enqueue([Waiting { connection: owned.deposit(), since, again: false }]);
    }

    /// Waits on the ready set as an idle worker; `None` when there is something else to look at.
    pub(super) fn wait_idle(&self) -> Option<Owned<'_>> {
        let waits = self.idle.enter(|| self.queue.len() == 0 && !self.is_stopped());
        let wake = if waits { self.ready.wait() } else { Wake::Called };
        if self.idle.leave() == Left::Nobody {
            self.end_calm();
        }
        match wake {
            Wake::Connection(token, news) => self.slots.announce(token, news),
            Wake::Called => None,
        }
    }

    /// Gives a connection back until something arrives, or `budget` has passed since `from`.
    ///
    /// # Errors
    /// The connection, when something arrived meanwhile: read again.
    pub(super) fn release<'a>(
        &self,
        owned: Owned<'a>,
        from: Instant,
        budget: Option<Duration>,
    ) -> Result<(), Owned<'a>> {
        let due = self.due(from, budget);
        owned.release(due)?;
        self.watch(due);
        Ok(())
    }

    /// The moment, in the clock's milliseconds, at which the housekeeper looks after a connection. Rounded up, so that the deadlines of
    /// many connections fall together and are found by one scan.
    pub(super) fn due(&self, from: Instant, budget: Option<Duration>) -> u64 {
        match self.clock.due(from, budget) {
            NEVER => NEVER,
            due => due.div_ceil(self.grain).saturating_mul(self.grain),
        }
    }

    /// The housekeeper must be awake at `due`, which a slot says already.
    pub(super) fn watch(&self, due: u64) {
        if self.sleep.set(due) {
            self.unpark_housekeeper();
        }
    }

    /// The housekeeper has something to look at: a write before this call ended the calm.
    pub(super) fn end_calm(&self) {
        if self.sleep.disturb() {
            self.unpark_housekeeper();
        }
    }

    /// Tells the handler of a request that it never saw, and counts it.
    pub(super) fn tell_refused(&self, refusal: &Refused) {
        self.stats.refused(refusal.reason).add_one();
        if catch_unwind(AssertUnwindSafe(|| self.service.refused(refusal))).is_err() {
            self.stats.panics.add_one();
        }
    }

    /// Closes what nobody serves any more, once every thread has ended.
    pub(super) fn close_rest(&self) {
        while let Some(waiting) = self.queue.pop(|| self.clock.now()) {
            drop(self.slots.resume(waiting.connection));
        }
        self.end_lingering();
        self.slots.claim_due(NEVER, true, drop);
    }

    fn unpark_housekeeper(&self) {
        if let Some(thread) = self.housekeeper.get() {
            thread.unpark();
        }
    }
}
