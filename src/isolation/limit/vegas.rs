//! Vegas: the shortest time seen is that of an empty server; what times are longer by is a queue, whose length should be small but not 0.
//!
//! ```text
//! queue = limit x (1 - shortest / average of the window)
//! queue <= log10(limit)          limit + 6 log10(limit)
//! queue <  3 log10(limit)        limit + log10(limit)
//! queue >  6 log10(limit), drop  limit - log10(limit)
//! ```
//!
//! As concurrency-limits' `VegasLimit`; log10 is at least 1. Now and then the shortest time is forgotten, lest it stay too short for ever
//! when the server has become slower. Two differences: a drop is never taken for a shortest time, and when it is forgotten comes from a
//! sequence of its own instead of chance, so that the law is pure.

use super::{Sample, is_idle};

/// The shortest time is forgotten after so many windows for each permit, or down to half as many.
const PROBE: f64 = 30.0;
/// The fractional parts of its multiples are spread evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// The shortest time, and when to forget it.
#[derive(Debug, Default)]
pub(super) struct Vegas {
    shortest: Option<f64>,
    windows: f64,
    probes: f64,
}

impl Vegas {
    /// The limit after `sample`, unbounded.
    pub(super) fn next(&mut self, limit: f64, sample: Sample) -> f64 {
        let step = limit.log10().floor().max(1.0);
        if sample.dropped {
            return limit - step;
        }
        let rtt = sample.rtt.as_secs_f64().max(f64::MIN_POSITIVE);
        let forget = self.is_time_to_forget(limit);
        let shortest = match self.shortest {
            Some(shortest) if shortest <= rtt && !forget => shortest,
            _ => {
                self.shortest = Some(rtt);
                return limit;
            }
        };
        if is_idle(limit, sample) {
            return limit;
        }
        let queue = (limit * (1.0 - shortest / rtt)).ceil();
        if queue <= step {
            limit + 6.0 * step
        } else if queue < 3.0 * step {
            limit + step
        } else if queue > 6.0 * step {
            limit - step
        } else {
            limit
        }
    }

    fn is_time_to_forget(&mut self, limit: f64) -> bool {
        self.windows += 1.0;
        let jitter = 0.5 + (self.probes * GOLDEN).fract() / 2.0;
        let due = self.windows >= jitter * PROBE * limit;
        if due {
            self.windows = 0.0;
            self.probes += 1.0;
        }
        due
    }
}
