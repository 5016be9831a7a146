//! Verdicts as sentences.

use super::{BLOCKING, TWIN};
use crate::raw::{Data, Kind, scenarios};
use crate::report::court::Court;
use crate::report::document::{Document, Table};
use crate::report::numbers::percent;
use crate::report::pairs::{Cell, DIRECT, Measure, cells, label, place};
use crate::report::verdict::{Question, Standing, Verdict, sentence};
use crate::report::warmth::Warmth;

/// Who is compared besides portcullis with everyone: blocking and asynchronous originals, and the first published question.
const ALSO: &[(&str, &str)] =
    &[("zuul1", "gateway-webflux"), ("zuul1", "zuul2"), ("gateway-webmvc", "gateway-webflux")];

/// The answer to the question of the kit: the blocking gateway beside its asynchronous twin, in every cell.
pub(super) fn in_short(document: &mut Document, data: &Data) {
    document.heading(2, "In short: blocking beside async");
    let all: Vec<_> = scenarios(&data.runs)
        .into_iter()
        .flat_map(|scenario| cells(&data.runs, scenario).into_iter().map(move |cell| (scenario, cell)))
        .collect();
    let both: Vec<_> = all.iter().filter(|(_, cell)| has_both(cell)).collect();
    if both.is_empty() {
        return document.paragraph("Nothing to say: the two were not measured in the same cell.");
    }
    let court = Court::of(data);
    document.paragraph(tally(both.iter().map(|(_, cell)| cell), &court));
    document.table(counted(&court, &all));
    let rows = both.iter().map(|(scenario, cell)| {
        let said = judged(data, &court, cell, (BLOCKING, TWIN)).join(" ");
        [vec![(*scenario).to_owned()], cell_names(cell), vec![said]].concat()
    });
    let columns = ["scenario", "cell", "limits", "verdict"];
    let caption = "portcullis and its async twin, which has the same routes, limits, rules and log";
    document.table(Table::new(caption, &columns).with(rows));
}

/// Pairs of interest, and in how many cells whom the verdict favours.
fn counted(court: &Court, all: &[(&str, Cell<'_>)]) -> Table {
    let ours =
        crate::contestant::all().map(|it| (BLOCKING, it.name)).filter(|(_, other)| ![BLOCKING, DIRECT].contains(other));
    let row = |(subject, reference): (&str, &str)| {
        let cells = all.iter().map(|(_, cell)| cell).filter(|cell| has(cell, subject) && has(cell, reference));
        let standings = Standings(cells.map(|cell| court.stands(cell, (subject, reference))).collect());
        let names = format!("{} beside {}", label(subject), label(reference));
        let kinds = KINDS.map(|kind| standings.count(kind).to_string());
        (!standings.0.is_empty()).then(|| [vec![names, standings.counting().to_string()], kinds.to_vec()].concat())
    };
    let columns = [
        "first beside second",
        "cells that count",
        "first better",
        "second better",
        "within noise",
        "no verdict",
        "cannot tell models apart, left out",
    ];
    let not = if court.quick { " (not a verdict)" } else { "" };
    let caption = format!("In how many cells who is better{not}");
    Table::new(caption, &columns).with(ours.chain(ALSO.iter().copied()).filter_map(row))
}

const KINDS: [Standing; 5] =
    [Standing::Subject, Standing::Reference, Standing::Neither, Standing::Open, Standing::Inseparable];

/// What came out in several cells.
struct Standings(Vec<Standing>);

impl Standings {
    fn count(&self, wanted: Standing) -> usize {
        self.0.iter().filter(|standing| **standing == wanted).count()
    }

    /// In which of them somebody could have come out better.
    fn counting(&self) -> usize {
        self.0.len() - self.count(Standing::Inseparable)
    }
}

/// In how many cells whom the verdict favours.
fn tally<'c, 'a: 'c>(cells: impl Iterator<Item = &'c Cell<'a>>, court: &Court) -> String {
    let standings = Standings(cells.map(|cell| court.stands(cell, (BLOCKING, TWIN))).collect());
    let left_out = match standings.count(Standing::Inseparable) {
        0 => String::new(),
        1 => " One more cannot tell models apart, and is left out.".into(),
        more => format!(" {more} more cannot tell models apart, and are left out."),
    };
    format!(
        "{}Of {} cells that have both, portcullis is better in {}, its async twin in {}; {} are within noise, {} have no verdict.{left_out} What \
         each cell is compared by stands under \"How verdicts are made\"; which of them matter, no count can tell.",
        if court.quick { "Not a verdict: " } else { "" },
        standings.counting(),
        standings.count(Standing::Subject),
        standings.count(Standing::Reference),
        standings.count(Standing::Neither),
        standings.count(Standing::Open)
    )
}

fn has_both(cell: &Cell<'_>) -> bool {
    has(cell, BLOCKING) && has(cell, TWIN)
}

fn has(cell: &Cell<'_>, contestant: &str) -> bool {
    cell.contestants().contains(&contestant)
}

fn cell_names(cell: &Cell<'_>) -> Vec<String> {
    vec![cell.name.to_owned(), cell.configuration.word().to_owned()]
}

/// The table of a scenario.
pub(super) fn table(data: &Data, court: &Court, cells: &[Cell<'_>]) -> Table {
    let rows = cells.iter().flat_map(|cell| {
        let pairs = questions(cell).into_iter().map(|pair| judged(data, court, cell, pair).join(" "));
        pairs.map(|said| [cell_names(cell), vec![said]].concat()).collect::<Vec<_>>()
    });
    Table::new("Verdicts", &["cell", "limits", "verdict"]).with(rows.collect::<Vec<_>>())
}

/// The pairs of a cell that are of interest: portcullis, or whoever comes first where it has no run, with everyone.
fn questions<'a>(cell: &Cell<'a>) -> Vec<(&'a str, &'a str)> {
    let contestants = cell.contestants();
    let present = |name: &str| contestants.iter().copied().find(|contestant| *contestant == name);
    let subject = present(BLOCKING).or_else(|| contestants.iter().copied().find(|name| name.starts_with(BLOCKING)));
    let mut questions: Vec<_> = subject.map_or(Vec::new(), |subject| {
        contestants.iter().copied().filter(|name| *name != subject).map(|other| (subject, other)).collect()
    });
    // The twin answers the question of the kit, so it stands first.
    questions.sort_by_key(|(_, other)| (*other != TWIN, place(other)));
    questions.extend(ALSO.iter().filter_map(|(subject, other)| Some((present(subject)?, present(other)?))));
    questions
}

/// What is said of a pair in a cell: the measure that fits the load, then the processor time.
fn judged(data: &Data, court: &Court, cell: &Cell<'_>, (subject, reference): (&str, &str)) -> Vec<String> {
    let mut measures = vec![cell.measure(subject, reference)];
    measures.push(if cell.kind() == Kind::Parked { Measure::Threads } else { Measure::Processor });
    let mut said = Vec::new();
    for (n, measure) in measures.into_iter().enumerate() {
        let verdict = court.verdict(cell, (subject, reference), measure);
        // That there is no verdict is said once; and no proxy has no process whose time could be told.
        if n > 0 && matches!(verdict, Verdict::Nothing { .. } | Verdict::TooFew { .. }) {
            continue;
        }
        said.push(sentence(&Question { subject, reference, measure }, &verdict));
    }
    if let Some(first) = said.first_mut() {
        first.push_str(&beside(data, cell, (subject, reference), &court.warmth));
    }
    said
}

/// What a reader must know beside the ratio.
fn beside(data: &Data, cell: &Cell<'_>, (subject, reference): (&str, &str), warmth: &Warmth) -> String {
    let mut text = String::new();
    if cell.kind() == Kind::Closed {
        text.push_str(" Capacity probe (closed loop).");
    }
    for who in [subject, reference] {
        if let Some(part) = failing(cell, who) {
            text.push_str(&format!(
                " Of its requests, {} left {} without a right answer in time.",
                label(who),
                percent(part)
            ));
        }
    }
    text.push_str(&warmth.note(cell, [subject, reference]));
    if let Some(difference) = unlike(data, cell, (subject, reference)) {
        text.push_str(&format!(" Not like for like: {difference}."));
    }
    text
}

/// The part of the requests that failed or came late, when it is more than one of a thousand.
fn failing(cell: &Cell<'_>, contestant: &str) -> Option<f64> {
    let runs = cell.valid(contestant);
    let all: u64 = runs.iter().map(|run| run.ok + run.failed()).sum();
    let good: u64 = runs.iter().map(|run| run.good()).sum();
    let part = (all - good) as f64 / all.max(1) as f64;
    (part > 0.001).then_some(part)
}

/// What the parity probe found, of either of the two.
fn unlike(data: &Data, cell: &Cell<'_>, (subject, reference): (&str, &str)) -> Option<String> {
    let noted = data.participants.iter().filter(|it| it.configuration == cell.configuration);
    let noted = noted.filter(|it| it.contestant == subject || it.contestant == reference);
    let told = noted.filter_map(|it| Some(format!("{}: {}", label(&it.contestant), shortly(&it.parity)?)));
    let mut differences: Vec<String> = told.collect();
    differences.extend([subject, reference].iter().flat_map(|who| found_later(data, cell, who)));
    if [subject, reference].iter().all(|who| [BLOCKING, TWIN].contains(who)) {
        differences.extend(probed(data, cell));
    }
    (!differences.is_empty()).then(|| differences.join("; "))
}

/// What the probe found of it under these limits at a later start, which the row of its first start does not tell.
fn found_later(data: &Data, cell: &Cell<'_>, who: &str) -> Vec<String> {
    let begins = format!("parity of {who}, {}, ", cell.configuration.word());
    let facts = data.environment.iter().filter_map(|fact| Some((fact.key.strip_prefix(&begins)?, &fact.value)));
    facts.filter_map(|(at, said)| Some(format!("{}, {at}: {}", label(who), shortly(said)?))).collect()
}

/// What the probe of portcullis and its twin found before the cell's scenario.
fn probed(data: &Data, cell: &Cell<'_>) -> Option<String> {
    let scenario = cell.runs.first().map_or("", |run| run.scenario.as_str());
    let before = ["everything", scenario].map(|what| format!("parity before {what}"));
    shortly(before.iter().find_map(|key| data.fact(key))?)
}

/// How many differences, and the first; all of them stand where those who took part do. `None` when like for like, or never compared.
fn shortly(said: &str) -> Option<String> {
    if said.starts_with("like for like") {
        return None;
    }
    let mut lines = said.strip_prefix("not like for like: ").unwrap_or(said).lines().map(str::trim);
    let (head, first) = (lines.next()?, lines.next());
    Some(first.map_or(head.to_owned(), |first| format!("{head}, the first: {first}")))
}
