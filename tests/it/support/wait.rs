//! Waiting with a bound. The only place of the tests that sleeps: between two looks at a condition, and to keep the pace that a
//! scripted peer was told to keep. Tests synchronise on conditions and channels, never on time having passed.

use std::time::{Duration, Instant};

/// How long a test waits for something that must come; only a failing test waits that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Whether `condition` came to hold within `bound`.
pub(crate) fn holds_within(bound: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + bound;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        pace(LOOK_EVERY);
    }
}

/// Waits until `condition` holds; fails the test after [`PATIENCE`].
#[track_caller]
pub(crate) fn until(what: &str, condition: impl FnMut() -> bool) {
    assert!(holds_within(PATIENCE, condition), "waited {PATIENCE:?} in vain until {what}");
}

/// Waits until `find` finds something; fails the test after [`PATIENCE`].
#[track_caller]
pub(crate) fn until_some<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let mut found = None;
    until(what, || {
        found = find();
        found.is_some()
    });
    found.expect("found before the wait ended")
}

/// Checks that `condition` holds all along for `span`: for what must not happen.
#[track_caller]
pub(crate) fn stays(what: &str, span: Duration, mut condition: impl FnMut() -> bool) {
    assert!(!holds_within(span, || !condition()), "did not stay so: {what}");
}

/// Lets time pass because a script says so: between the octets of a drip, or where a peer is to be slow.
pub(crate) fn pace(span: Duration) {
    std::thread::sleep(span);
}
