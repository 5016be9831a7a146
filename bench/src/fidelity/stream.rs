//! `hystrix.stream`, which does not end: listened to until it says nothing new.

use super::client::{self, connect};
use super::observation::{Observation, head_and_body};
use super::probe::{Probe, Stream};
use crate::message::{Framing, Kind, latin1, octets, read_head};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};
use std::net::SocketAddr;

/// Pings, two a second, after which all that is counted has been told: Hystrix closes a bucket each second.
const SETTLED: usize = 5;

/// Pings after the first word of a command. Hystrix begins to count its rolling figures when somebody asks for them, a moment later.
const COUNTING: usize = 2;

/// A command that is not heard of by then will not be; Hystrix's window is half of it.
const PINGS: usize = 40;

/// Events after which nobody listens any longer, pings or not.
const EVENTS: usize = 100_000;

/// Asks for what is counted, and tells what the stream says of it.
pub(super) fn observe(gateway: SocketAddr, probe: &Probe, listened: &Stream) -> Observation {
    ask(gateway, probe, listened, listened.before);
    let mut aspects = Observation::new();
    let Some(mut connection) = connect(gateway) else { return aspects };
    let _ = connection.get_mut().write_all(&octets(&probe.request()));
    let Ok(Some(head)) = read_head(&mut connection, Kind::Answer { to_head: false }) else { return aspects };
    aspects.insert("status".into(), head.status().unwrap_or_default().to_string());
    head_and_body(&head, false, &mut aspects);
    // What has no end is not cut.
    aspects.insert("framing".into(), format!("{:?}", head.framing));
    if head.framing == Framing::Chunked {
        let mut heard = Heard { command: &listened.command, ..Heard::default() };
        heard.listen(Events { from: connection, text: String::new() }, || {
            ask(gateway, probe, listened, listened.during)
        });
        heard.tell(&mut aspects);
    }
    aspects
}

fn ask(gateway: SocketAddr, probe: &Probe, listened: &Stream, count: usize) {
    if count > 0 {
        let load = Probe { target: listened.load.clone(), repeat: count, stream: None, ..probe.clone() };
        client::play(gateway, &load);
    }
}

/// An event, its members in their order.
type Members = Map<String, Value>;

/// The events of a chunked body.
struct Events<R> {
    from: R,
    text: String,
}

impl<R: BufRead> Iterator for Events<R> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = event.to_owned();
                self.text = rest.to_owned();
                return Some(event);
            }
            self.text += &chunk(&mut self.from)?;
        }
    }
}

/// None at the end, or when nothing came for long.
fn chunk(from: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    from.read_line(&mut line).ok()?;
    let size = usize::from_str_radix(line.trim_end(), 16).ok().filter(|&size| size > 0)?;
    let mut data = vec![0; size + 2];
    from.read_exact(&mut data).ok()?;
    data.truncate(size);
    Some(latin1(&data))
}

/// What was heard so far.
#[derive(Default)]
struct Heard<'a> {
    command: &'a str,
    first: Option<String>,
    pings: usize,
    /// Pings since something new was said.
    quiet: usize,
    /// The last of each type that the command has.
    events: BTreeMap<String, Members>,
    names: BTreeSet<String>,
}

impl Heard<'_> {
    /// Listens until nothing new is said; `and_then` is done when the command is heard of and counted.
    fn listen(&mut self, events: impl Iterator<Item = String>, and_then: impl FnOnce()) {
        let mut and_then = Some(and_then);
        for event in events.take(EVENTS) {
            match event.strip_prefix("data: ").map(serde_json::from_str::<Members>) {
                Some(Ok(members)) => self.note(members),
                // Told as it is, so that it is seen.
                Some(Err(_)) => _ = self.names.insert(event.clone()),
                None => (self.pings, self.quiet) = (self.pings + 1, self.quiet + 1),
            }
            self.first.get_or_insert(event);
            if let Some(and_then) = and_then.take_if(|_| !self.events.is_empty() && self.quiet >= COUNTING) {
                and_then();
                self.quiet = 0;
            }
            let heard = self.command.is_empty() || !self.events.is_empty();
            if (heard && self.quiet >= SETTLED) || self.pings >= PINGS {
                return;
            }
        }
    }

    fn note(&mut self, members: Members) {
        let members: Members = members.into_iter().map(|(name, value)| (name.clone(), steady(&name, value))).collect();
        let of = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, name) = (of("type"), of("name"));
        let ours = name == self.command;
        self.names.insert(format!("{kind} {name}"));
        if ours && self.events.get(&kind) != Some(&members) {
            self.quiet = 0;
            self.events.insert(kind, members);
        }
    }

    fn tell(self, aspects: &mut Observation) {
        aspects.insert("first event".into(), self.first.unwrap_or_default());
        if self.command.is_empty() {
            aspects.insert("told of".into(), self.names.into_iter().collect::<Vec<_>>().join(", "));
        }
        for (kind, members) in self.events {
            let names = members.keys().map(String::as_str);
            aspects.insert(format!("{kind} members"), names.collect::<Vec<_>>().join(" "));
            aspects.extend(members.iter().map(|(name, value)| (format!("{kind} {name}"), value.to_string())));
        }
    }
}

/// The time now, and how long calls took.
fn steady(name: &str, value: Value) -> Value {
    match &value {
        _ if name == "currentTime" => "<time>".into(),
        _ if !name.starts_with("latency") => value,
        Value::Object(percentiles) if percentiles.values().all(|percentile| *percentile == 0) => "0 each".into(),
        Value::Object(percentiles) => {
            format!("measured: {}", percentiles.keys().map(String::as_str).collect::<Vec<_>>().join(" ")).into()
        }
        value if *value == 0 => "0".into(),
        _ => "measured".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunked(texts: &[&str]) -> Vec<u8> {
        texts.iter().flat_map(|text| format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()).collect()
    }

    fn events(octets: &[u8]) -> Vec<String> {
        Events { from: octets, text: String::new() }.collect()
    }

    #[test]
    fn events_may_be_split_over_chunks_and_several_may_share_one() {
        let body = chunked(&["ping: \n\n", "data: {\"a\"", ":1}\n\nping: \n", "\n", ""]);
        assert_eq!(events(&body), ["ping: ", "data: {\"a\":1}", "ping: "]);
        assert_eq!(events(&body[..20]), ["ping: "]);
    }

    fn heard<'a>(command: &'a str, events: &[&str], and_then: impl FnOnce()) -> (Heard<'a>, usize) {
        let mut heard = Heard { command, ..Heard::default() };
        let mut taken = 0;
        heard.listen(events.iter().map(|event| (*event).to_owned()).inspect(|_| taken += 1), and_then);
        (heard, taken)
    }

    #[test]
    fn listening_ends_when_nothing_new_is_said() {
        let event =
            |count| format!("data: {{\"type\":\"C\",\"name\":\"svc\",\"currentTime\":{count},\"count\":{count}}}");
        let same = "data: {\"type\":\"C\",\"name\":\"svc\",\"currentTime\":9,\"count\":2}";
        let (one, two) = (event(1), event(2));
        let mut told = vec!["ping: ", one.as_str(), "ping: ", two.as_str()];
        told.extend(["ping: ", same].repeat(COUNTING + SETTLED + 1));
        let mut asked = 0;
        let (heard, taken) = heard("svc", &told, || asked += 1);
        // Both are reached with a ping, the first of the two that repeat.
        assert_eq!((asked, taken), (1, 4 + 2 * (COUNTING + SETTLED) - 1));
        let mut aspects = Observation::new();
        heard.tell(&mut aspects);
        assert_eq!(aspects["first event"], "ping: ");
        assert_eq!((aspects["C members"].as_str(), aspects["C count"].as_str()), ("type name currentTime count", "2"));
    }

    #[test]
    fn listening_ends_although_the_command_is_never_heard_of() {
        let (heard, taken) = heard("svc", &vec!["ping: "; PINGS * 2], || panic!("nothing to do"));
        assert_eq!((taken, heard.events.len()), (PINGS, 0));
        let (heard, taken) = self::heard("", &vec!["ping: "; PINGS], || panic!("nothing to do"));
        assert_eq!((taken, heard.names.len()), (SETTLED, 0));
    }

    #[test]
    fn how_long_calls_took_is_not_compared_and_whether_any_was_measured_is() {
        let steady = |name: &str, value: &str| steady(name, serde_json::from_str(value).unwrap());
        assert_eq!(steady("latencyTotal_mean", "0"), "0");
        assert_eq!(steady("latencyTotal_mean", "17"), "measured");
        assert_eq!(steady("latencyTotal", "{\"0\":0,\"100\":0}"), "0 each");
        assert_eq!(steady("latencyTotal", "{\"0\":0,\"100\":3}"), "measured: 0 100");
        assert_eq!(steady("requestCount", "3"), 3);
    }
}
