//! Two outcomes of one request, and where they differ. Pure.

use super::ask::Answer;
use super::probe::Probe;
use super::recorder::Seen;
use super::{Outcome, Party};
use std::collections::BTreeMap;
use std::fmt;

/// Fields whose values may differ: when, not what.
const OF_TIME: [&str; 2] = ["date", "retry-after"];

/// Which of the two messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// What the client got.
    Answer,
    /// What the backend got.
    Upstream,
}

/// One thing that two gateways do differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The request, by its name.
    pub probe: String,
    /// In which message.
    pub place: Place,
    /// What of it: `status`, `body`, a field.
    pub aspect: String,
    /// The first gateway and what it does.
    pub left: (String, String),
    /// The second.
    pub right: (String, String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            Place::Answer => "answer",
            Place::Upstream => "upstream's request",
        };
        let Self { probe, aspect, left, right, .. } = self;
        write!(f, "{probe}: {place}: {aspect}: {} {}, {} {}", left.0, left.1, right.0, right.1)
    }
}

/// What differs.
pub(super) fn outcomes(
    probe: &Probe,
    (left, ours): (&Party, &Outcome),
    (right, theirs): (&Party, &Outcome),
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |place, aspects: (Aspects, Aspects)| {
        for (aspect, ours, theirs) in differing(aspects) {
            let (left, right) = ((left.name.clone(), ours), (right.name.clone(), theirs));
            found.push(Difference { probe: probe.name.into(), place, aspect, left, right });
        }
    };
    add(Place::Answer, (of_answer(&ours.answer), of_answer(&theirs.answer)));
    add(Place::Upstream, (of_requests(&ours.seen), of_requests(&theirs.seen)));
    found
}

/// Everything that is compared of a message, as text.
type Aspects = BTreeMap<String, String>;

fn differing((ours, theirs): (Aspects, Aspects)) -> Vec<(String, String, String)> {
    let names = ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name)));
    let told = |of: &Aspects, name: &str| of.get(name).map_or("has none".into(), |value| format!("{value:?}"));
    let differ = names.filter(|name| ours.get(*name) != theirs.get(*name));
    differ.map(|name| (name.clone(), told(&ours, name), told(&theirs, name))).collect()
}

fn of_answer(answer: &Answer) -> Aspects {
    let mut aspects = Aspects::new();
    let status = answer.status.map_or("the connection is closed".into(), |status| status.to_string());
    aspects.insert("status".into(), status);
    aspects.insert("interim answers".into(), format!("{:?}", answer.interim));
    aspects.insert("body".into(), without_timestamp(&answer.body));
    aspects.insert("end of the body".into(), if answer.whole { "whole" } else { "cut off" }.into());
    fields(answer.fields.iter().map(|(name, value)| (name.as_str(), value.clone())), "", &mut aspects);
    aspects
}

fn of_requests(seen: &[Seen]) -> Aspects {
    let mut aspects = Aspects::new();
    aspects.insert("number of requests".into(), seen.len().to_string());
    for (at, seen) in seen.iter().enumerate() {
        let of = if at == 0 { String::new() } else { format!(" of request {}", at + 1) };
        aspects.insert(format!("request line{of}"), format!("{} {}", seen.method, seen.target));
        aspects.insert(format!("body{of}"), seen.body.escape_ascii().to_string());
        aspects.insert(format!("end of the body{of}"), if seen.whole { "whole" } else { "cut off" }.into());
        let lines =
            seen.fields.iter().map(|(name, value)| (name.as_str(), value.as_bytes().escape_ascii().to_string()));
        fields(lines, &of, &mut aspects);
    }
    aspects
}

/// Lines of one name together, in their order.
fn fields<'a>(lines: impl Iterator<Item = (&'a str, String)>, of: &str, into: &mut Aspects) {
    for (name, value) in lines {
        let value = if OF_TIME.contains(&name) { "some time".into() } else { value };
        let all = into.entry(format!("field {name}{of}")).or_default();
        if !all.is_empty() {
            all.push_str(" | ");
        }
        all.push_str(&value);
    }
}

fn without_timestamp(body: &[u8]) -> String {
    const START: &str = r#""timestamp":""#;
    let text = String::from_utf8_lossy(body).into_owned();
    let Some((before, after)) = text.split_once(START) else { return text };
    let rest = after.split_once('"').map_or("", |(_, rest)| rest);
    format!("{before}{START}\"{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parity::probe::{Scope, probes};

    fn party(name: &str) -> Party {
        Party { name: name.into(), address: ([127, 0, 0, 1], 1).into() }
    }

    fn outcome(fields: &[(&str, &str)], body: &str, requests: &[&str]) -> Outcome {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let answer =
            Answer { interim: Vec::new(), status: Some(200), fields, body: body.as_bytes().to_vec(), whole: true };
        let seen =
            requests.iter().map(|target| Seen { method: "GET".into(), target: (*target).into(), ..Seen::default() });
        Outcome { answer, seen: seen.collect() }
    }

    #[track_caller]
    fn check(ours: &Outcome, theirs: &Outcome, expected: &[&str]) {
        let found = outcomes(&probes(Scope::Plain)[0], (&party("a"), ours), (&party("b"), theirs));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn times_and_the_order_of_fields_are_no_difference() {
        let early = [("date", "Mon"), ("retry-after", "1"), ("x", "1"), ("y", "2"), ("x", "3")];
        let late = [("y", "2"), ("x", "1"), ("retry-after", "3"), ("x", "3"), ("date", "Tue")];
        let body = |time: &str| format!(r#"{{"timestamp":"{time}","status":503}}"#);
        check(&outcome(&early, &body("now"), &["/"]), &outcome(&late, &body("then"), &["/"]), &[]);
    }

    #[test]
    fn everything_else_is_named() {
        let one = outcome(&[("x", "1"), ("date", "Mon")], "hello", &["/"]);
        check(
            &one,
            &outcome(&[("x", "2"), ("date", "Mon")], "hello", &["/"]),
            &[r#"GET: answer: field x: a "1", b "2""#],
        );
        check(
            &one,
            &outcome(&[("x", "1")], "hello", &["/"]),
            &[r#"GET: answer: field date: a "some time", b has none"#],
        );
        check(&one, &outcome(&[("x", "1"), ("date", "")], "hi", &["/"]), &[r#"GET: answer: body: a "hello", b "hi""#]);
        let moved = r#"GET: upstream's request: request line: a "GET /", b "GET /x""#;
        check(&one, &outcome(&[("x", "1"), ("date", "")], "hello", &["/x"]), &[moved]);
        let mut cut = outcome(&[("x", "1"), ("date", "")], "hello", &["/"]);
        (cut.answer.whole, cut.answer.status) = (false, None);
        let end = r#"GET: answer: end of the body: a "whole", b "cut off""#;
        check(&one, &cut, &[end, r#"GET: answer: status: a "200", b "the connection is closed""#]);
    }
}
