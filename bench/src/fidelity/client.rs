//! The client before both gateways.

use super::probe::Probe;
use crate::message::{self, Kind, Message, octets};
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Longer than every timeout that the gateways are told; the first answers of a JVM take their time.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came back for a request: interim answers, then the final one; none if the connection ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub(super) interim: Vec<u16>,
    pub(super) answer: Option<Message>,
    /// When the head of the answer had come.
    pub(super) head: Option<Instant>,
    /// From the request's first octet to the answer's last.
    pub(super) took: Duration,
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
    for number in 0..probe.repeat.max(1) {
        if number > 0 {
            std::thread::sleep(Duration::from_millis(probe.pause));
        }
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

pub(super) fn connect(gateway: SocketAddr) -> Option<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&gateway, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    Some(BufReader::new(stream))
}

fn exchange(connection: &mut BufReader<TcpStream>, probe: &Probe) -> Reply {
    let mut reply = Reply::default();
    let began = Instant::now();
    // A gateway may answer and close before it has read all: what it said counts, not that it stopped reading.
    let _ = connection.get_mut().write_all(&octets(&probe.request()));
    let kind = Kind::Answer { to_head: probe.method() == "HEAD" };
    while let Ok(Some(mut message)) = message::read_head(connection, kind) {
        if matches!(message.status(), Some(100..=199)) {
            reply.interim.extend(message.status());
            continue;
        }
        reply.head = Some(Instant::now());
        message.read_body(connection, kind);
        reply.answer = Some(message);
        break;
    }
    reply.took = began.elapsed();
    reply
}
