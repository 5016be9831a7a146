//! Everybody at a glance: right answers a second, a row for each contestant and a column for each cell.

use super::summary;
use crate::raw::Configuration;
use crate::report::document::Table;
use crate::report::numbers::spread;
use crate::report::pairs::{Cell, label, place};
use crate::report::warmth::Warmth;

/// The table of the cells under one configuration; without rows when nothing was measured so.
pub(super) fn table(scenario: &str, cells: &[Cell<'_>], configuration: Configuration, warmth: &Warmth) -> Table {
    let cells: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.configuration == configuration).collect();
    let mut names: Vec<&str> = cells.iter().flat_map(|cell| cell.contestants()).collect();
    names.sort_by_key(|name| (place(name), *name));
    names.dedup();
    let columns: Vec<&str> = ["contestant"].into_iter().chain(cells.iter().map(|cell| cell.name)).collect();
    let row = |name: &&str| {
        let of = |cell: &&Cell<'_>| spread(summary(&cell.valid(name), |run| Some(run.goodput)));
        [label(name).to_owned()].into_iter().chain(cells.iter().map(of)).collect()
    };
    let still = warmth.still(cells.iter().copied());
    let limits = configuration.word();
    let caption = format!("Right answers a second in {scenario}, {limits}: medians (lowest..highest){still}");
    Table::new(caption, &columns).with(names.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::Run;
    use crate::report::numbers::NOT_TOLD;
    use crate::report::pairs::cells;

    #[test]
    fn whoever_was_not_in_a_cell_has_a_dash_there() {
        let run = |cell: &str, contestant: &str, goodput| Run {
            scenario: "core".into(),
            cell: cell.into(),
            contestant: contestant.into(),
            goodput,
            ..Run::default()
        };
        let runs = [run("a", "nginx", 20.0), run("a", "portcullis", 10.0), run("b", "nginx", 30.0)];
        let cells = cells(&runs, "core");
        let warmth = Warmth::default();
        let table = table("core", &cells, Configuration::Equalised, &warmth);
        assert_eq!(table.columns, ["contestant", "a", "b"]);
        assert_eq!(table.rows, [["portcullis", "10.0", NOT_TOLD], ["nginx", "20.0", "30.0"]]);
        assert!(super::table("core", &cells, Configuration::Stock, &warmth).rows.is_empty());
    }
}
