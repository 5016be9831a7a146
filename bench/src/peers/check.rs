//! `bench peers check`: each contestant is started, asked and ended, before anybody measures it.

use crate::contestant::{self, Availability, Configuration, Contestant, Scratch, Setup, all};
use crate::table::say;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What is asked of each, on one connection.
const PATHS: [&str; 3] = ["/product/list", "/product/slow", "/product/list"];

/// An answer, as far as it is compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
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
pub(crate) fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    answer(&mut BufReader::new(stream))
}

/// Reads a head and the body that its fields tell.
fn answer(from: &mut impl BufRead) -> io::Result<Answer> {
    let status = line(from)?
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .ok_or_else(|| io::Error::other("no status"))?;
    let (mut length, mut chunked) = (0, false);
    loop {
        let field = line(from)?.to_ascii_lowercase();
        match field.split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().map_err(io::Error::other)?,
            Some(("transfer-encoding", value)) => chunked = value.trim() == "chunked",
            Some(_) => {}
        }
    }
    let mut body = Vec::new();
    while chunked {
        length = u64::from_str_radix(line(from)?.trim(), 16).map_err(io::Error::other)?;
        from.by_ref().take(length).read_to_end(&mut body)?;
        line(from)?;
        chunked = length > 0;
    }
    from.by_ref().take(if body.is_empty() { length } else { 0 }).read_to_end(&mut body)?;
    Ok(Answer { status, body })
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_by_length_and_by_chunks() {
        let body = |text: &str| answer(&mut text.as_bytes()).map(|answer| (answer.status, answer.body)).ok();
        let abc = Some((200, b"abc".to_vec()));
        assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd"), abc);
        assert_eq!(body("HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"), abc);
        assert_eq!(body("HTTP/1.1 204 \r\n\r\n"), Some((204, Vec::new())));
        assert_eq!(body("HTTP/1.1 200 OK\r\nContent-Length"), None);
    }
}
