//! One worker: looks into the ready queue, else waits on the ready set itself; serves what it gets, or parks.
//!
//! It owns what a request needs and a connection does not: the receive buffer and the handler's local part. It never waits for a head: one
//! that is not whole stays with its connection. What it does with a connection is told in `connection`.

use super::connection::After;
use super::input::Input;
use super::queue::Waiting;
use super::shared::{Service, Shared};
use super::slots::Owned;
use super::streaming::Streaming;
use super::workers::Place;
use crate::client::{Handler, Refused};
use crate::phase::{self, Phase};
use rustix::net::sockopt::set_socket_linger;
use std::sync::Arc;
use std::time::Duration;

/// A handler as the front's threads see it.
pub(super) struct Served<H>(pub(super) Arc<H>);

impl<H: Handler> Service for Served<H> {
    fn work(&self, shared: &Arc<Shared>, place: &Place) {
        let input = Input::new(shared.config.buffer_size());
        let mut worker = Worker { shared, place, handler: &*self.0, local: self.0.local(), input, in_line: 0 };
        worker.live();
    }

    fn refused(&self, refusal: &Refused) {
        self.0.refused(refusal);
    }
}

pub(super) struct Worker<'a, H: Handler> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) place: &'a Place,
    pub(super) handler: &'a H,
    pub(super) local: H::Local,
    pub(super) input: Input,
    /// Requests of one connection served without giving way.
    pub(super) in_line: u32,
}

impl<'a, H: Handler> Worker<'a, H> {
    fn live(&mut self) {
        loop {
            let waiting = self.shared.queue.pop(|| self.shared.clock.now());
            self.place.has_looked();
            if self.shared.is_stopped() {
                return;
            } else if let Some(waiting) = waiting {
                self.serve_waiting(waiting);
            } else if self.shared.workers.take_surplus() {
                self.place.park();
            } else if let Some(owned) = self.wait() {
                self.serve(owned, Duration::ZERO);
            }
        }
    }

    fn wait(&self) -> Option<Owned<'a>> {
        let _phase = phase::enter(Phase::Idle);
        self.shared.wait_idle()
    }

    fn serve_waiting(&mut self, waiting: Waiting) {
        let owned = self.shared.slots.resume(waiting.connection);
        let waited = self.shared.clock.now().saturating_duration_since(waiting.since);
        self.shared.queue.wait.record(waited);
        self.serve(owned, waited);
    }

    /// Serves a connection until it has nothing more for now, has to give way, or ends.
    fn serve(&mut self, mut owned: Owned<'_>, waited: Duration) {
        let mut waited = waited;
        self.in_line = 0;
        loop {
            match self.visit(&owned, std::mem::take(&mut waited)) {
                After::Idle { from, budget } => match self.shared.release(owned, from, budget) {
                    Ok(()) => return,
                    Err(again) => owned = again,
                },
                After::GiveWay => {
                    let since = self.shared.clock.now();
                    return self.shared.enqueue([Waiting { connection: owned.deposit(), since, again: true }]);
                }
                After::Refuse(reason, since) => return self.shared.refuse_now(owned, reason, since),
                After::Linger => return self.shared.linger(owned),
                After::Subscribe(subscription) => return Streaming::begin(self.shared, owned, subscription),
                After::Reset => return self.reset(owned),
                After::Close => return,
            }
        }
    }

    /// Closes so that the client notices that its answer is cut short.
    fn reset(&self, owned: Owned<'_>) {
        if let Some(socket) = owned.socket().as_ref() {
            let _ = set_socket_linger(socket, Some(Duration::ZERO)); // a plain close is noticed too, by a missing end
        }
    }
}
