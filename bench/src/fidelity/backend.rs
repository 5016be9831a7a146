//! The backend behind both gateways: does what the probe says, and keeps every request as it came.

use super::probe::Probe;
use crate::message::{self, Kind, Message, octets};
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Two servers that do the same, so that choices between them can be seen.
pub(super) struct Backend {
    pub(super) addresses: [SocketAddr; 2],
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    probe: Probe,
    /// Counts the probes: a request that a gateway gave up may still be under way when the next one is played.
    number: usize,
    requests: Vec<Recorded>,
    running: usize,
    peak: usize,
    rest_sent: Option<Instant>,
}

/// How long the rest of an answer is held back.
const REST: Duration = Duration::from_millis(500);

/// A request, and the server that it came to.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) server: usize,
    pub(super) message: Message,
}

/// What came while a probe was played.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) requests: Vec<Recorded>,
    /// The most requests that were under way at once.
    pub(super) peak: usize,
    /// Just before the rest of the first answer that has one was sent.
    pub(super) rest_sent: Option<Instant>,
}

impl State {
    /// What is answered to a request that came, in how long, and to which probe it belongs.
    fn began(&mut self, request: Recorded) -> (Probe, Duration, usize) {
        self.requests.push(request);
        self.running += 1;
        self.peak = self.peak.max(self.running);
        let late = self.probe.late == 0 || self.requests.len() <= self.probe.late;
        let wait = Duration::from_millis(if late { self.probe.wait } else { 0 });
        (self.probe.clone(), wait, self.number)
    }

    /// A request of this probe ends.
    fn ended(&mut self, number: usize) {
        if self.number == number {
            self.running -= 1;
        }
    }
}

impl Backend {
    pub(super) fn start() -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State::default()));
        let listeners = [TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?];
        let addresses = [listeners[0].local_addr()?, listeners[1].local_addr()?];
        for (server, listener) in listeners.into_iter().enumerate() {
            let state = state.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let state = state.clone();
                    std::thread::spawn(move || talk(&stream, server, &state));
                }
            });
        }
        Ok(Self { addresses, state })
    }

    /// From now on, `probe` says what is answered.
    pub(super) fn play(&self, probe: &Probe) {
        let mut state = lock(&self.state);
        *state = State { probe: probe.clone(), number: state.number + 1, ..State::default() };
    }

    pub(super) fn seen(&self) -> Seen {
        let state = lock(&self.state);
        Seen { requests: state.requests.clone(), peak: state.peak, rest_sent: state.rest_sent }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves a connection until either side ends it.
fn talk(stream: &TcpStream, server: usize, state: &Mutex<State>) {
    let mut from = BufReader::new(stream);
    while let Ok(Some(mut message)) = message::read_head(&mut from, Kind::Request) {
        let mut to = stream;
        if message.values("expect").any(|value| value.eq_ignore_ascii_case("100-continue")) {
            let _ = to.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        message.read_body(&mut from, Kind::Request);
        let (probe, wait, number) = lock(state).began(Recorded { server, message });
        std::thread::sleep(wait);
        lock(state).ended(number);
        let answer = octets(&probe.answer());
        let mut sent = to.write_all(&answer);
        if let Some(rest) = &probe.rest {
            std::thread::sleep(REST);
            lock(state).rest_sent.get_or_insert_with(Instant::now);
            sent = sent.and_then(|()| to.write_all(&octets(rest)));
        }
        if probe.stall {
            // Until the gateway has had enough; a backend that closed would end the body.
            let _ = io::copy(&mut from, &mut io::sink());
        }
        if probe.close || answer.is_empty() || sent.is_err() {
            return;
        }
    }
}
