//! The background thread: closes pooled upstream connections that nobody will use again.
//!
//! It looks once a second while some connection is pooled, and sleeps for good while none is: an idle gateway makes no wake-ups.

use crate::gateway::Backends;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_secs(1);

/// The thread; dropping it ends it.
pub(super) struct Background {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(super) fn start(backends: Arc<Backends>) -> io::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let flag = ended.clone();
        let thread = thread::Builder::new().name("background".into()).spawn(move || run(&backends, &flag))?;
        Ok(Self { ended, thread: Some(thread) })
    }
}

/// Who raises the flag unparks the thread afterwards, which ends either wait, the next one too.
fn run(backends: &Backends, ended: &AtomicBool) {
    while !ended.load(Relaxed) {
        if backends.evict(Instant::now()) {
            thread::park_timeout(PERIOD);
        } else {
            backends.sleep_until_pooled();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
