//! `bench peers check`: each contestant is started, asked and ended, before anybody measures it.

use crate::contestant::{self, Availability, Configuration, Contestant, Scratch, Setup, all};
use crate::message::{self, Kind};
use crate::table::say;
use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What is asked of each, on one connection.
const PATHS: [&str; 3] = ["/product/list", "/product/slow", "/product/list"];

/// An answer, as far as it is compared.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: Option<u16>,
    body: String,
}

pub(super) fn run(names: &[String]) -> io::Result<()> {
    if let Some(name) = names.iter().find(|name| contestant::named(name).is_none()) {
        return Err(io::Error::other(format!("{name} is no contestant; `peers list` names them")));
    }
    let (_backend, address) = contestant::backend(50)?;
    let wanted = ask(address)?;
    let chosen = all().filter(|contestant| names.is_empty() || names.iter().any(|name| name == contestant.name));
    let failures = chosen.map(|contestant| check(contestant, address, &wanted)).sum::<usize>();
    match failures {
        0 => Ok(()),
        _ => Err(io::Error::other(format!("{failures} did not pass requests on"))),
    }
}

/// How many of the two configurations failed.
fn check(contestant: &Contestant, backend: SocketAddr, wanted: &[Answer]) -> usize {
    if let Availability::Missing { why, how } = contestant.availability() {
        say(&format!("{:<24} missing: {why}; {how}", contestant.name));
        return 0;
    }
    let mut failures = 0;
    for configuration in [Configuration::Stock, Configuration::Equalised] {
        let outcome = try_one(contestant, &Setup { configuration, ..Setup::new(backend) }, wanted);
        failures += usize::from(outcome.is_err());
        let told = outcome.unwrap_or_else(|error| format!("failed: {error}"));
        say(&format!("{:<24} {configuration:?}: {told}", contestant.name));
    }
    failures
}

fn try_one(contestant: &Contestant, setup: &Setup, wanted: &[Answer]) -> io::Result<String> {
    let scratch = Scratch::new()?;
    let started = contestant.start(setup, &scratch)?;
    let answers = ask(started.address)?;
    if answers != wanted {
        return Err(io::Error::other(format!("answered {answers:?}")));
    }
    let processes = started.process.as_ref().map_or(0, |process| process.pids().len());
    Ok(format!("passes requests on; {processes} processes"))
}

fn ask(address: SocketAddr) -> io::Result<Vec<Answer>> {
    PATHS.iter().map(|path| get(address, path)).collect()
}

/// A GET on a connection of its own; a JVM's first answer takes its time.
fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    let answer = message::read(&mut BufReader::new(stream), Kind::Answer { to_head: false })?;
    let answer = answer.filter(|answer| answer.whole).ok_or_else(|| io::Error::other("no whole answer"))?;
    Ok(Answer { status: answer.status(), body: answer.body })
}
