//! AIMD: one more for each answer while the limit is used, a tenth less for each drop. It looks at losses, not at times.
//!
//! As concurrency-limits' `AIMDLimit`, but for its third rule, by which an answer that took more than five seconds is a drop: read timeout
//! and deadline say here what is too slow.

use super::{Sample, is_idle};

/// What is left of the limit after a drop.
const BACKOFF: f64 = 0.9;

/// The law; it remembers nothing.
#[derive(Debug)]
pub(super) struct Aimd;

impl Aimd {
    /// The limit after `sample`, unbounded. Whole numbers, as a drop takes one away at least.
    pub(super) fn next(&self, limit: f64, sample: Sample) -> f64 {
        match sample.dropped {
            true => (limit * BACKOFF).floor().min(limit - 1.0),
            false if is_idle(limit, sample) => limit,
            false => limit + 1.0,
        }
    }
}
