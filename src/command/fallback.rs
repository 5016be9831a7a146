//! Who may fall back, and how many at once: Hystrix's fallback semaphore. What a fallback does is the gateway's affair.
//!
//! A permit lasts until the fallback's answer has its head, as in Hystrix; a forwarded one is held by its own backend's limits afterwards.

use super::{Command, Event};
use crate::config::model::{FallbackAnswer, FallbackConfig};
use crate::metrics::Sink;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The fallback of one command.
#[derive(Debug)]
pub(super) struct Fallback {
    config: FallbackConfig,
    in_use: AtomicUsize,
}

/// Why nobody falls back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFallback {
    /// There is none.
    Missing,
    /// Too many do already.
    Rejected,
}

/// Leave to fall back; who drops it without [`Self::end`] has panicked, which counts as a failure.
#[derive(Debug)]
#[must_use = "its end is to be told"]
pub struct FallingBack<'a> {
    command: &'a Command,
    answer: Arc<FallbackAnswer>,
    since: Instant,
    is_over: bool,
}

impl Fallback {
    pub(super) fn new(config: &FallbackConfig) -> Self {
        Self { config: config.clone(), in_use: AtomicUsize::new(0) }
    }

    fn take(&self) -> Result<Arc<FallbackAnswer>, NoFallback> {
        let answer = self.config.answer.as_ref().ok_or(NoFallback::Missing)?;
        let one_more = |in_use| (in_use < self.config.max_concurrent_requests).then_some(in_use + 1);
        match self.in_use.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(answer.clone()),
            Err(_) => Err(NoFallback::Rejected),
        }
    }

    pub(super) fn collect(&self, label: (&'static str, &str), sink: &mut dyn Sink) {
        if self.config.answer.is_some() {
            let capacity = self.config.max_concurrent_requests as f64;
            sink.gauge("portcullis.fallback.capacity", "Fallbacks that there can be at once", &[label], capacity);
            let in_use = self.in_use.load(Ordering::Relaxed) as f64;
            sink.gauge("portcullis.fallback.in.use", "Fallbacks up to the head of their answer", &[label], in_use);
        }
    }
}

impl Command {
    /// Leave to fall back after a request failed. What is refused is counted.
    ///
    /// # Errors
    /// [`NoFallback`]. Without a fallback no permit is taken (Hystrix takes one, and may call the lack of a fallback a rejection).
    pub fn fall_back(&self, now: Instant) -> Result<FallingBack<'_>, NoFallback> {
        match self.fallback.take() {
            Ok(answer) => Ok(FallingBack { command: self, answer, since: now, is_over: false }),
            Err(refusal) => {
                let event = match refusal {
                    NoFallback::Missing => Event::FallbackMissing,
                    NoFallback::Rejected => Event::FallbackRejection,
                };
                self.count(event, now);
                Err(refusal)
            }
        }
    }
}

impl FallingBack<'_> {
    /// What answers.
    pub fn answer(&self) -> &FallbackAnswer {
        &self.answer
    }

    /// Whether it did, once the head of its answer is there.
    pub fn end(mut self, succeeded: bool, now: Instant) {
        self.is_over = true;
        self.command.count(if succeeded { Event::FallbackSuccess } else { Event::FallbackFailure }, now);
    }
}

impl Drop for FallingBack<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.command.count(Event::FallbackFailure, self.since);
        }
        self.command.fallback.in_use.fetch_sub(1, Ordering::Release);
    }
}
