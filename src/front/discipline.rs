//! Who of those that wait for a worker is next, and how long anybody may wait (`gateway.queue.order`, `gateway.queue.codel`).
//!
//! Both begin when the queue has not been empty for a tenth of a second: a burst comes and goes, a standing queue means that more comes than
//! can be served. Then who came last still has a client that waits for the answer (adaptive LIFO), and who comes now waits for five
//! milliseconds at most, so that the queue becomes short (CoDel, in the simple form of Facebook's “Fail at Scale”, with its two numbers).
//! Who gave way to others after many requests is spared both: it is served after those, and has the whole `gateway.queue.timeout`. Pure: the
//! time is passed in. Called by [`super::queue`] under its lock.

use crate::config::model::QueueOrder;
use std::time::{Duration, Instant};

/// A queue that was not empty for so long stands.
const INTERVAL: Duration = Duration::from_millis(100);
/// The longest wait of who joins a standing queue.
const TARGET: Duration = Duration::from_millis(5);

/// What is configured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Discipline {
    pub(super) order: QueueOrder,
    pub(super) codel: bool,
    /// `gateway.queue.timeout`.
    pub(super) timeout: Duration,
}

/// What is known of the queue's past.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    /// Since when it has not been empty.
    filled: Option<Instant>,
    stands: bool,
}

impl History {
    /// Somebody is about to join a queue that is empty or not.
    pub(super) fn joined(&mut self, was_empty: bool, now: Instant) {
        if was_empty {
            *self = Self { filled: Some(now), stands: false };
        }
        self.looked(now);
    }

    /// Somebody looks at the queue, which is not empty.
    pub(super) fn looked(&mut self, now: Instant) {
        self.stands = self.filled.is_some_and(|since| now.saturating_duration_since(since) >= INTERVAL);
    }

    /// The last one left.
    pub(super) fn emptied(&mut self) {
        *self = Self::default();
    }

    /// As of the last look.
    pub(super) fn stands(self) -> bool {
        self.stands
    }
}

impl Discipline {
    /// Whether who came last is next.
    pub(super) fn is_lifo(self, history: History) -> bool {
        self.order == QueueOrder::AdaptiveLifo && history.stands()
    }

    /// Whether who joins now is given a short time only.
    pub(super) fn hurries(self, history: History, again: bool) -> bool {
        self.codel && !again && history.stands()
    }

    /// How long somebody may wait.
    pub(super) fn patience(self, hurried: bool) -> Duration {
        if hurried { TARGET.min(self.timeout) } else { self.timeout }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_queue_stands_once_it_was_not_empty_for_the_interval() {
        let (mut history, start) = (History::default(), Instant::now());
        history.joined(true, start);
        history.joined(false, start + 99 * MS);
        assert!(!history.stands());
        history.looked(start + 100 * MS);
        assert!(history.stands());
        history.emptied();
        assert!(!history.stands());
        history.joined(true, start + 300 * MS);
        history.joined(false, start + 399 * MS);
        assert!(!history.stands(), "it was empty meanwhile");
        history.joined(false, start + 400 * MS);
        assert!(history.stands());
    }

    #[test]
    fn each_switch_does_its_own_and_spares_who_gave_way() {
        let stands = History { filled: None, stands: true };
        let calm = History::default();
        for (order, codel) in [(QueueOrder::Fifo, false), (QueueOrder::AdaptiveLifo, false), (QueueOrder::Fifo, true)] {
            let discipline = Discipline { order, codel, timeout: 5_000 * MS };
            assert_eq!(discipline.is_lifo(stands), order == QueueOrder::AdaptiveLifo);
            assert_eq!(discipline.hurries(stands, false), codel);
            assert!(!discipline.hurries(stands, true) && !discipline.hurries(calm, false) && !discipline.is_lifo(calm));
            assert_eq!((discipline.patience(false), discipline.patience(true)), (5_000 * MS, 5 * MS));
        }
        let strict = Discipline { order: QueueOrder::Fifo, codel: true, timeout: MS };
        assert_eq!(strict.patience(true), MS, "never longer than the timeout");
    }
}
