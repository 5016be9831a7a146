//! The one thread that takes requests from the crate, judges their heads and passes them on.
//!
//! One, because order matters: what the crate reads behind a request that is refused may be the middle of its body, and must meet the
//! condemnation of its connection. It never waits for a client.

use super::Common;
use super::client::{TinyClient, peer_of};
use super::head;
use super::socket::ClientSocket;
use super::worker::{Job, Running, Verdict};
use crate::cancel::Cancel;
use crate::client::{Ending, Handler, Refused};
use crate::reason::Reason;
use crossbeam_channel::Sender;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

pub(super) struct Dispatcher<H> {
    common: Arc<Common>,
    server: Arc<tiny_http::Server>,
    handler: Arc<H>,
    jobs: Sender<Job>,
}

impl<H: Handler> Dispatcher<H> {
    pub(super) fn new(common: Arc<Common>, server: Arc<tiny_http::Server>, handler: Arc<H>, jobs: Sender<Job>) -> Self {
        Self { common, server, handler, jobs }
    }

    /// Until the container stops; the workers end when the queue has no sender any more.
    pub(super) fn run(self) {
        loop {
            match self.server.recv() {
                Ok(request) => self.dispatch(request, Instant::now()),
                Err(_) if self.common.stopping.load(Relaxed) => return,
                Err(error) => self.accepting_ended(&error),
            }
        }
    }

    fn dispatch(&self, request: tiny_http::Request, now: Instant) {
        let peer = peer_of(&request);
        let running = Running::new(self.common.clone(), peer);
        let verdict = self.judge(&request, peer, now);
        if self.is_full() {
            self.common.meters.refused(Reason::QueueFull).add_one();
            let client = TinyClient::new(self.common.clone(), Arc::new(Cancel::default()), request, None);
            client.end(Ending::Abort);
            let (reason, status) = (Reason::QueueFull, Reason::QueueFull.status());
            return self.handler.refused(&Refused { reason, status, detail: "".into(), peer, since: now, sent: 0 });
        }
        self.common.meters.waiting.move_by(1);
        // The workers outlive this thread, which ends the queue by leaving.
        let _ = self.jobs.send(Job { request, verdict, received: now, running });
    }

    fn judge(&self, request: &tiny_http::Request, peer: SocketAddr, now: Instant) -> Verdict {
        let cookie = || ClientSocket::find(self.common.local.port(), peer)?.cookie();
        if self.common.peers.is_condemned(peer, now, cookie) {
            return Verdict::Ignore;
        }
        match head::read(request, &self.common.config.head, &self.common.config.relaxed) {
            Ok((head, length)) => Verdict::Serve(Box::new(head), length),
            Err(error) => {
                self.common.peers.condemn(peer, now);
                Verdict::Refuse(error)
            }
        }
    }

    /// Whether every worker is busy and the queue is full.
    fn is_full(&self) -> bool {
        let meters = &self.common.meters;
        let within = usize::try_from(meters.waiting.get() + meters.busy.get()).unwrap_or_default();
        within >= self.common.config.max_threads.saturating_add(self.common.config.queue_capacity)
    }

    fn accepting_ended(&self, error: &io::Error) {
        self.common.accepting.store(false, Relaxed);
        if !self.common.is_draining() {
            log::error!("tiny_http has stopped accepting connections for good, restart the gateway: {error}");
        }
    }
}
