//! One thread of an isolation pool: takes jobs, runs them, and ends when the pool does or when it was idle above the core.
//!
//! A job that panics costs its caller the answer and the thread its local state, nothing else. The thread holds the pool weakly: a pool
//! that nobody uses any longer ends, and its threads with it. Started by [`super::Pool`].

use super::pool::Pool;
use crossbeam_channel::{Receiver, RecvTimeoutError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

/// One call, with all it needs but the thread's own state.
pub(super) type Job<L> = Box<dyn FnOnce(&mut L) + Send>;

/// Makes the state of a pool thread.
pub(super) type MakeLocal<L> = Arc<dyn Fn() -> L + Send + Sync>;

/// What a thread is started with.
pub(super) struct PoolThread<L: 'static> {
    pub(super) pool: Weak<Pool<L>>,
    pub(super) jobs: Receiver<Job<L>>,
    pub(super) make_local: MakeLocal<L>,
}

impl<L: 'static> PoolThread<L> {
    /// Runs `on_start`, then jobs until the thread is to end. The pool counts on it: no panic ends it before.
    pub(super) fn run(self, on_start: fn()) {
        let _ = catch_unwind(on_start);
        let mut local = None;
        while let Some(job) = self.next() {
            let run = || job(local.get_or_insert_with(|| (self.make_local)()));
            if catch_unwind(AssertUnwindSafe(run)).is_err() {
                // What a panic left behind is not trusted, not even with its own end.
                let _ = catch_unwind(AssertUnwindSafe(|| local = None));
            }
        }
    }

    fn next(&self) -> Option<Job<L>> {
        loop {
            // The pool is let go before the wait, or an idle thread would keep it alive.
            let patience = self.pool.upgrade()?.patience();
            let Some(patience) = patience else { return self.jobs.recv().ok() };
            match self.jobs.recv_timeout(patience) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if self.pool.upgrade()?.retire() => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
