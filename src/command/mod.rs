//! What surrounds the calls of one backend, Hystrix's word for it: circuit breaker, metrics, fallback.
//!
//! ```text
//! Command::begin (circuit) -> isolation admits -> Run::admitted -> the call -> Run::end (counts, closes or opens the circuit)
//! where it failed: Command::fall_back (permit) -> FallingBack::end
//! ```
//!
//! It ends with the head of the answer, as in Hystrix: what happens to the body is neither counted nor judged. Nothing here waits, makes a
//! call or reads a clock; the gateway's `Backend::ask` tells it what happens, and when.

mod circuit;
mod dashboard;
mod event;
mod fallback;
mod meters;
mod metrics;

pub use circuit::CircuitState;
pub use dashboard::{PoolState, tell_command, tell_pool};
pub use event::{Counts, Event, HealthCounts};
pub use fallback::{FallingBack, NoFallback};
pub use metrics::{Latencies, Metrics, PoolMetrics, PoolRolling, Rolling};

use crate::config::model::BackendConfig;
use circuit::{Circuit, Pass};
use fallback::Fallback;
use http::StatusCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The command of one backend.
#[derive(Debug)]
pub struct Command {
    config: Arc<BackendConfig>,
    origin: Instant,
    circuit: Circuit,
    metrics: Metrics,
    fallback: Fallback,
    pool: Option<Arc<PoolMetrics>>,
}

/// A request that the circuit let through; who drops it without [`Self::end`] has panicked, which counts as a failure.
#[derive(Debug)]
#[must_use = "its end is to be told"]
pub struct Run<'a> {
    command: &'a Command,
    pass: Pass,
    since: Instant,
    is_admitted: bool,
    is_over: bool,
}

impl Command {
    /// Of the backend of this configuration; `pool` is that of its calls, under thread isolation.
    pub fn new(config: &Arc<BackendConfig>, pool: Option<Arc<PoolMetrics>>, origin: Instant) -> Self {
        let command = &config.command;
        Self {
            config: config.clone(),
            origin,
            circuit: Circuit::new(command.circuit),
            metrics: Metrics::new(&command.metrics, origin),
            fallback: Fallback::new(&command.fallback),
            pool,
        }
    }

    /// A request comes. `None`: the circuit is open, which is counted.
    pub fn begin(&self, now: Instant) -> Option<Run<'_>> {
        match self.circuit.admit(self.at(now), || self.metrics.health(now)) {
            Some(pass) => Some(Run { command: self, pass, since: now, is_admitted: false, is_over: false }),
            None => {
                self.metrics.count(Event::ShortCircuited, now);
                None
            }
        }
    }

    /// What an answer of this status is to the command.
    pub fn event_of(&self, status: StatusCode) -> Event {
        let fails = self.config.command.circuit.counts_5xx && status.is_server_error();
        if fails { Event::Failure } else { Event::Success }
    }

    /// The backend's configuration, that of its command included.
    pub fn config(&self) -> &Arc<BackendConfig> {
        &self.config
    }

    /// What was counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The counts of its thread pool, which it may share with others.
    pub fn pool(&self) -> Option<&Arc<PoolMetrics>> {
        self.pool.as_ref()
    }

    /// The circuit as it is now; it opens and closes with requests, not by itself.
    pub fn circuit(&self) -> CircuitState {
        self.circuit.state()
    }

    fn count(&self, event: Event, now: Instant) {
        self.metrics.count(event, now);
        if let Some(pool) = &self.pool {
            pool.count(event, now);
        }
    }

    fn at(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.origin)
    }
}

impl Run<'_> {
    /// Isolation admitted it: its call begins.
    pub fn admitted(&mut self) {
        self.is_admitted = true;
        self.command.metrics.start();
        if let Some(pool) = &self.command.pool {
            pool.start();
        }
    }

    /// How it ended, after waiting so long for a permit or a thread.
    pub fn end(mut self, event: Event, waited: Duration, now: Instant) {
        self.is_over = true;
        if self.is_admitted && event.is_executed() {
            let total = now.saturating_duration_since(self.since);
            self.command.metrics.took(total.saturating_sub(waited), total, now);
        }
        self.close(event, now);
    }

    fn close(&self, event: Event, now: Instant) {
        let Command { circuit, metrics, pool, .. } = self.command;
        if self.is_admitted {
            metrics.stop();
            pool.iter().for_each(|pool| pool.stop());
        }
        match event {
            Event::Success if circuit.succeeded(self.pass) => {
                metrics.reset_health();
                log::info!("{}: the circuit closed", self.command.config.id);
            }
            Event::Success => {}
            _ => circuit.failed(self.pass, self.command.at(now)),
        }
        // Last, so that the success that closed the circuit is the first of its new health.
        self.command.count(event, now);
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // A panic has no clock at hand; the time when it began does no harm.
            self.close(Event::Failure, self.since);
        }
    }
}

#[cfg(test)]
mod tests;
