//! What stands around the scenarios: what this is, who took part with which limits, which runs are void, the machine, the method.

use super::is_quick;
use crate::contestant::{self, Setup};
use crate::load::OBJECTIVE;
use crate::method::{ANSWERS, Answer};
use crate::raw::{Configuration, Data, Participant, scenarios};
use crate::report::document::{Document, Table};
use crate::report::numbers::NOT_TOLD;
use crate::report::pairs::{label, place};
use std::net::Ipv4Addr;

/// What this is, and whether it may be used for anything.
pub(super) fn opening(document: &mut Document, data: &Data) {
    if is_quick(data) {
        document.warning("Not a verdict: a quick measurement with short cells. It shows how the kit works and about where figures lie.");
    }
    if data.fact("build").is_some_and(|build| build.starts_with("debug")) {
        document.warning("The kit was built for debugging: these figures mean nothing.");
    }
    let cold = data.runs.iter().filter(|run| run.counts() && run.warmed_up.is_none()).count();
    if cold > 0 {
        let none = if is_quick(data) { "" } else { " No verdict is made of them." };
        document.warning(format!(
            "{cold} of {} runs had no warm-up: programs that compile while they run, as those on a JVM do, were measured cold.{none}",
            data.runs.len()
        ));
    }
    document.paragraph(
        "What was asked: does a gateway that gives each request a thread of its own (blocking, as Zuul 1) serve fewer requests, serve them \
         later, or pay more for them than one whose few threads share all requests (async)? portcullis is such a blocking gateway; its async \
         twin is the same gateway with other input and output. Well-known gateways and no gateway at all stand beside them.",
    );
    document.paragraph(extent(data));
}

/// How much was measured, when and where.
fn extent(data: &Data) -> String {
    let (all, void) = (data.runs.len(), data.runs.iter().filter(|run| !run.counts()).count());
    let unsettled = data.runs.iter().filter(|run| run.warmed_up == Some(false)).count();
    let begins = || data.runs.iter().map(|run| run.started.as_str()).filter(|started| !started.is_empty());
    let when = match (begins().min().and_then(minute), begins().max().and_then(minute)) {
        (Some(first), Some(last)) => format!(" The first began {first}, the last {last} (UTC)."),
        _ => String::new(),
    };
    let fact = |key: &str| data.fact(key).unwrap_or("not told");
    format!(
        "{all} runs, {void} of them void, {unsettled} with a warm-up that ended unsettled.{when} Everything ran on one machine ({} processors, \
         {}, Linux {}), over the loopback, so only ratios within this report mean anything. Raw data: runs.csv, latencies.csv, windows.csv, \
         contestants.csv, environment.csv beside this file.",
        fact("processors"),
        fact("cpu"),
        fact("kernel")
    )
}

/// `2026-11-30 18:20` of a timestamp.
fn minute(timestamp: &str) -> Option<String> {
    Some(timestamp.get(..16)?.replace('T', " "))
}

/// The words that tables and plots use.
pub(super) fn words(document: &mut Document) {
    document.heading(2, "How to read this");
    let objective = OBJECTIVE.as_secs();
    let goodput = format!(
        "Goodput of an open loop: right answers in time, a second. In time is what took no longer than {objective} s and the backend's delay from \
         when it was due, and ended before the schedule did (and the delay after it, since no answer can come sooner): a backlog that is served \
         afterwards, or to nobody's use, does not show how much can be served. Where fewer than 99 % of what was offered came in time, \
         goodput is compared and not latency, which there grows with the length of the run. Of a closed loop all right answers are goodput."
    );
    let words = WORDS.iter().map(|text| (*text).to_owned());
    document.list(words.chain([goodput]).collect());
}

const WORDS: &[&str] = &[
    "Cell: one load on one kind of answer. \"50 ms c200\" is 200 connections before a backend that waits 50 ms; \"50 ms x 2000/s = 100 \
     threads\" is 2000 requests a second before the same, of which 100 are under way on average.",
    "Run: one contestant in one cell in one round. Round: every contestant once in the cell; even rounds go backwards, through \
     the cells of one process too.",
    "Right answer: status 2xx and a body of the right length (of wrk and ab: status 2xx, no error). All else is told by its kind.",
    "Limits: stock is what somebody gets who writes the routes and nothing else; equalised raises every limit in the path that can be told, \
     so that the number of threads binds first, lowers none but a time that nobody here waits for, and turns off the circuit breaker and the \
     least rate of clients. What cannot be told, or needs no raising, is marked (its own). The two are never mixed; all values stand under \"Limits, side by side\".",
    "direct: no gateway, the backend alone. It is the ceiling of what this machine can show.",
    "Closed loop (wrk, ab): a connection sends its next request when it has its answer. Open loop: requests come at a given rate, whatever \
     becomes of them; their latency counts from when each was due, so waiting for a connection counts too.",
    "Void: a run that counts for nothing: one of an open loop in which client or backend had no time to spare or the client was late, or any \
     whose counts do not add up. Each stands with its reason under \"Void runs\".",
    "12.0 (10.0..20.0): the median of the valid rounds, the lowest and the highest. A dash: nobody told. k and M: thousands and millions.",
    "Time limits of the clients: an open loop gives a request up 5 s after it was due, wrk after 10 s.",
    "p99: of 100 requests, 99 took no longer. A percentile that fewer than ten requests of the run lie beyond is not told. CPU: \
     processor time of the contestant with all its processes, user and kernel; for 1000 answers of any status.",
];

/// Who took part, who is missing, who does something else.
pub(super) fn participants(document: &mut Document, data: &Data) {
    document.heading(2, "Who took part");
    let mut here: Vec<&Participant> = data.participants.iter().collect();
    here.sort_by_key(|it| (place(&it.contestant), it.configuration));
    let (missing, mut here): (Vec<_>, Vec<_>) = here.into_iter().partition(|it| !it.missing.is_empty());
    // Rows of later scenarios tell other limits of the same.
    here.dedup_by_key(|it| (&it.contestant, it.configuration));
    let row = |it: &&Participant| {
        let family = contestant::named(&it.contestant).map_or(NOT_TOLD.into(), |it| it.family.to_string());
        vec![label(&it.contestant).into(), family, it.configuration.word().into(), or_dash(&it.version)]
    };
    let table = Table::new("Contestants", &["contestant", "model", "limits", "version"]);
    document.table(table.with(here.iter().map(row)));
    let row = |it: &&Participant| vec![label(&it.contestant).into(), at(&it.scenario, &it.missing)];
    document.table(Table::new("Missing", &["contestant", "why, and how to get it"]).with(missing.iter().map(row)));
    parity(document, data);
}

fn parity(document: &mut Document, data: &Data) {
    let facts = data.environment.iter().filter_map(|fact| Some((fact.key.strip_prefix("parity ")?, &fact.value)));
    let who = |key: &str| match key.strip_prefix("of ") {
        Some(later) => format!("{later}: what did not show before"),
        None => format!("portcullis and its twin, {key}"),
    };
    let mut rows: Vec<Vec<String>> = facts.map(|(key, said)| vec![who(key), said.clone()]).collect();
    let mut noted: Vec<&Participant> = data.participants.iter().filter(|it| !it.parity.is_empty()).collect();
    noted.sort_by_key(|it| (place(&it.contestant), it.configuration));
    let beside =
        |it: &&Participant| format!("{}, {}, beside portcullis", label(&it.contestant), it.configuration.word());
    rows.extend(noted.iter().map(|it| vec![beside(it), it.parity.clone()]));
    document.table(Table::new("Whether they do the same", &["who", "what the probe found"]).with(rows));
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { NOT_TOLD.into() } else { text.into() }
}

/// Every run that counts for nothing, and why.
pub(super) fn void_runs(document: &mut Document, data: &Data) {
    document.heading(2, "Void runs");
    let void = data.runs.iter().filter(|run| !run.counts());
    let row = |run: &crate::raw::Run| {
        let names = [run.scenario.clone(), run.cell.clone(), run.configuration.word().into()];
        [names.to_vec(), vec![label(&run.contestant).into(), run.round.to_string(), run.void.clone()]].concat()
    };
    let table =
        Table::new("Runs that count for nothing", &["scenario", "cell", "limits", "contestant", "round", "why"]);
    let table = table.with(void.map(row));
    if table.rows.is_empty() {
        document.paragraph("None.");
    }
    document.table(table);
}

/// Every limit in each path, as it comes and equalised.
pub(super) fn limits(document: &mut Document, data: &Data) {
    document.heading(2, "Limits, side by side");
    document.paragraph(
        "As they were when a contestant was first started; where a later scenario set one otherwise, it is named with its value. (its own): \
         not told, but what it comes to. (not played): what it would be; nobody measured it.",
    );
    let mut names: Vec<&str> = data.participants.iter().map(|it| it.contestant.as_str()).collect();
    names.sort_by_key(|name| place(name));
    names.dedup();
    for name in names {
        let table = Table::new(format!("Limits of {}", label(name)), &["limit", "stock", "equalised"]);
        document.table(table.with(side_by_side(data, name)));
    }
}

fn side_by_side(data: &Data, name: &str) -> Vec<Vec<String>> {
    let noted = data.participants.iter().filter(|it| it.contestant == name);
    let of = |it: &'_ Participant| {
        let pairs = it.limits.lines().filter_map(|line| line.split_once(" = "));
        pairs.map(|(key, value)| (it.configuration, key.to_owned(), at(&it.scenario, value))).collect::<Vec<_>>()
    };
    let all: Vec<_> = noted.flat_map(of).collect();
    let is_played = |wanted: Configuration| all.iter().any(|(configuration, ..)| *configuration == wanted);
    let others = [Configuration::Stock, Configuration::Equalised].into_iter().filter(|it| !is_played(*it));
    let all: Vec<_> = others.flat_map(|configuration| not_played(name, configuration)).chain(all.clone()).collect();
    let (stock, equalised): (Vec<_>, Vec<_>) =
        all.iter().partition(|(configuration, ..)| *configuration == Configuration::Stock);
    let mut keys: Vec<&str> = Vec::new();
    for (_, key, _) in equalised.iter().chain(&stock) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let value = |wanted: Configuration, key: &str| {
        let values = all.iter().filter(|(configuration, other, _)| (*configuration, other.as_str()) == (wanted, key));
        or_dash(&values.map(|(.., value)| value.as_str()).collect::<Vec<_>>().join("; "))
    };
    let row = |key: &str| vec![key.to_owned(), value(Configuration::Stock, key), value(Configuration::Equalised, key)];
    keys.into_iter().map(row).collect()
}

/// The contestant's limits under a configuration in which it was not started.
fn not_played(name: &str, configuration: Configuration) -> Vec<(Configuration, String, String)> {
    let Some(contestant) = contestant::named(name) else { return Vec::new() };
    let nobody = (Ipv4Addr::LOCALHOST, 0).into();
    let setup = Setup { configuration, ..Setup::new(nobody) };
    let lines = contestant.limits(&setup).into_iter().map(|limit| limit.line());
    let pair =
        |line: String| line.split_once(" = ").map(|(key, value)| (key.to_owned(), format!("{value} (not played)")));
    lines.filter_map(pair).map(|(key, value)| (configuration, key, value)).collect()
}

/// A value of the first start as it is, a later one with its scenario.
fn at(scenario: &str, value: &str) -> String {
    if scenario.is_empty() { value.into() } else { format!("in {scenario}: {value}") }
}

/// The machine and what ran on it.
pub(super) fn environment(document: &mut Document, data: &Data) {
    document.heading(2, "Environment");
    let facts = data
        .environment
        .iter()
        .filter(|fact| !["parity ", "threads in "].iter().any(|begin| fact.key.starts_with(begin)));
    let rows = facts.map(|fact| vec![fact.key.clone(), or_dash(&fact.value)]);
    document.table(Table::new("The machine, its programs and this measurement", &["what", "value"]).with(rows));
}

/// How figures become verdicts, what the kit does not show, and its answers to the known faults, as far as this measurement went.
pub(super) fn method(document: &mut Document, data: &Data) {
    document.heading(2, "How verdicts are made");
    document.list(STATISTICS.iter().map(|text| (*text).to_owned()).collect());
    document.heading(2, "What the kit does not show");
    document.list(NOT_SHOWN.iter().map(|text| (*text).to_owned()).collect());
    document.heading(2, "Appendix: how such comparisons go wrong, and what is done about it here");
    let played = scenarios(&data.runs);
    document.paragraph(format!("Scenarios of this report: {}.", or_dash(&played.join(", "))));
    let row = |it: &Answer| vec![it.id.into(), it.fault.into(), it.answer.into(), or_dash(&not_done(it, &played))];
    let table = Table::new("The 28 answers", &["", "what went wrong elsewhere", "what is done here", "what is not"]);
    document.table(table.with(ANSWERS.iter().map(row)));
}

/// What the kit does not do, and what it does but did not here.
fn not_done(answer: &Answer, played: &[&str]) -> String {
    let missing: Vec<&str> = answer.scenarios().filter(|name| !played.contains(name)).collect();
    let missing =
        if missing.is_empty() { String::new() } else { format!("Not in this report: {}.", missing.join(", ")) };
    [answer.limit, &missing].iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

const STATISTICS: &[&str] = &[
    "Figures are medians of the valid rounds; in brackets stand the lowest and the highest round, not an interquartile range: five values \
     have no quartiles worth the name.",
    "Two contestants are compared inside a round, where they met the same machine; the median is of these ratios. Rounds go forwards and \
     backwards by turns (ABBA).",
    "The interval for the median ratio is that of the sign test: exact whatever the distribution, and without random numbers. From five pairs \
     it is the whole range, at 93.75 %: of sixteen pairs of equals, one is told apart by chance.",
    "If 1 is in the interval, or the median is within 3 % of 1 (what a warm-up takes for equal), the verdict is: within noise.",
    "A warm-up has settled when its last three windows agree within 3 %, or none of them was better by more than 3 % than the best before: by \
     how many requests ended, and in an open loop, whose schedule decides that, by the median latency too (or within 0.2 ms). A run of wrk that \
     was faster than its last three windows by more than 9 % was not warm either. Where more than half of the runs of either side were not, \
     there is no verdict. It is the same for all; programs on a JVM need it most.",
    "Where both reach nine tenths of what a closed loop can ask for, connections divided by the backend's delay, right answers tell nothing of \
     either: such cells are left out of the count.",
    "Fewer than five valid pairs give no verdict, nor does a quick measurement. A pair with a void run is none.",
    "Open loops are compared by latency at 99 % where both answered 99 % of what was offered rightly and in time, else by goodput; closed loops \
     by right answers; parked connections by memory and threads. On the crossover chart, better means that.",
];

const NOT_SHOWN: &[&str] = &[
    "More than one machine, and a network: the loopback loses nothing and has no distance.",
    "More processors than this machine has, and what happens when client, gateway and backend have their own.",
    "TLS, HTTP/2, WebSocket, answers without a known length, real bodies.",
    "The highest rate at which latency stays in a bound; an upstream that restarts under load; clients that come and go (but for ab in seed2); \
     what each fault of the old comparisons does to the figures, one by one.",
    "That the twin is as lean as hyper allows: it hands this project's own parser each head once more, so that both decide alike.",
    "Garbage collection over hours, leaks, deployment, discovery: the longest run takes minutes.",
    "That portcullis is Zuul: it has the model, a thread for each request, and not the product; the Java originals stand beside it for that.",
    "That the async twin is the best asynchronous gateway: it is the same gateway with other input and output.",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::Block;

    #[test]
    fn what_a_later_scenario_sets_otherwise_stands_beside_the_first_value() {
        let row = |configuration, scenario: &str, limits: &str| Participant {
            contestant: "twin".into(),
            configuration,
            scenario: scenario.into(),
            limits: limits.into(),
            ..Participant::default()
        };
        let participants = vec![
            row(Configuration::Stock, "", "workers: n = 200 (its own)"),
            row(Configuration::Equalised, "", "workers: n = 200"),
            row(Configuration::Equalised, "core", "workers: n = 1200\ntimeout: slow = 30"),
        ];
        let data = Data { participants, ..Data::default() };
        let expected =
            [["workers: n", "200 (its own)", "200; in core: 1200"], ["timeout: slow", NOT_TOLD, "in core: 30"]];
        assert_eq!(side_by_side(&data, "twin"), expected);
        let mut document = Document::new("x");
        super::participants(&mut document, &data);
        let tables = document.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table.rows.len()),
            _ => None,
        });
        assert_eq!(tables.collect::<Vec<_>>(), [2], "each configuration once");
    }

    #[test]
    fn limits_of_a_configuration_that_was_not_played_are_told_as_such() {
        let limits = "upstream: proxy_http_version = 1.1".into();
        let nginx = Participant { contestant: "nginx".into(), limits, ..Participant::default() };
        let data = Data { participants: vec![nginx], ..Data::default() };
        let rows = side_by_side(&data, "nginx");
        assert_eq!(rows[0], ["upstream: proxy_http_version", "1.0 (not played)", "1.1"]);
        assert!(rows.len() > 10 && rows[1..].iter().all(|row| row[1].ends_with("(not played)")), "{rows:?}");
    }
}
