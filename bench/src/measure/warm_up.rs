//! The same warm-up for all: short windows of the load that will be measured, until three in a row bring nothing new or there were enough.
//!
//! Windows of a closed loop are told apart by how many requests ended. In an open loop that is the schedule's doing, so there the median
//! latency must have come to its end too.

use super::statistics::has_settled;
use crate::load::{Bucket, per_second};
use std::io;
use std::time::Duration;

/// Windows that differ by no more are equal.
pub(crate) const TOLERANCE: f64 = 0.03;

/// Or, of latencies, by no more than this: a processor that wakes up later or sooner makes as much.
const SLACK_MS: f64 = 0.2;

/// How long a warm-up may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    pub(crate) window: Duration,
    /// At least three for it to settle; 0 for no warm-up.
    pub(crate) most: u32,
}

/// What became of a window's load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// How long it really took: wrk takes a little longer than it is told.
    pub(crate) seconds: f64,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    /// Of an open loop.
    pub(crate) median_ms: Option<f64>,
}

/// How a warm-up went.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WarmUp {
    /// In order.
    pub(crate) windows: Vec<Bucket>,
    /// Whether the last three brought nothing new; `None` without a warm-up.
    pub(crate) settled: Option<bool>,
}

impl WarmUp {
    /// How long it took.
    pub(crate) fn lasted(&self) -> Duration {
        self.windows.iter().map(|window| window.lasting).sum()
    }
}

/// Runs windows of `load`, which is given their length, until three bring nothing new.
pub(crate) fn warm_up(patience: Patience, mut load: impl FnMut(Duration) -> io::Result<Told>) -> io::Result<WarmUp> {
    let mut warm_up = WarmUp::default();
    let mut told = Vec::new();
    for _ in 0..patience.most {
        let window = load(patience.window)?;
        let (at, lasting) = (warm_up.lasted(), Duration::from_secs_f64(window.seconds));
        warm_up.windows.push(Bucket { at, lasting, scheduled: 0, ok: window.ok, failed: window.failed });
        told.push(window);
        warm_up.settled = Some(is_settled(&told));
        if warm_up.settled == Some(true) {
            break;
        }
    }
    Ok(warm_up)
}

fn is_settled(told: &[Told]) -> bool {
    // What fails counts too: a gateway that refuses most of an overload is warm when it does so steadily.
    let each: Vec<f64> =
        told.iter().map(|window| 1.0 / per_second(window.ok + window.failed, window.seconds)).collect();
    let medians: Vec<f64> = told.iter().filter_map(|window| window.median_ms).collect();
    has_settled(&each, TOLERANCE, 0.0) && (medians.is_empty() || has_settled(&medians, TOLERANCE, SLACK_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Told = Told { seconds: 2.0, ok: 0, failed: 0, median_ms: None };

    #[track_caller]
    fn check(most: u32, windows: &[Told], played: usize, settled: Option<bool>) {
        let patience = Patience { window: Duration::from_secs(2), most };
        let mut windows = windows.iter().copied();
        let warm_up = warm_up(patience, |_| Ok(windows.next().expect("no more windows"))).expect("warm");
        assert_eq!((warm_up.windows.len(), warm_up.settled), (played, settled));
        assert_eq!(warm_up.lasted(), Duration::from_secs(2) * played as u32);
    }

    fn closed<const N: usize>(answers: [u64; N]) -> [Told; N] {
        answers.map(|ok| Told { ok, ..PLAIN })
    }

    #[test]
    fn it_ends_when_three_windows_bring_nothing_new_or_there_were_enough() {
        check(0, &[], 0, None);
        check(5, &closed([100, 101, 100]), 3, Some(true));
        check(5, &closed([10, 50, 90, 91, 92]), 5, Some(true));
        // Two that agree on their way up are no end of it.
        check(5, &closed([7450, 7376, 9501, 9600, 12_000]), 5, Some(false));
        // A machine that sways, with a program that does not compile.
        check(5, &closed([59_351, 68_515, 57_286, 52_254, 69_435]), 5, Some(true));
        check(5, &closed([81_709, 65_830, 56_013, 63_196]), 4, Some(true));
        check(5, &closed([1397, 3284, 4220, 5994, 6994]), 5, Some(false));
        check(3, &closed([10, 50, 90]), 3, Some(false));
        check(2, &closed([10, 10]), 2, Some(false));
        let longer = Told { seconds: 2.2, ok: 110, ..PLAIN };
        assert!(is_settled(&[Told { ok: 100, ..PLAIN }, longer, longer]), "a rate is by time");
        let refusing = |failed| Told { failed, ..PLAIN };
        check(4, &[100, 101, 100].map(refusing), 3, Some(true));
    }

    #[test]
    fn an_open_loop_is_warm_when_its_answers_come_as_late_as_before() {
        let open = |median_ms| Told { ok: 200, median_ms: Some(median_ms), ..PLAIN };
        check(5, &[9.0, 5.0, 3.0, 1.1, 1.0].map(open), 5, Some(false));
        check(6, &[9.0, 3.0, 1.1, 1.0, 0.95].map(open), 5, Some(true));
        check(4, &[51.0, 50.6, 50.4, 50.3].map(open), 3, Some(true));
    }

    #[test]
    fn an_error_ends_it() {
        let patience = Patience { window: Duration::from_secs(1), most: 3 };
        assert!(warm_up(patience, |_| Err(io::Error::other("gone"))).is_err());
    }
}
