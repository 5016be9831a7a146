//! What the second container counts.

use super::Common;
use crate::metrics::{Collect, Counter, Gauge, Sink, Timer};
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
    pub(super) bad_heads: Counter,
    pub(super) queue_full: Counter,
    pub(super) queue_timeout: Counter,
    /// Requests from connections that were given up.
    pub(super) ignored: Counter,
    /// Requests that could not be dropped without a danger to the process.
    pub(super) abandoned: Counter,
}

impl Collect for Common {
    fn collect(&self, sink: &mut dyn Sink) {
        let meters = &self.meters;
        let limit = |n: usize| u32::try_from(n).map_or(f64::MAX, f64::from);
        #[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
        let now = |gauge: &Gauge| gauge.get() as f64;
        sink.gauge("portcullis.workers.capacity", "Workers that there can be.", &[], limit(self.config.max_threads));
        sink.gauge("portcullis.workers.busy", "Workers with a request.", &[], now(&meters.busy));
        sink.gauge("portcullis.queue.capacity", "Requests that may wait.", &[], limit(self.config.max_queue_capacity));
        sink.gauge("portcullis.queue.waiting", "Requests that wait for a worker.", &[], now(&meters.waiting));
        sink.timer("portcullis.queue.wait", "How long requests waited for a worker.", &[], &meters.wait);
        sink.counter("portcullis.requests", "Requests that reached a worker.", &[], meters.requests.get());
        let mut refused = |reason: Reason, count: &Counter| {
            let labels = [("reason", reason.name())];
            sink.counter("portcullis.front.refused", "Requests refused before they were served.", &labels, count.get());
        };
        refused(Reason::QueueFull, &meters.queue_full);
        refused(Reason::QueueTimeout, &meters.queue_timeout);
        refused(Reason::BadRequest, &meters.bad_heads);
        let ignored = "Requests read from connections that were to end, and thrown away.";
        sink.counter("portcullis.tiny.ignored", ignored, &[], meters.ignored.get());
        let abandoned = "Requests left as they were, thread included, for they declared more than can be allocated.";
        sink.counter("portcullis.tiny.abandoned", abandoned, &[], meters.abandoned.get());
        let accepting = if self.is_accepting() { 1.0 } else { 0.0 };
        sink.gauge("portcullis.tiny.accepting", "0 when the crate has stopped accepting, for good.", &[], accepting);
    }
}
