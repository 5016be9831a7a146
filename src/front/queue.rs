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

/// Padded: every worker looks at it twice a request.
#[repr(align(128))]
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

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::super::slots::Slots;
    use super::*;
    use std::net::{SocketAddr, TcpListener, TcpStream};

    /// A queue of connections that came a second apart, the given ones having given way, and its slots.
    fn queue(capacity: usize, again: &[bool], from: Instant) -> (ReadyQueue, Slots) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Slots::new(again.len());
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        let queue = ReadyQueue::new(capacity);
        for (second, again) in (0..).zip(again) {
            let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            slots.try_take().unwrap().open(socket, peer, from, 0).unwrap();
            let since = from + Duration::from_secs(second);
            slots.claim_due(0, true, |owned| {
                queue.push([Waiting { connection: owned.deposit(), since, again: *again }]);
            });
        }
        (queue, slots)
    }

    /// Ends them, and says how long after `from` each had come.
    fn seconds(slots: &Slots, from: Instant, taken: impl IntoIterator<Item = Waiting>) -> Vec<u64> {
        let ended = taken.into_iter().map(|waiting| {
            drop(slots.resume(waiting.connection));
            (waiting.since - from).as_secs()
        });
        ended.collect()
    }

    #[test]
    fn the_oldest_come_first_and_the_overdue_leave() {
        let from = Instant::now();
        let (queue, slots) = queue(9, &[false; 5], from);
        assert_eq!(seconds(&slots, from, queue.pop()), [0]);
        let now = from + Duration::from_millis(12_500);
        assert_eq!(seconds(&slots, from, queue.take_overdue(now, Duration::from_secs(10))), [1, 2]);
        assert!(queue.take_excess(0).is_empty());
        assert_eq!(seconds(&slots, from, std::iter::from_fn(|| queue.pop())), [3, 4]);
        assert_eq!((queue.len(), slots.in_use()), (0, 0));
    }

    #[test]
    fn the_newest_are_too_much_but_never_those_who_gave_way() {
        let from = Instant::now();
        let (queue, slots) = queue(2, &[false, true, false, false, true, false], from);
        assert_eq!(seconds(&slots, from, queue.take_excess(1)), [5]);
        assert_eq!(seconds(&slots, from, queue.take_excess(0)), [3]);
        assert_eq!(seconds(&slots, from, queue.take_excess(0)), [0; 0]);
        assert_eq!(seconds(&slots, from, std::iter::from_fn(|| queue.pop())), [0, 1, 2, 4]);
        assert_eq!(slots.in_use(), 0);
    }
}
