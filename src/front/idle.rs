//! The handshake between workers that are about to wait and whoever fills the ready queue: no request may lie there while all who could
//! take it sleep.
//!
//! A worker says that it is idle, then looks into the queue once more, then waits. Who pushes looks at the idle count afterwards and wakes
//! as many as it needs. A SeqCst fence stands between one's own write and the look at the other's. Pure atomics, checked with `loom`.

use super::sync::{AtomicUsize, Ordering, fence};

/// Padded: every worker writes it twice a request.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Idle(AtomicUsize);

/// Whether the last idle worker has left: the housekeeper must not sleep on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Others,
    Nobody,
}

impl Idle {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// How many wait, or are about to.
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// The caller is idle. True: it may wait; false: the queue holds something. Either way [`Self::leave`] must follow.
    pub(super) fn enter(&self, queue_is_empty: impl FnOnce() -> bool) -> bool {
        self.0.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        queue_is_empty()
    }

    /// The caller is idle no more.
    pub(super) fn leave(&self) -> Left {
        if self.0.fetch_sub(1, Ordering::AcqRel) == 1 { Left::Nobody } else { Left::Others }
    }

    /// How many to wake for `pushed` new entries of the queue; to be asked after they were pushed.
    pub(super) fn to_wake(&self, pushed: usize) -> usize {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed).min(pushed)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn wakes_no_more_than_are_idle_or_needed() {
        let idle = Idle::new();
        assert_eq!(idle.to_wake(3), 0);
        assert!(idle.enter(|| true));
        assert!(!idle.enter(|| false));
        assert_eq!((idle.to_wake(1), idle.to_wake(9)), (1, 2));
        assert_eq!(idle.leave(), Left::Others);
        assert_eq!(idle.leave(), Left::Nobody);
    }
}

#[cfg(test)]
#[cfg(loom)]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// One worker, one pusher: either the worker sees the entry before it waits, or the pusher sees the worker and wakes it.
    #[test]
    fn loom_an_entry_is_seen_or_its_worker_is_woken() {
        loom::model(|| {
            let idle = Arc::new(Idle::new());
            let queued = Arc::new(AtomicUsize::new(0));
            let (pusher_idle, pusher_queued) = (idle.clone(), queued.clone());
            let pusher = thread::spawn(move || {
                pusher_queued.store(1, Ordering::Relaxed);
                pusher_idle.to_wake(1)
            });
            let waits = idle.enter(|| queued.load(Ordering::Relaxed) == 0);
            let woken = pusher.join().unwrap();
            assert!(!waits || woken == 1, "the worker waits and nobody woke it");
        });
    }

    /// Two workers, one entry: one wake-up is enough, whichever of them waits.
    #[test]
    fn loom_two_workers_never_both_miss_an_entry() {
        loom::model(|| {
            let idle = Arc::new(Idle::new());
            let queued = Arc::new(AtomicUsize::new(0));
            let workers: Vec<_> = (0..2)
                .map(|_| {
                    let (idle, queued) = (idle.clone(), queued.clone());
                    thread::spawn(move || idle.enter(|| queued.load(Ordering::Relaxed) == 0))
                })
                .collect();
            queued.store(1, Ordering::Relaxed);
            let woken = idle.to_wake(1);
            let waiting = workers.into_iter().map(|w| w.join().unwrap()).filter(|waits| *waits).count();
            assert!(waiting < 2 || woken == 1);
        });
    }
}
