//! `bench fidelity`: the same requests to a running Zuul 1 and to portcullis, on the same `application.yml`, before a backend that keeps
//! what it is sent.
//!
//! ```text
//! probes.toml -> client -> Zuul 1 | portcullis -> backend      replies and requests -> observation -> compare -> intended | unexpected
//! ```
//!
//! Every difference is either an entry of `intended.toml`, or a fault; so is an entry that no longer occurs.

mod backend;
mod client;
mod gateways;
mod intended;
mod observation;
mod probe;
mod stream;

use crate::contestant::{Availability, Scratch};
use crate::table::say;
use backend::Backend;
use clap::Args;
use gateways::{Pair, Places, Told};
use intended::{Intended, Verdict};
use observation::{Difference, Observation, compare, observe, without_ports};
use probe::{Probe, Probes};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Instant;

const PROBES: &str = include_str!("../../fidelity/probes.toml");
const INTENDED: &str = include_str!("../../fidelity/intended.toml");
const README: &str = include_str!("../../../README.md");

/// What is played, and how much is told.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only probes whose name or section begins so.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Tells intended differences too.
    #[arg(long)]
    all: bool,
    /// Writes entries for the unexpected differences to this file, for somebody to judge.
    #[arg(long)]
    propose: Option<PathBuf>,
}

/// Plays all probes; an error if a difference is unexpected or an entry no longer occurs.
pub(crate) fn run(options: &Options) -> io::Result<()> {
    let (probes, intended) = (Probes::parse(PROBES)?, Intended::parse(INTENDED)?);
    let names: Vec<&str> = probes.probe.iter().map(|probe| probe.name.as_str()).collect();
    let faults = intended.faults(README, &names);
    if let Availability::Missing { why, how } = gateways::availability() {
        return Err(io::Error::other(format!("no Zuul 1 to compare with: {why}; {how}")));
    }
    let chosen: Vec<&Probe> = probes.probe.iter().filter(|probe| options.wants(probe)).collect();
    let differences = play_all(&probes, &chosen, &intended, options.propose.is_some())?;
    let played: Vec<&str> = chosen.iter().map(|probe| probe.name.as_str()).collect();
    let verdict = intended.judge(differences, &played);
    report(&verdict, &faults, options);
    if let Some(file) = &options.propose {
        std::fs::write(file, intended::propose(&verdict.unexpected))?;
    }
    if verdict.unexpected.is_empty() && verdict.stale.is_empty() && faults.is_empty() {
        return Ok(());
    }
    Err(io::Error::other("portcullis and Zuul 1 differ otherwise than bench/fidelity/intended.toml says"))
}

impl Options {
    fn wants(&self, probe: &Probe) -> bool {
        let begins = |word: &String| probe.name.starts_with(word.as_str()) || probe.section == *word;
        self.only.is_empty() || self.only.iter().any(begins)
    }
}

/// Each setup is a start of both; each probe is played to one, then to the other.
fn play_all(probes: &Probes, chosen: &[&Probe], intended: &Intended, once: bool) -> io::Result<Vec<Difference>> {
    let backend = Backend::start()?;
    let reserved = reserve()?;
    let dead = reserved.local_addr()?.as_socket().ok_or_else(|| io::Error::other("no address"))?;
    let places = Places { servers: backend.addresses, dead };
    let mut differences = Vec::new();
    for (setup, properties) in &probes.setup {
        let of_setup: Vec<&&Probe> = chosen.iter().filter(|probe| probe.setup() == setup).collect();
        if of_setup.is_empty() {
            continue;
        }
        let scratch = Scratch::new()?;
        let began = Instant::now();
        let told = Told { properties, spring_retry: probes.spring_retry.contains(setup) };
        let pair = Pair::start(told, places, &scratch)?;
        let (started, count) = (began.elapsed().as_secs(), of_setup.len());
        for probe in of_setup {
            differences.extend(differ_twice(probe, &pair, &backend, places, intended, once));
        }
        let played = began.elapsed().as_secs() - started;
        say(&format!("setup {setup}: {count} probes; {started} s to start both, {played} s to play"));
    }
    Ok(differences)
}

/// Plays the probe, and again if something is not as it should be: on a busy machine a limit in time may be reached once by chance. What
/// a stream tells is counted, and would count the first time too; what is proposed is what a first time gives.
fn differ_twice(
    probe: &Probe,
    pair: &Pair,
    backend: &Backend,
    places: Places,
    intended: &Intended,
    once: bool,
) -> Vec<Difference> {
    let differences = || {
        let [zuul, portcullis] = [pair.zuul.1, pair.portcullis.1].map(|gateway| play(probe, gateway, backend, places));
        compare(&probe.name, &zuul, &portcullis)
    };
    let first = differences();
    let verdict = intended.judge(first.clone(), &[&probe.name]);
    let settled = verdict.unexpected.is_empty() && verdict.stale.is_empty();
    if settled || once || probe.stream.is_some() {
        return first;
    }
    say(&format!(
        "{} is played again: {} differences were not intended, {} entries did not occur",
        probe.name,
        verdict.unexpected.len(),
        verdict.stale.len()
    ));
    differences()
}

fn play(probe: &Probe, gateway: SocketAddr, backend: &Backend, places: Places) -> Observation {
    backend.play(probe);
    let aspects = match &probe.stream {
        Some(listened) => stream::observe(gateway, probe, listened),
        None => observe(probe, &client::play(gateway, probe), &backend.seen()),
    };
    let [first, second] = places.servers;
    let ports = [(gateway, "<gateway>"), (first, "<first>"), (second, "<second>"), (places.dead, "<dead>")];
    without_ports(aspects, &ports.map(|(address, name)| (address.port(), name)))
}

/// A port that is taken, so that nobody else gets it, and on which nobody listens.
fn reserve() -> io::Result<socket2::Socket> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    Ok(socket)
}

fn report(verdict: &Verdict, faults: &[String], options: &Options) {
    let tell = |what: &str, difference: &Difference| {
        let Difference { probe, aspect, zuul, portcullis } = difference;
        say(&format!("{what}: {probe}: {aspect}: Zuul 1 {zuul:?}, portcullis {portcullis:?}"));
    };
    for (difference, row) in verdict.intended.iter().filter(|_| options.all) {
        tell(&format!("intended ({row})"), difference);
    }
    verdict.unexpected.iter().for_each(|difference| tell("UNEXPECTED", difference));
    verdict.stale.iter().for_each(|difference| tell("NO LONGER SO", difference));
    faults.iter().for_each(|fault| say(&format!("intended.toml: {fault}")));
    let (intended, unexpected, stale) = (verdict.intended.len(), verdict.unexpected.len(), verdict.stale.len());
    say(&format!("{intended} differences are intended, {unexpected} are not, {stale} entries no longer occur"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Java is not needed to see a slip in the data.
    #[test]
    fn the_data_fit_each_other_and_the_readme() {
        let probes = Probes::parse(PROBES).unwrap();
        let names: Vec<&str> = probes.probe.iter().map(|probe| probe.name.as_str()).collect();
        assert_eq!(Intended::parse(INTENDED).unwrap().faults(README, &names), [""; 0]);
    }
}
