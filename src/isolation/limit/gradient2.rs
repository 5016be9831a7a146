//! Gradient2: by how much times have grown against their own long average says by how much the limit is too high.
//!
//! ```text
//! gradient  = 1.5 x long average / average of the window, within 0.5 and 1
//! new limit = 0.8 x limit + 0.2 x (gradient x limit + 4)
//! ```
//!
//! As concurrency-limits' `Gradient2Limit`, which does not look at drops at all: a server that never answers would keep its limit, since
//! timeouts are equally long. Here a drop counts as the steepest gradient, without the 4, and leaves the long average alone. Under lasting
//! overload the long average comes after, and the limit rises slowly: the ceiling is there for that.

use super::{Sample, is_idle};

/// By how much times may exceed their long average.
const TOLERANCE: f64 = 1.5;
/// The share of the new value.
const SMOOTHING: f64 = 0.2;
/// By how much the limit grows while times are steady, before smoothing: a queue that is allowed for.
const QUEUE: f64 = 4.0;
const STEEPEST: f64 = 0.5;
/// Samples that the long average is a plain one of, at first.
const WARM_UP: f64 = 10.0;
/// Samples that it looks back over, afterwards.
const LONG: f64 = 600.0;

/// The long average.
#[derive(Debug, Default)]
pub(super) struct Gradient2 {
    long: f64,
    seen: f64,
}

impl Gradient2 {
    /// The limit after `sample`, unbounded.
    pub(super) fn next(&mut self, limit: f64, sample: Sample) -> f64 {
        if sample.dropped {
            return smooth(limit, limit * STEEPEST);
        }
        let short = sample.rtt.as_secs_f64().max(f64::MIN_POSITIVE);
        let long = self.average(short);
        if is_idle(limit, sample) {
            return limit;
        }
        let gradient = (TOLERANCE * long / short).clamp(STEEPEST, 1.0);
        smooth(limit, limit * gradient + QUEUE)
    }

    /// The long average with `short`. After a long time of load it comes down faster than by itself.
    fn average(&mut self, short: f64) -> f64 {
        if self.seen < WARM_UP {
            self.seen += 1.0;
            self.long += (short - self.long) / self.seen;
        } else {
            self.long += (short - self.long) * 2.0 / (LONG + 1.0);
        }
        let long = self.long;
        if long > short * 2.0 {
            self.long *= 0.95;
        }
        long
    }
}

fn smooth(limit: f64, next: f64) -> f64 {
    limit * (1.0 - SMOOTHING) + next * SMOOTHING
}
