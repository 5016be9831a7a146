//! Any other contestant beside portcullis: asked at its starts, in the process and with the limits that are measured next.
//!
//! Portcullis is asked once for each configuration, before the first that is held against it. The probes have a route of their own, which
//! leads to the recording backend: the measured backend and the counters of a run never notice them.

use super::{Bench, Difference, Outcome, Party, Place, Probe, Scope, compare, probes};
use crate::contestant::Started;
use crate::raw::Configuration;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

/// No gateway, and what the others are held against. Its twin is compared in more requests besides, but not with the measured limits.
const APART: [&str; 2] = ["direct", REFERENCE];

/// Who is right.
pub(crate) const REFERENCE: &str = "portcullis";

/// What is needed for it.
pub(crate) struct Peers {
    bench: Bench,
    references: HashMap<Configuration, Recorded>,
    known: HashMap<(&'static str, Configuration), Vec<Difference>>,
}

/// What one gateway made of each probe.
struct Recorded {
    party: Party,
    outcomes: Vec<(Probe, Outcome)>,
}

impl Peers {
    /// Starts the recording backend.
    pub(crate) fn start() -> io::Result<Self> {
        Ok(Self { bench: Bench::start()?, references: HashMap::new(), known: HashMap::new() })
    }

    /// Where `/plain/**` of every contestant leads.
    pub(crate) fn recorder(&self) -> SocketAddr {
        self.bench.backend()
    }

    /// Whether the contestant is looked at; in a glance once for each configuration.
    pub(crate) fn wants(&self, contestant: &'static str, configuration: Configuration, glance: bool) -> bool {
        let is_known = self.known.contains_key(&(contestant, configuration));
        !APART.contains(&contestant) && (!glance || !is_known)
    }

    /// How the contestant differs from portcullis, which `reference` starts if it was not asked before; at a later look only what was not
    /// seen before, and `None` when that is nothing. A difference counts when it shows twice: on a busy machine something may take too long
    /// for once.
    ///
    /// # Errors
    /// As for [`Bench::compare`]; portcullis does not start.
    pub(crate) fn look(
        &mut self,
        (contestant, configuration): (&'static str, Configuration),
        address: SocketAddr,
        reference: impl FnOnce() -> io::Result<Started>,
    ) -> io::Result<Option<Vec<Difference>>> {
        if !self.references.contains_key(&configuration) {
            let recorded = self.record(reference()?.address)?;
            self.references.insert(configuration, recorded);
        }
        let known = self.known.get(&(contestant, configuration));
        let party = Party { name: contestant.into(), address };
        let new = self.new_differences(&self.references[&configuration], &party, known.map_or(&[], Vec::as_slice))?;
        let is_first = known.is_none();
        self.known.entry((contestant, configuration)).or_default().extend(new.iter().cloned());
        Ok((is_first || !new.is_empty()).then_some(new))
    }

    fn record(&self, address: SocketAddr) -> io::Result<Recorded> {
        let party = Party { name: REFERENCE.into(), address };
        let play = |probe: Probe| Ok((probe, self.bench.play(&probe, &party)?));
        let outcomes = probes(Scope::Plain).into_iter().map(play).collect::<io::Result<_>>()?;
        Ok(Recorded { party, outcomes })
    }

    fn new_differences(
        &self,
        reference: &Recorded,
        party: &Party,
        known: &[Difference],
    ) -> io::Result<Vec<Difference>> {
        let mut all = Vec::new();
        for (probe, expected) in &reference.outcomes {
            let play = || -> io::Result<Vec<Difference>> {
                let outcome = self.bench.play(probe, party)?;
                Ok(compare::outcomes(probe, (&reference.party, expected), (party, &outcome)))
            };
            let mut new = play()?;
            new.retain(|found| !is_among(found, known));
            if !new.is_empty() {
                let again = play()?;
                new.retain(|found| is_among(found, &again));
            }
            all.extend(new);
        }
        Ok(all)
    }
}

/// Whether the same thing differs there, with whatever values: some gateways number their requests.
fn is_among(wanted: &Difference, differences: &[Difference]) -> bool {
    let what = |it: &Difference| (it.probe.clone(), it.place, it.aspect.clone());
    differences.iter().any(|difference| what(difference) == what(wanted))
}

/// What a report says: like for like, or not and why, each kind of difference once. What is more than a field comes first.
pub(crate) fn verdict(differences: &[Difference]) -> String {
    let asked = probes(Scope::Plain).len();
    let mut kinds: Vec<Vec<&Difference>> = Vec::new();
    for difference in differences.iter().filter(|it| !follows(it, differences)) {
        match kinds.iter_mut().find(|kind| kind_of(kind[0]) == kind_of(difference)) {
            Some(kind) => kind.push(difference),
            None => kinds.push(vec![difference]),
        }
    }
    if kinds.is_empty() {
        return format!("like for like in {asked} requests");
    }
    kinds.sort_by_key(|kind| (is_field(kind[0]), kind[0].place));
    let head = format!("not like for like: {} kinds of differences in {asked} requests", kinds.len());
    let lines = kinds.iter().map(|kind| format!("  {}", told(kind)));
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}

/// The same of the twin, which besides lacks what no request of the list shows.
pub(crate) fn verdict_and_lacks(probed: &str, lacks: &[String]) -> String {
    if lacks.is_empty() {
        return probed.to_owned();
    }
    let (head, kinds) = probed.split_once('\n').unwrap_or((probed, ""));
    let head = head.strip_prefix("not like for like: ").unwrap_or(head);
    let things = if lacks.len() == 1 { "1 thing" } else { &format!("{} things", lacks.len()) };
    let head = format!("not like for like: {things} that no probe shows; {head}");
    let lines = lacks.iter().map(|line| format!("  {line}")).chain(kinds.lines().map(str::to_owned));
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}

/// Whether another difference says it all: an answer of another status has other fields, and a request that was not sent has none.
fn follows(it: &Difference, all: &[Difference]) -> bool {
    let before = match it.place {
        Place::Answer => "status",
        Place::Upstream => "number of requests",
    };
    let same = |other: &Difference| (&other.probe, other.place) == (&it.probe, it.place);
    it.aspect != before && all.iter().any(|other| same(other) && other.aspect == before)
}

fn is_field(it: &Difference) -> bool {
    it.aspect.starts_with("field ")
}

/// Fields are of one kind whatever their values, all else is not.
fn kind_of(it: &Difference) -> (Place, &str, Option<(&str, &str)>) {
    (it.place, &it.aspect, (!is_field(it)).then_some((&it.left.1, &it.right.1)))
}

/// The first of the kind, and in how many requests else.
fn told(kind: &[&Difference]) -> String {
    let is_alike = |it: &&Difference| (&it.left.1, &it.right.1) == (&kind[0].left.1, &kind[0].right.1);
    let others = match (kind.len() - 1, kind.iter().copied().all(|it| is_alike(&it))) {
        (0, _) => String::new(),
        (n, true) => format!(" (and in {n} more)"),
        (n, false) => format!(" (and in {n} more, some with other values)"),
    };
    format!("{}{others}", kind[0])
}

#[cfg(test)]
mod tests;
