//! `server.container: tiny-http`: the same handlers over `tiny_http`, as far as that goes; not hardened.
//!
//! ```text
//! crate: a thread per connection -> its queue -> dispatcher: judges heads, in order -> our queue -> workers: max-threads
//! ```
//!
//! The crate parses leniently, frames bodies by its own rules and never lends a socket. So every head is read a second time, strictly; what
//! is in doubt is refused and its connection condemned; an answer that must not look whole ends in a reset. What is left is told by
//! [`shortcomings()`]. [`TinyFront`] has the shape of the native front.

mod body;
mod client;
mod dispatch;
mod head;
mod listener;
mod meters;
mod peers;
mod shortcomings;
mod socket;
mod worker;

pub use shortcomings::shortcomings;

use crate::cancel::Cancel;
use crate::client::Handler;
use crate::config::Config;
use crate::config::model::Relaxed;
use crate::deadline::Deadline;
use crate::metrics::Collect;
use crate::phase::PhaseSlot;
use crate::wire::head::HeadLimits;
use crossbeam_channel::{Receiver, unbounded};
use meters::Meters;
use parking_lot::{Condvar, Mutex};
use peers::Peers;
use socket::ClientSocket;
use socket2::SockRef;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed as Unordered};
use std::time::Duration;

/// How this container listens and serves.
#[derive(Clone, Debug)]
pub struct TinyConfig {
    /// Thread names begin with it, and its gauges carry it as `server`.
    pub name: &'static str,
    /// Where to listen; port 0 lets the system pick.
    pub address: SocketAddr,
    /// Workers, all of them from the start.
    pub max_threads: usize,
    /// Requests that may wait for a worker.
    pub queue_capacity: usize,
    /// The longest wait for a worker.
    pub queue_timeout: Duration,
    /// The listen backlog.
    pub accept_count: usize,
    /// For each write, and for each read of a body that comes in pieces.
    pub connection_timeout: Duration,
    /// How large a head may be.
    pub head: HeadLimits,
    /// Octets let through in targets although no URI may hold them.
    pub relaxed: Relaxed,
    /// The most octets of an unread body that are read for the sake of the next request; `None` is no bound.
    pub max_swallow_size: Option<u64>,
}

impl TinyConfig {
    /// The gateway's own.
    pub fn main(config: &Config) -> Self {
        let server = &config.server;
        Self {
            name: "gateway",
            address: SocketAddr::from((server.address, server.port)),
            max_threads: server.max_threads,
            queue_capacity: server.max_queue_capacity,
            queue_timeout: config.gateway.queue_timeout,
            accept_count: server.accept_count,
            connection_timeout: server.connection_timeout,
            head: HeadLimits::of_size(server.max_http_header_size),
            relaxed: server.relaxed.clone(),
            max_swallow_size: server.max_swallow_size,
        }
    }
}

/// A listener that is open, and its threads. Dropping it cuts every connection; [`Self::drain`] is the gentle way.
pub struct TinyFront {
    common: Arc<Common>,
    server: Arc<tiny_http::Server>,
    listener: TcpListener,
    cancels: Vec<Arc<Cancel>>,
}

/// What dispatcher, workers and clients share.
struct Common {
    config: TinyConfig,
    local: SocketAddr,
    peers: Peers,
    meters: Meters,
    draining: AtomicBool,
    accepting: AtomicBool,
    stopping: AtomicBool,
    threads: Threads,
    /// What each worker does.
    phases: Vec<Arc<PhaseSlot>>,
}

/// How many threads of ours there are.
#[derive(Default)]
struct Threads {
    alive: Mutex<usize>,
    fewer: Condvar,
}

/// A thread of ours, until dropped on it.
struct Alive(Arc<Common>);

impl TinyFront {
    /// Listens and serves.
    ///
    /// # Errors
    /// The address cannot be bound, or a thread cannot be started.
    pub fn start<H: Handler>(config: TinyConfig, handler: Arc<H>) -> io::Result<Self> {
        let listener = listener::bind(config.address, config.accept_count, config.connection_timeout)?;
        let common = Arc::new(Common::new(config, listener.local_addr()?));
        // The one duplicate of a listener that is wanted: shutting it down ends the crate's accepting.
        let server = tiny_http::Server::from_listener(listener.try_clone()?, None).map_err(io::Error::other)?;
        let server = Arc::new(server);
        let (jobs, queue) = unbounded();
        let mut front = Self { common: common.clone(), server: server.clone(), listener, cancels: Vec::new() };
        for (number, phase) in common.phases.iter().enumerate() {
            front.start_worker(number, phase, handler.clone(), queue.clone())?;
        }
        let dispatcher = dispatch::Dispatcher::new(common.clone(), server, handler, jobs);
        common.spawn("dispatch", move || dispatcher.run())?;
        Ok(front)
    }

    fn start_worker<H: Handler>(
        &mut self,
        number: usize,
        phase: &Arc<PhaseSlot>,
        handler: Arc<H>,
        queue: Receiver<worker::Job>,
    ) -> io::Result<()> {
        let cancel = Arc::new(Cancel::default());
        self.cancels.push(cancel.clone());
        let worker = worker::Worker { common: self.common.clone(), handler, cancel, phase: phase.clone() };
        self.common.spawn(&format!("worker-{number}"), move || worker.run(&queue))
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.common.local
    }

    /// What it counts; may outlive it.
    pub fn gauges(&self) -> Arc<dyn Collect> {
        self.common.clone()
    }

    /// Stops accepting, closes connections without a request, and makes every answer from now on the last of its connection.
    pub fn begin_drain(&self) {
        if !self.common.begin_to_drain() {
            return;
        }
        let _ = SockRef::from(&self.listener).shutdown(Shutdown::Both);
        for (socket, peer) in ClientSocket::all(self.common.local.port()) {
            if !self.common.peers.is_running(peer) {
                socket.close();
            }
        }
    }

    /// Finishes what runs, until `by`; then cuts it off. Whether everything was finished.
    pub fn drain(self, by: Deadline) -> bool {
        self.begin_drain();
        let finished = self.common.peers.wait_until_none(by);
        self.stop(finished);
        finished && self.common.threads.wait_until_none(Deadline::after(Duration::from_secs(1)))
    }

    fn stop(&self, finished: bool) {
        self.common.stopping.store(true, Unordered);
        self.server.unblock();
        if !finished {
            self.cancels.iter().for_each(|cancel| cancel.throw());
        }
        let end = if finished { ClientSocket::close } else { ClientSocket::reset };
        ClientSocket::all(self.common.local.port()).for_each(|(socket, _)| end(&socket));
    }
}

impl Drop for TinyFront {
    fn drop(&mut self) {
        if !self.common.stopping.load(Unordered) {
            self.begin_drain();
            self.stop(false);
        }
    }
}

impl Common {
    fn new(config: TinyConfig, local: SocketAddr) -> Self {
        let phases = (0..config.max_threads).map(|_| Arc::default()).collect();
        Self {
            config,
            local,
            phases,
            peers: Peers::default(),
            meters: Meters::default(),
            draining: AtomicBool::new(false),
            accepting: AtomicBool::new(true),
            stopping: AtomicBool::new(false),
            threads: Threads::default(),
        }
    }

    /// False when it had begun before.
    fn begin_to_drain(&self) -> bool {
        !self.draining.swap(true, Unordered)
    }

    fn is_draining(&self) -> bool {
        self.draining.load(Unordered)
    }

    fn is_accepting(&self) -> bool {
        self.accepting.load(Unordered)
    }

    fn spawn(self: &Arc<Self>, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        *self.threads.alive.lock() += 1;
        let alive = Alive(self.clone());
        std::thread::Builder::new().name(format!("{}-{name}", self.config.name)).spawn(move || {
            let _alive = alive;
            run();
        })?;
        Ok(())
    }
}

impl Threads {
    fn wait_until_none(&self, by: Deadline) -> bool {
        let mut alive = self.alive.lock();
        while *alive > 0 {
            match by.left() {
                Ok(None) => self.fewer.wait(&mut alive),
                Ok(Some(left)) => _ = self.fewer.wait_for(&mut alive, left),
                Err(_) => return false,
            }
        }
        true
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        *self.0.threads.alive.lock() -= 1;
        self.0.threads.fewer.notify_all();
    }
}

#[cfg(test)]
mod tests;
