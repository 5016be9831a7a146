//! The end of a front: nothing new is accepted, what runs is finished, what is idle is closed, and at the deadline the rest is cut.
//!
//! Answers carry `Connection: close` from the moment a drain begins. Everything that waits is woken by name: the acceptor by its eventfd and
//! the slots' condition, idle workers by the ready set's stop, parked ones and the housekeeper by unparking.

use super::Front;
use super::shared::Stage;
use super::workers::PATIENCE;
use crate::deadline::Deadline;

/// How a drain ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were cut at the deadline, each with the request that it had.
    pub cut: usize,
    /// Threads that did not end although their sockets were shut.
    pub stuck: usize,
}

impl Drained {
    /// Whether everything was finished in time.
    pub fn is_clean(self) -> bool {
        self == Self::default()
    }
}

impl Front {
    /// Accepts no more, tells clients that the next answer is the last, closes idle connections. Returns at once.
    pub fn begin_drain(&self) {
        self.shared.advance(Stage::Draining);
        let _ = rustix::io::write(&self.shared.closing, &1_u64.to_ne_bytes());
        self.shared.slots.wake_takers();
        self.shared.end_calm();
    }

    /// Drains until `by`, cuts what is left, and ends every thread.
    pub fn drain(mut self, by: Deadline) -> Drained {
        self.begin_drain();
        self.join_acceptor();
        self.shared.slots.wait_until_free(by.moment());
        let (cut, stuck) = self.stop();
        Drained { cut, stuck }
    }

    /// Waits until the acceptor has emptied the backlog and closed the listener, which nothing delays.
    pub(super) fn join_acceptor(&mut self) {
        if let Some(acceptor) = self.acceptor.take()
            && acceptor.join().is_err()
        {
            log::error!("{}: the acceptor panicked", self.shared.config.name);
        }
    }

    /// Cuts every connection and ends every thread; says how many connections there were, and how many threads did not end.
    pub(super) fn stop(&self) -> (usize, usize) {
        let shared = &self.shared;
        shared.end_lingering();
        let cut = shared.slots.cut_all();
        shared.advance(Stage::Stopped);
        shared.ready.stop();
        shared.workers.unpark_all();
        shared.end_calm();
        let stuck = shared.workers.wait_until_ended(shared.clock.now() + PATIENCE);
        shared.close_rest();
        (cut, stuck)
    }
}
