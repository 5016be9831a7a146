//! What a front counts, and the names under which it tells it: connections, workers, ready queue, requests, housekeeper.
//!
//! Every value carries the front's name as the label `server`, since several fronts live in one process. Read by `management`; moved on
//! the way of a request without a lock.

use super::shared::Shared;
use crate::metrics::{Collect, Counter, Sink};
use crate::phase::Phase;
use crate::reason::Reason;

/// Why a front refuses: told at zero too, so that an alert can compare with it.
const REFUSALS: [Reason; 9] = [
    Reason::BadRequest,
    Reason::TargetTooLong,
    Reason::HeadTooLarge,
    Reason::HeadTimeout,
    Reason::ClientAborted,
    Reason::QueueFull,
    Reason::QueueTimeout,
    Reason::Draining,
    Reason::Internal,
];

/// Counters that belong to no single part.
pub(super) struct Stats {
    pub(super) accepted: Counter,
    /// Connections that the client broke while something was due to it.
    pub(super) aborted: Counter,
    /// Handlers that panicked.
    pub(super) panics: Counter,
    /// The housekeeper's rounds.
    pub(super) ticks: Counter,
    pub(super) accept_errors: AcceptErrors,
    refused: Box<[Counter]>,
}

/// Failed accepts by kind.
#[derive(Default)]
pub(super) struct AcceptErrors {
    /// No descriptor left.
    pub(super) descriptors: Counter,
    /// The peer was gone before it was accepted, or its network was.
    pub(super) peer: Counter,
    /// Anything else: memory, for instance.
    pub(super) system: Counter,
}

impl Stats {
    pub(super) fn new() -> Self {
        Self {
            accepted: Counter::default(),
            aborted: Counter::default(),
            panics: Counter::default(),
            ticks: Counter::default(),
            accept_errors: AcceptErrors::default(),
            refused: Reason::ALL.iter().map(|_| Counter::default()).collect(),
        }
    }

    /// How many requests were refused for this reason before a handler saw them.
    pub(super) fn refused(&self, reason: Reason) -> &Counter {
        let index = Reason::ALL.iter().position(|r| *r == reason).unwrap_or(0);
        &self.refused[index]
    }
}

impl Collect for Shared {
    fn collect(&self, sink: &mut dyn Sink) {
        let server = [("server", self.config.name)];
        self.collect_connections(sink, &server);
        self.collect_workers(sink, &server);
        let queue = &self.queue;
        sink.gauge(
            "portcullis.queue.capacity",
            "Entries that the ready queue may hold",
            &server,
            queue.capacity() as f64,
        );
        sink.gauge("portcullis.queue.waiting", "Requests that wait for a worker", &server, queue.len() as f64);
        sink.timer("portcullis.queue.wait", "Time that requests waited for a worker", &server, &queue.wait);
        sink.counter(
            "portcullis.requests.served",
            "Requests that a handler answered",
            &server,
            self.workers.answered(),
        );
        sink.counter("portcullis.requests.panics", "Handlers that panicked", &server, self.stats.panics.get());
        sink.counter("portcullis.housekeeper.ticks", "Rounds of the housekeeper", &server, self.stats.ticks.get());
    }
}

type Labels<'a> = [(&'static str, &'a str)];

impl Shared {
    fn collect_connections(&self, sink: &mut dyn Sink, server: &Labels<'_>) {
        let (slots, stats) = (&self.slots, &self.stats);
        sink.gauge("portcullis.connections.capacity", "Connections that may be open", server, slots.capacity() as f64);
        sink.gauge("portcullis.connections.active", "Open connections", server, slots.in_use() as f64);
        sink.counter("portcullis.connections.accepted", "Connections accepted", server, stats.accepted.get());
        sink.counter("portcullis.connections.aborted", "Connections broken by the client", server, stats.aborted.get());
        for reason in Reason::ALL {
            let count = stats.refused(*reason).get();
            if count > 0 || REFUSALS.contains(reason) {
                let labels = [server[0], ("reason", reason.name())];
                sink.counter(
                    "portcullis.connections.refused",
                    "Requests refused before a handler saw them",
                    &labels,
                    count,
                );
            }
        }
        let errors = &stats.accept_errors;
        for (kind, count) in [("descriptors", &errors.descriptors), ("peer", &errors.peer), ("system", &errors.system)]
        {
            let labels = [server[0], ("kind", kind)];
            sink.counter("portcullis.accept.errors", "Failed accepts", &labels, count.get());
        }
    }

    fn collect_workers(&self, sink: &mut dyn Sink, server: &Labels<'_>) {
        let workers = &self.workers;
        sink.gauge("portcullis.workers.max", "Workers that there may be", server, self.config.max_threads as f64);
        sink.gauge("portcullis.workers.active", "Workers that are not parked", server, workers.active() as f64);
        sink.gauge("portcullis.workers.idle", "Workers that wait for a request", server, self.idle.count() as f64);
        sink.gauge("portcullis.workers.parked", "Workers that are not needed now", server, workers.parked() as f64);
        let counts = workers.by_phase();
        for (phase, count) in Phase::ALL.iter().zip(counts).filter(|(phase, _)| **phase != Phase::Vacant) {
            let labels = [server[0], ("phase", phase.name())];
            sink.gauge("portcullis.workers.phase", "Workers by what they do", &labels, count as f64);
        }
    }
}
