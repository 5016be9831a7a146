//! The client before both gateways.

use super::probe::Probe;
use crate::message::{self, Kind, Message, octets};
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than every timeout that the gateways are told; the first answers of a JVM take their time.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came back for a request: interim answers, then the final one; none if the connection ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub(super) interim: Vec<u16>,
    pub(super) answer: Option<Message>,
}

/// Plays the probe's requests.
pub(super) fn play(gateway: SocketAddr, probe: &Probe) -> Vec<Reply> {
    let at_once = probe.parallel.max(1);
    let players: Vec<_> = (0..at_once)
        .map(|_| {
            let probe = probe.clone();
            std::thread::spawn(move || in_line(gateway, &probe))
        })
        .collect();
    players.into_iter().flat_map(|player| player.join().unwrap_or_default()).collect()
}

/// One request after the other; a connection that was closed is opened anew.
fn in_line(gateway: SocketAddr, probe: &Probe) -> Vec<Reply> {
    let mut open = None;
    let mut replies = Vec::new();
    for _ in 0..probe.repeat.max(1) {
        let mut connection = match open.take().or_else(|| connect(gateway)) {
            Some(connection) => connection,
            None => return replies,
        };
        let reply = exchange(&mut connection, probe);
        let kept = reply.answer.as_ref().is_some_and(|answer| {
            answer.whole && answer.values("connection").all(|value| !value.eq_ignore_ascii_case("close"))
        });
        open = kept.then_some(connection);
        replies.push(reply);
    }
    replies
}

fn connect(gateway: SocketAddr) -> Option<BufReader<TcpStream>> {
    let stream = TcpStream::connect(gateway).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    Some(BufReader::new(stream))
}

fn exchange(connection: &mut BufReader<TcpStream>, probe: &Probe) -> Reply {
    let mut reply = Reply::default();
    // A gateway may answer and close before it has read all: what it said counts, not that it stopped reading.
    let _ = connection.get_mut().write_all(&octets(&probe.request()));
    let to_head = probe.method() == "HEAD";
    loop {
        match read(connection, to_head) {
            Some(interim) if matches!(interim.status(), Some(100..=199)) => reply.interim.extend(interim.status()),
            answer => {
                reply.answer = answer;
                return reply;
            }
        }
    }
}

fn read(connection: &mut BufReader<TcpStream>, to_head: bool) -> Option<Message> {
    message::read(connection, Kind::Answer { to_head }).ok().flatten()
}
