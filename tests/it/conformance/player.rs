//! The client of the conformance runner: plays a case's request over a raw socket and keeps every response, octet for octet.
//!
//! It sends and receives in one loop, since a gateway may answer before it was told everything. Whether the connection is still usable
//! afterwards is found out by using it.

use super::corpus::{Awaited, Data, Names, RequestPart};
use super::upstream::{PROBE, Record};
use crate::support::message::{End, Kind, Message, show};
use crate::support::socket::{self, Input};
use crate::support::wait;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What a player needs to know beforehand.
pub(crate) struct Terms {
    /// The methods of its requests, in order.
    pub(crate) methods: Vec<Vec<u8>>,
    /// Whether it speaks HTTP/1.0.
    pub http10: bool,
    /// How long the whole case may take.
    pub(crate) timeout: Duration,
}

/// What became of the client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    /// Nobody asked.
    Unknown,
    /// The gateway closed it.
    Closed,
    /// Usable and in step.
    Open,
    /// Open although a close was announced.
    OpenDespiteClose,
    /// Usable perhaps, but what comes is no answer to what was asked.
    OutOfStep,
}

/// A client and what it got.
pub(crate) struct Player {
    socket: Option<TcpStream>,
    left: bool,
    terms: Terms,
    out: Vec<u8>,
    at: usize,
    input: Input,
    started: Instant,
    deadline: Instant,
    /// Final responses.
    pub(crate) finals: Vec<Message>,
    /// Interim responses.
    pub(crate) interims: Vec<Message>,
    /// A response of which some came.
    pub(crate) partial: Option<Message>,
    /// What came after a switch of protocols.
    pub(crate) tunnel: Option<Vec<u8>>,
    /// What was wrong with the responses.
    pub(crate) problems: Vec<String>,
    /// When the first octet of a body came, from the start.
    pub(crate) first_body_after: Option<Duration>,
    /// What became of the connection.
    pub(crate) connection: Connection,
}

impl Player {
    /// Connects to the gateway.
    pub(crate) fn connect(gateway: SocketAddr, terms: Terms) -> std::io::Result<Self> {
        let socket = TcpStream::connect_timeout(&gateway, Duration::from_secs(2))?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let started = Instant::now();
        Ok(Self {
            socket: Some(socket),
            left: false,
            deadline: started + terms.timeout,
            terms,
            out: Vec::new(),
            at: 0,
            input: Input::default(),
            started,
            finals: Vec::new(),
            interims: Vec::new(),
            partial: None,
            tunnel: None,
            problems: Vec::new(),
            first_body_after: None,
            connection: Connection::Unknown,
        })
    }

    /// Every octet that came.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.input.octets
    }

    /// How the gateway ended the connection, if it did.
    pub(crate) fn ended(&self) -> Option<End> {
        self.input.ended
    }

    /// Whether the player itself reset the connection.
    pub(crate) fn left(&self) -> bool {
        self.left
    }

    /// Puts octets in line for sending.
    pub(crate) fn queue(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
    }

    /// Gives it until then, whatever it had before.
    pub(crate) fn extend(&mut self, budget: Duration) {
        self.deadline = Instant::now() + budget;
    }

    /// Closes the connection.
    pub(crate) fn close(&mut self) {
        self.socket = None;
    }

    /// Moves octets both ways until `until` holds, time is up or the gateway closes.
    pub(crate) fn pump(&mut self, limit: Option<Duration>, until: impl Fn(&Self) -> bool) {
        let end = limit.map_or(self.deadline, |limit| self.deadline.min(Instant::now() + limit));
        while !until(self) && self.input.ended.is_none() && Instant::now() < end {
            let Some(socket) = self.socket.take() else { return };
            let left = end.saturating_duration_since(Instant::now()).min(LOOK_EVERY);
            let (readable, writable) = socket::ready_within(&socket, !self.out.is_empty(), left);
            if writable {
                self.send_some(&socket);
            }
            if readable {
                self.input.receive(&socket);
                self.parse();
            }
            self.socket = Some(socket);
        }
    }

    fn send_some(&mut self, mut socket: &TcpStream) {
        match socket.write(&self.out[..self.out.len().min(256 * 1024)]) {
            Ok(n) => drop(self.out.drain(..n)),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.out.clear(),
        }
    }

    /// Plays the parts of a request one after the other.
    pub(crate) fn play(&mut self, parts: &[RequestPart], names: &Names, record: &Record) {
        for part in parts {
            match part {
                RequestPart::Send(data) => self.send(data, names),
                RequestPart::Drip { drip, every } => self.drip(drip, *every, names),
                RequestPart::Delay { delay } => self.pump(Some(Duration::from_secs_f64(*delay)), |_| false),
                RequestPart::Await { what, count } => self.await_what(*what, *count, record),
                RequestPart::IfTunnel { if_tunnel, expect } => self.use_tunnel(if_tunnel, *expect, names),
                RequestPart::Shutdown { shutdown } => {
                    assert!(*shutdown, "a part of a request does what it says");
                    // The gateway may have closed already, which is an outcome like another.
                    let _ = self.socket.as_ref().map(|socket| socket.shutdown(std::net::Shutdown::Write));
                }
                RequestPart::Reset { reset } => {
                    assert!(*reset, "a part of a request does what it says");
                    if let Some(socket) = self.socket.take() {
                        socket::reset_on_close(&socket);
                    }
                    self.left = true;
                    return;
                }
            }
        }
    }

    fn send(&mut self, data: &Data, names: &Names) {
        self.out.extend(data.octets(names));
        self.pump(None, |me| me.out.is_empty());
    }

    fn drip(&mut self, data: &Data, every: f64, names: &Names) {
        for octet in data.octets(names) {
            self.out.push(octet);
            self.pump(None, |me| me.out.is_empty());
            wait::pace(Duration::from_secs_f64(every));
        }
    }

    fn await_what(&mut self, what: Awaited, count: usize, record: &Record) {
        let limit = Some(Duration::from_millis(1200));
        self.pump(limit, |me| match what {
            Awaited::Responses => me.finals.len() >= count,
            Awaited::Interim => !me.interims.is_empty() || !me.finals.is_empty(),
            Awaited::Upstream => record.seen().requests.len() >= count,
            Awaited::Tunnel => me.tunnel.is_some() || !me.finals.is_empty(),
        });
    }

    fn use_tunnel(&mut self, data: &Data, expected: usize, names: &Names) {
        if self.tunnel.is_some() {
            self.out.extend(data.octets(names));
            self.pump(Some(Duration::from_secs(1)), |me| me.tunnel.as_ref().is_some_and(|t| t.len() >= expected));
        }
    }

    /// Whether the connection is still usable and in step: asks for a target of its own.
    pub(crate) fn probe(&mut self, number: usize) -> Connection {
        let (target, before) = (format!("{PROBE}{number}"), self.finals.len());
        self.terms.methods.resize(before, b"GET".to_vec());
        self.terms.methods.push(b"GET".to_vec());
        self.terms.http10 = false;
        self.extend(Duration::from_millis(1500));
        self.queue(format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\n\r\n").as_bytes());
        self.pump(None, |me| me.finals.len() > before);
        let answered = self.finals.get(before);
        if answered.is_some_and(|msg| msg.status == 200 && msg.text().contains(&target)) {
            self.finals.remove(before);
            return Connection::Open;
        }
        let closed = self.input.ended.is_some() && answered.is_none();
        if closed { Connection::Closed } else { Connection::OutOfStep }
    }

    fn parse(&mut self) {
        while self.tunnel.is_none() {
            self.partial = None;
            if !self.parse_one() {
                return;
            }
        }
        let rest = self.input.octets[self.at..].to_vec();
        self.at = self.input.octets.len();
        self.tunnel.get_or_insert_default().extend(rest);
    }

    /// Takes one response; false when there is none, or only part of one.
    fn parse_one(&mut self) -> bool {
        let method = self.terms.methods.get(self.finals.len()).cloned().unwrap_or_else(|| b"GET".to_vec());
        let (buf, ended) = (&self.input.octets, self.input.ended);
        let Some(mut msg) = Message::parse(buf, self.at, &Kind::Response(method), ended) else {
            if ended.is_some() && buf.len() > self.at {
                self.problems.push(format!("client: not a response: {}", show(&buf[self.at..], 60)));
                self.at = buf.len();
            }
            return false;
        };
        if !msg.body.is_empty() && self.first_body_after.is_none() {
            self.first_body_after = Some(self.started.elapsed());
        }
        if !msg.complete && ended.is_none() && msg.problems.is_empty() {
            self.partial = Some(msg);
            return false;
        }
        self.at = msg.end;
        if self.terms.http10 && !msg.values("transfer-encoding").is_empty() {
            msg.problems.push("Transfer-Encoding sent to an HTTP/1.0 client".into());
        }
        self.keep(msg);
        true
    }

    fn keep(&mut self, mut msg: Message) {
        let interim = (1..200).contains(&msg.status) && msg.status != 101;
        if interim && self.terms.http10 {
            msg.problems.push(format!("{} sent to an HTTP/1.0 client", msg.status));
        }
        self.problems.extend(msg.problems.iter().map(|p| format!("client: {p}")));
        if msg.status == 101 {
            self.tunnel = Some(Vec::new());
        }
        if interim { &mut self.interims } else { &mut self.finals }.push(msg);
    }
}
