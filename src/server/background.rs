//! The background thread: closes pooled upstream connections that nobody will use again, and writes event streams.
//!
//! It looks once a second while some connection is pooled, and when an event is due while somebody listens. It sleeps for good while
//! neither is so: an idle gateway makes no wake-ups. It never waits for a peer.

use crate::gateway::Backends;
use crate::management::EventStream;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

const PERIOD: Duration = Duration::from_secs(1);

/// The thread; dropping it ends it.
pub(super) struct Background {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(super) fn start(backends: Arc<Backends>, stream: Arc<EventStream>) -> io::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let flag = ended.clone();
        let thread = thread::Builder::new().name("background".into()).spawn(move || run(&backends, &stream, &flag))?;
        Ok(Self { ended, thread: Some(thread) })
    }
}

/// Who raises the flag unparks the thread afterwards, which ends any wait, the next one too; so does who brings a viewer.
fn run(backends: &Backends, stream: &Arc<EventStream>, ended: &AtomicBool) {
    let mut attendant = stream.attend(Instant::now());
    while !ended.load(Relaxed) {
        let now = Instant::now();
        let evict_after = backends.evict(now).then_some(PERIOD);
        let tell_after = attendant.look(now, SystemTime::now()).map(|due| due.saturating_duration_since(now));
        match evict_after.into_iter().chain(tell_after).min() {
            Some(time) => thread::park_timeout(time),
            None => backends.sleep_until_pooled(),
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
