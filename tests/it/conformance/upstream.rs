//! The recording upstream of the conformance runner: does what a case's script says and keeps what the gateway sent, octet for octet.
//!
//! One per gateway under test. The first octets of a request decide which case they belong to; connections that a case kept open end when
//! the next case begins. It complains about whatever is not well-formed and never guesses.

use super::corpus::{Case, Data, Exchange, Names, OneOrMany, Read, Step};
use crate::support::message::{Kind, Message, show};
use crate::support::socket::{self, Input};
use crate::support::wait;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Targets of the runner's own requests: never judged.
pub(crate) const PROBE: &str = "/__probe";
/// The same for the look whether the gateway still serves.
pub(crate) const ALIVE: &str = "/__alive";

const LOOK_EVERY: Duration = Duration::from_millis(50);
const RAW_LIMIT: usize = 4 << 20;

/// What one case made the upstream see.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Requests whose head came whole.
    pub(crate) requests: Vec<Message>,
    /// Every octet.
    pub(crate) raw: Vec<u8>,
    /// What was wrong with them.
    pub(crate) problems: Vec<String>,
    /// What else happened.
    pub(crate) events: BTreeMap<&'static str, bool>,
    /// Connections that were kept open after an answer.
    pub(crate) kept: usize,
    exchanges_begun: usize,
}

/// A case's script and record.
#[derive(Debug, Default)]
pub(crate) struct Record {
    exchanges: Vec<Exchange>,
    allow: Vec<String>,
    seen: Mutex<Seen>,
}

impl Record {
    /// For one case.
    pub(crate) fn of(case: &Case) -> Self {
        let exchanges = case.upstream.as_ref().map_or(&[][..], OneOrMany::as_slice).to_vec();
        Self { exchanges, allow: case.allow.clone(), seen: Mutex::default() }
    }

    /// What was seen so far.
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock()
    }

    fn next_exchange(&self) -> Option<Exchange> {
        let mut seen = self.seen();
        seen.exchanges_begun += 1;
        self.exchanges.get(seen.exchanges_begun.min(self.exchanges.len()).checked_sub(1)?).cloned()
    }
}

/// The upstream of one gateway.
pub(crate) struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    names: Names,
    patience: Duration,
    record: Mutex<Arc<Record>>,
    generation: AtomicUsize,
    active: AtomicUsize,
    stopped: AtomicBool,
}

impl Upstream {
    /// Listens on `listener`; `gateway_timeout` is how long the gateway waits for an answer.
    pub(crate) fn start(listener: TcpListener, gateway_timeout: Duration) -> Self {
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared {
            names: Names { upstream: address.to_string() },
            patience: gateway_timeout + Duration::from_secs(3),
            record: Mutex::default(),
            generation: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let acceptor = shared.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if acceptor.stopped.load(SeqCst) {
                    return;
                }
                let shared = acceptor.clone();
                std::thread::spawn(move || shared.serve(socket));
            }
        });
        Self { address, shared }
    }

    /// What the corpus' placeholders stand for.
    pub(crate) fn names(&self) -> &Names {
        &self.shared.names
    }

    /// From now on requests belong to this record.
    pub(crate) fn begin(&self, record: Arc<Record>) {
        *self.shared.record.lock() = record;
    }

    /// Closes the connections that the last case kept open.
    pub(crate) fn close_kept(&self) {
        self.shared.generation.fetch_add(1, SeqCst);
    }

    /// Waits until nothing is under way, at most so long.
    pub(crate) fn settle(&self, bound: Duration) {
        wait::holds_within(bound, || self.shared.active.load(SeqCst) == 0);
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.stopped.store(true, SeqCst);
        self.close_kept();
        // Wakes the acceptor, which looks at the flag; when even that fails it was not waiting.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn serve(&self, socket: TcpStream) {
        let Some(mut link) = Link::new(socket) else { return };
        let mut keep = true;
        while keep && self.await_request(&mut link) {
            let record = self.record.lock().clone();
            record.seen().raw.extend_from_slice(&link.input.octets);
            link.record = Some(record.clone());
            self.active.fetch_add(1, SeqCst);
            let mut talk =
                Talk { shared: self, link: &mut link, record: &record, by: Instant::now() + Duration::from_secs(6) };
            keep = talk.exchange();
            link.record = None;
            self.active.fetch_sub(1, SeqCst);
        }
    }

    /// Whether another request begins on the connection, before the case ends that kept it open.
    fn await_request(&self, link: &mut Link) -> bool {
        let generation = self.generation.load(SeqCst);
        while link.input.octets.is_empty() && self.generation.load(SeqCst) == generation {
            if !link.fill(Instant::now() + Duration::from_secs(60)) {
                break;
            }
        }
        !link.input.octets.is_empty()
    }
}

/// One connection from the gateway.
struct Link {
    socket: TcpStream,
    input: Input,
    record: Option<Arc<Record>>,
}

impl Link {
    fn new(socket: TcpStream) -> Option<Self> {
        socket.set_nodelay(true).ok()?;
        socket.set_write_timeout(Some(Duration::from_secs(6))).ok()?;
        Some(Self { socket, input: Input::default(), record: None })
    }

    /// Waits a little for more octets; false when the gateway closed, or time is up.
    fn fill(&mut self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now()).min(LOOK_EVERY);
        let before = self.input.octets.len();
        if self.input.ended.is_none() && socket::readable_within(&self.socket, left) {
            self.input.receive(&self.socket);
        }
        if let Some(record) = &self.record {
            let mut seen = record.seen();
            if seen.raw.len() < RAW_LIMIT {
                seen.raw.extend_from_slice(&self.input.octets[before..]);
            }
        }
        self.input.ended.is_none() && Instant::now() < until
    }

    fn send(&mut self, octets: &[u8]) -> bool {
        self.socket.write_all(octets).is_ok()
    }

    /// Half-closes, then reads until the gateway closes; returns what still came.
    fn finish(&mut self, limit: Duration) -> Vec<u8> {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        let until = Instant::now() + limit;
        while self.fill(until) {}
        std::mem::take(&mut self.input.octets)
    }
}

/// What a step leaves of the connection.
#[derive(PartialEq, Eq)]
enum After {
    GoOn,
    Ended,
}

/// One request and its answer.
struct Talk<'a> {
    shared: &'a Shared,
    link: &'a mut Link,
    record: &'a Record,
    by: Instant,
}

impl Talk<'_> {
    /// Whether the connection is kept open.
    fn exchange(&mut self) -> bool {
        let Some(mut msg) = self.read_head() else { return false };
        self.check(&mut msg);
        let number = {
            let mut seen = self.record.seen();
            seen.requests.push(msg.clone());
            seen.requests.len() - 1
        };
        let housekeeping = [PROBE, ALIVE].iter().any(|own| msg.target.starts_with(own.as_bytes()));
        let plan = if housekeeping { None } else { self.record.next_exchange() };
        let (read, keep, steps) = unfold(plan);
        if msg.problems.is_empty() && read == Read::Full && !self.read_whole(&mut msg, number) {
            return false;
        }
        self.record.seen().requests[number] = msg.clone();
        if !msg.problems.is_empty() {
            return self.reject(&msg);
        }
        self.record.seen().kept += usize::from(keep);
        let scripted = steps.is_some();
        match steps {
            Some(steps) => {
                if steps.iter().any(|step| self.step(&mut msg, number, step) == After::Ended) {
                    return false;
                }
            }
            None => self.answer(&msg, keep),
        }
        keep || self.end_in_order(scripted)
    }

    fn read_head(&mut self) -> Option<Message> {
        loop {
            if let Some(msg) = Message::head(&self.link.input.octets, 0, &Kind::Request) {
                return Some(msg);
            }
            // A head that was cut off is kept among the raw octets only.
            if !self.link.fill(self.by) {
                return None;
            }
        }
    }

    /// Complains about what the grammar of single fields does not show.
    fn check(&self, msg: &mut Message) {
        let (hosts, options) = (msg.values("host").len(), msg.members("connection"));
        if hosts != 1 && (hosts > 0 || msg.version == b"HTTP/1.1") {
            msg.problems.push(format!("{hosts} Host fields"));
        }
        if !msg.values("upgrade").is_empty() && !options.contains(&b"upgrade".to_vec()) {
            msg.problems.push("Upgrade without Connection: upgrade".into());
        }
        if msg.start.windows(8).any(|w| w == b"smuggled") {
            msg.problems.push(format!("SMUGGLED request: {}", show(&msg.start, 100)));
        }
        msg.problems.retain(|p| !self.record.allow.iter().any(|a| p.contains(a.as_str())));
    }

    /// Whether the request came whole, or at least far enough to be complained about.
    fn read_whole(&mut self, msg: &mut Message, number: usize) -> bool {
        if msg.members("expect").contains(&b"100-continue".to_vec()) {
            self.link.send(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        self.read_body(msg, number);
        if msg.complete && !self.link.input.octets.is_empty() {
            let late = show(&self.link.input.octets, 60);
            msg.problems.push(format!("octets follow a request before its response: {late}"));
        }
        msg.complete || !msg.problems.is_empty()
    }

    fn read_body(&mut self, msg: &mut Message, number: usize) {
        loop {
            msg.take_body(&self.link.input.octets, &Kind::Request, None);
            self.record.seen().requests[number] = msg.clone();
            if msg.complete {
                self.link.input.octets.drain(..msg.end);
                return;
            }
            if !msg.problems.is_empty() || !self.link.fill(self.by) {
                return;
            }
        }
    }

    fn reject(&mut self, msg: &Message) -> bool {
        self.record.seen().problems.extend(msg.problems.iter().map(|p| format!("upstream: {p}")));
        self.link.send(b"HTTP/1.1 599 Malformed Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        self.link.finish(Duration::from_millis(100));
        false
    }

    fn answer(&mut self, msg: &Message, keep: bool) {
        let body = [&msg.method[..], b" ", &msg.target[..msg.target.len().min(200)], b"\n"].concat();
        let close = if keep { "" } else { "Connection: close\r\n" };
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{close}Content-Length: {}\r\n\r\n", body.len());
        let body = if msg.method == b"HEAD" { &b""[..] } else { &body[..] };
        self.link.send(&[head.as_bytes(), body].concat());
    }

    fn end_in_order(&mut self, scripted: bool) -> bool {
        let late = self.link.finish(Duration::from_millis(200));
        if !late.is_empty() && !scripted {
            let problem = format!("upstream: octets after the last request: {}", show(&late, 60));
            self.record.seen().problems.push(problem);
        }
        false
    }

    fn step(&mut self, msg: &mut Message, number: usize, step: &Step) -> After {
        let has = |name: &String| !msg.values(name).is_empty();
        if step.if_header.as_ref().is_some_and(|name| !has(name)) || step.unless_header.as_ref().is_some_and(has) {
            return After::GoOn;
        }
        if let Some(data) = &step.send {
            self.link.send(&data.octets(&self.shared.names));
        } else if let Some(data) = &step.drip {
            self.drip(data, step.every.unwrap_or(0.02));
        } else if let Some(seconds) = step.delay {
            wait::pace(Duration::from_secs_f64(seconds));
        } else if step.read_body.is_some() {
            self.read_body(msg, number);
        } else if step.await_close.is_some() || step.stall.is_some() {
            self.await_close(step.await_close.map_or(self.shared.patience, Duration::from_secs_f64));
        } else if let Some(seconds) = step.echo {
            self.echo(Instant::now() + Duration::from_secs_f64(seconds));
        } else if step.reset.is_some() {
            socket::reset_on_close(&self.link.socket);
            return After::Ended;
        } else if step.close.is_some() {
            self.link.finish(Duration::from_millis(250));
            return After::Ended;
        } else {
            self.record.seen().problems.push(format!("runner: no action in {step:?}"));
        }
        After::GoOn
    }

    fn drip(&mut self, data: &Data, every: f64) {
        for octet in data.octets(&self.shared.names) {
            if !self.link.send(&[octet]) {
                return;
            }
            wait::pace(Duration::from_secs_f64(every));
        }
    }

    fn await_close(&mut self, limit: Duration) {
        let until = Instant::now() + limit;
        while self.link.fill(until) {}
        self.record.seen().events.insert("peer_closed", self.link.input.ended.is_some());
    }

    fn echo(&mut self, until: Instant) {
        loop {
            let octets = std::mem::take(&mut self.link.input.octets);
            if !octets.is_empty() {
                self.link.send(&[b"<", &octets[..], b">"].concat());
            }
            if !self.link.fill(until) {
                return;
            }
        }
    }
}

fn unfold(plan: Option<Exchange>) -> (Read, bool, Option<Vec<Step>>) {
    match plan {
        None => (Read::Full, false, None),
        Some(Exchange::Plan { read, keepalive, steps }) => (read, keepalive, steps),
        Some(Exchange::Octets(data)) => (Read::Full, false, Some(vec![Step { send: Some(data), ..Step::default() }])),
    }
}
