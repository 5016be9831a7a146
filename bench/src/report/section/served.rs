//! What was served: right answers, how late they came, and what became of the rest.

use super::{columns, rows, summary};
use crate::measure::recovery::has_fallen;
use crate::raw::Run;
use crate::report::document::Table;
use crate::report::numbers::{NOT_TOLD, middle, percent, spread};
use crate::report::pairs::Cell;

const COLUMNS: &[&str] = &[
    "valid rounds",
    "offered /s, mean",
    "answers a run",
    "right answers in time /s",
    "p50 ms",
    "p90 ms",
    "p99 ms",
    "p99.9 ms",
    "longest ms",
    "service p50 ms",
    "service p99 ms",
    "right, but late",
    "not answered rightly",
    "least served of the overload",
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
        of(Run::p99),
        of(|run| run.p999_ms.filter(|_| run.reaches(0.001))),
        of(|run| run.max_ms),
        of(|run| run.service_p50_ms),
        of(|run| run.service_p99_ms),
        late(&valid),
        failures(&valid),
        summary(&valid, |run| run.fell_to).map_or(NOT_TOLD.into(), |it| percent(it.median)),
        recovered(&valid),
    ]
}

/// The part of the right answers that came too late, in all runs together, of loads that know.
fn late(runs: &[&Run]) -> String {
    let known: Vec<_> = runs.iter().filter_map(|run| Some((run.ok, run.in_time?))).collect();
    let (ok, in_time) = known.iter().fold((0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    if ok == 0 { NOT_TOLD.into() } else { percent((ok - in_time) as f64 / ok as f64) }
}

/// How long after an overload all was served again, if it ever was, and if there was anything to recover from.
fn recovered(runs: &[&Run]) -> String {
    let overloaded: Vec<&Run> = runs.iter().copied().filter(|run| run.fell_to.is_some()).collect();
    let fallen: Vec<&Run> = overloaded.iter().copied().filter(|run| run.fell_to.is_some_and(has_fallen)).collect();
    let back = summary(&fallen, |run| run.recovery_ms);
    match (overloaded.len(), fallen.len(), back) {
        (0, ..) => NOT_TOLD.into(),
        (_, 0, _) => "never fell".into(),
        (_, fell, None) => format!("not in {fell} of {fell}"),
        (_, fell, Some(back)) if back.runs < fell => {
            format!("{}, not in {} of {fell}", spread(Some(back)), fell - back.runs)
        }
        (.., back) => spread(back),
    }
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
    fn what_came_late_is_told_apart() {
        let run = |ok, in_time| Run { ok, in_time, ..Run::default() };
        let table: [(&[&Run], &str); 4] = [
            (&[&run(100, Some(75)), &run(100, Some(100))], "12.5 %"),
            (&[&run(100, Some(100))], "0.0 %"),
            (&[&run(100, None)], NOT_TOLD),
            (&[&run(0, Some(0))], NOT_TOLD),
        ];
        for (runs, expected) in table {
            assert_eq!(late(runs), expected);
        }
    }

    #[test]
    fn a_recovery_is_told_only_after_a_fall() {
        let run = |fell_to, recovery_ms| Run { fell_to, recovery_ms, ..Run::default() };
        let (other, whole, back, gone) =
            (run(None, None), run(Some(0.9), None), run(Some(0.1), Some(250.0)), run(Some(0.1), None));
        let table: [(&[&Run], &str); 6] = [
            (&[&other], NOT_TOLD),
            (&[&whole, &whole], "never fell"),
            (&[&whole, &back], "250"),
            (&[&gone, &gone], "not in 2 of 2"),
            (&[&back, &gone], "250, not in 1 of 2"),
            (&[], NOT_TOLD),
        ];
        for (runs, expected) in table {
            assert_eq!(recovered(runs), expected);
        }
    }

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
