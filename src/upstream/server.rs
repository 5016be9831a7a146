//! One upstream server: where it is, how it is spoken to, its connections and its numbers.

use super::error::Fault;
use super::link::Link;
use super::pool::{ConnectionLimit, Idle, PoolCounts};
use super::resolve::ResolverTable;
use super::tls::{TlsContext, TlsPeer};
use crate::config::model::{BackendConfig, Scheme, ServerAddress};
use crate::deadline::{Deadline, Stopwatch};
use crate::metrics::{Collect, Counter, Sink, Timer};
use crate::reason::Reason;
use http::HeaderValue;
use parking_lot::Mutex;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Connections that were idle for less than this are not looked at by [`Server::evict`]: a request will do it.
const WARM: Duration = Duration::from_secs(1);

/// Why calls fail: told at zero too, so that an alert can compare with it.
const FAILURES: [Reason; 9] = [
    Reason::BadRequest,
    Reason::BodyTimeout,
    Reason::ClientAborted,
    Reason::UpstreamPoolTimeout,
    Reason::ConnectFailed,
    Reason::ConnectTimeout,
    Reason::Timeout,
    Reason::UpstreamBadResponse,
    Reason::UpstreamAborted,
];

/// One upstream server with its connection pool. Dropping it closes its idle connections.
pub struct Server {
    backend: String,
    address: ServerAddress,
    authority: Arc<str>,
    /// `None` when the authority is no host of a URI.
    origin: Option<Origin>,
    tls: Option<Result<TlsPeer, String>>,
    life: Option<Duration>,
    limit: Arc<ConnectionLimit>,
    shelf: usize,
    resolver: Arc<ResolverTable>,
    /// Counts the changes of the addresses of the name.
    epoch: AtomicU64,
    known: Mutex<Option<Arc<[IpAddr]>>>,
    pub(super) counts: Counts,
}

/// What its requests are addressed to.
pub(super) struct Origin {
    pub(super) scheme: http::uri::Scheme,
    pub(super) authority: http::uri::Authority,
    /// The same as the value of Host.
    pub(super) host: HeaderValue,
}

/// What happened with one server since the start.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) attempts: Counter,
    pub(super) opened: Counter,
    pub(super) reused: Counter,
    pub(super) connect: Timer,
    pub(super) wait: Timer,
    failures: [Counter; Reason::ALL.len()],
}

impl Server {
    /// The server at `address` of `backend`. Its connections count towards `total`, which is shared by the servers of a service, or by
    /// all url routes; its name is kept in `resolver`. Nothing is connected yet.
    pub fn new(
        backend: &BackendConfig,
        address: &ServerAddress,
        total: Arc<ConnectionLimit>,
        resolver: &Arc<ResolverTable>,
        tls: &TlsContext,
    ) -> Arc<Self> {
        resolver.mention(&address.host);
        let authority = address.authority();
        let (scheme, tls) = match address.scheme {
            Scheme::Http => (http::uri::Scheme::HTTP, None),
            Scheme::Https => (http::uri::Scheme::HTTPS, Some(tls.peer(&address.host, backend.verify_tls))),
        };
        Arc::new(Self {
            backend: backend.id.clone(),
            address: address.clone(),
            origin: Origin::of(scheme, &authority),
            authority: authority.into(),
            tls,
            life: backend.time_to_live,
            shelf: total.enrol(backend.max_connections_per_host),
            limit: total,
            resolver: resolver.clone(),
            epoch: AtomicU64::new(0),
            known: Mutex::new(None),
            counts: Counts::default(),
        })
    }

    /// The id of the backend that it belongs to.
    pub fn backend(&self) -> &str {
        &self.backend
    }

    /// Where it is.
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// `host[:port]`, as it is sent as Host unless a request brings its own.
    pub fn authority(&self) -> &Arc<str> {
        &self.authority
    }

    /// Its connections now.
    pub fn pool(&self) -> PoolCounts {
        self.limit.counts(self.shelf)
    }

    /// Closes idle connections that are too old, were closed by the server, or lead to an address that its name no longer has. To be
    /// called now and then from a background thread while [`PoolCounts::idle`] is not zero.
    pub fn evict(&self, now: Instant) {
        self.notice_addresses();
        let Some(since) = now.checked_sub(WARM) else { return };
        let mut cold = self.limit.take_cold(self.shelf, since);
        if cold.is_empty() {
            return;
        }
        let taken = cold.len();
        cold.retain_mut(|idle| self.is_usable(idle, now));
        let closed = taken - cold.len();
        self.limit.put_back(self.shelf, cold, closed);
    }

    pub(super) fn limit(&self) -> &Arc<ConnectionLimit> {
        &self.limit
    }

    pub(super) fn shelf(&self) -> usize {
        self.shelf
    }

    pub(super) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// What its requests are addressed to.
    pub(super) fn origin(&self) -> Result<&Origin, Fault> {
        let bad = || Fault::new(Reason::ConnectFailed, format!("{} is no host of a URI", self.authority));
        self.origin.as_ref().ok_or_else(bad)
    }

    /// Whether an idle connection can be used.
    pub(super) fn is_usable(&self, idle: &mut Idle, now: Instant) -> bool {
        !idle.link.is_expired(idle.since, self.life, now) && self.keeps(&mut idle.link) && idle.link.is_alive()
    }

    /// Whether a connection may be idle at all: neither did the server ask to close it, nor has its address vanished from the name.
    pub(super) fn keeps(&self, link: &mut Link) -> bool {
        let epoch = self.epoch.load(Relaxed);
        if *link.epoch() != epoch {
            if !self.known.lock().as_ref().is_some_and(|known| known.contains(&link.peer().ip())) {
                return false;
            }
            *link.epoch() = epoch;
        }
        link.may_idle()
    }

    /// Opens a connection.
    pub(super) fn connect(&self, by: Deadline) -> Result<Link, Fault> {
        let watch = Stopwatch::start();
        let opened = self.open(by);
        self.counts.connect.record(watch.elapsed());
        match opened {
            Ok(link) => {
                self.counts.opened.add_one();
                Ok(link)
            }
            Err(fault) => {
                self.resolver.doubt(&self.address.host);
                Err(fault)
            }
        }
    }

    pub(super) fn failed(&self, reason: Reason) {
        self.counts.failures[reason as usize].add_one();
    }

    fn notice_addresses(&self) {
        let found = self.resolver.known(&self.address.host);
        let mut known = self.known.lock();
        if found.is_some() && *known != found {
            *known = found;
            self.epoch.fetch_add(1, Relaxed);
        }
    }

    fn open(&self, by: Deadline) -> Result<Link, Fault> {
        let failed = |why: String| Fault::new(Reason::ConnectFailed, why);
        let tls = self.tls.as_ref().map(|tls| tls.as_ref().map_err(|why| failed(why.clone()))).transpose()?;
        let found = self.resolver.addresses(&self.address.host, by).map_err(failed)?;
        // Who looks after the pool may be asleep, and a connection to an address that is not known would never be kept.
        self.notice_addresses();
        let addresses: Vec<_> = found.iter().map(|ip| SocketAddr::new(*ip, self.address.port)).collect();
        Link::open(&addresses, tls, by)
    }
}

impl Origin {
    fn of(scheme: http::uri::Scheme, authority: &str) -> Option<Self> {
        let host = HeaderValue::from_str(authority).ok()?;
        Some(Self { scheme, authority: authority.parse().ok()?, host })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.limit.retire(self.shelf);
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("backend", &self.backend).field("authority", &self.authority).finish()
    }
}

impl Collect for Server {
    fn collect(&self, sink: &mut dyn Sink) {
        let labels = [("backend", self.backend.as_str()), ("server", &*self.authority)];
        let pool = self.pool();
        for (name, help, value) in [
            ("portcullis.upstream.connections.max", "The most connections there can be", pool.max),
            ("portcullis.upstream.connections.open", "Connections, idle ones included", pool.open),
            ("portcullis.upstream.connections.idle", "Connections that nobody uses", pool.idle),
            ("portcullis.upstream.connections.pending", "Requests that wait for a connection", pool.pending),
        ] {
            sink.gauge(name, help, &labels, value as f64);
        }
        let counts = &self.counts;
        for (name, help, counter) in [
            ("portcullis.upstream.connections.opened", "Connections made", &counts.opened),
            ("portcullis.upstream.connections.reused", "Attempts on a connection used before", &counts.reused),
            ("portcullis.upstream.attempts", "Requests sent, retries included", &counts.attempts),
        ] {
            sink.counter(name, help, &labels, counter.get());
        }
        sink.timer("portcullis.upstream.connections.wait", "Waits for a connection", &labels, &counts.wait);
        sink.timer("portcullis.upstream.connect", "Connecting, TLS included", &labels, &counts.connect);
        for reason in Reason::ALL {
            let failed = counts.failures[*reason as usize].get();
            if failed > 0 || FAILURES.contains(reason) {
                let labels = [labels[0], labels[1], ("reason", reason.name())];
                sink.counter("portcullis.upstream.failures", "Calls that failed", &labels, failed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{backend, no_tls};
    use super::*;

    #[track_caller]
    fn check(scheme: Scheme, host: &str, port: u16, expected: Result<&str, &str>) {
        let address = ServerAddress { scheme, host: host.into(), port };
        let table = ResolverTable::new().unwrap();
        let server = Server::new(&backend(1), &address, ConnectionLimit::new(1), &table, &no_tls());
        let uri = server.origin().map(|origin| format!("{}://{}", origin.scheme, origin.authority));
        match expected {
            Ok(expected) => assert_eq!(uri.unwrap(), expected),
            Err(why) => assert!(uri.unwrap_err().detail.contains(why)),
        }
    }

    #[test]
    fn hosts_become_uris() {
        check(Scheme::Http, "::1", 8080, Ok("http://[::1]:8080"));
        check(Scheme::Http, "my_service", 80, Ok("http://my_service"));
        check(Scheme::Https, "up.test", 443, Ok("https://up.test"));
        check(Scheme::Https, "up.test", 80, Ok("https://up.test:80"));
        check(Scheme::Http, "a b", 80, Err("a b is no host"));
    }
}
