//! The minimum rate of a client, as credit: octets that move earn it, waiting for the client spends it at `gateway.client.min-rate`.
//!
//! A client starts with the credit of a few seconds and can save some more, because kernels move octets in large steps; who drips below
//! the rate runs out. Only time that was spent waiting for the client counts. Pure: time comes in as an argument.

use std::time::Duration;

/// The most that can be saved: a kernel's usual window, in which a slow reader's progress comes in steps.
const MOST: i128 = 128 * 1024;
/// Credit is counted in octets times nanoseconds of a second, so that short waits are not lost.
const UNIT: i128 = 1_000_000_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    rate: i128,
    credit: i128,
}

impl Pace {
    /// Octets per second (0: no minimum), and for how long a client may move nothing at first.
    pub(super) fn new(rate: u64, grace: Duration) -> Self {
        let rate = i128::from(rate);
        Self { rate, credit: rate.saturating_mul(i128::try_from(grace.as_nanos()).unwrap_or(i128::MAX)) }
    }

    /// That many octets moved.
    pub(super) fn moved(&mut self, octets: usize) {
        let earned = self.credit + octets as i128 * UNIT;
        self.credit = earned.min(self.credit.max(MOST * UNIT));
    }

    /// The client was waited for; false when it is too slow.
    pub(super) fn waited(&mut self, time: Duration) -> bool {
        let time = i128::try_from(time.as_nanos()).unwrap_or(i128::MAX);
        self.credit = self.credit.saturating_sub(self.rate.saturating_mul(time));
        self.credit >= 0
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How many seconds a client lasts that moves `octets` in each, of at most 1000.
    fn lasts(mut pace: Pace, octets: usize) -> usize {
        (0..1000)
            .take_while(|_| {
                pace.moved(octets);
                pace.waited(SECOND)
            })
            .count()
    }

    #[test]
    fn who_drips_runs_out_and_who_keeps_the_rate_does_not() {
        let pace = Pace::new(250, 5 * SECOND);
        assert_eq!(lasts(pace, 1), 5);
        assert_eq!(lasts(pace, 125), 10);
        assert_eq!(lasts(pace, 250), 1000);
        assert_eq!(lasts(Pace::new(0, SECOND), 0), 1000, "no minimum");
    }

    #[test]
    fn what_was_fast_once_may_be_slow_for_a_while_only() {
        let mut pace = Pace::new(1024, 5 * SECOND);
        pace.moved(1 << 30);
        assert_eq!(lasts(pace, 0), 128);
    }

    #[test]
    fn short_waits_add_up() {
        let mut pace = Pace::new(1, SECOND);
        let waits = (0..10_000).take_while(|_| pace.waited(Duration::from_micros(500))).count();
        assert_eq!(waits, 2000);
    }
}
