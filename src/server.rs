//! Everything that a configuration asks for, started together and ended together: the gateway behind its container, the management
//! listener, the embedded example service, and the background thread.

mod background;
mod start;

use crate::balance::Pinger;
use crate::config::Config;
use crate::container::tiny::TinyFront;
use crate::deadline::Deadline;
use crate::front::{Drained, Front};
use crate::management::EventStream;
use crate::metrics::{Collect, Sink};
use background::Background;
pub use start::{Surroundings, Told};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Workers of the management listener, and those of the embedded example service that are there from the start.
pub const SIDE_WORKERS: usize = 2;

/// The most workers of the embedded example service: others than the first come when those are held up, by `/product/slow` or slow clients.
pub const EXAMPLE_WORKERS: usize = 200;

/// What listeners beside the main one, and the log, get to finish in.
const SIDE_DRAIN: Duration = Duration::from_secs(1);

/// A running gateway. Dropping it without [`Self::drain`] cuts what runs.
pub struct Server {
    main: Main,
    around: Surroundings,
    _background: Background,
    _pingers: Vec<Pinger>,
}

/// The container that takes the clients' connections.
enum Main {
    Native(Front),
    Tiny(TinyFront),
}

/// What could not be started.
#[derive(Debug)]
pub struct StartError {
    what: String,
    error: io::Error,
}

impl Server {
    /// Starts all of it; what fails ends what was started before.
    ///
    /// # Errors
    /// [`StartError`]: a route's pattern, an address that cannot be listened on, a log file, threads.
    pub fn start(config: Config) -> Result<Self, StartError> {
        start::server(&config)
    }

    /// Where clients connect.
    pub fn local_addr(&self) -> SocketAddr {
        match &self.main {
            Main::Native(front) => front.local_addr(),
            Main::Tiny(front) => front.local_addr(),
        }
    }

    /// Where the actuator listens, when it has a listener of its own.
    pub fn management_addr(&self) -> Option<SocketAddr> {
        self.around.management_addr()
    }

    /// Opens the access log's file anew.
    pub fn reopen_access_log(&self) {
        self.around.log.reopen();
    }

    /// Tells everything that is counted, as the actuator does.
    pub fn collect(&self, sink: &mut dyn Sink) {
        self.around.registry.collect(sink);
    }

    /// Ends in order: readiness falls, nothing new is taken, what runs may finish by `by`. True when nothing had to be cut.
    pub fn drain(self, by: Deadline) -> bool {
        self.around.draining.store(true, Relaxed);
        let clean = match self.main {
            Main::Native(front) => drain_front(front, &self.around.stream, by).is_clean(),
            Main::Tiny(front) => front.drain(by),
        };
        self.around.end();
        clean
    }
}

/// Drains a front; who listens to the stream there is told at once.
fn drain_front(front: Front, stream: &EventStream, by: Deadline) -> Drained {
    front.begin_drain();
    stream.wake();
    front.drain(by)
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.error)
    }
}

impl std::error::Error for StartError {}

impl StartError {
    /// For `map_err`: names what failed.
    fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |error| Self { what: what.into(), error }
    }
}
