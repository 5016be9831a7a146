//! What was seen of a probe, as aspects with values that can be compared: what differs from run to run has been taken out.
//!
//! Taken out are dates, ports, timestamps, the seconds of Retry-After, the case of field names, the boundary that Zuul makes up, and the
//! fields that the Java client adds by itself. Of service routes the order of fields is left out too: there it is that of a hash table. Of
//! times there is which limit had passed.

use super::backend::Seen;
use super::client::Reply;
use super::probe::Probe;
use crate::message::{Framing, Message};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Aspects with their values.
pub(super) type Observation = BTreeMap<String, String>;

/// Ports of this run, and what stands for them.
pub(super) type Ports = [(u16, &'static str)];

/// Fields whose meaning is that of an aspect of its own.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// Spelt so, they are HttpClient's; Zuul passes a client's own on in lower case.
const OF_THE_JAVA_CLIENT: [&str; 3] = ["Accept-Encoding", "Connection", "User-Agent"];

pub(super) fn observe(probe: &Probe, replies: &[Reply], seen: &Seen) -> Observation {
    let mut aspects = Observation::new();
    aspects.insert("upstream requests".into(), seen.requests.len().to_string());
    if probe.parallel > 1 {
        aspects.insert("statuses".into(), tally(probe, replies));
        aspects.insert("at once upstream".into(), seen.peak.to_string());
    } else if probe.repeat > 1 {
        in_line(replies, seen, &mut aspects);
    } else {
        single(probe, replies.first(), seen, &mut aspects);
    }
    aspects
}

/// How many of each status, of those that took as long.
fn tally(probe: &Probe, replies: &[Reply]) -> String {
    let ended = |reply: &Reply| [Some(outcome(reply)), passed(probe, reply)].into_iter().flatten().collect::<Vec<_>>();
    let mut counts = BTreeMap::new();
    replies.iter().for_each(|reply| *counts.entry(ended(reply).join(" ")).or_insert(0) += 1);
    counts.iter().map(|(status, count)| format!("{count} x {status}")).collect::<Vec<_>>().join(", ")
}

fn in_line(replies: &[Reply], seen: &Seen, aspects: &mut Observation) {
    let numbers = |of: Vec<String>| of.join(" ");
    let closing = replies.iter().enumerate().filter(|(_, reply)| {
        reply.answer.as_ref().is_some_and(|answer| answer.values("connection").any(|v| v.eq_ignore_ascii_case("close")))
    });
    aspects.insert("statuses".into(), numbers(replies.iter().map(outcome).collect()));
    aspects.insert("servers".into(), servers(seen));
    aspects.insert("closed after".into(), numbers(closing.map(|(index, _)| (index + 1).to_string()).collect()));
}

/// The numbers of the servers that were asked, in turn.
fn servers(seen: &Seen) -> String {
    seen.requests.iter().map(|request| (request.server + 1).to_string()).collect::<Vec<_>>().join(" ")
}

/// The status, and the message of the error's body where it is told.
fn outcome(reply: &Reply) -> String {
    let body = reply.answer.as_ref().map(|answer| answer.body.as_str()).unwrap_or_default();
    let told = body.split_once("\"message\":\"").and_then(|(_, rest)| rest.split_once('"'));
    match told {
        Some((message, _)) if !message.is_empty() => format!("{} {message}", status(reply)),
        _ => status(reply),
    }
}

/// The last of the probe's limits that had passed when the answer had come.
fn passed(probe: &Probe, reply: &Reply) -> Option<String> {
    probe.limits.first()?;
    let last = probe.limits.iter().rev().find(|&&limit| reply.took.as_millis() >= u128::from(limit));
    Some(last.map_or("at once".into(), |limit| format!("after {limit} ms")))
}

fn status(reply: &Reply) -> String {
    reply.answer.as_ref().and_then(Message::status).map_or("no answer".into(), |status| status.to_string())
}

fn single(probe: &Probe, reply: Option<&Reply>, seen: &Seen, aspects: &mut Observation) {
    let ordered = probe.target.starts_with("/url");
    let reply = reply.cloned().unwrap_or_default();
    aspects.insert("status".into(), status(&reply));
    aspects.extend(passed(probe, &reply).map(|limit| ("ended".into(), limit)));
    if let Some((head, rest)) = reply.head.zip(seen.rest_sent) {
        let which = if head < rest { "before the rest of the answer" } else { "after the rest of the answer" };
        aspects.insert("head came".into(), which.into());
    }
    if seen.requests.len() > 1 {
        aspects.insert("servers".into(), servers(seen));
    }
    if !reply.interim.is_empty() {
        aspects.insert("interim answers".into(), format!("{:?}", reply.interim));
    }
    if let Some(answer) = &reply.answer {
        head_and_body(answer, ordered, aspects);
        if let Some(body) = aspects.get_mut("body").filter(|_| probe.unordered) {
            *body = sorted(body);
        }
    }
    if let Some(request) = seen.requests.first().map(|recorded| without_boundary(probe, &recorded.message)) {
        aspects.insert("upstream request line".into(), request.start.clone());
        message("upstream ", &request, ordered, aspects);
    }
}

pub(super) fn head_and_body(answer: &Message, ordered: bool, aspects: &mut Observation) {
    let mut words = answer.start.splitn(3, ' ');
    aspects.insert("version".into(), words.next().unwrap_or_default().into());
    aspects.insert("reason phrase".into(), words.nth(1).unwrap_or_default().into());
    message("", answer, ordered, aspects);
}

fn message(side: &str, message: &Message, ordered: bool, aspects: &mut Observation) {
    let framing = match message.framing {
        Framing::None => "no body".into(),
        Framing::Length(length) => format!("length {length}"),
        Framing::Chunked => "chunked".into(),
        Framing::Close => "until close".into(),
    };
    let cut = if message.whole { "" } else { ", cut" };
    aspects.insert(format!("{side}framing"), framing + cut);
    if !message.body.is_empty() {
        aspects.insert(format!("{side}body"), message.body.clone());
    }
    if !message.trailers.is_empty() {
        aspects.insert(format!("{side}trailers"), message.trailers.join(" | "));
    }
    let own = |name: &str| side == "upstream " && OF_THE_JAVA_CLIENT.contains(&name);
    let fields = message.fields.iter().filter(|(name, _)| !own(name));
    let mut order = Vec::new();
    for (name, value) in fields.filter(|(name, _)| !FRAMING.contains(&name.to_ascii_lowercase().as_str())) {
        let name = name.to_ascii_lowercase();
        // portcullis draws the seconds of Retry-After, so that not all come back at once.
        let value = match name.as_str() {
            "date" => "<date>",
            "retry-after" => "<seconds>",
            "x-zuul-debug-header" => &without_times(value),
            _ => value,
        };
        let lines = aspects.entry(format!("{side}field {name}")).or_default();
        if !lines.is_empty() {
            lines.push_str(" | ");
        }
        // An empty value is not an absent field.
        lines.push_str(if value.is_empty() { "<empty>" } else { value });
        // Upstream, the Java client writes Host where it likes.
        if !(side == "upstream " && name == "host") {
            order.push(name);
        }
    }
    if ordered {
        aspects.insert(format!("{side}order"), order.join(" "));
    }
}

/// The upstream's request, with what Zuul made up as boundary replaced.
fn without_boundary(probe: &Probe, request: &Message) -> Message {
    let mut request = request.clone();
    let content_type = request.values("content-type").next().unwrap_or_default();
    let boundary = content_type.split(';').find_map(|part| part.trim().strip_prefix("boundary=")).map(str::to_owned);
    if let Some(boundary) = boundary.filter(|boundary| !probe.request().contains(boundary.as_str())) {
        request.body = request.body.replace(&boundary, "<boundary>");
        request.fields.iter_mut().for_each(|(_, value)| *value = value.replace(&boundary, "<boundary>"));
        // Its length differs from run to run, too.
        if let Framing::Length(length) = &mut request.framing {
            *length = request.body.chars().count() as u64;
        }
    }
    request
}

/// The JSON with its lists in an order of their own; anything else as it is.
fn sorted(body: &str) -> String {
    fn sort(value: &mut Value) {
        match value {
            Value::Array(values) => {
                values.iter_mut().for_each(sort);
                values.sort_by_key(Value::to_string);
            }
            Value::Object(members) => members.values_mut().for_each(sort),
            _ => {}
        }
    }
    let Ok(mut value) = serde_json::from_str(body) else { return body.to_owned() };
    sort(&mut value);
    value.to_string()
}

pub(super) fn without_ports(aspects: Observation, ports: &Ports) -> Observation {
    aspects.into_iter().map(|(aspect, value)| (aspect, steady(&value, ports))).collect()
}

/// Without times and ports.
fn steady(value: &str, ports: &Ports) -> String {
    let mut value = between(value, "\"timestamp\":\"", "\"", "<time>");
    value = between(&value, "<div id='created'>", "</div>", "<time>");
    for (port, name) in ports {
        value = value.replace(&port.to_string(), name);
    }
    value
}

/// Without the numbers before each `ms` and the hash codes that Java tells of objects.
fn without_times(value: &str) -> String {
    let mut parts: Vec<&str> = value.split("ms").collect();
    let last = parts.pop().unwrap_or_default();
    let before = |part: &str| part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned() + "<time>ms";
    let value = parts.into_iter().map(before).collect::<String>() + last;
    let hashes = value.split('@').enumerate().map(|(index, part)| match index {
        0 => part.to_owned(),
        _ => format!("@<hash>{}", part.trim_start_matches(|c: char| c.is_ascii_hexdigit())),
    });
    hashes.collect()
}

/// What stands between the two marks is replaced, wherever they are.
fn between(text: &str, from: &str, to: &str, with: &str) -> String {
    let Some((before, rest)) = text.split_once(from) else { return text.to_owned() };
    let Some((_, after)) = rest.split_once(to) else { return text.to_owned() };
    format!("{before}{from}{with}{to}{}", between(after, from, to, with))
}

/// An aspect in which two gateways differ; a value that one does not have is `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Difference {
    pub(super) probe: String,
    pub(super) aspect: String,
    pub(super) zuul: String,
    pub(super) portcullis: String,
}

pub(super) fn compare(probe: &str, zuul: &Observation, portcullis: &Observation) -> Vec<Difference> {
    let aspects: BTreeSet<&String> = zuul.keys().chain(portcullis.keys()).collect();
    let comparable = comparable(zuul, portcullis);
    let values = aspects.into_iter().filter(|aspect| comparable(aspect)).map(|aspect| {
        let (zuul, portcullis) = (zuul.get(aspect).cloned(), portcullis.get(aspect).cloned());
        // One field more or less is a difference of its own, not one of order.
        (aspect, if aspect.ends_with("order") { common(zuul, portcullis) } else { (zuul, portcullis) })
    });
    values
        .filter(|(_, (zuul, portcullis))| zuul != portcullis)
        .map(|(aspect, (zuul, portcullis))| Difference {
            probe: probe.to_owned(),
            aspect: aspect.clone(),
            zuul: short(zuul.clone(), portcullis.as_deref()),
            portcullis: short(portcullis, zuul.as_deref()),
        })
        .collect()
}

/// Where one passed the request on and the other did not, or one failed and the other did not, that is the difference: the rest of the
/// request and of the answer follows from it.
fn comparable(zuul: &Observation, portcullis: &Observation) -> impl Fn(&str) -> bool {
    let differ = |test: fn(&Observation) -> bool| test(zuul) != test(portcullis);
    let one_passed = differ(|seen| seen.contains_key("upstream request line"));
    let one_failed =
        differ(|seen| seen.get("status").is_some_and(|status| !matches!(status.as_bytes(), [b'1'..=b'3', ..])));
    move |aspect| match aspect {
        "upstream requests" | "status" => true,
        _ if aspect.starts_with("upstream ") => !one_passed,
        _ => !one_failed,
    }
}

/// The names that both lists have, in the order of their first occurrence in each.
fn common(one: Option<String>, two: Option<String>) -> (Option<String>, Option<String>) {
    let (one, two) = (one.unwrap_or_default(), two.unwrap_or_default());
    let within = |of: &str, other: &str| {
        let mut names: Vec<&str> = Vec::new();
        for name in of.split(' ').filter(|name| other.split(' ').any(|o| o == *name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(" ")
    };
    (Some(within(&one, &two)), Some(within(&two, &one)))
}

/// Long values by what stands around the first difference, and their length.
fn short(value: Option<String>, other: Option<&str>) -> String {
    const MOST: usize = 400;
    const BEFORE: usize = 40;
    const SHOWN: usize = 160;
    let Some(value) = value else { return "-".into() };
    let length = value.chars().count();
    if length <= MOST {
        return value;
    }
    let same = value.chars().zip(other.unwrap_or_default().chars()).take_while(|(one, two)| one == two).count();
    let from = same.saturating_sub(BEFORE);
    format!("...{}... ({length} octets)", value.chars().skip(from).take(SHOWN).collect::<String>())
}

#[cfg(test)]
mod tests;
