//! The thread that pings the servers of one service, one after the other, as Ribbon's timer does: at once, then an interval after each
//! round. A service whose servers are not pinged has none, so an idle gateway makes no wake-ups.

use super::Balancer;
use super::ping::{Found, ping};
use crate::cancel::Cancel;
use crate::config::model::PingConfig;
use crate::upstream::Caller;
use log::info;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The thread; dropping it ends it, and a ping that waits for its answer.
#[derive(Debug)]
pub struct Pinger {
    end: Arc<End>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct End {
    reached: AtomicBool,
    cancel: Cancel,
}

impl Pinger {
    /// Pings every server of `balancer` with `caller` until it is dropped; connects within `connect_timeout`, which its end may have to
    /// wait for.
    ///
    /// # Errors
    /// The system gave no thread.
    pub fn start(
        balancer: Arc<Balancer>,
        config: PingConfig,
        connect_timeout: Duration,
        mut caller: Caller,
    ) -> io::Result<Self> {
        let end = Arc::new(End::default());
        let seen = end.clone();
        let run = move || {
            while !seen.reached.load(Relaxed) {
                balancer.ping(&mut caller, (&config, connect_timeout), &seen);
                // Who ends it unparks it afterwards, which ends this wait too.
                thread::park_timeout(config.interval);
            }
        };
        Ok(Self { end, thread: Some(thread::Builder::new().name("ping".into()).spawn(run)?) })
    }
}

impl Drop for Pinger {
    fn drop(&mut self) {
        self.end.reached.store(true, Relaxed);
        self.end.cancel.throw();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Balancer {
    fn ping(&self, caller: &mut Caller, how: (&PingConfig, Duration), end: &End) {
        for member in &self.members {
            if end.reached.load(Relaxed) {
                return;
            }
            let (is_up, why) = match ping(caller, &member.server, how, &end.cancel) {
                Found::Nothing => continue,
                Found::Up => (true, String::new()),
                Found::Down(why) => (false, why),
            };
            if member.stats.found(is_up) {
                let (server, backend) = (member.server.authority(), member.server.backend());
                info!("{server} of {backend} is {}", if is_up { "up".into() } else { format!("down: {why}") });
            }
        }
    }
}
