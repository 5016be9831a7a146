//! The ready queue, Tomcat's accept queue: connections that are ready while every worker is busy, with the time since when.
//!
//! A mutex around a deque, because the housekeeper must look at the oldest and the newest and take them out. Pushed in batches under one
//! lock. It bounds nothing by itself: the housekeeper refuses what is too much or too old, since only it knows that no worker is free.

use super::slots::Deposit;
use super::sync::{AtomicUsize, Ordering};
use crate::metrics::Timer;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A connection in the queue.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) connection: Deposit,
    pub(super) since: Instant,
    /// It was served already and gave way to others: it is never too much.
    pub(super) again: bool,
}

pub(super) struct ReadyQueue {
    waiting: Mutex<VecDeque<Waiting>>,
    count: AtomicUsize,
    capacity: usize,
    /// How long those waited whom a worker took.
    pub(super) wait: Timer,
}

impl ReadyQueue {
    pub(super) fn new(capacity: usize) -> Self {
        Self { waiting: Mutex::default(), count: AtomicUsize::new(0), capacity, wait: Timer::default() }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Adds to the tail, under one lock; says how many.
    pub(super) fn push(&self, batch: impl IntoIterator<Item = Waiting>) -> usize {
        let mut waiting = self.waiting.lock();
        let before = waiting.len();
        waiting.extend(batch);
        self.count.store(waiting.len(), Ordering::Release);
        waiting.len() - before
    }

    /// Takes the oldest. Costs a look at one word when there is none.
    pub(super) fn pop(&self) -> Option<Waiting> {
        if self.len() == 0 {
            return None;
        }
        let mut waiting = self.waiting.lock();
        let oldest = waiting.pop_front();
        self.count.store(waiting.len(), Ordering::Release);
        oldest
    }

    /// Takes out those who wait for longer than `timeout` at `now`.
    pub(super) fn take_overdue(&self, now: Instant, timeout: Duration) -> Vec<Waiting> {
        if self.len() == 0 {
            return Vec::new();
        }
        let mut waiting = self.waiting.lock();
        let overdue = waiting.iter().take_while(|w| now.saturating_duration_since(w.since) > timeout).count();
        let taken = waiting.drain(..overdue).collect();
        self.count.store(waiting.len(), Ordering::Release);
        taken
    }

    /// Takes out the newest beyond the capacity, but not those who gave way, and `free` fewer: workers will come for them.
    pub(super) fn take_excess(&self, free: usize) -> Vec<Waiting> {
        let allowed = self.capacity.saturating_add(free);
        if self.len() <= allowed {
            return Vec::new();
        }
        let mut waiting = self.waiting.lock();
        let mut excess = waiting.iter().filter(|w| !w.again).count().saturating_sub(allowed);
        let mut taken = Vec::new();
        let mut index = waiting.len();
        while excess > 0 && index > 0 {
            index -= 1;
            if !waiting[index].again {
                taken.extend(waiting.remove(index));
                excess -= 1;
            }
        }
        self.count.store(waiting.len(), Ordering::Release);
        taken
    }
}
