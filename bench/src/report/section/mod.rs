//! What the report says, in its order: the answer first, then who took part, each scenario, and what the figures are worth.

mod cost;
mod frame;
mod glance;
mod load;
mod published;
mod ratios;
mod scenario;
mod served;
mod verdicts;

use super::document::Document;
use super::pairs::{Cell, label};
use crate::measure::statistics::Summary;
use crate::raw::{Data, Run, scenarios};

/// The contestant whose requests have a thread each.
pub(crate) const BLOCKING: &str = "portcullis";

/// The same gateway without.
pub(crate) const TWIN: &str = "twin";

/// The report on `data`, which lay in a directory called `name`.
pub(crate) fn document(data: &Data, name: &str) -> Document {
    let mut document = Document::new(format!("Gateways compared: {name}"));
    frame::opening(&mut document, data);
    verdicts::in_short(&mut document, data);
    frame::words(&mut document);
    frame::participants(&mut document, data);
    for name in scenarios(&data.runs) {
        scenario::scenario(&mut document, data, name);
    }
    frame::void_runs(&mut document, data);
    frame::limits(&mut document, data);
    frame::environment(&mut document, data);
    frame::method(&mut document, data);
    document
}

/// Whether the measurement was one that gives no verdicts.
pub(crate) fn is_quick(data: &Data) -> bool {
    data.fact("verdict").is_some_and(|verdict| verdict.starts_with("none"))
}

/// The median and the spread of what the runs tell of one thing.
fn summary<'a>(runs: &[&'a Run], of: impl Fn(&'a Run) -> Option<f64>) -> Option<Summary> {
    Summary::of(runs.iter().filter_map(|run| of(run)))
}

/// The cell, the configuration and the contestant, as the first columns of a row.
fn names(cell: &Cell<'_>, contestant: &str) -> Vec<String> {
    let configuration = cell.configuration.word();
    vec![cell.name.into(), configuration.into(), label(contestant).into()]
}

/// The heads of those columns.
const NAMES: [&str; 3] = ["cell", "limits", "contestant"];

/// A row for each contestant of each cell.
fn rows<'a>(cells: &[Cell<'a>], row: impl Fn(&Cell<'a>, &'a str) -> Vec<String>) -> Vec<Vec<String>> {
    let of_cell = |cell: &Cell<'a>| -> Vec<_> {
        cell.contestants().into_iter().map(|who| [names(cell, who), row(cell, who)].concat()).collect()
    };
    cells.iter().flat_map(of_cell).collect()
}

/// The columns of such rows.
fn columns<'a>(others: &[&'a str]) -> Vec<&'a str> {
    [NAMES.as_slice(), others].concat()
}
