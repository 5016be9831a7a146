//! What was served: right answers, how late they came, and what became of the rest.

use super::{columns, rows, summary};
use crate::raw::Run;
use crate::report::document::Table;
use crate::report::numbers::{NOT_TOLD, middle, percent, spread};
use crate::report::pairs::Cell;

const COLUMNS: &[&str] = &[
    "valid rounds",
    "offered /s, mean",
    "answers a run",
    "right answers /s",
    "p50 ms",
    "p90 ms",
    "p99 ms",
    "p99.9 ms",
    "longest ms",
    "service p50 ms",
    "service p99 ms",
    "not answered rightly",
    "recovered after ms",
];

/// The table of a scenario.
pub(super) fn table(cells: &[Cell<'_>]) -> Table {
    let caption = "What was served: medians of the valid rounds (lowest..highest). Latencies of open loops count from when a request was \
                   due, service times from when it was sent";
    Table::new(caption, &columns(COLUMNS)).with(rows(cells, row)).without_untold()
}

fn row(cell: &Cell<'_>, contestant: &str) -> Vec<String> {
    let (all, valid) = (cell.of(contestant), cell.valid(contestant));
    let of = |value: fn(&Run) -> Option<f64>| spread(summary(&valid, value));
    vec![
        format!("{} of {}", valid.len(), all.len()),
        middle(summary(&valid, |run| run.offered_per_second)),
        middle(summary(&valid, |run| Some(run.answered() as f64))),
        of(|run| Some(run.goodput)),
        of(|run| run.p50_ms),
        of(|run| run.p90_ms),
        of(|run| run.p99_ms.filter(|_| run.reaches(0.01))),
        of(|run| run.p999_ms.filter(|_| run.reaches(0.001))),
        of(|run| run.max_ms),
        of(|run| run.service_p50_ms),
        of(|run| run.service_p99_ms),
        failures(&valid),
        of(|run| run.recovery_ms),
    ]
}

/// What became of the requests without a right answer, by kind, in all runs together.
pub(super) fn failures(runs: &[&Run]) -> String {
    if runs.is_empty() {
        return NOT_TOLD.into();
    }
    let sum = |count: fn(&Run) -> u64| runs.iter().map(|run| count(run)).sum::<u64>();
    let failed = sum(Run::failed);
    if failed == 0 {
        let answered = sum(Run::answered) > 0;
        return if answered { "none" } else { "no answer in time to be counted" }.into();
    }
    let mut refused = crate::raw::Tally::default();
    runs.iter().flat_map(|run| run.refused.iter()).for_each(|(reason, count)| refused.add(reason, count));
    let reasons = refused.iter().map(|(reason, count)| (format!("refused {reason}"), count));
    let others = [
        ("other statuses", sum(|run| run.non_2xx)),
        ("wrong bodies", sum(|run| run.wrong_body)),
        ("not connected", sum(|run| run.connect_errors)),
        ("broken off", sum(|run| run.socket_errors)),
        ("timed out", sum(|run| run.timeouts)),
        ("never sent", sum(|run| run.unsent)),
    ];
    let others = others.into_iter().map(|(kind, count)| (kind.to_owned(), count));
    let kinds = reasons.chain(others).filter(|(_, count)| *count > 0);
    let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{kind} {count}")).collect();
    let part = failed as f64 / (failed + sum(|run| run.ok)) as f64;
    format!("{}: {}", percent(part), kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::Tally;

    #[test]
    fn each_kind_of_failure_is_told() {
        let refused =
            Run { ok: 90, refused: Tally::from_iter([("queue_full", 5), ("pool_full", 3)]), ..Run::default() };
        let broken = Run { ok: 900, timeouts: 1, unsent: 1, ..Run::default() };
        let table: [(&[&Run], &str); 4] = [
            (&[], NOT_TOLD),
            (&[&Run { ok: 3, ..Run::default() }], "none"),
            (&[&refused, &broken], "1.0 %: refused pool_full 3, refused queue_full 5, timed out 1, never sent 1"),
            (&[&Run { connect_errors: 2, ..Run::default() }], "100.0 %: not connected 2"),
        ];
        for (runs, expected) in table {
            assert_eq!(failures(runs), expected);
        }
    }
}
