//! The gateway's own counts, so that a load generator's can be reconciled to the request.
//!
//! A request is counted when it begins ([`Counts::begin`]) and once more at its end; each access log line is one of either [`Ended`] or
//! [`Counts::refused`]. The counts are split into shards, one for each few threads, so that workers seldom write to the same cache line;
//! a shard's part of a route is made when the route is first used. Nothing here waits or allocates otherwise.

use crate::client::Refused;
use crate::metrics::{Collect, Counter, Gauge, Held, Sink, Stripes, Timer};
use crate::reason::Reason;
use http::Method;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Statuses that are counted each for itself.
const STATUSES: std::ops::Range<u16> = 100..600;

/// Pairs of method and status that a route has a timer of its own for.
const SERIES: usize = 24;

/// Methods that are told by name; others share a name, since strangers could make up any number.
const METHODS: [Method; 9] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::HEAD,
    Method::PATCH,
    Method::OPTIONS,
    Method::TRACE,
    Method::CONNECT,
];

/// All counts of one gateway.
pub struct Counts {
    /// What each route is called: its full pattern.
    routes: Vec<String>,
    shards: Stripes<Shard>,
}

/// What is known of a request at its end.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// The index of its route in what [`Counts::new`] was given; `None` without a route.
    pub route: Option<usize>,
    /// Its method.
    pub method: &'a Method,
    /// The status that was sent, 499 when the client went away before.
    pub status: u16,
    /// Why it did not end as its client hoped.
    pub reason: Option<Reason>,
    /// Octets of its body that were read.
    pub received: u64,
    /// Octets that were written.
    pub sent: u64,
    /// From receipt to the end.
    pub took: Duration,
}

impl Counts {
    /// For routes of these patterns, in the order of their indices.
    pub fn new(routes: Vec<String>) -> Self {
        Self { shards: Stripes::new(|| Shard::new(routes.len())), routes }
    }

    /// A request is under way until the guard is dropped.
    pub fn begin(&self) -> Held<'_> {
        let shard = self.shards.mine();
        shard.requests.add_one();
        shard.in_flight.hold()
    }

    /// As [`Self::begin`], for a request that moves between threads and outlives borrows.
    pub fn begin_shared(self: &Arc<Self>) -> InFlight {
        let shard = self.shards.number();
        self.shards.nth(shard).requests.add_one();
        self.shards.nth(shard).in_flight.move_by(1);
        InFlight { counts: self.clone(), shard }
    }

    /// A request that had begun is at its end.
    pub fn end(&self, ended: &Ended<'_>) {
        let shard = self.shards.mine();
        shard.answered(ended.status);
        shard.received.add(ended.received);
        shard.sent.add(ended.sent);
        if let Some(reason) = ended.reason {
            shard.failures[reason as usize].add_one();
        }
        // What has no route, or one of another table, is counted as the last.
        let route = ended.route.map_or(self.routes.len(), |route| route.min(self.routes.len()));
        let series = shard.routes[route].get_or_init(Box::default);
        series.timer(ended.method, ended.status).record(ended.took);
    }

    /// A request that was refused before a handler saw it.
    pub fn refused(&self, refused: &Refused) {
        let shard = self.shards.mine();
        shard.requests.add_one();
        shard.failures[refused.reason as usize].add_one();
        shard.sent.add(refused.sent as u64);
        if let Some(status) = refused.told() {
            shard.answered(status.as_u16());
        }
    }

    fn sum(&self, of: impl Fn(&Shard) -> u64) -> u64 {
        self.shards.iter().map(of).sum()
    }
}

/// A request under way, in the count of those that are until it is dropped.
pub struct InFlight {
    counts: Arc<Counts>,
    /// Where it was counted: it may end on another thread.
    shard: usize,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.counts.shards.nth(self.shard).in_flight.move_by(-1);
    }
}

/// One thread's share, or that of a few.
struct Shard {
    requests: Counter,
    in_flight: Gauge,
    received: Counter,
    sent: Counter,
    failures: Box<[Counter]>,
    statuses: Box<[Counter]>,
    /// One more than there are routes: the last is for requests without one.
    routes: Box<[OnceLock<Box<Series>>]>,
}

impl Shard {
    fn new(routes: usize) -> Self {
        let counters = |n: usize| (0..n).map(|_| Counter::default()).collect();
        Self {
            requests: Counter::default(),
            in_flight: Gauge::default(),
            received: Counter::default(),
            sent: Counter::default(),
            failures: counters(Reason::ALL.len()),
            statuses: counters(STATUSES.len()),
            routes: (0..=routes).map(|_| OnceLock::new()).collect(),
        }
    }

    fn answered(&self, status: u16) {
        if let Some(counter) = status.checked_sub(STATUSES.start).and_then(|at| self.statuses.get(usize::from(at))) {
            counter.add_one();
        }
    }
}

/// A route's timers by method and status: whoever comes first takes the next free one, the last is for all that found none.
#[derive(Default)]
struct Series {
    slots: [Slot; SERIES],
    rest: Timer,
}

#[derive(Default)]
struct Slot {
    /// Method and status; 0 is free.
    key: AtomicU32,
    timer: Timer,
}

impl Series {
    fn timer(&self, method: &Method, status: u16) -> &Timer {
        let method = METHODS.iter().position(|known| known == method).unwrap_or(METHODS.len());
        let key = (method as u32) << 16 | u32::from(status.max(1));
        let mine = |slot: &&Slot| {
            let found = slot.key.load(Relaxed);
            found == key
                || found == 0
                    && slot.key.compare_exchange(0, key, Relaxed, Relaxed).map_or_else(|now| now == key, |_| true)
        };
        self.slots.iter().find(mine).map_or(&self.rest, |slot| &slot.timer)
    }

    fn collect(&self, uri: Option<&str>, sink: &mut dyn Sink) {
        let mut tell = |method: &str, status: &str, outcome: &str, timer: &Timer| {
            let without_route = if status == "404" { "NOT_FOUND" } else { "UNKNOWN" };
            let labels =
                [("method", method), ("uri", uri.unwrap_or(without_route)), ("status", status), ("outcome", outcome)];
            sink.timer("http.server.requests", "Requests, from receipt to the end of the answer", &labels, timer);
        };
        for slot in &self.slots {
            let key = slot.key.load(Relaxed);
            if key != 0 {
                let method = METHODS.get((key >> 16) as usize).map_or("OTHER", Method::as_str);
                let status = key as u16;
                tell(method, &status.to_string(), outcome(status), &slot.timer);
            }
        }
        if self.rest.count() > 0 {
            tell("OTHER", "OTHER", "UNKNOWN", &self.rest);
        }
    }
}

/// Spring's word for a class of statuses.
fn outcome(status: u16) -> &'static str {
    match status / 100 {
        1 => "INFORMATIONAL",
        2 => "SUCCESS",
        3 => "REDIRECTION",
        4 => "CLIENT_ERROR",
        5 => "SERVER_ERROR",
        _ => "UNKNOWN",
    }
}

impl Collect for Counts {
    fn collect(&self, sink: &mut dyn Sink) {
        let help = "Requests received, refused ones included";
        sink.counter("portcullis.requests", help, &[], self.sum(|shard| shard.requests.get()));
        let in_flight: i64 = self.shards.iter().map(|shard| shard.in_flight.get()).sum();
        sink.gauge("portcullis.requests.in.flight", "Requests under way", &[], in_flight as f64);
        let help = "Octets of request bodies read from clients";
        sink.counter("portcullis.client.bytes.received", help, &[], self.sum(|shard| shard.received.get()));
        let help = "Octets of responses written to clients";
        sink.counter("portcullis.client.bytes.sent", help, &[], self.sum(|shard| shard.sent.get()));
        for (index, reason) in Reason::ALL.iter().enumerate() {
            let help = "Requests that did not end as their clients hoped; each has one reason";
            let count = self.sum(|shard| shard.failures[index].get());
            sink.counter("portcullis.requests.failed", help, &[("reason", reason.name())], count);
        }
        for status in STATUSES {
            let count = self.sum(|shard| shard.statuses[usize::from(status - STATUSES.start)].get());
            if count > 0 {
                let help = "Responses by status; 499: the client went away before";
                sink.counter("portcullis.responses", help, &[("status", &status.to_string())], count);
            }
        }
        for shard in self.shards.iter() {
            for (index, series) in shard.routes.iter().enumerate() {
                if let Some(series) = series.get() {
                    series.collect(self.routes.get(index).map(String::as_str), sink);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;
    use std::collections::BTreeMap;
    use std::time::Instant;

    /// Adds up what it is told twice, as the renderings do.
    #[derive(Default)]
    struct Told(BTreeMap<String, u64>);

    impl Told {
        fn of(counts: &Counts) -> Self {
            let mut told = Self::default();
            counts.collect(&mut told);
            told
        }

        fn add(&mut self, name: &str, labels: &[(&'static str, &str)], value: u64) {
            let labels: Vec<_> = labels.iter().map(|(_, value)| *value).collect();
            *self.0.entry(format!("{name} {}", labels.join(" ")).trim_end().to_owned()).or_default() += value;
        }

        fn get(&self, series: &str) -> u64 {
            self.0.get(series).copied().unwrap_or(0)
        }
    }

    impl Sink for Told {
        fn gauge(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: f64) {
            self.add(name, labels, value as u64);
        }
        fn counter(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: u64) {
            self.add(name, labels, value);
        }
        fn timer(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: &Timer) {
            self.add(name, labels, value.count());
        }
    }

    const GET_OK: Ended<'_> = Ended {
        route: Some(0),
        method: &Method::GET,
        status: 200,
        reason: None,
        received: 0,
        sent: 10,
        took: Duration::from_millis(1),
    };

    #[test]
    fn every_request_of_every_thread_is_found_again() {
        const THREADS: u64 = 7;
        const EACH: u64 = 1000;
        let counts = Counts::new(vec!["/product/**".into()]);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for round in 0..EACH {
                        let _in_flight = counts.begin();
                        let failed = round % 10 == 0;
                        let (status, reason) = if failed { (504, Some(Reason::Timeout)) } else { (200, None) };
                        counts.end(&Ended { status, reason, ..GET_OK });
                    }
                });
            }
        });
        let told = Told::of(&counts);
        let (all, failed) = (THREADS * EACH, THREADS * EACH / 10);
        assert_eq!(told.get("portcullis.requests"), all);
        assert_eq!(told.get("portcullis.requests.in.flight"), 0);
        assert_eq!(told.get("portcullis.client.bytes.sent"), all * 10);
        assert_eq!(told.get("portcullis.responses 200"), all - failed);
        assert_eq!(told.get("portcullis.responses 504"), failed);
        assert_eq!(told.get("portcullis.requests.failed timeout"), failed);
        assert_eq!(told.get("http.server.requests GET /product/** 200 SUCCESS"), all - failed);
        assert_eq!(told.get("http.server.requests GET /product/** 504 SERVER_ERROR"), failed);
    }

    #[test]
    fn what_has_no_route_no_handler_or_no_common_name_is_counted_too() {
        let counts = Counts::new(vec!["/a".into()]);
        let odd = Method::from_bytes(b"BREW").unwrap();
        counts.end(&Ended { route: None, status: 404, reason: Some(Reason::NoRoute), ..GET_OK });
        counts.end(&Ended { route: Some(9), status: 499, reason: Some(Reason::ClientAborted), ..GET_OK });
        counts.end(&Ended { method: &odd, ..GET_OK });
        let refusal = |reason: Reason, status, sent| {
            let (status, peer) = (StatusCode::from_u16(status).unwrap(), "192.0.2.7:1".parse().unwrap());
            counts.refused(&Refused { reason, status, detail: "".into(), peer, since: Instant::now(), sent });
        };
        refusal(Reason::QueueFull, 503, 120);
        refusal(Reason::HeadTimeout, 408, 0);
        refusal(Reason::BadRequest, 417, 10);
        let told = Told::of(&counts);
        for series in [
            "http.server.requests GET NOT_FOUND 404 CLIENT_ERROR",
            "http.server.requests GET UNKNOWN 499 CLIENT_ERROR",
            "http.server.requests OTHER /a 200 SUCCESS",
            "portcullis.responses 499",
            "portcullis.responses 503",
            "portcullis.responses 417",
            "portcullis.requests.failed queue_full",
            "portcullis.requests.failed bad_request",
            "portcullis.requests.failed head_timeout",
            "portcullis.requests.failed client_aborted",
        ] {
            assert_eq!(told.get(series), 1, "{series}");
        }
        assert_eq!(told.get("portcullis.responses 408"), 0, "nothing was sent");
        assert_eq!(told.get("portcullis.responses 400"), 0, "the status is the one that was sent");
        assert_eq!(told.get("portcullis.requests"), 3);
        assert_eq!(told.get("portcullis.client.bytes.sent"), 160);
    }

    #[test]
    fn more_statuses_than_there_are_timers_are_still_counted() {
        let counts = Counts::new(vec!["/a".into()]);
        for status in 200..230 {
            counts.end(&Ended { status, ..GET_OK });
            counts.end(&Ended { status, ..GET_OK });
        }
        counts.end(&Ended { status: 999, ..GET_OK });
        let told = Told::of(&counts);
        assert_eq!(told.get("http.server.requests GET /a 223 SUCCESS"), 2);
        assert_eq!(told.get("http.server.requests OTHER /a OTHER UNKNOWN"), 13);
        assert_eq!(told.get("portcullis.responses 229"), 2);
    }

    #[test]
    fn reasons_are_counted_under_their_own_names() {
        for (index, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
        }
    }
}
