//! A cell's load on a started contestant, whichever tool brings it; and the same for windows of the warm-up.

use super::run::Site;
use super::warm_up::Told;
use crate::load::answer::{Reader, Verdict};
use crate::load::schedule::{Arrivals, Phase};
use crate::load::{Outcome, ab, open, wrk};
use crate::scenario::{Cell, Load, Open, Target};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an open loop waits for an answer, from when the request was due.
const TIMEOUT: Duration = Duration::from_secs(5);

/// One load of a cell and what became of it.
pub(super) struct Brought<'a> {
    pub(super) name: &'a str,
    pub(super) target: &'a Target,
    pub(super) open: Option<Open>,
    pub(super) outcome: Outcome,
}

/// A window of the warm-up: the load that will be measured, or what comes nearest to it.
pub(super) fn warm(site: &Site<'_>, cell: &Cell, window: Duration) -> io::Result<Told> {
    let outcome = match &cell.load {
        Load::Ab { concurrency, .. } => wrk::run(&url(site, &cell.target), (1, *concurrency), window, site.stop)?,
        Load::Wrk { threads, connections } => {
            wrk::run(&url(site, &cell.target), (*threads, *connections), window, site.stop)?
        }
        Load::Open(open) | Load::Parked { probe: open, .. } => {
            run_open(site, &cell.target, *open, window.as_secs_f64())?
        }
        Load::Beside(beside) => run_open(site, &cell.target, beside.own, window.as_secs_f64())?,
        Load::Overload { knee, connections } => {
            let half = Open { rate: knee / 2.0, poisson: false, connections: *connections };
            run_open(site, &cell.target, half, window.as_secs_f64())?
        }
    };
    site.stop.check()?;
    // A schedule tells an open loop.
    let median_ms = outcome.scheduled.and_then(|_| outcome.latency(50.0));
    Ok(Told { seconds: outcome.seconds, ok: outcome.counts.ok, failed: outcome.counts.failed(), median_ms })
}

/// The load itself.
pub(super) fn bring<'a>(site: &Site<'_>, cell: &'a Cell, seconds: f64) -> io::Result<Vec<Brought<'a>>> {
    let own = |open, outcome| Brought { name: &cell.name, target: &cell.target, open, outcome };
    Ok(match &cell.load {
        Load::Wrk { threads, connections } => {
            let lasting = Duration::from_secs_f64(seconds);
            vec![own(None, wrk::run(&url(site, &cell.target), (*threads, *connections), lasting, site.stop)?)]
        }
        Load::Ab { concurrency, requests } => {
            vec![own(None, ab::run(&url(site, &cell.target), *concurrency, *requests, site.stop)?)]
        }
        Load::Open(open) | Load::Parked { probe: open, .. } => {
            vec![own(Some(*open), run_open(site, &cell.target, *open, seconds)?)]
        }
        Load::Overload { knee, connections } => {
            let phases = [0.5, 1.5, 0.5].map(|part| (part * knee, seconds / 3.0));
            let mean = Open { rate: knee * 2.5 / 3.0, poisson: false, connections: *connections };
            vec![own(Some(mean), run_phases(site, &cell.target, mean, &phases)?)]
        }
        Load::Beside(beside) => {
            let (own_outcome, other) = std::thread::scope(|scope| {
                let other = scope.spawn(|| run_open(site, &beside.other_target, beside.other, seconds));
                let own = run_open(site, &cell.target, beside.own, seconds);
                let other = other.join().unwrap_or_else(|_| Err(io::Error::other("the other load ended early")));
                Ok::<_, io::Error>((own?, other?))
            })?;
            let (name, target) = (beside.other_name.as_str(), &beside.other_target);
            vec![own(Some(beside.own), own_outcome), Brought { name, target, open: Some(beside.other), outcome: other }]
        }
    })
}

fn run_open(site: &Site<'_>, target: &Target, open: Open, seconds: f64) -> io::Result<Outcome> {
    run_phases(site, target, open, &[(open.rate, seconds)])
}

fn run_phases(site: &Site<'_>, target: &Target, open: Open, phases: &[(f64, f64)]) -> io::Result<Outcome> {
    let phase = |(rate, seconds): &(f64, f64)| Phase { rate: *rate, lasting: Duration::from_secs_f64(*seconds) };
    let plan = open::Plan {
        address: site.address,
        request: target.request().into(),
        expected: Some(target.body_octets()),
        arrivals: if open.poisson { Arrivals::Poisson(site.seed) } else { Arrivals::Constant },
        phases: phases.iter().map(phase).collect(),
        connections: open.connections,
        timeout: TIMEOUT,
    };
    open::run(&plan, site.stop)
}

fn url(site: &Site<'_>, target: &Target) -> String {
    format!("http://{}{}", site.address, target.path())
}

/// Opens connections and has each answered once; ends at the first that is not.
pub(super) fn park(site: &Site<'_>, target: &Target, connections: usize) -> io::Result<Vec<TcpStream>> {
    let request = target.request();
    let mut parked = Vec::with_capacity(connections);
    while parked.len() < connections {
        site.stop.check()?;
        let Ok(stream) = answered_once(site.address, &request) else { break };
        parked.push(stream);
    }
    Ok(parked)
}

fn answered_once(address: SocketAddr, request: &[u8]) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(request)?;
    let mut reader = Reader::default();
    let mut piece = [0; 4096];
    loop {
        let length = stream.read(&mut piece)?;
        match reader.take(&piece[..length], None)? {
            Some(answer) if answer.keeps && answer.verdict == Verdict::Ok => return Ok(stream),
            Some(_) => return Err(io::Error::other("no right answer on a connection that stays")),
            None if length == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            None => {}
        }
    }
}
