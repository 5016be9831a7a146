//! Everyone as a ratio to the base lines, taken inside each round.

use super::{TWIN, columns, rows};
use crate::measure::statistics::Summary;
use crate::report::document::Table;
use crate::report::numbers::{NOT_TOLD, spread, times};
use crate::report::pairs::{Cell, DIRECT, Measure, Pairs};

const NGINX: &str = "nginx";

const COLUMNS: &[&str] = &[
    "answers ÷ direct",
    "answers ÷ nginx",
    "answers ÷ twin",
    "p99 ÷ nginx",
    "p99 ÷ twin",
    "p50 over direct ms",
    "p99 over direct ms",
    "CPU ÷ nginx",
    "CPU ÷ twin",
];

/// The table of a scenario.
pub(super) fn table(cells: &[Cell<'_>]) -> Table {
    let caption = "Ratios and differences, taken inside each round: medians (lowest..highest). Latencies only where both answered at least 99 % \
                   of the requests rightly and in time";
    Table::new(caption, &columns(COLUMNS)).with(rows(cells, row)).without_untold()
}

fn row(cell: &Cell<'_>, contestant: &str) -> Vec<String> {
    let to = |reference: &str, measure| match contestant == reference {
        true => NOT_TOLD.into(),
        false => ratio(&cell.pairs(contestant, reference, measure)),
    };
    // Refusals come early: latencies are compared only where both answered nearly everything rightly.
    let later = |reference: &str| match [contestant, reference].iter().all(|who| cell.is_served(who)) {
        true => to(reference, Measure::P99),
        false => NOT_TOLD.into(),
    };
    vec![
        to(DIRECT, Measure::Goodput),
        to(NGINX, Measure::Goodput),
        to(TWIN, Measure::Goodput),
        later(NGINX),
        later(TWIN),
        added(cell, contestant, |run| run.p50_ms),
        added(cell, contestant, crate::raw::Run::p99),
        to(NGINX, Measure::Processor),
        to(TWIN, Measure::Processor),
    ]
}

fn ratio(pairs: &Pairs) -> String {
    match Summary::of(pairs.ratios.iter().copied()) {
        None => NOT_TOLD.into(),
        Some(Summary { runs: 1, median, .. }) => times(median),
        Some(Summary { median, low, high, .. }) => format!("{} ({}..{})", times(median), times(low), times(high)),
    }
}

/// What a proxy adds to the backend's own latency, inside each round.
fn added(cell: &Cell<'_>, contestant: &str, of: fn(&crate::raw::Run) -> Option<f64>) -> String {
    if contestant == DIRECT || !cell.is_served(contestant) {
        return NOT_TOLD.into();
    }
    let direct = cell.valid(DIRECT);
    let added = cell.valid(contestant).into_iter().filter_map(|run| {
        let base = direct.iter().find(|base| base.round == run.round)?;
        Some(of(run)? - of(base)?)
    });
    spread(Summary::of(added))
}
