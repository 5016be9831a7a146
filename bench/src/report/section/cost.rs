//! What it cost: processor time, context switches, memory, threads, files. And what the figures are worth: who else was busy, whether the
//! client kept its times, whether the counts agree.

use super::{columns, rows, summary};
use crate::raw::Run;
use crate::report::document::Table;
use crate::report::numbers::{NOT_TOLD, middle, percent, short, spread};
use crate::report::pairs::Cell;

const COLUMNS: &[&str] = &[
    "CPU s per 1000 answers",
    "of it in the kernel",
    "switches per answer, waiting",
    "switches per answer, forced",
    "most memory resident since the start MiB",
    "memory at the end (PSS) MiB",
    "threads",
    "open files",
];

const WORTH: &[&str] = &[
    "upstream requests per answer",
    "upstream connections",
    "client CPU",
    "backend CPU",
    "machine busy",
    "client late at 99 % ms",
    "warm-up settled",
    "counts of client, gateway, backend",
];

/// The table of a scenario.
pub(super) fn table(cells: &[Cell<'_>]) -> Table {
    let caption = "What it cost: medians of the valid rounds (lowest..highest for processor time and memory). Of two loads at once the cost is \
                   that of both together, and stands in one row. Memory at the end is taken when the load is over, with pages that several \
                   processes share divided between them; the most resident counts them for each. A JVM's is what its heap grew to, of 32 MB at \
                   the start and 1 GB at most";
    Table::new(caption, &columns(COLUMNS)).with(rows(cells, row)).without_untold()
}

/// What those figures are worth.
pub(super) fn worth(cells: &[Cell<'_>]) -> Table {
    let caption = "What the figures are worth: medians of the valid rounds. CPU of client and backend in parts of one processor, of the machine \
                   in parts of all; in how many rounds the warm-up settled and the counts of requests agreed, and, as a closed loop leaves requests behind, how closely";
    Table::new(caption, &columns(WORTH)).with(rows(cells, worth_of)).without_untold()
}

fn row(cell: &Cell<'_>, contestant: &str) -> Vec<String> {
    let runs = cell.valid(contestant);
    let told = |of: fn(&Run) -> Option<f64>| middle(summary(&runs, of));
    vec![
        spread(summary(&runs, |run| run.cpu_per_thousand)),
        part(&runs, |run| Some(run.system_seconds? / run.cpu_seconds().filter(|all| *all > 0.0)?)),
        told(|run| per_answer(run, run.voluntary_switches)),
        told(|run| per_answer(run, run.involuntary_switches)),
        spread(summary(&runs, |run| Some(run.peak_rss_kb? as f64 / 1024.0))),
        spread(summary(&runs, |run| Some(run.pss_kb? as f64 / 1024.0))),
        count(&runs, |run| run.threads),
        count(&runs, |run| run.open_files),
    ]
}

fn worth_of(cell: &Cell<'_>, contestant: &str) -> Vec<String> {
    let runs = cell.valid(contestant);
    let told = |of: fn(&Run) -> Option<f64>| middle(summary(&runs, of));
    vec![
        told(|run| per_answer(run, run.backend_requests)),
        count(&runs, |run| run.backend_connections),
        part(&runs, |run| run.share(run.client_cpu_seconds)),
        part(&runs, |run| run.share(run.backend_cpu_seconds)),
        part(&runs, |run| run.machine_busy),
        told(|run| run.lateness_p99_ms),
        warm(&cell.of(contestant)),
        counts(&cell.of(contestant)),
    ]
}

fn part(runs: &[&Run], of: fn(&Run) -> Option<f64>) -> String {
    summary(runs, of).map_or(NOT_TOLD.into(), |it| percent(it.median))
}

/// Nothing of two loads at once: what was counted is of both, the answers are of one.
fn per_answer(run: &Run, count: Option<u64>) -> Option<f64> {
    let answered = Some(run.answered()).filter(|answered| *answered > 0 && run.beside.is_empty())?;
    Some(count? as f64 / answered as f64)
}

/// Whole things are told wholly.
fn count(runs: &[&Run], of: fn(&Run) -> Option<u64>) -> String {
    let whole = |median: f64| if median < 10_000.0 { format!("{median:.0}") } else { short(median) };
    summary(runs, |run| of(run).map(|count| count as f64)).map_or(NOT_TOLD.into(), |it| whole(it.median))
}

/// In how many rounds the warm-up settled.
fn warm(runs: &[&Run]) -> String {
    let told: Vec<bool> = runs.iter().filter_map(|run| run.warmed_up).collect();
    let settled = told.iter().filter(|settled| **settled).count();
    if told.is_empty() { NOT_TOLD.into() } else { format!("{settled} of {}", told.len()) }
}

/// In how many rounds the client's, the gateway's and the backend's counts agreed, and how closely that can be told.
fn counts(runs: &[&Run]) -> String {
    let tells =
        |run: &&&Run| run.scheduled.is_some() || run.gateway_requests.is_some() || run.backend_requests.is_some();
    let told: Vec<_> = runs.iter().filter(tells).collect();
    let agree = told.iter().filter(|run| run.reconciliation.is_empty()).count();
    match told.len() {
        0 => "nobody tells".into(),
        all if all == agree => format!("agree{}", margin(runs)),
        all => format!("agree{} in {agree} of {all}", margin(runs)),
    }
}

/// Within how many requests of how many, where a closed loop left some behind: the run of which that says the least.
fn margin(runs: &[&Run]) -> String {
    let told = runs.iter().filter(|run| run.cut_off() > 0 && run.answered() > 0);
    let part = |run: &&&Run| run.cut_off() as f64 / run.answered() as f64;
    let widest = told.max_by(|left, right| part(left).total_cmp(&part(right)));
    widest.map_or(String::new(), |run| format!(" within {} of {}", run.cut_off(), run.answered()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_or_do_not_or_nobody_tells() {
        let told = Run { backend_requests: Some(1), ..Run::default() };
        let faulty = Run { reconciliation: "2 ended".into(), ..told.clone() };
        let table: [(&[&Run], &str); 4] = [
            (&[&Run::default()], "nobody tells"),
            (&[&told, &told], "agree"),
            (&[&told, &faulty], "agree in 1 of 2"),
            (&[], "nobody tells"),
        ];
        for (runs, expected) in table {
            assert_eq!(counts(runs), expected);
        }
    }

    #[test]
    fn counts_of_a_closed_loop_agree_within_what_it_left_behind() {
        let wrk = |ok| Run { tool: "wrk".into(), connections: 1000, backend_requests: Some(ok), ok, ..Run::default() };
        let faulty = Run { reconciliation: "2 ended".into(), ..wrk(90_000) };
        let ab = Run { tool: "ab".into(), connections: 50, ..wrk(1000) };
        let open = Run { kind: crate::raw::Kind::Open, ..wrk(1000) };
        let table: [(&[&Run], &str); 4] = [
            (&[&wrk(40_000), &wrk(33_000)], "agree within 2000 of 33000"),
            (&[&wrk(40_000), &faulty], "agree within 2000 of 40000 in 1 of 2"),
            (&[&ab], "agree within 50 of 1000"),
            (&[&open], "agree"),
        ];
        for (runs, expected) in table {
            assert_eq!(counts(runs), expected);
        }
    }

    #[test]
    fn what_nobody_tells_is_not_zero() {
        let run = Run { ok: 1000, voluntary_switches: Some(2500), ..Run::default() };
        assert_eq!(per_answer(&run, run.voluntary_switches), Some(2.5));
        assert_eq!(per_answer(&run, run.involuntary_switches), None);
        assert_eq!(per_answer(&Run::default(), Some(1)), None);
        assert_eq!(per_answer(&Run { beside: "the other".into(), ..run.clone() }, Some(1)), None);
        assert_eq!(warm(&[&run]), NOT_TOLD);
        assert_eq!(warm(&[&Run { warmed_up: Some(false), ..run }]), "0 of 1");
    }
}
