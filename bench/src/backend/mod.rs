//! A backend that is never the bottleneck: one thread, one epoll, answers prepared beforehand.
//!
//! What it does is in the request's target, so that one process serves every scenario:
//!
//! ```text
//! /product/slow            after the delay that it was started with
//! ...?ms=50                after so many milliseconds
//! ...?tail=20              after a heavy-tailed time with this mean, from the seed that it was given last
//! ...?bytes=10000          with a body of so many octets
//! /product/upload          tells how many octets the body of the request had
//! /counters                tells how many requests, connections and octets there were, itself not counted
//! /restart?seed=3          the same; heavy-tailed times begin anew, from this seed
//! ```
//!
//! It checks nothing: it is the other end of a measurement, not a server. It prints the port that the system picked, and ends with its
//! parent (end of standard input).

mod answer;
mod ask;
mod connection;

use crate::random::Random;
use answer::Answers;
pub(crate) use answer::PRODUCTS;
use ask::{Ask, Delay};
use connection::{Connection, Progress};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

const LISTENER: u64 = u64::MAX;
const PARENT: u64 = u64::MAX - 1;

struct Backend {
    epoll: OwnedFd,
    listener: TcpListener,
    connections: HashMap<u64, Connection>,
    next: u64,
    delays: Delays,
    /// Answers that are due later: when, and of which connection.
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    answers: Answers,
    counted: Counted,
}

/// How long each answer waits.
struct Delays {
    usual: Duration,
    random: Random,
}

impl Delays {
    fn of(&mut self, ask: &Ask) -> Duration {
        if let Some(seed) = ask.seed {
            self.random = Random::new(seed);
        }
        match ask.delay {
            Delay::None => Duration::ZERO,
            Delay::Default => self.usual,
            Delay::Exactly(delay) => delay,
            Delay::HeavyTailed(mean) => mean.mul_f64(self.random.heavy_tailed(1.0)),
        }
    }
}

/// What `/counters` tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Requests that arrived whole.
    pub(crate) requests: u64,
    /// Connections that were accepted.
    pub(crate) connections: u64,
    /// Octets of request bodies.
    pub(crate) octets: u64,
}

impl Counted {
    /// What `/counters` told.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self { requests: of("requests ")?, connections: of("connections ")?, octets: of("octets ")? })
    }
}

/// Serves until standard input ends.
pub(crate) fn serve(delay: Duration, seed: u64) -> io::Result<()> {
    let listener = listen()?;
    writeln!(io::stdout(), "listening on {}", listener.local_addr()?)?;
    run(listener, io::stdin(), delay, seed)
}

/// Serves until `parent` can be read or ends.
pub(crate) fn run(listener: TcpListener, parent: impl std::os::fd::AsFd, delay: Duration, seed: u64) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
    epoll::add(&epoll, &parent, epoll::EventData::new_u64(PARENT), epoll::EventFlags::IN)?;
    let backend = Backend {
        epoll,
        listener,
        connections: HashMap::new(),
        next: 0,
        delays: Delays { usual: delay, random: Random::new(seed) },
        due: BinaryHeap::new(),
        answers: Answers::default(),
        counted: Counted::default(),
    };
    backend.run()
}

/// A listener with a long backlog on a port that the system picks.
pub(crate) fn listen() -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(10_000)?;
    Ok(socket.into())
}

impl Backend {
    fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(512);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), self.patience().as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match { event.data }.u64() {
                    PARENT => return Ok(()),
                    LISTENER => self.accept(),
                    id => self.serve(id),
                }
            }
            self.answer_due();
        }
    }

    /// Until the first answer is due; no bound when none is.
    fn patience(&self) -> Option<Timespec> {
        let Reverse((due, _)) = self.due.peek()?;
        Timespec::try_from(due.saturating_duration_since(Instant::now())).ok()
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let id = self.next;
            self.next += 1;
            self.counted.connections += 1;
            let ready = stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true));
            let added = epoll::add(&self.epoll, &stream, epoll::EventData::new_u64(id), epoll::EventFlags::IN);
            if ready.is_ok() && added.is_ok() {
                self.connections.insert(id, Connection::new(stream));
            }
        }
    }

    /// Reads what there is, and answers or notes the request that it completes. A client asks for one thing at a time.
    fn serve(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let progress = connection.flush().and_then(|()| connection.read());
        match progress {
            Ok(Progress::Request(ask)) => self.ask(id, ask),
            Ok(Progress::More) => self.watch(id),
            Ok(Progress::Ended) | Err(_) => drop(self.connections.remove(&id)),
        }
    }

    fn ask(&mut self, id: u64, ask: Ask) {
        if !ask.counters {
            self.counted.requests += 1;
            self.counted.octets += ask.octets;
        }
        let delay = self.delays.of(&ask);
        let answer = self.answers.to(&ask, self.counted);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.prepare(answer);
        if delay.is_zero() { self.answer(id) } else { self.due.push(Reverse((Instant::now() + delay, id))) }
    }

    fn answer_due(&mut self) {
        let now = Instant::now();
        while let Some(&Reverse((due, id))) = self.due.peek()
            && due <= now
        {
            self.due.pop();
            self.answer(id);
        }
    }

    fn answer(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match connection.send() {
            Ok(()) => self.watch(id),
            Err(_) => drop(self.connections.remove(&id)),
        }
    }

    /// Asks to be told when the rest of an answer can be written, while there is one.
    fn watch(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(flags) = connection.interest() else { return };
        if epoll::modify(&self.epoll, connection.stream(), epoll::EventData::new_u64(id), flags).is_err() {
            self.connections.remove(&id);
        }
    }
}

#[cfg(test)]
pub(crate) mod serving;
#[cfg(test)]
mod tests;
