//! Upstream connections: a stack of idle ones for each server, and leases on them.
//!
//! Connections in use are bounded per server and in all by semaphores, for which a request waits as long as the configuration says. An
//! idle connection holds no permit: it is taken before another is opened, so a server never has more of them than may be in use.
//! hyper reads on idle connections by itself: one that the upstream closed is known to be closed.

use super::Failure;
use super::upload::Upload;
use http::HeaderValue;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use portcullis::config::model::{BackendConfig, ServerAddress};
use portcullis::deadline::Deadline;
use portcullis::metrics::{Collect, Counter, Gauge, Sink};
use portcullis::reason::{Cause, Reason};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One upstream server.
pub(super) struct Server {
    backend: Arc<str>,
    address: ServerAddress,
    pub(super) authority: Arc<str>,
    pub(super) host: HeaderValue,
    config: Arc<BackendConfig>,
    idle: Mutex<Vec<Idle>>,
    per_host: Arc<Semaphore>,
    total: Arc<Semaphore>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    leased: Gauge,
    pending: Gauge,
    opened: Counter,
    reused: Counter,
}

struct Idle {
    sender: SendRequest<Upload>,
    opened: Instant,
}

/// A connection in use. Dropped as it is, the connection is closed; [`Self::give_back`] keeps it.
pub(super) struct Lease {
    server: Arc<Server>,
    sender: Option<SendRequest<Upload>>,
    opened: Instant,
    pub(super) reused: bool,
    /// How long connecting took, zero for a kept connection.
    pub(super) connect: Duration,
    _permits: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

impl Server {
    pub(super) fn new(config: &Arc<BackendConfig>, address: &ServerAddress, total: &Arc<Semaphore>) -> Arc<Self> {
        let authority = address.authority();
        Arc::new(Self {
            backend: config.id.as_str().into(),
            address: address.clone(),
            // A server's name comes from the configuration, which has checked it.
            host: HeaderValue::from_str(&authority).unwrap_or_else(|_| HeaderValue::from_static("")),
            authority: authority.into(),
            config: config.clone(),
            idle: Mutex::default(),
            per_host: Arc::new(Semaphore::new(config.max_connections_per_host.min(Semaphore::MAX_PERMITS))),
            total: total.clone(),
            counts: Counts::default(),
        })
    }

    /// A kept connection or a new one, as soon as the limits allow another in use.
    pub(super) async fn lease(self: &Arc<Self>) -> Result<Lease, Failure> {
        let permits = self.permits().await?;
        self.counts.leased.move_by(1);
        let mut lease = Lease {
            server: self.clone(),
            sender: None,
            opened: Instant::now(),
            reused: true,
            connect: Duration::ZERO,
            _permits: permits,
        };
        match self.living() {
            Some(idle) => (lease.sender, lease.opened) = (Some(idle.sender), idle.opened),
            None => lease.reopen().await?,
        }
        if lease.reused {
            self.counts.reused.add_one();
        }
        Ok(lease)
    }

    async fn permits(&self) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), Failure> {
        let here = self.per_host.clone().try_acquire_owned();
        if let (Ok(here), Ok(total)) = (here, self.total.clone().try_acquire_owned()) {
            return Ok((here, total));
        }
        let _pending = self.counts.pending.hold();
        let both =
            async { tokio::try_join!(self.per_host.clone().acquire_owned(), self.total.clone().acquire_owned()) };
        let granted = match self.config.connection_request_timeout {
            Some(patience) => tokio::time::timeout(patience, both).await,
            None => Ok(both.await),
        };
        let too_late = || Failure::new(Reason::UpstreamPoolTimeout, "the connection request timeout passed");
        let closed = |_| Failure::new(Reason::Internal, "a limit of connections was closed");
        granted.map_err(|_| too_late())?.map_err(closed)
    }

    /// The connection that was given back last, unless it is too old or closed.
    fn living(&self) -> Option<Idle> {
        let mut stack = self.idle.lock();
        while let Some(idle) = stack.pop() {
            let young = self.config.time_to_live.is_none_or(|most| idle.opened.elapsed() < most);
            if young && idle.sender.is_ready() {
                return Some(idle);
            }
        }
        None
    }

    async fn connect(&self) -> Result<TcpStream, Failure> {
        let bound = self.config.connect_timeout;
        let tried = Mutex::new(None);
        match tokio::time::timeout(bound, self.connect_to_any(&tried)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => {
                let refused = tried.lock().filter(|_| error.kind() == io::ErrorKind::ConnectionRefused);
                let failure = Failure::new(Reason::ConnectFailed, format!("connecting: {error}"));
                Err(match refused {
                    Some(address) => failure.by(Cause::Refused(address.ip(), address.port())),
                    None => failure,
                })
            }
            Err(_) => {
                let failure = Failure::new(Reason::ConnectTimeout, format!("not connected within {bound:?}"));
                let tried: Option<SocketAddr> = *tried.lock();
                Err(match tried {
                    Some(address) => failure.by(Cause::ConnectTimeout(address.ip(), address.port())),
                    None => failure,
                })
            }
        }
    }

    async fn connect_to_any(&self, tried: &Mutex<Option<SocketAddr>>) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in lookup_host((self.address.host.as_str(), self.address.port)).await? {
            *tried.lock() = Some(address);
            match TcpStream::connect(address).await {
                Ok(stream) => return stream.set_nodelay(true).map(|()| stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Lease {
    /// Opens a connection, in place of the one that there was.
    pub(super) async fn reopen(&mut self) -> Result<(), Failure> {
        (self.sender, self.reused) = (None, false);
        let begun = Instant::now();
        let stream = self.server.connect().await;
        self.connect += begun.elapsed();
        let shaken = Builder::new().handshake(TokioIo::new(stream?)).await;
        let (sender, connection) =
            shaken.map_err(|e| Failure::new(Reason::ConnectFailed, format!("connecting: {e}")))?;
        // Its failures show at the requests that it carries.
        tokio::spawn(async move { drop(connection.await) });
        self.server.counts.opened.add_one();
        (self.sender, self.opened) = (Some(sender), begun);
        Ok(())
    }

    /// Where requests are sent.
    pub(super) fn sender(&mut self) -> Result<&mut SendRequest<Upload>, Failure> {
        self.sender.as_mut().ok_or_else(|| Failure::new(Reason::Internal, "a lease without a connection"))
    }

    /// The exchange is over: the connection is kept once hyper is ready for the next request on it.
    pub(super) fn give_back(mut self) {
        let Some(mut sender) = self.sender.take() else { return };
        let (server, opened) = (self.server.clone(), self.opened);
        if sender.is_ready() {
            server.idle.lock().push(Idle { sender, opened });
        } else if !sender.is_closed() {
            // The rest of an upload, or the end of a chunked body: the lease lasts until hyper has seen it.
            tokio::spawn(async move {
                if sender.ready().await.is_ok() {
                    server.idle.lock().push(Idle { sender, opened });
                }
                drop(self);
            });
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.server.counts.leased.move_by(-1);
    }
}

/// `left` of the deadline for waiting, or for ever.
pub(super) async fn until(deadline: Deadline) {
    match deadline.moment() {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

impl Collect for Server {
    fn collect(&self, sink: &mut dyn Sink) {
        let labels = [("backend", &*self.backend), ("server", &*self.authority)];
        let counts = &self.counts;
        let idle = self.idle.lock().iter().filter(|idle| !idle.sender.is_closed()).count() as i64;
        let most = self.config.max_connections_per_host as i64;
        for (name, help, value) in [
            ("portcullis.upstream.connections.max", "The most connections there can be", most),
            ("portcullis.upstream.connections.open", "Connections, idle ones included", counts.leased.get() + idle),
            ("portcullis.upstream.connections.idle", "Connections that nobody uses", idle),
            ("portcullis.upstream.connections.pending", "Requests that wait for a connection", counts.pending.get()),
        ] {
            sink.gauge(name, help, &labels, value as f64);
        }
        let opened = counts.opened.get();
        sink.counter("portcullis.upstream.connections.opened", "Connections made", &labels, opened);
        let help = "Attempts on a connection used before";
        sink.counter("portcullis.upstream.connections.reused", help, &labels, counts.reused.get());
    }
}
