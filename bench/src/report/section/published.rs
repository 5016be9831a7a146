//! What the authors of a repeated comparison published, beside what came out here.

use super::{BLOCKING, TWIN, summary};
use crate::contestant::{self, Family};
use crate::measure::statistics::Summary;
use crate::raw::{Configuration, Run};
use crate::report::document::Table;
use crate::report::numbers::{NOT_TOLD, short, spread, times};
use crate::report::pairs::{Cell, Measure, label};
use crate::scenario::published::{self, Published};

/// The table of a scenario; without rows for one that repeats nobody.
pub(super) fn table(scenario: &str, cells: &[Cell<'_>]) -> Table {
    let columns = [
        "published for",
        "who",
        "figure",
        "published",
        "cell here",
        "the same here",
        "ours of its kind (to ours of the other)",
    ];
    let rows = published::of(scenario).flat_map(|published| of_figure(published, cells));
    Table::new("The author's figures beside ours", &columns).with(rows.collect::<Vec<_>>())
}

fn of_figure(published: &Published, cells: &[Cell<'_>]) -> Vec<Vec<String>> {
    let unit = if published.unit.is_empty() { String::new() } else { format!(" {}", published.unit) };
    let head = vec![
        published.cell.to_owned(),
        label(published.contestant).to_owned(),
        published.figure.to_owned(),
        format!("{}{unit}", short(published.value)),
    ];
    let with_unit = |told: String| if told == NOT_TOLD { told } else { format!("{told}{unit}") };
    let row = |cell: &Cell<'_>| {
        let here = format!("{}, {}", cell.name, cell.configuration.word());
        let ours = our_like(published.contestant).map_or(NOT_TOLD.into(), |like| told(published, cell, like));
        let same = told(published, cell, published.contestant);
        [head.clone(), vec![here, with_unit(same), with_unit(ours)]].concat()
    };
    let rows: Vec<_> = matching(published, cells).into_iter().map(row).collect();
    if rows.is_empty() {
        let none = [NOT_TOLD; 3].map(str::to_owned).to_vec();
        return vec![[head, none].concat()];
    }
    rows
}

/// Which of ours has the same model.
fn our_like(contestant: &str) -> Option<&'static str> {
    match contestant::named(contestant)?.family {
        Family::Blocking => Some(BLOCKING),
        Family::Async if contestant != "nginx" => Some(TWIN),
        Family::Async | Family::None => None,
    }
}

/// The cells that repeat it: those whose name begins so, under the limits that the author names; in `seed3`, where the author's machines name
/// the cell, those that answer at once and have the contestant, or ours of its kind.
fn matching<'c, 'a>(published: &Published, cells: &'c [Cell<'a>]) -> Vec<&'c Cell<'a>> {
    let (name, configuration) = match published.cell.rsplit_once(", ") {
        Some((name, "default")) => (name, Some(Configuration::Stock)),
        Some((name, "optimised")) => (name, Some(Configuration::Equalised)),
        _ => (published.cell, None),
    };
    let wanted = |cell: &&Cell<'_>| configuration.is_none_or(|wanted| wanted == cell.configuration);
    let named: Vec<_> = cells.iter().filter(|cell| cell.name.starts_with(name)).filter(wanted).collect();
    // A cell of another length or size has another name, and repeats nothing.
    if !named.is_empty() || published.scenario != "seed3" {
        return named;
    }
    let kin = [Some(published.contestant), our_like(published.contestant)];
    let has = |cell: &&Cell<'_>| {
        let is_there = kin.into_iter().flatten().any(|name| !cell.of(name).is_empty());
        is_there && cell.runs.iter().all(|run| run.delay_ms == 0.0)
    };
    cells.iter().filter(has).collect()
}

/// The figure for `contestant` in `cell`.
fn told(published: &Published, cell: &Cell<'_>, contestant: &str) -> String {
    let runs = cell.valid(contestant);
    let of = |value: fn(&Run) -> Option<f64>| spread(summary(&runs, value));
    match published.figure {
        "requests" => of(|run| Some(run.requests_per_second)),
        "p50" => of(|run| run.p50_ms),
        "p90" => of(|run| run.p90_ms),
        "p99" => of(Run::p99),
        "max" => of(|run| run.max_ms),
        "socket errors" => of(|run| Some((run.connect_errors + run.socket_errors + run.timeouts) as f64)),
        "processor time" => of(|run| Some(run.cpu_seconds()? / run.seconds * 100.0)),
        // Of ours, the pair of the same two kinds.
        "requests, to Zuul 1" => ratio(cell, contestant, if contestant == TWIN { BLOCKING } else { "zuul1" }),
        "requests, to nginx" => ratio(cell, contestant, "nginx"),
        _ => NOT_TOLD.into(),
    }
}

fn ratio(cell: &Cell<'_>, contestant: &str, reference: &str) -> String {
    let pairs = cell.pairs(contestant, reference, Measure::Goodput);
    let Some(ratios) = Summary::of(pairs.ratios) else { return NOT_TOLD.into() };
    let spread =
        if ratios.runs > 1 { format!(" ({}..{})", times(ratios.low), times(ratios.high)) } else { String::new() };
    format!("{}{spread}", times(ratios.median))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::pairs::cells;

    fn run(cell: &str, contestant: &str, configuration: Configuration) -> Run {
        let (scenario, goodput) = ("seed1".into(), if contestant == "zuul1" { 10.0 } else { 90.0 });
        let (cell, contestant) = (cell.into(), contestant.into());
        Run { scenario, cell, contestant, configuration, round: 1, goodput, ..Run::default() }
    }

    #[test]
    fn every_published_figure_has_a_reading_here() {
        let runs = [run("any", "nginx", Configuration::Stock), run("any", "zuul1", Configuration::Stock)];
        let runs: Vec<Run> = runs.map(|run| Run { p50_ms: Some(1.0), seconds: 1.0, ..run }).into();
        let known = ["requests", "p50", "p90", "p99", "max", "socket errors", "processor time"];
        for published in ["seed0", "seed1", "seed2", "seed3"].into_iter().flat_map(published::of) {
            let is_ratio = published.figure.starts_with("requests, to ");
            assert!(is_ratio || known.contains(&published.figure), "{published:?}");
            if published.figure == "requests" {
                assert_eq!(told(published, &cells(&runs, "seed1")[0], "nginx"), "0");
            }
        }
    }

    #[test]
    fn default_is_stock_and_optimised_is_equalised() {
        let runs = [
            run("50 ms c100", "zuul1", Configuration::Stock),
            run("50 ms c100", "gateway-webflux", Configuration::Stock),
            run("50 ms c100", "zuul1", Configuration::Equalised),
        ];
        let table = table("seed1", &cells(&runs, "seed1"));
        let row = table.rows.iter().find(|row| row[0] == "50 ms, default").expect("a row");
        assert_eq!(row[3..6], ["9.00 times", "50 ms c100, stock", "9.00 times"]);
        assert_eq!(table.rows.iter().filter(|row| row[0] == "50 ms, default").count(), 1);
    }

    #[test]
    fn a_run_of_another_length_repeats_nobodys_figures() {
        let run = |cell: &str| Run { scenario: "seed0".into(), ..run(cell, "direct", Configuration::Equalised) };
        let here = |cell: &str| {
            let rows = table("seed0", &cells(&[run(cell)], "seed0")).rows;
            rows.into_iter().filter(|row| row[4] != NOT_TOLD).map(|row| row[0].clone()).collect::<Vec<_>>()
        };
        assert!(here("30 s, first").iter().all(|published| published == "30 s, first"));
        assert_eq!(here("2 s, first"), Vec::<String>::new());
        assert_eq!((here("300 s").is_empty(), here("30 s, fourth").is_empty()), (false, true));
    }

    #[test]
    fn what_was_not_repeated_says_so() {
        let rows = table("seed2", &[]).rows;
        assert!(!rows.is_empty() && rows.iter().all(|row| row[5] == NOT_TOLD));
        assert!(table("tail", &[]).rows.is_empty());
    }
}
