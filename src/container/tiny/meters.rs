//! What the second container counts.

use super::Common;
use crate::metrics::{Collect, Counter, Gauge, Sink, Timer};
use crate::phase::Phase;
use crate::reason::Reason;

/// Its counters and gauges.
#[derive(Debug, Default)]
pub(super) struct Meters {
    /// Requests in line for a worker.
    pub(super) waiting: Gauge,
    pub(super) wait: Timer,
    /// Workers with a request.
    pub(super) busy: Gauge,
    pub(super) requests: Counter,
    pub(super) panics: Counter,
    queue_full: Counter,
    queue_timeout: Counter,
    bad_request: Counter,
    target_too_long: Counter,
    head_too_large: Counter,
    /// Requests from connections that were given up.
    pub(super) ignored: Counter,
    /// Requests that could not be dropped without a danger to the process.
    pub(super) abandoned: Counter,
}

impl Meters {
    /// Requests refused for `reason`; every reason that this container does not know counts as a bad request.
    pub(super) fn refused(&self, reason: Reason) -> &Counter {
        match reason {
            Reason::QueueFull => &self.queue_full,
            Reason::QueueTimeout => &self.queue_timeout,
            Reason::TargetTooLong => &self.target_too_long,
            Reason::HeadTooLarge => &self.head_too_large,
            _ => &self.bad_request,
        }
    }
}

type Labels<'a> = [(&'static str, &'a str)];

/// The names are those of the native front where the values are the same.
impl Collect for Common {
    fn collect(&self, sink: &mut dyn Sink) {
        let (meters, server) = (&self.meters, [("server", self.config.name)]);
        self.collect_workers(sink, &server);
        let capacity = to_double(self.config.queue_capacity);
        sink.gauge("portcullis.queue.capacity", "Requests that may wait for a worker", &server, capacity);
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        let waiting = meters.waiting.get() as f64;
        sink.gauge("portcullis.queue.waiting", "Requests that wait for a worker", &server, waiting);
        sink.timer("portcullis.queue.wait", "Time that requests waited for a worker", &server, &meters.wait);
        sink.counter("portcullis.requests.served", "Requests that a handler answered", &server, meters.requests.get());
        sink.counter("portcullis.requests.panics", "Handlers that panicked", &server, meters.panics.get());
        self.collect_refusals(sink, server[0]);
        let help = "1 while the crate accepts connections; an error ends that for good";
        sink.gauge("portcullis.tiny.accepting", help, &server, f64::from(u8::from(self.is_accepting())));
        let help = "Requests behind the last one of their connection, thrown away";
        sink.counter("portcullis.tiny.ignored", help, &server, meters.ignored.get());
        let help = "Requests that declared too much to be dropped safely, left as they were";
        sink.counter("portcullis.tiny.abandoned", help, &server, meters.abandoned.get());
    }
}

impl Common {
    fn collect_workers(&self, sink: &mut dyn Sink, server: &Labels<'_>) {
        let max = to_double(self.config.max_threads);
        sink.gauge("portcullis.workers.max", "Workers that there may be", server, max);
        for phase in Phase::ALL.into_iter().filter(|phase| !matches!(phase, Phase::Vacant | Phase::Parked)) {
            let count = self.phases.iter().filter(|slot| slot.read().0 == phase).count();
            let labels = [server[0], ("phase", &*format!("{phase:?}").to_ascii_lowercase())];
            sink.gauge("portcullis.workers.phase", "Workers by what they do", &labels, to_double(count));
        }
    }

    fn collect_refusals(&self, sink: &mut dyn Sink, server: (&'static str, &str)) {
        let meters = &self.meters;
        for (reason, count) in [
            (Reason::QueueFull, &meters.queue_full),
            (Reason::QueueTimeout, &meters.queue_timeout),
            (Reason::BadRequest, &meters.bad_request),
            (Reason::TargetTooLong, &meters.target_too_long),
            (Reason::HeadTooLarge, &meters.head_too_large),
        ] {
            let labels = [server, ("reason", reason.name())];
            let help = "Requests refused before a handler saw them";
            sink.counter("portcullis.connections.refused", help, &labels, count.get());
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
fn to_double(n: usize) -> f64 {
    n as f64
}
