//! The thread that keeps the front going while every worker is busy, and asleep while nothing happens.
//!
//! While no worker is idle, or the queue holds something, it ticks every millisecond: activates workers, moves ready connections into the
//! queue, refuses what is too much or too old, parks surplus workers. It ends what is overdue, and what lingers. When all has been calm for a
//! while it sleeps until the earliest deadline, so that an idle front makes no wake-ups. A panic costs it one tick.

use super::input::Received;
use super::queue::{Entry, Waiting};
use super::refusal::peek;
use super::shared::Shared;
use super::sleep::NEVER;
use super::slots::{Owned, State};
use super::workers::{Survey, activate};
use crate::reason::Reason;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(1);
/// Calm ticks before it sleeps, and ticks with too many live workers before some are parked.
const PATIENCE: u32 = 50;
/// Ticks without an answer after which it believes that nothing moves. A busy machine alone can keep every worker from its turn for two or
/// three of them, and more workers would make that worse.
const STALLED: u32 = 5;
/// Ticks without an answer after which it does not count how many workers are runnable any more: all are stuck somewhere.
const STUCK: u32 = 10;
/// So many workers blocked for long to each that is not mean that the upstream is slow.
const MOSTLY: usize = 3;
/// Ticks between two looks at the connections that are idle, during a drain.
const DRAIN_STEP: u64 = 8;
/// For the log.
const CODEL: &str = "CoDel: it waited for more than 5 ms in a queue that had not been empty for 100 ms";

pub(super) struct Housekeeper {
    shared: Arc<Shared>,
    calm: u32,
    roomy: u32,
    stalled: u32,
    answered: u64,
}

impl Housekeeper {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, calm: 0, roomy: 0, stalled: 0, answered: 0 }
    }

    /// The thread's life.
    pub(super) fn run(mut self) {
        let shared = self.shared.clone();
        let _ = shared.housekeeper.set(thread::current());
        while !shared.is_stopped() {
            self.rest();
            if catch_unwind(AssertUnwindSafe(|| self.tick())).is_err() {
                shared.stats.panics.add_one();
            }
        }
        shared.end_lingering();
    }

    /// Until the next tick, or longer when all has been calm for long.
    fn rest(&mut self) {
        self.calm = if self.is_calm() && self.roomy == 0 { self.calm + 1 } else { 0 };
        if self.calm <= PATIENCE {
            return thread::sleep(TICK);
        }
        let sleep = &self.shared.sleep;
        match sleep.fall_asleep(|| self.is_calm()) {
            Some(NEVER) => thread::park(),
            Some(until) => {
                let now = self.shared.clock.millis(self.shared.clock.now());
                thread::park_timeout(Duration::from_millis(until.saturating_sub(now)));
            }
            None => {}
        }
        sleep.wake();
        if !self.is_calm() {
            self.calm = 0;
        }
    }

    fn is_calm(&self) -> bool {
        let shared = &self.shared;
        shared.idle.count() > 0 && shared.queue.len() == 0 && shared.lingering() == 0 && !shared.is_draining()
    }

    fn tick(&mut self) {
        let shared = &*self.shared;
        shared.stats.ticks.add_one();
        let (tick, now) = (shared.workers.next_tick(), shared.clock.now());
        if shared.idle.count() == 0 {
            collect(shared, now);
        }
        shared.ready.call(shared.idle.to_wake(shared.queue.len()));
        let survey = shared.workers.survey(tick);
        self.stalled = if survey.answered == self.answered { self.stalled.saturating_add(1) } else { 0 };
        self.answered = survey.answered;
        let all_active = self.activate(survey);
        refuse_excess(&self.shared, now, all_active);
        end_overdue(&self.shared, now, tick);
        self.shared.attend_lingering(now);
        self.thin_out(survey);
    }

    /// Activates as many as are missing to the runnable number; as many as wait, when nothing moves, or some of them, when most workers are
    /// blocked; as many as the queue is over its capacity. True when every worker that can be had is active.
    fn activate(&self, survey: Survey) -> bool {
        let shared = &self.shared;
        if shared.idle.count() > 0 {
            return shared.workers.are_all_active();
        }
        let (waiting, starting) = (shared.queue.len(), shared.workers.starting());
        let unserved = waiting.saturating_sub(starting);
        let for_excess = unserved.saturating_sub(shared.queue.capacity());
        let wanted = missing(survey, self.stalled, unserved, shared.config.runnable).max(for_excess);
        activate(shared, wanted) < wanted || shared.workers.are_all_active()
    }

    /// Parks the surplus once there have been too many live workers for long enough.
    fn thin_out(&mut self, survey: Survey) {
        let shared = &self.shared;
        let (live, runnable) = (survey.live, shared.config.runnable);
        self.roomy = if live > runnable * 3 / 2 { self.roomy + 1 } else { 0 };
        if self.roomy == 0 {
            shared.workers.set_surplus(0);
        } else if self.roomy.is_multiple_of(PATIENCE) {
            shared.workers.set_surplus(live - runnable);
            shared.ready.call((live - runnable).min(shared.idle.count())); // idle ones would not notice
        }
    }
}

/// How many workers are missing when none is idle: up to the runnable number always; for all that wait when nothing moves; for some of them
/// where most workers are blocked for long, since what waits then does not wait for a processor. Without the last, a steady stream of slow
/// requests would keep just enough workers in their first ticks to hide that more are missing.
fn missing(survey: Survey, stalled: u32, waiting: usize, runnable: usize) -> usize {
    let missing = runnable.saturating_sub(survey.live);
    match stalled {
        STUCK.. => missing.max(waiting),
        STALLED.. if missing > 0 => missing.max(waiting),
        _ if survey.blocked >= MOSTLY * survey.live => missing.max(waiting.min(runnable)),
        _ => missing,
    }
}

/// Moves what is ready into the queue, under one lock.
fn collect(shared: &Shared, now: Instant) {
    let mut batch = Vec::new();
    shared.ready.take_all(shared.slots.capacity(), |token, news| {
        if let Some(owned) = shared.slots.announce(token, news) {
            batch.push(Waiting { connection: owned.deposit(), since: now, again: false });
        }
    });
    shared.enqueue(batch);
}

/// Refuses what does not fit while every worker is busy, and what has waited for too long.
fn refuse_excess(shared: &Shared, now: Instant, all_active: bool) {
    if all_active {
        let free = shared.idle.count() + shared.workers.starting();
        for excess in shared.queue.take_excess(free) {
            shared.refuse(shared.slots.resume(excess.connection), Reason::QueueFull, excess.since);
        }
    }
    for Entry { waiting, hurried } in shared.queue.take_overdue(now) {
        let detail = if hurried { CODEL } else { "" };
        shared.refuse_for(shared.slots.resume(waiting.connection), Reason::QueueTimeout, detail, waiting.since);
    }
}

/// Ends connections whose deadline has passed; in a drain every one that nobody serves.
fn end_overdue(shared: &Shared, now: Instant, tick: u64) {
    let millis = shared.clock.millis(now);
    let all = shared.is_draining() && tick.is_multiple_of(DRAIN_STEP);
    if !all && millis < shared.sleep.earliest() {
        return;
    }
    shared.sleep.begin_scan();
    let next = shared.slots.claim_due(millis, all, |owned| end(shared, owned, now));
    let _ = shared.sleep.set(next); // the housekeeper itself is awake
}

/// Ends an idle connection, unless something has just come.
fn end(shared: &Shared, owned: Owned<'_>, now: Instant) {
    let there = owned.socket().as_ref().map_or(Received::Broken, peek);
    let (begun, since) = {
        let state = owned.state();
        (State::has_begun(&state.unread), state.head_since)
    };
    match there {
        Received::Octets(_) => shared.enqueue_one(owned, now),
        Received::End | Received::Broken => {}
        Received::Nothing if begun && shared.is_draining() => {
            shared.refuse_now(owned, Reason::Draining, since.unwrap_or(now))
        }
        Received::Nothing if begun => shared.refuse_now(owned, Reason::HeadTimeout, since.unwrap_or(now)),
        Received::Nothing if shared.is_draining() => shared.linger(owned),
        Received::Nothing => {} // `owned` closes it silently
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check((live, blocked): (usize, usize), stalled: u32, waiting: usize, expected: usize) {
        assert_eq!(missing(Survey { live, blocked, answered: 0 }, stalled, waiting, 16), expected);
    }

    #[test]
    fn workers_are_missing_up_to_the_runnable_number_unless_others_are_stuck_or_slow() {
        check((16, 0), 0, 100, 0);
        check((10, 0), 0, 100, 6);
        check((20, 30), 0, 100, 0); // busy: more would only take turns
        check((20, 60), 0, 100, 16); // slow: most are blocked, and twenty have just begun to be
        check((20, 60), 0, 5, 5);
        check((10, 20), STALLED - 1, 100, 6);
        check((10, 20), STALLED, 100, 100);
        check((16, 20), STALLED, 100, 0);
        check((16, 20), STUCK, 100, 100);
    }
}
