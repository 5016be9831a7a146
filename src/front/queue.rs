//! The ready queue, Tomcat's accept queue: connections that are ready while every worker is busy, with the time since when.
//!
//! A mutex around a deque, because the housekeeper must look at the oldest and the newest and take them out. Pushed in batches under one
//! lock. Who is next is for `discipline` to say. It bounds nothing by itself: the housekeeper refuses what is too much or too old, since
//! only it knows that no worker is free.

use super::discipline::{Discipline, History};
use super::slots::Deposit;
use super::sync::{AtomicUsize, Ordering};
use crate::config::model::QueueOrder;
use crate::metrics::Timer;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Instant;

/// A connection in the queue.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) connection: Deposit,
    pub(super) since: Instant,
    /// It was served already and gave way to others: it is never too much.
    pub(super) again: bool,
}

/// An entry, and whether it came to a standing queue, so that it was given a short time only.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) waiting: Waiting,
    pub(super) hurried: bool,
}

/// Padded: every worker looks at it twice a request.
#[repr(align(128))]
pub(super) struct ReadyQueue {
    state: Mutex<State>,
    count: AtomicUsize,
    capacity: usize,
    discipline: Discipline,
    /// How long those waited whom a worker took.
    pub(super) wait: Timer,
}

#[derive(Default)]
struct State {
    /// In order of arrival.
    waiting: VecDeque<Entry>,
    history: History,
}

impl ReadyQueue {
    pub(super) fn new(capacity: usize, discipline: Discipline) -> Self {
        Self { state: Mutex::default(), count: AtomicUsize::new(0), capacity, discipline, wait: Timer::default() }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Adds to the tail, under one lock; says how many.
    pub(super) fn push(&self, batch: impl IntoIterator<Item = Waiting>) -> usize {
        let mut state = self.state.lock();
        let before = state.waiting.len();
        batch.into_iter().for_each(|waiting| state.join(waiting, self.discipline));
        self.tell(&mut state);
        state.waiting.len() - before
    }

    /// Takes who is next. Costs a look at one word when there is none, and asks for the time only where the order depends on it.
    pub(super) fn pop(&self, now: impl FnOnce() -> Instant) -> Option<Waiting> {
        if self.len() == 0 {
            return None;
        }
        let mut state = self.state.lock();
        let entry = match self.discipline.order {
            QueueOrder::Fifo => state.waiting.pop_front(),
            QueueOrder::AdaptiveLifo => state.turned(now(), self.discipline),
        };
        self.tell(&mut state);
        Some(entry?.waiting)
    }

    /// Takes out those who wait for longer than they may at `now`.
    pub(super) fn take_overdue(&self, now: Instant) -> Vec<Entry> {
        if self.len() == 0 {
            return Vec::new();
        }
        let mut state = self.state.lock();
        let is_overdue = |Entry { waiting, hurried }: &Entry| {
            now.saturating_duration_since(waiting.since) > self.discipline.patience(*hurried)
        };
        let taken = if !self.discipline.codel {
            // All have the same time, so the oldest are the first.
            let overdue = state.waiting.iter().take_while(|entry| is_overdue(entry)).count();
            state.waiting.drain(..overdue).collect()
        } else if state.waiting.iter().any(is_overdue) {
            let (overdue, rest) = std::mem::take(&mut state.waiting).into_iter().partition(is_overdue);
            state.waiting = rest;
            Vec::from(overdue)
        } else {
            Vec::new()
        };
        self.tell(&mut state);
        taken
    }

    /// Takes out those beyond the capacity: the newest, or the oldest where the newest are next. Not those who gave way, and `free` fewer:
    /// workers will come for them.
    pub(super) fn take_excess(&self, free: usize) -> Vec<Waiting> {
        let allowed = self.capacity.saturating_add(free);
        if self.len() <= allowed {
            return Vec::new();
        }
        let mut state = self.state.lock();
        let fresh = state.waiting.iter().filter(|entry| !entry.waiting.again).count();
        let lifo = self.discipline.is_lifo(state.history);
        let mut taken = Vec::new();
        for _ in allowed..fresh {
            let index = if lifo { state.oldest() } else { state.newest() };
            taken.extend(index.and_then(|index| state.waiting.remove(index)).map(|entry| entry.waiting));
        }
        self.tell(&mut state);
        taken
    }

    fn tell(&self, state: &mut State) {
        if state.waiting.is_empty() {
            state.history.emptied();
        }
        self.count.store(state.waiting.len(), Ordering::Release);
    }
}

impl State {
    fn join(&mut self, waiting: Waiting, discipline: Discipline) {
        self.history.joined(self.waiting.is_empty(), waiting.since);
        let hurried = discipline.hurries(self.history, waiting.again);
        self.waiting.push_back(Entry { waiting, hurried });
    }

    /// Takes who is next where the newest may be.
    fn turned(&mut self, now: Instant, discipline: Discipline) -> Option<Entry> {
        self.history.looked(now);
        let newest = if discipline.is_lifo(self.history) { self.newest() } else { None };
        self.waiting.remove(newest.unwrap_or(0))
    }

    /// The last that did not give way.
    fn newest(&self) -> Option<usize> {
        self.waiting.iter().rposition(|entry| !entry.waiting.again)
    }

    fn oldest(&self) -> Option<usize> {
        self.waiting.iter().position(|entry| !entry.waiting.again)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::super::slots::Slots;
    use super::*;
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::time::Duration;

    const TIMEOUT: Duration = Duration::from_secs(10);

    /// A queue of connections that came a second apart, the given ones having given way, and its slots.
    fn queue(capacity: usize, again: &[bool], from: Instant) -> (ReadyQueue, Slots) {
        queue_with(QueueOrder::Fifo, false, capacity, again, from)
    }

    fn queue_with(
        order: QueueOrder,
        codel: bool,
        capacity: usize,
        again: &[bool],
        from: Instant,
    ) -> (ReadyQueue, Slots) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Slots::new(again.len());
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        let queue = ReadyQueue::new(capacity, Discipline { order, codel, timeout: TIMEOUT });
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

    fn later(from: Instant) -> Instant {
        from + Duration::from_secs(99)
    }

    /// Ends them, and says how long after `from` each had come.
    fn seconds(slots: &Slots, from: Instant, taken: impl IntoIterator<Item = Waiting>) -> Vec<u64> {
        let ended = taken.into_iter().map(|waiting| {
            drop(slots.resume(waiting.connection));
            (waiting.since - from).as_secs()
        });
        ended.collect()
    }

    fn overdue(queue: &ReadyQueue, now: Instant, hurried: bool) -> Vec<Waiting> {
        let taken = queue.take_overdue(now).into_iter();
        taken.inspect(|overdue| assert_eq!(overdue.hurried, hurried)).map(|overdue| overdue.waiting).collect()
    }

    #[test]
    fn the_oldest_come_first_and_the_overdue_leave() {
        let from = Instant::now();
        let (queue, slots) = queue(9, &[false; 5], from);
        assert_eq!(seconds(&slots, from, queue.pop(|| later(from))), [0]);
        let now = from + Duration::from_millis(12_500);
        assert_eq!(seconds(&slots, from, overdue(&queue, now, false)), [1, 2]);
        assert!(queue.take_excess(0).is_empty());
        assert_eq!(seconds(&slots, from, std::iter::from_fn(|| queue.pop(|| later(from)))), [3, 4]);
        assert_eq!((queue.len(), slots.in_use()), (0, 0));
    }

    #[test]
    fn the_newest_are_too_much_but_never_those_who_gave_way() {
        let from = Instant::now();
        let (queue, slots) = queue(2, &[false, true, false, false, true, false], from);
        assert_eq!(seconds(&slots, from, queue.take_excess(1)), [5]);
        assert_eq!(seconds(&slots, from, queue.take_excess(0)), [3]);
        assert_eq!(seconds(&slots, from, queue.take_excess(0)), [0; 0]);
        assert_eq!(seconds(&slots, from, std::iter::from_fn(|| queue.pop(|| later(from)))), [0, 1, 2, 4]);
        assert_eq!(slots.in_use(), 0);
    }

    #[test]
    fn a_standing_queue_turns_round_but_not_for_who_gave_way() {
        let (from, again) = (Instant::now(), [false, true, false, false, true]);
        let (queue, slots) = queue_with(QueueOrder::AdaptiveLifo, false, 2, &again, from);
        assert_eq!(seconds(&slots, from, queue.take_excess(0)), [0], "what is oldest is too much");
        assert_eq!(seconds(&slots, from, std::iter::from_fn(|| queue.pop(|| later(from)))), [3, 2, 1, 4]);
        let (calm, slots) = queue_with(QueueOrder::AdaptiveLifo, false, 2, &[true, false], from);
        assert_eq!(seconds(&slots, from, [(); 2].iter().filter_map(|()| calm.pop(|| from))), [0, 1]);
        assert_eq!(slots.in_use(), 0);
    }

    #[test]
    fn who_comes_to_a_standing_queue_waits_for_a_short_time_only() {
        let from = Instant::now();
        let (queue, slots) = queue_with(QueueOrder::Fifo, true, 9, &[false, false, true, false], from);
        let now = from + Duration::from_millis(3_004);
        assert_eq!(
            seconds(&slots, from, overdue(&queue, now, true)),
            [1],
            "0 came first, 2 gave way, 3 has a moment left"
        );
        let now = from + Duration::from_millis(3_006);
        assert_eq!(seconds(&slots, from, overdue(&queue, now, true)), [3]);
        let now = from + TIMEOUT + Duration::from_millis(1_500);
        assert_eq!(seconds(&slots, from, overdue(&queue, now, false)), [0], "each has its own time");
        assert_eq!(seconds(&slots, from, std::iter::from_fn(|| queue.pop(|| later(from)))), [2]);
        assert_eq!((queue.len(), slots.in_use()), (0, 0));
    }
}
