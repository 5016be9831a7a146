//! A counting semaphore (`zuul.semaphore.max-semaphores` and its overrides) whose limit may move and in front of which requests may wait.
//!
//! Taking a permit is one compare-exchange that never passes the limit, not even for a moment: counting up first and looking afterwards,
//! as Hystrix does, refuses callers while a permit is free. Without a moving limit and without a wait, that is all there is, and nothing
//! blocks. Called by [`super::Isolation`].

use super::limit::{MovingLimit, Sample};
use super::line::Line;
use super::tally::Tally;
use super::{Heard, NoResult};
use crate::cancel::Cancel;
use crate::config::model::AdaptiveLimit;
use crate::deadline::Stopwatch;
use crate::metrics::{Collect, Counter, Sink};
use crate::reason::Reason;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bounds how many requests of one backend are under way.
#[derive(Debug)]
pub struct Semaphore {
    backend: String,
    tally: Tally,
    moving: Option<Moving>,
    line: Option<Line>,
    refused: Counter,
}

/// What a limit that moves has beside the limit itself.
#[derive(Debug)]
struct Moving {
    limit: Mutex<MovingLimit>,
    floor: usize,
    ceiling: usize,
    dropped: Counter,
}

/// How a semaphore differs from one that refuses beyond a fixed limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// How the limit moves; `None` is not at all.
    pub adaptive: Option<AdaptiveLimit>,
    /// How long a request may wait for a permit; zero is not at all.
    pub max_wait: Duration,
}

impl Semaphore {
    /// For the backend of this id, with a limit that never moves and nobody waits at; a limit of 0 refuses everything.
    pub fn new(backend: &str, limit: usize) -> Arc<Self> {
        Self::with(backend, limit, Manner::default())
    }

    /// With at most so many permits, in this manner.
    pub fn with(backend: &str, most: usize, manner: Manner) -> Arc<Self> {
        let moving = manner.adaptive.map(|config| Moving {
            limit: Mutex::new(MovingLimit::new(config, most)),
            floor: config.floor.min(most),
            ceiling: most,
            dropped: Counter::default(),
        });
        let limit = moving.as_ref().map_or(most, |moving| moving.limit.lock().limit());
        let line = (!manner.max_wait.is_zero()).then(|| Line::new(manner.max_wait));
        Arc::new(Self { backend: backend.into(), tally: Tally::new(limit), moving, line, refused: Counter::default() })
    }

    /// Takes a permit if one is free; else waits for one, if that is allowed. The client's switch, asked for only then, ends the wait.
    ///
    /// # Errors
    /// [`Reason::SemaphoreFull`], or [`crate::client::ClientError::Gone`] when the client left while it waited.
    pub fn acquire(self: &Arc<Self>, cancel: impl FnOnce() -> Arc<Cancel>) -> Result<Permit, NoResult> {
        if let Some(in_flight) = self.tally.take() {
            return Ok(self.permit(in_flight, Duration::ZERO));
        }
        let outcome = match &self.line {
            Some(line) => line.wait(&self.tally, &cancel()),
            None => Err(Reason::SemaphoreFull.into()),
        };
        if outcome == Err(Reason::SemaphoreFull.into()) {
            self.refused.add_one();
        }
        let (in_flight, waited) = outcome?;
        Ok(self.permit(in_flight, waited))
    }

    /// Takes a permit if one is free; never waits.
    ///
    /// # Errors
    /// [`Reason::SemaphoreFull`].
    pub fn try_acquire(self: &Arc<Self>) -> Result<Permit, Reason> {
        let taken = self.tally.take().map(|in_flight| self.permit(in_flight, Duration::ZERO));
        taken.ok_or_else(|| {
            self.refused.add_one();
            Reason::SemaphoreFull
        })
    }

    /// What is used up when it refuses.
    pub fn exhausted(&self) -> String {
        let wait = self
            .line
            .as_ref()
            .map_or(String::new(), |line| format!(", and none came back within {:?}", line.max_wait()));
        format!("all {} permits are taken{wait}", self.limit())
    }

    /// How many permits are taken.
    pub fn in_use(&self) -> usize {
        self.tally.in_use()
    }

    /// How many permits there are now.
    pub fn limit(&self) -> usize {
        self.tally.limit()
    }

    fn permit(self: &Arc<Self>, in_flight: usize, waited: Duration) -> Permit {
        let since = self.moving.as_ref().map(|_| Stopwatch::start());
        Permit { semaphore: self.clone(), in_flight, waited, since }
    }

    /// The limit changes under the lock of the law, so that an older one never replaces a newer.
    fn sample(&self, moving: &Moving, sample: Sample, now: Instant) {
        if sample.dropped {
            moving.dropped.add_one();
        }
        let somebody_waits = {
            let mut limit = moving.limit.lock();
            let (before, after) = (limit.limit(), limit.sample(sample, now));
            before != after && self.tally.set_limit(after)
        };
        if somebody_waits {
            self.serve_line();
        }
    }

    fn serve_line(&self) {
        if let Some(line) = &self.line {
            line.serve(&self.tally);
        }
    }
}

impl Collect for Semaphore {
    fn collect(&self, sink: &mut dyn Sink) {
        let label = ("backend", self.backend.as_str());
        sink.gauge("portcullis.semaphore.capacity", "Permits there are now", &[label], self.limit() as f64);
        sink.gauge("portcullis.semaphore.in.use", "Permits taken by requests", &[label], self.in_use() as f64);
        let labels = [label, ("reason", Reason::SemaphoreFull.name())];
        let help = "Requests refused since every permit was taken";
        sink.counter("portcullis.semaphore.refused", help, &labels, self.refused.get());
        if let Some(Moving { floor, ceiling, dropped, .. }) = &self.moving {
            sink.gauge("portcullis.semaphore.floor", "The fewest permits there can be", &[label], *floor as f64);
            sink.gauge("portcullis.semaphore.ceiling", "The most permits there can be", &[label], *ceiling as f64);
            let help = "Timeouts and failed connects that lowered the limit";
            sink.counter("portcullis.semaphore.dropped", help, &[label], dropped.get());
        }
        if let Some(line) = &self.line {
            sink.gauge("portcullis.semaphore.waiting", "Requests that wait for a permit", &[label], line.len() as f64);
            sink.timer("portcullis.semaphore.wait", "Time that requests waited for a permit", &[label], &line.waits);
        }
    }
}

/// One permit; its drop gives it back.
#[derive(Debug)]
#[must_use = "the permit is given back when this is dropped"]
pub struct Permit {
    semaphore: Arc<Semaphore>,
    in_flight: usize,
    waited: Duration,
    /// Only where somebody wants to know how long it took.
    since: Option<Stopwatch>,
}

impl Permit {
    /// How long it was waited for.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// What came of the request; to be told once, when the response head is there or will not come.
    pub fn heard(&self, heard: Heard) {
        let (Some(moving), Some(since)) = (&self.semaphore.moving, self.since) else { return };
        let took = since.elapsed();
        let (rtt, dropped) = match heard {
            Heard::Head { client } => (took.saturating_sub(client), false),
            Heard::Dropped => (took, true),
        };
        let sample = Sample { rtt, in_flight: self.in_flight, dropped };
        self.semaphore.sample(moving, sample, since.started() + took);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.semaphore.tally.give_back() {
            self.semaphore.serve_line();
        }
    }
}

#[cfg(test)]
mod tests;
