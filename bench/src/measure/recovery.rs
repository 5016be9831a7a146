//! How long after an overload until goodput is back.

use crate::load::Bucket;
use std::time::Duration;

/// So much of what is due in a window must be answered rightly.
const BACK: f64 = 0.95;

/// From the end of the overload to the end of the first window from which on all are good; `None` when they never are.
pub(crate) fn recovery(windows: &[Bucket], overload_ended: Duration) -> Option<Duration> {
    let after = windows.iter().filter(|window| window.at >= overload_ended && window.scheduled > 0);
    let is_good = |window: &&Bucket| window.ok as f64 >= BACK * window.scheduled as f64;
    let mut back: Option<Duration> = None;
    for window in after {
        match is_good(&window) {
            true => back = back.or(Some((window.at + window.lasting).saturating_sub(overload_ended))),
            false => back = None,
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(good: &[u64], expected: Option<u64>) {
        let window = |(n, ok): (usize, &u64)| Bucket {
            at: Duration::from_millis(500) * n as u32,
            lasting: Duration::from_millis(500),
            scheduled: 100,
            ok: *ok,
            failed: 100 - ok,
        };
        let windows: Vec<Bucket> = good.iter().enumerate().map(window).collect();
        assert_eq!(recovery(&windows, Duration::from_secs(1)), expected.map(Duration::from_millis), "{good:?}");
    }

    #[test]
    fn goodput_is_back_when_it_stays() {
        check(&[100, 20, 95, 100], Some(500));
        check(&[100, 20, 50, 96, 97], Some(1000));
        check(&[100, 20, 100, 50, 100], Some(1500));
        check(&[100, 20, 100, 50], None);
        check(&[100, 20], None);
    }
}
