//! Who takes part: how each one is told its limits, started, found and ended.
//!
//! A contestant has two configurations. `stock` is what somebody gets who writes the routes and nothing else; `equalised` raises every limit
//! in the request's path that could bind and can be told, sets the number of threads, and turns off what may refuse for other reasons than a
//! limit: the circuit breaker, the least rate of clients. It lowers nothing but a longer time that nobody waits for. What is told to a
//! contestant is made from the same rows that are printed ([`Knob`]), so that the report can't say something else than the run.
//!
//! ```text
//! all() -> availability() -> start(&Setup, &Scratch) -> Started { address, process, limits }
//! ```

mod direct;
mod haproxy;
pub(crate) mod java;
mod knob;
mod netflix;
mod nginx;
mod ours;
mod scratch;
mod spring;
mod zuul1;
mod zuul2;

use crate::child::{Output, Running, program, tied};
pub(crate) use crate::raw::Configuration;
pub(crate) use knob::{Knob, Limit, Stage, Told};
pub(crate) use ours::twin_lacks;
pub(crate) use scratch::Scratch;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

/// How its threads are used; what a report groups by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// A request has a thread.
    Blocking,
    /// Few threads, many requests.
    Async,
    /// No proxy at all.
    None,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Blocking => "blocking",
            Self::Async => "async",
            Self::None => "no proxy",
        })
    }
}

/// A service behind the contestants: they pass `/name` and all below it on, the path unchanged, to one of its servers.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) name: String,
    pub(crate) servers: Vec<SocketAddr>,
}

/// What a scenario wants of a contestant.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) routes: Vec<Route>,
    /// Threads of blocking contestants, when equalised.
    pub(crate) workers: usize,
    pub(crate) configuration: Configuration,
    /// Where `/plain/**` leads besides, for the probes of [`crate::parity`]: with no limits of its own, and never under load.
    pub(crate) recorder: Option<SocketAddr>,
    /// Further keys, as the contestant itself spells them (`zuul.semaphore.max-semaphores`, nginx's `worker_processes`); they win.
    pub(crate) overrides: Vec<(String, String)>,
}

impl Setup {
    /// `/product/**` before one backend, equalised, with 200 threads.
    pub(crate) fn new(backend: SocketAddr) -> Self {
        let product = Route { name: "product".into(), servers: vec![backend] };
        Self {
            routes: vec![product],
            workers: 200,
            configuration: Configuration::Equalised,
            recorder: None,
            overrides: Vec::new(),
        }
    }
}

/// A contestant that answers.
pub(crate) struct Started {
    pub(crate) address: SocketAddr,
    /// Ended when dropped; none when there is no proxy. [`Running::pids`] names it and its children.
    pub(crate) process: Option<Running>,
    /// Every limit in its path, in the order in which a request meets them.
    pub(crate) limits: Vec<Limit>,
}

/// Whether it can be started on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    Ready,
    /// A row of the report, never a failure of the run.
    Missing {
        why: String,
        how: String,
    },
}

/// One that takes part.
pub(crate) struct Contestant {
    /// What it is chosen by: `zuul1-thread`.
    pub(crate) name: &'static str,
    /// What a report calls it.
    pub(crate) label: &'static str,
    pub(crate) family: Family,
    /// Every limit in its path.
    pub(crate) knobs: &'static [&'static [Knob]],
    /// Where the program and what it needs are looked for.
    find: fn() -> Availability,
    /// Starts it with the limits that were made of `knobs`.
    launch: fn(&Launch<'_>) -> io::Result<Listening>,
}

/// Where it listens, and its process; none when there is no proxy.
type Listening = (SocketAddr, Option<Running>);

/// What a contestant's `launch` gets.
pub(crate) struct Launch<'a> {
    pub(crate) name: &'static str,
    pub(crate) setup: &'a Setup,
    pub(crate) limits: &'a [Limit],
    pub(crate) scratch: &'a Scratch,
}

impl Launch<'_> {
    /// Everything that it leads to.
    fn routes(&self) -> Vec<Route> {
        let probes = self.setup.recorder.map(|recorder| Route { name: "plain".into(), servers: vec![recorder] });
        self.setup.routes.iter().cloned().chain(probes).collect()
    }

    /// A folder of this start's own.
    fn folder(&self) -> io::Result<PathBuf> {
        let folder = self.scratch.path().join(self.name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    fn log_path(&self) -> PathBuf {
        self.scratch.path().join(format!("{}.log", self.name))
    }

    /// Where its output goes.
    fn log(&self) -> io::Result<File> {
        File::create(self.log_path())
    }
}

impl Contestant {
    pub(crate) fn availability(&self) -> Availability {
        (self.find)()
    }

    /// Starts it; it accepts connections when this returns. The calling thread must outlive it: it is ended with that thread.
    pub(crate) fn start(&self, setup: &Setup, scratch: &Scratch) -> io::Result<Started> {
        let limits = self.limits(setup);
        let launch = Launch { name: self.name, setup, limits: &limits, scratch };
        let (address, process) =
            (self.launch)(&launch).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", self.name)))?;
        Ok(Started { address, process, limits })
    }

    /// Every limit with its value under `setup`.
    pub(crate) fn limits(&self, setup: &Setup) -> Vec<Limit> {
        knob::limits(self.knobs, setup)
    }
}

/// Every contestant, in the order of the reports.
pub(crate) fn all() -> impl Iterator<Item = &'static Contestant> {
    let spring = spring::ALL.iter().chain(zuul1::ALL);
    ours_and_direct().chain([&nginx::NGINX, &haproxy::HAPROXY]).chain(spring).chain([&zuul2::ZUUL2])
}

fn ours_and_direct() -> impl Iterator<Item = &'static Contestant> {
    std::iter::once(&direct::DIRECT).chain(ours::ALL)
}

/// The one of this name.
pub(crate) fn named(name: &str) -> Option<&'static Contestant> {
    all().find(|contestant| contestant.name == name)
}

/// For programs that can't be told to pick a port: one that is free, and that the system gives to nobody who leaves the choice to it.
pub(crate) fn free_address() -> io::Result<SocketAddr> {
    const BELOW_EPHEMERAL: std::ops::Range<u16> = 20_000..32_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = std::process::id() as u16;
    for _ in BELOW_EPHEMERAL {
        let offset = start.wrapping_mul(31).wrapping_add(NEXT.fetch_add(1, Relaxed))
            % (BELOW_EPHEMERAL.end - BELOW_EPHEMERAL.start);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, BELOW_EPHEMERAL.start + offset));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    Err(io::Error::other("no port from 20000 to 31999 is free"))
}

/// Ready if there is a program of this name.
fn find_installed(name: &str, package: &str) -> Availability {
    if program(name).is_some() {
        return Availability::Ready;
    }
    Availability::Missing { why: format!("{name} was not found"), how: format!("Debian: apt-get install {package}") }
}

/// The backend, in a process of its own.
pub(crate) fn backend(delay_ms: u64) -> io::Result<(Running, SocketAddr)> {
    let mut command = tied(&std::env::current_exe()?);
    command.args(["backend", "--delay-ms", &delay_ms.to_string()]);
    Running::listening(command, Output::Stdout)
}

#[cfg(test)]
mod tests;
