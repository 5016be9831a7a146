//! The same warm-up for all: short windows of the load that will be measured, until two in a row agree or there were enough.

use super::statistics::agree;
use crate::load::Bucket;
use std::io;
use std::time::Duration;

/// Two windows agree when they differ by no more.
const TOLERANCE: f64 = 0.03;

/// How long a warm-up may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    pub(crate) window: Duration,
    /// At least two for an agreement; 0 for no warm-up.
    pub(crate) most: u32,
}

/// How a warm-up went.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WarmUp {
    /// In order.
    pub(crate) windows: Vec<Bucket>,
    /// Whether the last two agreed; `None` without a warm-up.
    pub(crate) settled: Option<bool>,
}

impl WarmUp {
    /// How long it took.
    pub(crate) fn lasted(&self) -> Duration {
        self.windows.iter().map(|window| window.lasting).sum()
    }
}

/// Runs windows of `load`, which is given their length and answers right answers and failures, until two agree.
pub(crate) fn warm_up(
    patience: Patience,
    mut load: impl FnMut(Duration) -> io::Result<(u64, u64)>,
) -> io::Result<WarmUp> {
    let mut warm_up = WarmUp::default();
    let mut rates = Vec::new();
    for turn in 0..patience.most {
        let (ok, failed) = load(patience.window)?;
        let at = patience.window * turn;
        warm_up.windows.push(Bucket { at, lasting: patience.window, scheduled: 0, ok, failed });
        // What fails counts too: a gateway that refuses most of an overload is warm when it does so steadily.
        rates.push((ok + failed) as f64);
        warm_up.settled = Some(agree(&rates, TOLERANCE));
        if warm_up.settled == Some(true) {
            break;
        }
    }
    Ok(warm_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(most: u32, answers: &[u64], windows: usize, settled: Option<bool>) {
        let patience = Patience { window: Duration::from_secs(2), most };
        let mut answers = answers.iter().copied();
        let warm_up = warm_up(patience, |_| Ok((answers.next().expect("no more windows"), 0))).expect("warm");
        assert_eq!((warm_up.windows.len(), warm_up.settled), (windows, settled));
        assert_eq!(warm_up.lasted(), Duration::from_secs(2) * windows as u32);
    }

    #[test]
    fn it_ends_when_two_windows_agree_or_there_were_enough() {
        check(0, &[], 0, None);
        check(5, &[100, 101], 2, Some(true));
        check(5, &[10, 50, 90, 91], 4, Some(true));
        check(3, &[10, 50, 90], 3, Some(false));
        check(1, &[10], 1, Some(false));
    }

    #[test]
    fn an_error_ends_it() {
        let patience = Patience { window: Duration::from_secs(1), most: 3 };
        assert!(warm_up(patience, |_| Err(io::Error::other("gone"))).is_err());
    }
}
