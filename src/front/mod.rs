//! The native front: a thread per request over an edge-triggered ready set.
//!
//! ```text
//! acceptor -> slots + ready set -> worker (idle, waits on the set itself) -> connection -> Handler
//!                    \-> housekeeper (no worker idle) -> ready queue -> worker | refusal
//! ```
//!
//! [`Front::start`] starts one acceptor, one housekeeper and some workers; more follow as requests block. [`Front::drain`] ends it in order,
//! dropping it ends it at once. Several fronts live in one process: nothing here is global. What it costs per request is one wait on the set,
//! one receive and one send.

mod acceptor;
mod body;
mod clock;
mod config;
mod connection;
mod discipline;
mod drain;
mod housekeeper;
mod idle;
mod input;
mod linger;
mod native_client;
mod pace;
mod queue;
mod ready_set;
mod refusal;
mod shared;
mod sleep;
mod slots;
mod stats;
mod streaming;
mod sync;
mod word;
mod worker;
mod workers;

#[cfg(test)]
#[cfg(not(loom))]
mod tests;

pub use config::FrontConfig;
pub use drain::Drained;

use crate::client::Handler;
use crate::metrics::Collect;
use acceptor::Acceptor;
use housekeeper::Housekeeper;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use shared::Shared;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use worker::Served;
use workers::Counted;

const STACK: usize = 256 * 1024;

/// A listener that is open, and its threads. Dropping it cuts every connection and ends every thread; [`Self::drain`] is the gentle way.
pub struct Front {
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl Front {
    /// Listens and serves. The soft limit of descriptors of the process is raised to its hard one.
    ///
    /// # Errors
    /// The address cannot be listened on, or the system gives no threads.
    pub fn start<H: Handler>(config: FrontConfig, handler: Arc<H>) -> io::Result<Self> {
        let config = config.clamped(raise_descriptors());
        let listener = acceptor::listen(config.address, config.accept_count)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(config, address, Box::new(Served(handler)))?);
        let mut front = Self { shared: shared.clone(), acceptor: None };
        if workers::activate(&shared, shared.config.runnable) == 0 {
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, "the system gives no thread for a worker"));
        }
        let housekeeper = Housekeeper::new(shared.clone());
        front.spawn("house", move || housekeeper.run())?;
        let acceptor = Acceptor::new(shared, listener);
        front.acceptor = Some(front.spawn("accept", move || acceptor.run())?);
        Ok(front)
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.address
    }

    /// What it counts; may outlive it.
    pub fn gauges(&self) -> Arc<dyn Collect> {
        self.shared.clone()
    }

    fn spawn(&self, name: &str, life: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        let counted = Counted::new(&self.shared);
        let name = format!("{}-{name}", self.shared.config.name);
        thread::Builder::new().name(name).stack_size(STACK).spawn(move || {
            let _counted = counted;
            life();
        })
    }
}

impl std::fmt::Debug for Front {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Front").field("name", &self.shared.config.name).field("address", &self.shared.address).finish()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        if !self.shared.is_stopped() {
            self.begin_drain();
            self.join_acceptor();
            self.stop();
        }
    }
}

/// Raises the process's soft limit of descriptors to the hard one; says how many there may be.
pub fn raise_descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current.and_then(|n| usize::try_from(n).ok()).unwrap_or(1 << 20).min(1 << 20)
}
