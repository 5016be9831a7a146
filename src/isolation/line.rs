//! Who waits for a permit, in order of arrival (`gateway.isolation.max-wait`).
//!
//! A permit that comes back while somebody waits goes to who waits longest; a newcomer overtakes nobody. The flag of the [`Tally`] says that
//! somebody waits. It is set before the line is served, so that a permit that comes back meanwhile is either seen by who queued up, or its
//! giver sees the flag. Each who waits holds a worker, so the line is never longer than there are workers.

use super::tally::Tally;
use crate::cancel::{Cancel, ShutDown};
use crate::client::ClientError;
use crate::deadline::{Deadline, Stopwatch};
use crate::isolation::NoResult;
use crate::metrics::Timer;
use crate::phase::{self, Phase};
use crate::reason::Reason;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The line in front of one semaphore.
#[derive(Debug)]
pub(super) struct Line {
    max_wait: Duration,
    turns: Mutex<VecDeque<Arc<Turn>>>,
    /// How long those waited who got a permit, and those who did not.
    pub(super) waits: Timer,
}

/// One who waits.
#[derive(Debug, Default)]
struct Turn {
    outcome: Mutex<Outcome>,
    called: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Outcome {
    #[default]
    Waits,
    /// A permit was taken for it; so many are taken then.
    Granted(usize),
    /// Its client is gone.
    Cancelled,
    /// It waited for long enough.
    Expired,
}

impl Line {
    pub(super) fn new(max_wait: Duration) -> Self {
        Self { max_wait, turns: Mutex::default(), waits: Timer::default() }
    }

    /// The longest wait.
    pub(super) fn max_wait(&self) -> Duration {
        self.max_wait
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.turns.lock().len()
    }

    /// Waits for a permit; says how many are taken with it, and how long it took.
    ///
    /// # Errors
    /// [`Reason::SemaphoreFull`] when none came back in time, [`ClientError::Gone`] when the client left, or was cut by the end of a drain.
    pub(super) fn wait(&self, tally: &Tally, cancel: &Cancel) -> Result<(usize, Duration), NoResult> {
        let (watch, turn) = (Stopwatch::start(), Arc::new(Turn::default()));
        let _armed = cancel.arm(turn.clone()).map_err(|_| ClientError::Gone)?;
        let _phase = phase::enter(Phase::Pool);
        {
            let mut turns = self.turns.lock();
            turns.push_back(turn.clone());
            tally.somebody_waits();
            serve(&mut turns, tally);
        }
        let outcome = turn.wait(Deadline::after(self.max_wait));
        let waited = watch.elapsed();
        self.waits.record(waited);
        match outcome {
            Outcome::Granted(in_use) => return Ok((in_use, waited)),
            _ => self.leave(&turn, tally),
        }
        Err(if outcome == Outcome::Cancelled { ClientError::Gone.into() } else { Reason::SemaphoreFull.into() })
    }

    /// Somebody waits, and a permit came back or the limit was raised.
    pub(super) fn serve(&self, tally: &Tally) {
        serve(&mut self.turns.lock(), tally);
    }

    fn leave(&self, turn: &Arc<Turn>, tally: &Tally) {
        let mut turns = self.turns.lock();
        turns.retain(|other| !Arc::ptr_eq(other, turn));
        serve(&mut turns, tally);
    }
}

/// Grants what can be granted, first come first served; who has left meanwhile is passed over.
fn serve(turns: &mut VecDeque<Arc<Turn>>, tally: &Tally) {
    while let Some(first) = turns.front() {
        let Some(in_use) = tally.take_in_turn() else { return };
        if !first.grant(in_use) {
            tally.give_back();
        }
        turns.pop_front();
    }
    tally.nobody_waits();
}

impl Turn {
    /// False when it waits no longer.
    fn grant(&self, in_use: usize) -> bool {
        self.end(Outcome::Granted(in_use))
    }

    fn end(&self, how: Outcome) -> bool {
        let mut outcome = self.outcome.lock();
        let waits = *outcome == Outcome::Waits;
        if waits {
            *outcome = how;
            self.called.notify_one();
        }
        waits
    }

    fn wait(&self, by: Deadline) -> Outcome {
        let mut outcome = self.outcome.lock();
        while *outcome == Outcome::Waits {
            match by.moment() {
                None => self.called.wait(&mut outcome),
                Some(moment) if self.called.wait_until(&mut outcome, moment).timed_out() => {
                    if *outcome == Outcome::Waits {
                        *outcome = Outcome::Expired;
                    }
                }
                Some(_) => {}
            }
        }
        *outcome
    }
}

impl ShutDown for Turn {
    fn shut_down(&self) {
        self.end(Outcome::Cancelled);
    }
}
