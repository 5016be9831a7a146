//! Whether two gateways do the same: each request of a list is sent to both, before one recording backend, and what they answer and what
//! the backend saw are compared. A comparison of speed between gateways that do different things is none, so it is looked at before each
//! run, and every difference is named in the report.
//!
//! Compared are status, field names (without case), values, and decoded bodies; not the values of `Date`, `Retry-After` and timestamps, nor
//! the order of fields. Any gateway that can be told to lead to [`Bench::backend`] can be looked at, not only ours: [`peers`] does, with
//! what any reverse proxy understands.

mod ask;
mod compare;
mod peers;
mod probe;
mod recorder;

pub use compare::{Difference, Place};
pub(crate) use peers::{Peers, REFERENCE, verdict as verdict_in_kinds, verdict_and_lacks};
pub use probe::{Probe, Scope, probes};

use crate::child::{Output, Running, tied};
use crate::table::say;
use ask::{Answer, ask, hold};
use recorder::{Recorder, Seen};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::runtime::Runtime;

/// A gateway to be looked at.
#[derive(Clone, Debug)]
pub struct Party {
    /// What it is called in differences.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
}

/// A recording backend, and what is needed to look at gateways before it.
pub struct Bench {
    runtime: Runtime,
    recorder: Arc<Recorder>,
    backend: SocketAddr,
    /// Bound but not listening, so that connecting to it is refused for as long as this lives.
    refusing: socket2::Socket,
}

/// What one gateway made of one request.
#[derive(Debug)]
struct Outcome {
    answer: Answer,
    seen: Vec<Seen>,
}

impl Bench {
    /// Starts the backend on a port that the system picks.
    ///
    /// # Errors
    /// No port, no threads.
    pub fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let backend = listener.local_addr()?;
        let recorder = Arc::new(Recorder::default());
        recorder::serve(&runtime, listener, recorder.clone())?;
        let refusing = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        refusing.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        Ok(Self { runtime, recorder, backend, refusing })
    }

    /// Where the recording backend listens.
    pub fn backend(&self) -> SocketAddr {
        self.backend
    }

    /// What portcullis and its twin are told to be looked at: every route of the list of probes, with limits of one where they are met.
    ///
    /// # Errors
    /// The port that refuses cannot be told.
    pub fn configuration(&self) -> io::Result<String> {
        let refused = self.refusing.local_addr()?.as_socket().map_or(1, |address| address.port());
        Ok(probe::configuration(self.backend, refused))
    }

    /// Every difference between two gateways in the probes of `scope`; none means like for like. A difference counts when it shows twice
    /// in a row: on a busy machine a timeout may strike where none was meant.
    ///
    /// # Errors
    /// A gateway that cannot be connected to, or that a request gets no answer from in time.
    pub fn compare(&self, left: &Party, right: &Party, scope: Scope) -> io::Result<Vec<Difference>> {
        let mut differences = Vec::new();
        for probe in probes(scope) {
            let mut found = self.compare_in(&probe, left, right)?;
            if !found.is_empty() {
                let again = self.compare_in(&probe, left, right)?;
                found.retain(|difference| again.contains(difference));
            }
            differences.extend(found);
        }
        Ok(differences)
    }

    fn compare_in(&self, probe: &Probe, left: &Party, right: &Party) -> io::Result<Vec<Difference>> {
        let (ours, theirs) = (self.play(probe, left)?, self.play(probe, right)?);
        Ok(compare::outcomes(probe, (left, &ours), (right, &theirs)))
    }

    fn play(&self, probe: &Probe, party: &Party) -> io::Result<Outcome> {
        let told = |error: io::Error| io::Error::new(error.kind(), format!("{}, {}: {error}", party.name, probe.name));
        self.recorder.begin();
        self.runtime.block_on(async {
            let Some(target) = probe.while_holding else {
                let answer = ask(party.address, probe).await.map_err(told)?;
                return Ok(Outcome { answer, seen: self.recorder.take() });
            };
            let held = hold(party.address, target, &self.recorder).await.map_err(told)?;
            self.recorder.take();
            let answer = ask(party.address, probe).await.map_err(told);
            self.recorder.release();
            held.ended().await?;
            Ok(Outcome { answer: answer?, seen: self.recorder.take() })
        })
    }
}

/// Portcullis and its twin, each in a process of its own, on the configuration of the probes.
///
/// # Errors
/// As for [`Bench::start`] and [`Bench::compare`]; a process that does not start.
pub fn of_twin() -> io::Result<Vec<Difference>> {
    let bench = Bench::start()?;
    let file = File::with(&bench.configuration()?)?;
    let start = |name: &str, subcommand: &str| -> io::Result<(Running, Party)> {
        let mut command = tied(&std::env::current_exe()?);
        command.arg(subcommand).arg("-c").arg(&file.0);
        let (process, address) = Running::listening(command, Output::Stderr)?;
        Ok((process, Party { name: name.into(), address }))
    };
    let (_portcullis, left) = start("portcullis", "gateway")?;
    let (_twin, right) = start("async twin", "async-gateway")?;
    bench.compare(&left, &right, Scope::All)
}

/// `bench parity`: looks at portcullis and its twin, and prints what differs.
///
/// # Errors
/// As for [`of_twin`]; also when something differs.
pub(crate) fn run() -> io::Result<()> {
    let differences = of_twin()?;
    verdict(&differences).iter().for_each(|line| say(line));
    match differences.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other("what differs must not be compared")),
    }
}

/// What a report says: like for like, or not and why.
pub fn verdict(differences: &[Difference]) -> Vec<String> {
    if differences.is_empty() {
        return vec![format!("like for like in {} requests", probes(Scope::All).len())];
    }
    let head = format!("not like for like: {} differences", differences.len());
    std::iter::once(head).chain(differences.iter().map(|difference| format!("  {difference}"))).collect()
}

/// A configuration file, removed at the end.
struct File(PathBuf);

impl File {
    fn with(text: &str) -> io::Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let path = std::env::temp_dir().join(format!("parity-{}-{number}.yaml", std::process::id()));
        std::fs::write(&path, text)?;
        Ok(Self(path))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
