//! What a command shows of itself: totals, the rolling counts, latencies, the circuit, in the names of Micrometer's Hystrix meters where
//! there is one.

use super::{CircuitState, Command, Event, Latencies, PoolMetrics};
use crate::metrics::Sink;
use std::time::Instant;

/// Percentiles that are told, in Prometheus's words.
const QUANTILES: [(&str, f64); 4] = [("0.5", 50.0), ("0.9", 90.0), ("0.99", 99.0), ("1", 100.0)];

impl Command {
    /// Tells every value, as it is at `now`.
    pub fn collect(&self, now: Instant, sink: &mut dyn Sink) {
        let backend = ("backend", self.config.id.as_str());
        let (totals, rolling, health) = (self.metrics.totals(), self.metrics.rolling(now), self.metrics.health(now));
        for &event in Event::ALL {
            let labels = [backend, ("event", event.name())];
            let help = "What happened at the command of a backend, in Hystrix's words";
            sink.counter("hystrix.execution", help, &labels, totals.get(event));
            let help = "The same in the closed buckets of metrics.rollingStats";
            sink.gauge("hystrix.execution.rolling", help, &labels, rolling.counts.get(event) as f64);
        }
        let gauges = [
            (
                "hystrix.circuit.breaker.open",
                "1 while the circuit lets nothing through but tests",
                u64::from(self.circuit() != CircuitState::Closed),
            ),
            ("hystrix.requests.rolling", "Requests that the circuit is judged by", health.total),
            ("hystrix.errors.rolling", "Failures among the requests that the circuit is judged by", health.errors),
            ("hystrix.concurrent.execution.current", "Calls up to the head of their answer", self.metrics.under_way()),
            (
                "hystrix.concurrent.execution.rolling.max",
                "The most of them at once in the closed buckets",
                rolling.most_under_way,
            ),
        ];
        for (name, help, value) in gauges {
            sink.gauge(name, help, &[backend], value as f64);
        }
        let [execute, total] = self.metrics.latencies(now);
        quantiles("hystrix.latency.execution", "Seconds of calls, from admission", &execute, backend, sink);
        quantiles("hystrix.latency.total", "Seconds of commands, waiting included", &total, backend, sink);
        self.fallback.collect(backend, sink);
    }
}

impl PoolMetrics {
    /// Tells every value, as it is at `now`.
    pub fn collect(&self, now: Instant, sink: &mut dyn Sink) {
        let (label, rolling) = (("pool", self.key()), self.rolling(now));
        let gauges = [
            ("hystrix.threadpool.rolling.executed", "Calls made in the closed buckets", rolling.threads_executed),
            ("hystrix.threadpool.rolling.rejected", "Requests refused in the closed buckets", rolling.rejections),
            ("hystrix.threadpool.rolling.active.max", "The most calls at once in them", rolling.most_active),
        ];
        for (name, help, value) in gauges {
            sink.gauge(name, help, &[label], value as f64);
        }
    }
}

/// Nothing where nothing was measured: no latency is not a latency of zero.
fn quantiles(
    name: &'static str,
    help: &'static str,
    of: &Latencies,
    backend: (&'static str, &str),
    sink: &mut dyn Sink,
) {
    if of.count() > 0 {
        for (quantile, percent) in QUANTILES {
            let labels = [backend, ("quantile", quantile)];
            sink.gauge(name, help, &labels, of.percentile(percent).as_secs_f64());
        }
    }
}
