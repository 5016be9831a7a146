//! What each cell asks of everyone: tool, connections, rate, delay, sizes, and for how long.

use crate::measure::statistics::Summary;
use crate::raw::{Kind, Run};
use crate::report::document::Table;
use crate::report::numbers::{NOT_TOLD, short};
use crate::report::pairs::{Cell, DIRECT};

const COLUMNS: &[&str] = &[
    "cell",
    "loop",
    "tool",
    "connections, at most",
    "offered /s, mean",
    "backend delay ms",
    "answer body bytes",
    "request body bytes",
    "measured s",
    "warm-up s, at most",
    "rounds",
];

/// The table of a scenario: a row for each cell, whatever the limits.
pub(super) fn table(cells: &[Cell<'_>]) -> Table {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in cells.iter().filter_map(row) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    Table::new("The load of each cell", COLUMNS).with(rows).without_untold()
}

fn row(cell: &Cell<'_>) -> Option<Vec<String>> {
    // A run that was not measured knows nothing of its load.
    let run = cell.runs.iter().find(|run| !run.tool.is_empty()).or(cell.runs.first())?;
    let seconds = Summary::of(cell.runs.iter().map(|run| run.seconds))?.median;
    let warm_up = cell.runs.iter().map(|run| run.warm_up_seconds).fold(0.0, f64::max);
    let rounds = cell.runs.iter().filter(|run| run.contestant != DIRECT).map(|run| run.round).max().unwrap_or(1);
    let octets = |count: u64| if count == 0 { NOT_TOLD.to_owned() } else { count.to_string() };
    Some(vec![
        cell.name.to_owned(),
        kind(run).into(),
        if run.tool.is_empty() { NOT_TOLD.into() } else { run.tool.clone() },
        run.connections.to_string(),
        run.offered_per_second.map_or(NOT_TOLD.into(), short),
        run.delay_ms.to_string(),
        octets(run.body_octets),
        octets(run.upload_octets),
        format!("{seconds:.0}"),
        format!("{warm_up:.0}"),
        rounds.to_string(),
    ])
}

fn kind(run: &Run) -> &'static str {
    match run.kind {
        Kind::Closed => "closed",
        Kind::Open => "open, constant",
        Kind::Poisson => "open, Poisson",
        Kind::Parked => "parked, and an open one beside",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::pairs::cells;

    #[test]
    fn a_cell_has_one_row_and_tells_its_load() {
        let run = |contestant: &str, round, tool: &str| Run {
            scenario: "sweep".into(),
            cell: "a".into(),
            contestant: contestant.into(),
            round,
            kind: Kind::Poisson,
            tool: tool.into(),
            connections: 4000,
            offered_per_second: Some(2000.0),
            delay_ms: 50.0,
            seconds: 10.02,
            ..Run::default()
        };
        let runs = [run("direct", 1, ""), run("portcullis", 1, "bench"), run("portcullis", 2, "bench")];
        let table = table(&cells(&runs, "sweep"));
        assert_eq!(table.rows, [["a", "open, Poisson", "bench", "4000", "2000", "50", "10", "0", "2"]]);
        assert_eq!(table.columns[6..], ["measured s", "warm-up s, at most", "rounds"]);
    }
}
