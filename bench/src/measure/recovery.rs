//! What an overload did to goodput, and how long after it until goodput is back.

use crate::load::Bucket;
use std::time::Duration;

/// Below this part of what is due, goodput fell.
const FELL: f64 = 0.9;

/// So much of what is due in a window must be answered rightly.
const BACK: f64 = 0.95;

/// The least part of what was due in a window between the two that was answered rightly and in time; `None` when nothing was due.
pub(crate) fn fell_to(windows: &[Bucket], (began, ended): (Duration, Duration)) -> Option<f64> {
    let during = windows.iter().filter(|window| (began..ended).contains(&window.middle()));
    during.filter_map(served).reduce(f64::min)
}

/// Whether there is something to recover from.
pub(crate) fn has_fallen(to: f64) -> bool {
    to < FELL
}

fn served(window: &Bucket) -> Option<f64> {
    (window.scheduled > 0).then(|| window.ok as f64 / window.scheduled as f64)
}

/// From the end of the overload to the end of the first window from which on all are good; `None` when they never are, or when goodput
/// had not fallen: nothing can come back that was never gone.
pub(crate) fn recovery(windows: &[Bucket], (began, ended): (Duration, Duration)) -> Option<Duration> {
    fell_to(windows, (began, ended)).filter(|part| has_fallen(*part))?;
    let after = windows.iter().filter(|window| window.middle() >= ended && window.scheduled > 0);
    let is_good = |window: &&Bucket| served(window).is_some_and(|part| part >= BACK);
    let mut back: Option<Duration> = None;
    for window in after {
        match is_good(&window) {
            true => back = back.or(Some((window.at + window.lasting).saturating_sub(ended))),
            false => back = None,
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(good: &[u64]) -> Vec<Bucket> {
        let window = |(n, ok): (usize, &u64)| Bucket {
            at: Duration::from_millis(500) * n as u32,
            lasting: Duration::from_millis(500),
            scheduled: 100,
            ok: *ok,
            failed: 100 - ok,
        };
        good.iter().enumerate().map(window).collect()
    }

    const OVERLOAD: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(1));

    #[track_caller]
    fn check(good: &[u64], expected: Option<u64>) {
        assert_eq!(recovery(&windows(good), OVERLOAD), expected.map(Duration::from_millis), "{good:?}");
    }

    #[test]
    fn goodput_is_back_when_it_stays() {
        check(&[100, 20, 95, 100], Some(500));
        check(&[100, 20, 50, 96, 97], Some(1000));
        check(&[100, 20, 100, 50, 100], Some(1500));
        check(&[100, 20, 100, 50], None);
        check(&[100, 20], None);
    }

    #[test]
    fn what_never_fell_does_not_recover() {
        check(&[100, 90, 100, 100], None);
        check(&[20, 100, 100, 100], None);
        check(&[100, 100, 20, 100], None);
        check(&[100, 89, 100, 100], Some(500));
    }

    #[test]
    fn the_worst_window_of_the_overload_is_told() {
        let table: [(&[u64], Option<f64>); 4] =
            [(&[0, 40, 0], Some(0.4)), (&[100, 100], Some(1.0)), (&[100], None), (&[], None)];
        for (good, expected) in table {
            assert_eq!(fell_to(&windows(good), OVERLOAD), expected, "{good:?}");
        }
        let nothing_due = [Bucket { at: OVERLOAD.0, lasting: OVERLOAD.0, ..Bucket::default() }];
        assert_eq!(fell_to(&nothing_due, OVERLOAD), None);
    }

    #[test]
    fn ends_that_were_rounded_do_not_move_a_window() {
        let nanosecond = Duration::from_nanos(1);
        let early = |window: Bucket| Bucket { at: window.at.saturating_sub(nanosecond), ..window };
        let windows: Vec<Bucket> = windows(&[100, 20, 100, 100]).into_iter().map(early).collect();
        assert_eq!(recovery(&windows, OVERLOAD), Some(Duration::from_millis(500) - nanosecond));
        assert_eq!(fell_to(&windows, OVERLOAD), Some(0.2));
    }
}
