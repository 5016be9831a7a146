//! The background thread: closes pooled upstream connections that nobody will use again.
//!
//! It looks once a second while some connection is pooled, and sleeps for good while none is: an idle gateway makes no wake-ups.

use crate::gateway::Backends;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_secs(1);

/// The thread; dropping it ends it.
pub(super) struct Background {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(super) fn start(backends: Arc<Backends>) -> io::Result<Self> {
        let (end, ended) = bounded(0);
        let thread = std::thread::Builder::new().name("background".into()).spawn(move || run(&backends, &ended))?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

/// The channel carries nothing: its other end going away is the signal.
fn run(backends: &Backends, ended: &Receiver<()>) {
    while ended.recv_timeout(PERIOD).is_err_and(|error| error.is_timeout()) {
        backends.evict(Instant::now());
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
