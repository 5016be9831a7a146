//! The front from outside: raw sockets in, a scripted handler behind. Support here, the cases in the files below.
//!
//! The handler answers by path: `/echo` with the body, `/wait` once the test says so, `/panic` never. Waiting is done on channels and on
//! gauges, with a bound; nothing here depends on speed.

mod bodies;
mod draining;
mod limits;
mod rules;
mod serving;

use super::{Front, FrontConfig};
use crate::client::{Client, ClientError, Ending, Handler, Refused, Request, Woken};
use crate::deadline::Deadline;
use crate::metrics::{Collect, Sink, Timer};
use crate::phase::{self, Phase};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::collections::BTreeMap;
use std::io::{IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// No test waits for longer.
const BOUND: Duration = Duration::from_secs(20);

/// What the handler tells the test.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Began(String),
    Refused(&'static str),
    /// What the client's side said to a handler that watched it.
    Saw(String),
    /// How long ago the request was received, and how long of that it had waited for a worker.
    Ages(Duration, Duration),
}

struct Scripted {
    events: Sender<Event>,
    go: Receiver<()>,
}

struct TestFront {
    front: Option<Front>,
    gauges: Arc<dyn Collect>,
    address: SocketAddr,
    events: Receiver<Event>,
    go: Sender<()>,
}

impl Handler for Scripted {
    type Local = ();

    fn local(&self) {}

    fn serve(&self, (): &mut (), request: Request, client: &mut dyn Client) -> Ending {
        let target = String::from_utf8(request.head.target().to_vec()).unwrap();
        self.events.send(Event::Began(target.clone())).unwrap();
        match target.split('?').next().unwrap_or_default() {
            "/wait" => {
                let _phase = phase::enter(Phase::Upstream);
                self.go.recv_timeout(BOUND).unwrap();
                answer(client, b"waited")
            }
            "/age" => {
                self.events.send(Event::Ages(request.received.elapsed(), request.queued)).unwrap();
                answer(client, b"")
            }
            "/panic" => panic!("on purpose"),
            "/half" => {
                client.write(&mut [IoSlice::new(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")]).unwrap();
                if target.ends_with("panic") { panic!("on purpose") } else { Ending::Abort }
            }
            "/silent" => Ending::Done,
            "/ignore" => answer(client, b"ignored"),
            "/gone" => self.watch(client),
            "/flood" => self.flood(client),
            "/name" => {
                let name = std::thread::current().name().unwrap().to_owned();
                answer(client, name.as_bytes())
            }
            _ => match read_body(client) {
                Ok(body) => answer(client, &body),
                Err(error) => {
                    self.events.send(Event::Saw(format!("{error:?}"))).unwrap();
                    Ending::Abort
                }
            },
        }
    }

    fn refused(&self, refusal: &Refused) {
        self.events.send(Event::Refused(refusal.reason.name())).unwrap();
    }
}

struct Flag(Sender<()>);

impl crate::cancel::ShutDown for Flag {
    fn shut_down(&self) {
        let _ = self.0.send(());
    }
}

impl Scripted {
    /// Waits until the client's switch is thrown, or the test says that it will not be.
    fn watch(&self, client: &mut dyn Client) -> Ending {
        let (thrown, throws) = unbounded();
        let cancel = client.cancel();
        let armed = cancel.arm(Arc::new(Flag(thrown)));
        self.events.send(Event::Saw("armed".into())).unwrap();
        let saw = crossbeam_channel::select! {
            recv(throws) -> _ => "thrown",
            recv(self.go) -> _ => "quiet",
            default(BOUND) => "nothing",
        };
        drop(armed);
        self.events.send(Event::Saw(saw.into())).unwrap();
        answer(client, saw.as_bytes())
    }

    /// Writes until the client's side fails.
    fn flood(&self, client: &mut dyn Client) -> Ending {
        let block = vec![b'x'; 1 << 20];
        for _ in 0..4096 {
            if let Err(error) = client.write(&mut [IoSlice::new(&block)]) {
                self.events.send(Event::Saw(format!("{error:?}"))).unwrap();
                return Ending::Abort;
            }
        }
        Ending::Abort
    }
}

fn read_body(client: &mut dyn Client) -> Result<Vec<u8>, ClientError> {
    let (mut body, mut block) = (Vec::new(), vec![0; 64 * 1024]);
    loop {
        match client.read_now(&mut block)? {
            Some(0) => return Ok(body),
            Some(octets) => body.extend_from_slice(&block[..octets]),
            None => assert_eq!(client.wait(None, Deadline::after(BOUND))?, Woken::Client),
        }
    }
}

fn answer(client: &mut dyn Client, body: &[u8]) -> Ending {
    let persists = client.may_persist();
    let close = if persists { "" } else { "Connection: close\r\n" };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{close}\r\n", body.len());
    match client.write(&mut [IoSlice::new(head.as_bytes()), IoSlice::new(body)]) {
        Ok(()) => Ending::Done,
        Err(_) => Ending::Abort,
    }
}

/// A front with one worker, and timeouts far beyond every test.
fn one_worker() -> FrontConfig {
    let config = FrontConfig::small("test", SocketAddr::from(([127, 0, 0, 1], 0)), 1);
    FrontConfig { max_connections: 100, queue_timeout: 10 * BOUND, connection_timeout: 10 * BOUND, ..config }
}

impl TestFront {
    fn start(config: FrontConfig) -> Self {
        let (events_in, events) = unbounded();
        let (go, go_out) = unbounded();
        let front = Front::start(config, Arc::new(Scripted { events: events_in, go: go_out })).unwrap();
        Self { gauges: front.gauges(), address: front.local_addr(), front: Some(front), events, go }
    }

    fn connect(&self) -> RawClient {
        RawClient::connect(self.address)
    }

    fn event(&self) -> Event {
        self.events.recv_timeout(BOUND).expect("an event")
    }

    #[track_caller]
    fn expect(&self, event: &Event) {
        assert_eq!(&self.event(), event);
    }

    #[track_caller]
    fn expect_began(&self, target: &str) {
        self.expect(&Event::Began(target.into()));
    }

    /// Lets one waiting request go on.
    fn go(&self) {
        self.go.send(()).unwrap();
    }

    fn gauge(&self, name: &str) -> f64 {
        let mut values = Values::default();
        self.gauges.collect(&mut values);
        values.0.get(name).copied().unwrap_or(0.0)
    }

    #[track_caller]
    fn wait_for(&self, name: &str, holds: impl Fn(f64) -> bool) {
        let until = Instant::now() + BOUND;
        while !holds(self.gauge(name)) {
            assert!(Instant::now() < until, "{name} is still {}", self.gauge(name));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Every gauge that is somebody's comes back.
    #[track_caller]
    fn ends_clean(mut self) {
        self.wait_for("portcullis.connections.active", |n| n == 0.0);
        let drained = self.front.take().unwrap().drain(Deadline::after(BOUND));
        assert!(drained.is_clean(), "{drained:?}");
        self.is_over();
    }

    #[track_caller]
    fn is_over(&self) {
        for name in ["connections.active", "queue.waiting", "workers.active", "workers.idle", "workers.parked"] {
            assert_eq!(self.gauge(&format!("portcullis.{name}")), 0.0, "{name}");
        }
    }
}

/// What a front tells, by name and the labels other than `server`.
#[derive(Default)]
struct Values(BTreeMap<String, f64>);

impl Values {
    fn put(&mut self, name: &str, labels: &[(&'static str, &str)], value: f64) {
        let labels: String = labels.iter().filter(|l| l.0 != "server").map(|l| format!("{{{}}}", l.1)).collect();
        self.0.insert(format!("{name}{labels}"), value);
    }
}

impl Sink for Values {
    fn gauge(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: f64) {
        self.put(name, labels, value);
    }

    fn counter(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: u64) {
        self.put(name, labels, value as f64);
    }

    fn timer(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: &Timer) {
        self.put(name, labels, value.count() as f64);
    }
}

/// Octets in, octets out.
struct RawClient {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl RawClient {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.set_write_timeout(Some(BOUND)).unwrap();
        Self { stream, unread: Vec::new() }
    }

    fn send(&mut self, octets: impl AsRef<[u8]>) {
        self.stream.write_all(octets.as_ref()).unwrap();
    }

    fn get(&mut self, target: &str) {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    }

    /// Closes our side.
    fn finish(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// The next answer with a Content-Length: head and body.
    fn answer(&mut self) -> (String, String) {
        loop {
            if let Some(end) = self.unread.windows(4).position(|w| w == b"\r\n\r\n") {
                let head = String::from_utf8(self.unread[..end + 4].to_vec()).unwrap();
                let length =
                    head.lines().find_map(|l| l.strip_prefix("Content-Length: ")).map_or(0, |l| l.parse().unwrap());
                if self.unread.len() >= end + 4 + length {
                    let rest = self.unread.split_off(end + 4 + length);
                    let body = String::from_utf8(self.unread[end + 4..].to_vec()).unwrap();
                    self.unread = rest;
                    return (head, body);
                }
            }
            let mut block = [0; 64 * 1024];
            let octets = self.stream.read(&mut block).unwrap();
            assert_ne!(octets, 0, "the front closed after {:?}", String::from_utf8_lossy(&self.unread));
            self.unread.extend_from_slice(&block[..octets]);
        }
    }

    #[track_caller]
    fn expect(&mut self, body: &str) {
        assert_eq!(self.answer().1, body);
    }

    #[track_caller]
    fn expect_status(&mut self, status: &str) -> String {
        let (head, _) = self.answer();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        head
    }

    /// The front closes in order, with nothing more to say.
    #[track_caller]
    fn expect_end(&mut self) {
        assert_eq!(self.unread, b"");
        assert_eq!(self.stream.read(&mut [0; 64]).expect("no reset"), 0);
    }
}
