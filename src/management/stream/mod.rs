//! `/actuator/hystrix.stream`: server-sent events for as long as a client listens, as Hystrix's dashboard and Turbine read them.
//!
//! ```text
//! worker: place (five of them), head, first ping -> Ending::Subscribe -> container: the connection is a viewer's
//! background thread: every half second a ping, every interval the events of all commands and pools, sent without waiting
//! ```
//!
//! No worker is held meanwhile, and while nobody listens nothing is made and nobody wakes up. What is told comes in by a closure.

mod attendant;
mod viewer;

pub use attendant::Attendant;

use super::page::Page;
use crate::client::{Client, Ending, EventConnection, Subscription};
use crate::config::model::StreamConfig;
use crate::metrics::{Collect, Counter, Gauge, Sink};
use crate::reply::Reply;
use crate::wire::head::RequestHead;
use crate::wire::response::Framing;
use http::{HeaderValue, StatusCode, Version};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant, SystemTime};
use viewer::{Viewer, framed};

/// Between two pings (Hystrix's pause of its poller).
const PING_EVERY: Duration = Duration::from_millis(500);
const PING: &str = "ping: \n\n";

/// Writes the events of this moment, each as `data: {json}` and an empty line.
pub type Events = dyn Fn(&mut String, Instant, SystemTime) + Send + Sync;

/// The stream, shared by the listeners that offer it and the thread that writes it.
pub struct EventStream {
    config: StreamConfig,
    events: Box<Events>,
    places: AtomicUsize,
    arrivals: Mutex<Vec<Viewer>>,
    attendant: OnceLock<Thread>,
    listening: Gauge,
    refused: Counter,
    cut: Counter,
}

/// The answer to who asks for it.
pub(super) fn page(stream: &Arc<EventStream>, can_subscribe: bool) -> Page {
    if !can_subscribe {
        let message =
            "no events here: tiny-http can't send them, nor a fallback; the listener of management.server.port can";
        return Page::refused(StatusCode::NOT_IMPLEMENTED, message);
    }
    stream.reserve().map_or_else(|| Page::refused(StatusCode::SERVICE_UNAVAILABLE, stream.full()), Page::stream)
}

/// One of the clients that may listen at once; comes back on drop.
#[derive(Debug)]
pub(super) struct Place(Arc<EventStream>);

impl EventStream {
    /// A stream of these events.
    pub fn new(config: StreamConfig, events: Box<Events>) -> Arc<Self> {
        Arc::new(Self {
            config,
            events,
            places: AtomicUsize::new(0),
            arrivals: Mutex::default(),
            attendant: OnceLock::new(),
            listening: Gauge::default(),
            refused: Counter::default(),
            cut: Counter::default(),
        })
    }

    /// A place, if one is free.
    fn reserve(self: &Arc<Self>) -> Option<Place> {
        let most = self.config.max_clients;
        let taken = self.places.fetch_update(Relaxed, Relaxed, |taken| (taken < most).then_some(taken + 1));
        if taken.is_err() {
            self.refused.add_one();
            return None;
        }
        self.listening.move_by(1);
        Some(Place(self.clone()))
    }

    /// What Hystrix says when no place is free.
    fn full(&self) -> String {
        format!("MaxConcurrentConnections reached: {}", self.config.max_clients)
    }

    /// Makes the calling thread the one that writes; for one thread only, ever.
    pub fn attend(self: &Arc<Self>, now: Instant) -> Attendant {
        self.attendant.get_or_init(thread::current);
        Attendant::new(self.clone(), now)
    }

    /// Something is to be looked at: a new viewer, or a listener that drains.
    pub fn wake(&self) {
        // An attendant that is not there yet looks before it sleeps for the first time.
        if let Some(attendant) = self.attendant.get() {
            attendant.unpark();
        }
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Collect for EventStream {
    fn collect(&self, sink: &mut dyn Sink) {
        let listening = self.listening.get() as f64;
        sink.gauge("portcullis.stream.clients.in.use", "Clients that listen to hystrix.stream", &[], listening);
        let most = self.config.max_clients as f64;
        sink.gauge("portcullis.stream.clients.max", "Clients that may listen to hystrix.stream at once", &[], most);
        let help = "Clients for whom there was no place at hystrix.stream";
        sink.counter("portcullis.stream.clients.refused", help, &[], self.refused.get());
        let help = "Clients of hystrix.stream that were cut off since they read too slowly";
        sink.counter("portcullis.stream.clients.cut", help, &[], self.cut.get());
    }
}

impl Place {
    /// The head of the answer.
    pub(super) fn reply() -> Reply {
        let fields = [
            ("Cache-Control", "no-cache, no-store, max-age=0, must-revalidate"),
            ("Pragma", "no-cache"),
            ("Content-Type", "text/event-stream;charset=UTF-8"),
        ];
        let reply = Reply::empty(StatusCode::OK);
        fields.into_iter().fold(reply, |reply, (name, value)| reply.with(name, HeaderValue::from_static(value)))
    }

    /// Begins the answer with `reply` as its head, and leaves the connection to the stream.
    pub(super) fn begin(self, reply: &Reply, head: &RequestHead, client: &mut dyn Client) -> Ending {
        let is_chunked = head.version() != Version::HTTP_10;
        let Some(subscription) = client.subscription() else { return Ending::Abort };
        *subscription = Some(Box::new(Listener { place: self, is_chunked }));
        let framing = if is_chunked { Framing::Chunked } else { Framing::UntilClose };
        let ping = framed(PING);
        reply.begin(framing, if is_chunked { &ping.chunk } else { ping.text() }, client)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.listening.move_by(-1);
        self.0.places.fetch_sub(1, Relaxed);
    }
}

/// A client whose head was sent.
struct Listener {
    place: Place,
    is_chunked: bool,
}

impl Subscription for Listener {
    fn begin(self: Box<Self>, connection: Box<dyn EventConnection>) {
        let Self { place, is_chunked } = *self;
        let stream = place.0.clone();
        stream.arrivals.lock().push(Viewer::new(connection, is_chunked, place));
        stream.wake();
    }
}

#[cfg(test)]
pub(super) mod fake;

#[cfg(test)]
mod tests;
