//! Compares what came of a case with what must come of it. Pure: records in, complaints out; an empty list means that the case is met.

use super::corpus::{Expect, Fact, Forwarded, Names, OneOrMany, Status, Text};
use super::player::{Connection, Player};
use super::upstream::{ALIVE, PROBE, Seen};
use crate::support::message::{Message, show, trim};
use regex::bytes::RegexBuilder;
use std::time::Duration;

/// What came of a case.
pub(crate) struct Outcome<'a> {
    /// At the client.
    pub(crate) client: &'a Player,
    /// At the upstream.
    pub(crate) seen: &'a Seen,
    /// What the corpus' placeholders stand for.
    pub(crate) names: &'a Names,
}

/// The fate of one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It came, whole or in part.
    Status(u16),
    /// The connection was closed instead.
    Drop,
    /// Nothing happened.
    Hang,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(code) => write!(f, "{code}"),
            Self::Drop => f.write_str("drop"),
            Self::Hang => f.write_str("hang"),
        }
    }
}

/// The fates of the responses, in order; at least one.
pub(crate) fn states(client: &Player) -> Vec<State> {
    let got = client.finals.iter().chain(&client.partial);
    let mut states: Vec<_> = got.map(|msg| State::Status(msg.status)).collect();
    if states.is_empty() {
        states.push(missing(client));
    }
    states
}

/// Whether one of the wanted statuses is the one that came.
pub(crate) fn is_wanted(wanted: &OneOrMany<Status>, got: State) -> bool {
    wanted.as_slice().iter().any(|want| match (want, got) {
        (Status::Code(code), State::Status(got)) => *code == got,
        (Status::Word(word), State::Status(got)) => *word == format!("{}xx", got / 100),
        (Status::Word(word), other) => *word == other.to_string(),
        (Status::Code(_), _) => false,
    })
}

/// Every accepted outcome: each of `any_of` on top of the other keys.
pub(crate) fn accepted(expect: &Expect) -> Vec<Expect> {
    let base = Expect { any_of: None, ..expect.clone() };
    match &expect.any_of {
        None => vec![base],
        Some(alternatives) => alternatives.iter().map(|alt| merged(base.clone(), alt.clone())).collect(),
    }
}

fn merged(base: Expect, alt: Expect) -> Expect {
    let joined = |base: Option<Vec<Fact>>, alt: Option<Vec<Fact>>| match (base, alt) {
        (Some(base), Some(alt)) => Some([base, alt].concat()),
        (base, alt) => alt.or(base),
    };
    Expect {
        any_of: None,
        status: alt.status.or(base.status),
        statuses: alt.statuses.or(base.statuses),
        responses: alt.responses.or(base.responses),
        close: alt.close.or(base.close),
        forwarded: alt.forwarded.or(base.forwarded),
        requests: alt.requests.or(base.requests),
        interim: alt.interim.or(base.interim),
        no_interim: alt.no_interim.or(base.no_interim),
        upstream_sees: joined(base.upstream_sees, alt.upstream_sees),
        client_sees: joined(base.client_sees, alt.client_sees),
        events: alt.events.or(base.events),
    }
}

/// What is wrong with the outcome.
pub(crate) fn judge(want: &Expect, got: &Outcome<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    judge_responses(want, got, &mut problems);
    judge_forwarding(want, got, &mut problems);
    let requests: Vec<&Message> = judged_requests(got.seen).collect();
    for fact in want.upstream_sees.iter().flatten() {
        problems.extend(check_fact(
            fact,
            &Witness { who: "upstream", messages: &requests, raw: &got.seen.raw },
            got.names,
        ));
    }
    let responses: Vec<&Message> = got.client.finals.iter().chain(&got.client.partial).collect();
    for fact in want.client_sees.iter().flatten() {
        let witness = Witness { who: "client", messages: &responses, raw: got.client.raw() };
        problems.extend(check_client_fact(fact, got).unwrap_or_else(|| check_fact(fact, &witness, got.names)));
    }
    for (event, wanted) in want.events.iter().flatten() {
        let happened = got.seen.events.get(event.as_str());
        if happened != Some(wanted) {
            problems.push(format!("{event} is {happened:?}"));
        }
    }
    problems
}

fn judge_responses(want: &Expect, got: &Outcome<'_>, problems: &mut Vec<String>) {
    let (client, states) = (got.client, states(got.client));
    if let Some(wanted) = want.status.as_ref().filter(|wanted| !is_wanted(wanted, states[0])) {
        problems.push(format!("status {}, want {wanted:?}", states[0]));
    }
    for (i, wanted) in want.statuses.iter().flatten().enumerate() {
        let state = states.get(i).copied().unwrap_or(missing(client));
        if !is_wanted(wanted, state) {
            problems.push(format!("response {} is {state}, want {wanted:?}", i + 1));
        }
    }
    if let Some(wanted) = want.responses.as_ref().filter(|wanted| !wanted.as_slice().contains(&client.finals.len())) {
        problems.push(format!("{} responses, want {:?}", client.finals.len(), wanted.as_slice()));
    }
    if let Some(close) = want.close {
        let wanted = if close { Connection::Closed } else { Connection::Open };
        if client.connection != wanted {
            problems.push(format!("client connection is {:?}, want {wanted:?}", client.connection));
        }
    }
    let interims: Vec<u16> = client.interims.iter().map(|msg| msg.status).collect();
    let lacking = want.interim.iter().flatten().filter(|code| !interims.contains(code));
    problems.extend(lacking.map(|code| format!("no {code} interim response")));
    if want.no_interim == Some(true) && !interims.is_empty() {
        problems.push(format!("interim responses {interims:?}"));
    }
}

fn judge_forwarding(want: &Expect, got: &Outcome<'_>, problems: &mut Vec<String>) {
    let first = judged_requests(got.seen).next();
    let complete: Vec<&Message> = judged_requests(got.seen).filter(|msg| msg.complete).collect();
    match (&want.forwarded, first, complete.first()) {
        (Some(Forwarded::Whole(false)), Some(msg), _) => problems.push(format!("forwarded: {}", show(&msg.head, 100))),
        (Some(Forwarded::Whole(true)), _, None) => problems.push("not forwarded".into()),
        (Some(Forwarded::Word(word)), _, Some(msg)) => {
            assert_eq!(word, "incomplete", "forwarded is true, false or incomplete");
            problems.push(format!("forwarded as a complete request: {}", show(&msg.head, 100)));
        }
        _ => {}
    }
    if let Some(wanted) = want.requests.as_ref().map(OneOrMany::as_slice) {
        let (low, high) = (wanted[0], wanted[wanted.len() - 1]);
        if !(low..=high).contains(&complete.len()) {
            problems.push(format!("{} complete requests at the upstream, want {wanted:?}", complete.len()));
        }
    }
}

fn judged_requests(seen: &Seen) -> impl Iterator<Item = &Message> {
    let own = |msg: &&Message| [PROBE, ALIVE].iter().any(|own| msg.target.starts_with(own.as_bytes()));
    seen.requests.iter().filter(move |msg| !own(msg))
}

fn missing(client: &Player) -> State {
    let over = client.ended().is_some() || client.left();
    if over { State::Drop } else { State::Hang }
}

/// Facts that are not about a message.
fn check_client_fact(fact: &Fact, got: &Outcome<'_>) -> Option<Vec<String>> {
    if let Some(wanted) = &fact.tunnel {
        let carried = got.client.tunnel.clone().unwrap_or_default();
        let wrong = carried != wanted.octets(got.names);
        return Some(wrong.then(|| format!("tunnel carried {}", show(&carried, 100))).into_iter().collect());
    }
    let within = Duration::from_secs_f64(fact.body_within?);
    let after = got.client.first_body_after;
    let wrong = after.is_none_or(|after| after > within);
    Some(wrong.then(|| format!("first body octet after {after:?}")).into_iter().collect())
}

/// Whose messages a fact is about.
struct Witness<'a> {
    who: &'static str,
    messages: &'a [&'a Message],
    raw: &'a [u8],
}

fn check_fact(fact: &Fact, witness: &Witness<'_>, names: &Names) -> Vec<String> {
    let who = witness.who;
    for (text, wanted) in [(&fact.raw_absent, false), (&fact.raw_present, true)] {
        let Some(text) = text else { continue };
        let found = contains_ignoring_case(witness.raw, &text.octets(names));
        let verb = if found { "contain" } else { "lack" };
        let problem = (found != wanted).then(|| format!("{who} octets {verb} {}", text.as_str()));
        return problem.into_iter().collect();
    }
    let Some(msg) = witness.messages.get(fact.n) else {
        return vec![format!("{who} has only {} messages", witness.messages.len())];
    };
    let mut problems = Vec::new();
    let parts = [
        ("method", &msg.method[..], &fact.method),
        ("target", &msg.target[..], &fact.target),
        ("version", &msg.version[..], &fact.version),
        ("framing", msg.framing.name().as_bytes(), &fact.framing),
    ];
    for (what, got, wanted) in parts {
        let Some(wanted) = wanted else { continue };
        if !wanted.as_slice().iter().any(|text| text.octets(names) == got) {
            problems.push(format!("{who} {what} is {}, want {wanted:?}", show(got, 100)));
        }
    }
    if fact.complete.is_some_and(|wanted| wanted != msg.complete) {
        problems.push(format!("{who} message is {}", if msg.complete { "complete" } else { "cut off" }));
    }
    if let Some(wanted) = fact.body.as_ref().map(|body| body.octets(names)).filter(|body| *body != msg.body) {
        problems.push(format!("{who} body is {}, want {}", show(&msg.body, 60), show(&wanted, 60)));
    }
    problems.extend(check_field(fact, msg, who, names));
    problems
}

fn check_field(fact: &Fact, msg: &Message, who: &str, names: &Names) -> Option<String> {
    let (name, lines) = match (&fact.header, &fact.trailer) {
        (Some(name), _) => (name, msg.values(name.as_str())),
        (None, Some(name)) => (name, msg.trailer_values(name.as_str())),
        (None, None) => return None,
    };
    if (fact.absent && lines.is_empty()) || (fact.optional && lines.is_empty()) {
        return None;
    }
    if !fact.absent && field_is(fact, &lines, names) {
        return None;
    }
    let got = if lines.is_empty() { "absent".into() } else { show(&lines.join(&b" | "[..]), 100) };
    Some(format!("{who} {} is {got}, which the fact about it does not allow", name.as_str()))
}

fn field_is(fact: &Fact, lines: &[&[u8]], names: &Names) -> bool {
    let octets = |texts: &[Text]| texts.iter().map(|text| text.octets(names)).collect::<Vec<_>>();
    let members: Vec<&[u8]> = lines.iter().flat_map(|line| line.split(|&b| b == b',')).map(trim).collect();
    let equals =
        |wanted: &OneOrMany<Text>| matches!(lines, [line] if octets(wanted.as_slice()).iter().any(|want| want == line));
    let lacks = |text: &Text| !lines.iter().any(|line| contains_ignoring_case(line, &text.octets(names)));
    fact.equals.as_ref().is_none_or(equals)
        && fact.members.as_ref().is_none_or(|wanted| octets(wanted) == members)
        && fact.lines.as_ref().is_none_or(|wanted| octets(wanted) == lines)
        && fact.last.as_ref().is_none_or(|wanted| members.last() == Some(&&wanted.octets(names)[..]))
        && fact.lacks.as_ref().is_none_or(lacks)
        && fact.matches.as_ref().is_none_or(|pattern| all_match(pattern, lines))
}

fn all_match(pattern: &str, lines: &[&[u8]]) -> bool {
    // Large enough for a pattern that counts to tens of thousands.
    let pattern = RegexBuilder::new(pattern).unicode(false).size_limit(1 << 28).build().expect("a pattern");
    !lines.is_empty() && lines.iter().all(|line| pattern.is_match(line))
}

fn contains_ignoring_case(octets: &[u8], wanted: &[u8]) -> bool {
    let (octets, wanted) = (octets.to_ascii_lowercase(), wanted.to_ascii_lowercase());
    wanted.is_empty() || octets.windows(wanted.len()).any(|window| window == wanted)
}
