//! The switch that a vanishing client throws: it ends the upstream exchange that its request waits for.
//!
//! One per client connection. The upstream call arms it with what to shut down and disarms it by dropping the guard; the thread that
//! sees the client's hang-up throws it. A switch thrown before it was armed fails the arming, so no order loses the news.

use parking_lot::Mutex;
use std::sync::Arc;

/// Something that can be ended from another thread.
pub trait ShutDown: Send + Sync {
    /// Makes blocked calls on it return at once; harmless when repeated.
    fn shut_down(&self);
}

/// The switch of one client connection.
#[derive(Default)]
pub struct Cancel(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Armed(Arc<dyn ShutDown>),
    Thrown,
    /// Thrown by a deadline.
    Expired,
}

/// The client is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl Cancel {
    /// Shuts down what is armed, and whatever is armed later until [`Self::reset`].
    pub fn throw(&self) {
        self.end(State::Thrown);
    }

    /// As [`Self::throw`], by who waited until the deadline for the one that armed it: [`Self::is_expired`] tells.
    pub fn expire(&self) {
        self.end(State::Expired);
    }

    fn end(&self, how: State) {
        let armed = {
            let mut state = self.0.lock();
            if matches!(*state, State::Thrown | State::Expired) {
                return;
            }
            std::mem::replace(&mut *state, how)
        };
        if let State::Armed(target) = armed {
            target.shut_down();
        }
    }

    /// Makes `target` what a throw shuts down, for as long as the guard lives.
    ///
    /// # Errors
    /// [`Cancelled`] when it was thrown already.
    pub fn arm(&self, target: Arc<dyn ShutDown>) -> Result<Armed<'_>, Cancelled> {
        let mut state = self.0.lock();
        if matches!(*state, State::Thrown | State::Expired) {
            return Err(Cancelled);
        }
        *state = State::Armed(target);
        Ok(Armed(self))
    }

    /// Whether it was thrown.
    pub fn is_thrown(&self) -> bool {
        matches!(*self.0.lock(), State::Thrown | State::Expired)
    }

    /// Whether a deadline threw it, not the client.
    pub fn is_expired(&self) -> bool {
        matches!(*self.0.lock(), State::Expired)
    }

    /// Ready for the next connection in the same slot.
    pub fn reset(&self) {
        *self.0.lock() = State::Idle;
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancel").field("thrown", &self.is_thrown()).finish()
    }
}

/// Disarms on drop.
#[derive(Debug)]
pub struct Armed<'a>(&'a Cancel);

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        if matches!(*state, State::Armed(_)) {
            *state = State::Idle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[derive(Default)]
    struct Count(AtomicUsize);
    impl ShutDown for Count {
        fn shut_down(&self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn a_throw_ends_what_is_armed_and_fails_what_comes_later() {
        let (cancel, target) = (Cancel::default(), Arc::new(Count::default()));
        drop(cancel.arm(target.clone()).unwrap());
        cancel.throw();
        assert_eq!(target.0.load(Relaxed), 0, "disarmed before");
        assert_eq!(cancel.arm(target.clone()).err(), Some(Cancelled));
        cancel.reset();
        let armed = cancel.arm(target.clone()).unwrap();
        cancel.throw();
        cancel.throw();
        drop(armed);
        assert_eq!(target.0.load(Relaxed), 1);
        assert!(cancel.is_thrown());
    }
}
