//! The listener: as many connections as the configuration allows, one task for each, and an orderly end.

use super::gateway::{Gateway, closing};
use super::stall::Stalling;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use portcullis::client::Refused;
use portcullis::config::model::ServerConfig;
use portcullis::exchange::Peer;
use portcullis::metrics::{Collect, Counter, Gauge, Sink};
use portcullis::reason::Reason;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// More fields than this are refused by hyper; fewer, but more than the library takes, by the library.
const MOST_FIELDS: usize = 200;

/// Pause after an accept that failed for want of something.
const BACK_OFF: Duration = Duration::from_millis(10);

/// What a listener needs for its connections.
pub(super) struct Listener {
    pub(super) gateway: Arc<Gateway>,
    pub(super) meters: Arc<Meters>,
    http: http1::Builder,
    write_gap: Duration,
    most_requests: Option<u64>,
    slots: Arc<Semaphore>,
}

/// What is counted of connections.
pub(super) struct Meters {
    capacity: usize,
    active: Gauge,
    accepted: Counter,
}

impl Listener {
    pub(super) fn new(config: &ServerConfig, gateway: Arc<Gateway>) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(config.connection_timeout).max_headers(MOST_FIELDS);
        let capacity = config.max_connections.min(Semaphore::MAX_PERMITS);
        Self {
            gateway,
            meters: Arc::new(Meters { capacity, active: Gauge::default(), accepted: Counter::default() }),
            http,
            write_gap: config.connection_timeout,
            most_requests: config.max_keep_alive_requests,
            slots: Arc::new(Semaphore::new(capacity)),
        }
    }

    /// Accepts until told to stop, then waits until every connection has ended.
    pub(super) async fn run(self: Arc<Self>, listener: TcpListener, mut stop: oneshot::Receiver<()>) {
        let graceful = GracefulShutdown::new();
        loop {
            let next = async { (self.slots.clone().acquire_owned().await, listener.accept().await) };
            let (slot, accepted) = tokio::select! {
                biased;
                _ = &mut stop => break,
                next = next => next,
            };
            match (slot, accepted) {
                (Ok(slot), Ok((stream, remote))) => self.clone().begin(stream, remote, slot, &graceful),
                _ => tokio::time::sleep(BACK_OFF).await,
            }
        }
        drop(listener);
        graceful.shutdown().await;
    }

    fn begin(
        self: Arc<Self>,
        stream: TcpStream,
        remote: SocketAddr,
        slot: OwnedSemaphorePermit,
        graceful: &GracefulShutdown,
    ) {
        let (Ok(local), Ok(())) = (stream.local_addr(), stream.set_nodelay(true)) else { return };
        let peer = Peer { remote, local, secure: false };
        let served = Arc::new(AtomicU64::new(0));
        let me = self.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let (me, number) = (me.clone(), served.fetch_add(1, Relaxed) + 1);
            async move {
                let answer = me.gateway.serve(peer, request).await;
                let is_last = me.most_requests.is_some_and(|most| number >= most);
                Ok::<_, Infallible>(if is_last { closing(answer) } else { answer })
            }
        });
        let io = TokioIo::new(Stalling::new(stream, self.write_gap));
        let connection = graceful.watch(self.http.serve_connection(io, service));
        self.meters.accepted.add_one();
        tokio::spawn(async move {
            let (_slot, _active) = (slot, self.meters.active.hold());
            let since = Instant::now();
            if let Err(error) = connection.await {
                self.tell(&error, remote, since);
            }
        });
    }

    /// A head that hyper refused, with an empty answer of its own: counted, though its octets are not.
    fn tell(&self, error: &hyper::Error, peer: SocketAddr, since: Instant) {
        if error.is_parse() {
            let reason = if error.is_parse_too_large() { Reason::HeadTooLarge } else { Reason::BadRequest };
            let (status, detail) = (reason.status(), error.to_string().into());
            self.gateway.refused(&Refused { reason, status, detail, peer, since, sent: 0 });
        } else if error.is_timeout() {
            let (reason, status) = (Reason::HeadTimeout, StatusCode::REQUEST_TIMEOUT);
            self.gateway.refused(&Refused { reason, status, detail: "".into(), peer, since, sent: 0 });
        }
    }
}

/// Listens with the backlog of `server.tomcat.accept-count`.
pub(super) fn listen(config: &ServerConfig) -> io::Result<TcpListener> {
    let address = SocketAddr::new(config.address, config.port);
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(u32::try_from(config.accept_count).unwrap_or(u32::MAX))
}

impl Collect for Meters {
    fn collect(&self, sink: &mut dyn Sink) {
        let server = &[("server", "gateway")];
        sink.gauge("portcullis.connections.capacity", "Connections that may be open", server, self.capacity as f64);
        sink.gauge("portcullis.connections.active", "Open connections", server, self.active.get() as f64);
        sink.counter("portcullis.connections.accepted", "Connections accepted", server, self.accepted.get());
    }
}
