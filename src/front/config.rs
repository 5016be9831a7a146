//! What a front is told: limits, timeouts and the address, already resolved.
//!
//! Made from the configuration by [`FrontConfig::main`], or by [`FrontConfig::small`] for the listeners that need few threads. Clamps
//! what cannot exist: no descriptors, no connection; no connection, no use for a worker.

use super::discipline::Discipline;
use crate::config::model::{Config, QueueOrder, Relaxed, Scheduling};
use crate::wire::head::HeadLimits;
use std::net::SocketAddr;
use std::time::Duration;

/// How a front listens and serves.
#[derive(Clone, Debug)]
pub struct FrontConfig {
    /// Thread names begin with it, and its gauges carry it as `server`.
    pub name: &'static str,
    /// Where to listen; port 0 lets the system pick.
    pub address: SocketAddr,
    /// The most workers.
    pub max_threads: usize,
    /// The fewest workers that are kept active.
    pub min_spare: usize,
    /// How many workers should not be blocked for long.
    pub runnable: usize,
    /// Entries of the ready queue beyond which requests are refused while every worker is busy.
    pub queue_capacity: usize,
    /// The longest wait in the ready queue.
    pub queue_timeout: Duration,
    /// Who of those in the ready queue is next.
    pub queue_order: QueueOrder,
    /// Whether who joins a standing queue is given a short time only.
    pub queue_codel: bool,
    /// The listen backlog.
    pub accept_count: usize,
    /// The most open connections; the acceptor then waits.
    pub max_connections: usize,
    /// For a head from its first octet, for each read of a body and each write.
    pub connection_timeout: Duration,
    /// For the next request on a connection; `None` is no bound.
    pub keep_alive_timeout: Option<Duration>,
    /// Requests on one connection; `None` is no bound.
    pub max_keep_alive_requests: Option<u64>,
    /// How large a head may be.
    pub head: HeadLimits,
    /// Octets let through in targets although no URI may hold them.
    pub relaxed: Relaxed,
    /// The most octets of an unread body that are read for the sake of the next request; `None` is no bound.
    pub max_swallow_size: Option<u64>,
    /// Octets per second below which a body or a reader is cut off; 0 for none.
    pub client_min_rate: u64,
    /// For how long a client may move nothing before the rate counts.
    pub client_grace: Duration,
    /// How the system schedules workers.
    pub scheduling: Scheduling,
}

impl FrontConfig {
    /// The gateway's own front.
    pub fn main(config: &Config) -> Self {
        let server = &config.server;
        Self {
            name: "gateway",
            address: SocketAddr::new(server.address, server.port),
            max_threads: server.max_threads,
            min_spare: server.min_spare_threads,
            runnable: config.gateway.runnable,
            queue_capacity: server.max_queue_capacity,
            queue_timeout: config.gateway.queue_timeout,
            queue_order: config.gateway.queue_order,
            queue_codel: config.gateway.queue_codel,
            accept_count: server.accept_count,
            max_connections: server.max_connections,
            connection_timeout: server.connection_timeout,
            keep_alive_timeout: server.keep_alive_timeout,
            max_keep_alive_requests: server.max_keep_alive_requests,
            head: HeadLimits::of_size(server.max_http_header_size),
            relaxed: server.relaxed.clone(),
            max_swallow_size: server.max_swallow_size,
            client_min_rate: config.gateway.client_min_rate,
            client_grace: GRACE,
            scheduling: config.gateway.scheduling,
        }
    }

    /// A listener with a few threads, all of them active from the start, and for at most 1024 connections; everything else has the
    /// defaults of the gateway's.
    pub fn small(name: &'static str, address: SocketAddr, threads: usize) -> Self {
        let threads = threads.max(1);
        Self {
            name,
            address,
            max_threads: threads,
            min_spare: threads,
            runnable: threads,
            max_connections: SMALL,
            queue_capacity: SMALL,
            ..Self::main(&Config::default())
        }
    }

    /// The same with limits that can be kept with so many descriptors.
    pub(super) fn clamped(mut self, descriptors: usize) -> Self {
        self.max_connections = self.max_connections.clamp(1, descriptors.max(1));
        self.max_threads = self.max_threads.clamp(1, self.max_connections);
        self.min_spare = self.min_spare.min(self.max_threads);
        self.runnable = self.runnable.clamp(self.min_spare.max(1), self.max_threads);
        self.queue_capacity = self.queue_capacity.min(self.max_connections);
        self
    }

    pub(super) fn discipline(&self) -> Discipline {
        Discipline { order: self.queue_order, codel: self.queue_codel, timeout: self.queue_timeout }
    }

    /// The shortest timeout that the housekeeper watches over.
    pub(super) fn shortest_timeout(&self) -> Duration {
        self.keep_alive_timeout.map_or(self.connection_timeout, |t| t.min(self.connection_timeout))
    }

    /// Room for the largest head, the empty lines before it, and a good deal of body.
    pub(super) fn buffer_size(&self) -> usize {
        (self.head.line + self.head.fields).saturating_add(1024).max(16 * 1024)
    }
}

/// Connections of a small listener.
const SMALL: usize = 1024;

/// The first few seconds, in which a client may be slow.
const GRACE: Duration = Duration::from_secs(5);

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn limits_that_cannot_be_kept_are_clamped() {
        let mut config = FrontConfig::small("test", SocketAddr::from(([127, 0, 0, 1], 0)), 4);
        (config.max_connections, config.max_threads, config.queue_capacity) = (usize::MAX, usize::MAX, usize::MAX);
        (config.min_spare, config.runnable) = (usize::MAX, 0);
        let clamped = config.clamped(100);
        assert_eq!((clamped.max_connections, clamped.max_threads, clamped.queue_capacity), (100, 100, 100));
        assert_eq!((clamped.min_spare, clamped.runnable), (100, 100));
    }
}
