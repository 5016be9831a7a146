//! Waiting before another attempt: until a moment, or until the client is gone.

use crate::cancel::{Cancel, Cancelled, ShutDown};
use crate::deadline::Deadline;
use crate::phase::{Phase, enter};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// Waits until `until`.
///
/// # Errors
/// [`Cancelled`] at once when the switch is, or was, thrown.
pub fn pause(until: Deadline, cancel: &Cancel) -> Result<(), Cancelled> {
    let nap = Arc::new(Nap::default());
    let _armed = cancel.arm(nap.clone())?;
    let _phase = enter(Phase::Upstream);
    nap.sleep(until)
}

#[derive(Default)]
struct Nap {
    over: Mutex<bool>,
    woken: Condvar,
}

impl Nap {
    fn sleep(&self, until: Deadline) -> Result<(), Cancelled> {
        let mut over = self.over.lock();
        while !*over {
            match until.moment() {
                Some(_) if until.has_passed() => return Ok(()),
                Some(moment) => drop(self.woken.wait_until(&mut over, moment)),
                None => self.woken.wait(&mut over),
            }
        }
        Err(Cancelled)
    }
}

impl ShutDown for Nap {
    fn shut_down(&self) {
        *self.over.lock() = true;
        self.woken.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_ends_with_its_time_or_with_the_client() {
        let cancel = Cancel::default();
        assert_eq!(pause(Deadline::after(Duration::ZERO), &cancel), Ok(()));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pause(Deadline::NEVER, &cancel));
            cancel.throw();
            assert_eq!(waiting.join().unwrap(), Err(Cancelled));
        });
        assert_eq!(pause(Deadline::NEVER, &cancel), Err(Cancelled), "thrown before");
    }
}
