//! A pause that ends when the client goes away, as an upstream call does.

use crate::cancel::{Cancel, Cancelled, ShutDown};
use crate::deadline::Deadline;
use crate::phase::{self, Phase};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Waits.
///
/// # Errors
/// [`Cancelled`] when the client went away.
pub(super) fn pause(length: Duration, cancel: &Cancel) -> Result<(), Cancelled> {
    if length.is_zero() {
        return Ok(());
    }
    let bell = Arc::new(Bell::default());
    let _armed = cancel.arm(bell.clone())?;
    let _phase = phase::enter(Phase::Upstream);
    bell.wait(Deadline::after(length))
}

#[derive(Default)]
struct Bell {
    has_rung: Mutex<bool>,
    ring: Condvar,
}

impl Bell {
    fn wait(&self, by: Deadline) -> Result<(), Cancelled> {
        let mut has_rung = self.has_rung.lock();
        while !*has_rung {
            match by.left() {
                Ok(Some(left)) => _ = self.ring.wait_for(&mut has_rung, left),
                Ok(None) => self.ring.wait(&mut has_rung),
                Err(_) => return Ok(()),
            }
        }
        Err(Cancelled)
    }
}

impl ShutDown for Bell {
    fn shut_down(&self) {
        *self.has_rung.lock() = true;
        self.ring.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_pause_lasts_as_long_as_it_should() {
        let (cancel, begun) = (Cancel::default(), Instant::now());
        assert_eq!(pause(Duration::from_millis(20), &cancel), Ok(()));
        assert!(begun.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_pause_ends_with_the_client() {
        let cancel = Arc::new(Cancel::default());
        let (other, begun) = (cancel.clone(), Instant::now());
        let paused = std::thread::spawn(move || pause(Duration::from_secs(600), &other));
        cancel.throw();
        assert_eq!(paused.join().unwrap(), Err(Cancelled));
        assert!(begun.elapsed() < Duration::from_secs(600));
    }
}
