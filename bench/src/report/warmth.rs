//! Whether what was measured was warm: programs that compile while they run, as those on a JVM do, become several times faster in their first
//! minute, and a ratio to one of them in that time is a ratio to its compiler.

use super::pairs::{Cell, label};
use crate::load::per_second;
use crate::measure::warm_up::TOLERANCE;
use crate::raw::{Data, Run};
use std::collections::{HashMap, HashSet};

/// A measured rate that is above the best of the warm-up's last windows by more than so many of its tolerances was still rising. One below
/// them says nothing of warmth: it is what the spread of the rounds is there for.
const DRIFT: f64 = 3.0;

/// How many windows a warm-up needs to settle.
const LAST: usize = 3;

/// The runs of a measurement whose warm-up did not do its work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warmth {
    unsettled: HashSet<u32>,
}

impl Warmth {
    /// Looks at each run. The short warm-up of a quick measurement cannot settle, so there only a rate that still rose counts.
    pub(crate) fn of(data: &Data, quick: bool) -> Self {
        let mut rates: HashMap<u32, Vec<f64>> = HashMap::new();
        for window in data.windows.iter().filter(|window| window.phase == "warm-up") {
            rates.entry(window.run).or_default().push(window.goodput + window.failed_per_second);
        }
        let rose = |run: &Run| rates.get(&run.id).is_some_and(|rates| rose(run, rates));
        let unsettled = |run: &&Run| rose(run) || !quick && run.warmed_up != Some(true);
        Self { unsettled: data.runs.iter().filter(unsettled).map(|run| run.id).collect() }
    }

    /// In how many of the contestant's valid runs it had not settled, and how many there are.
    fn unsettled(&self, cell: &Cell<'_>, contestant: &str) -> (usize, usize) {
        let runs = cell.valid(contestant);
        (runs.iter().filter(|run| self.unsettled.contains(&run.id)).count(), runs.len())
    }

    /// Whether that is more than half of them.
    pub(crate) fn is_warming(&self, cell: &Cell<'_>, contestant: &str) -> bool {
        let (unsettled, all) = self.unsettled(cell, contestant);
        unsettled * 2 > all
    }

    /// Who was still warming up in which of the cells, as the end of a note; empty when nobody was.
    pub(crate) fn still<'c, 'a: 'c>(&self, cells: impl IntoIterator<Item = &'c Cell<'a>>) -> String {
        let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
        for cell in cells {
            for who in cell.contestants().into_iter().filter(|who| self.is_warming(cell, who)) {
                match found.iter_mut().find(|(known, _)| *known == who) {
                    Some((_, names)) => names.push(cell.name),
                    None => found.push((who, vec![cell.name])),
                }
            }
        }
        let told: Vec<String> =
            found.iter().map(|(who, names)| format!("{} ({})", label(who), names.join(", "))).collect();
        if told.is_empty() { String::new() } else { format!(". Still warming up: {}", told.join("; ")) }
    }

    /// What a reader must know of the two; empty when there is nothing.
    pub(crate) fn note(&self, cell: &Cell<'_>, pair: [&str; 2]) -> String {
        let of = |who: &str| match self.unsettled(cell, who) {
            (0, _) => String::new(),
            (unsettled, all) => {
                format!(" Warm-up had not settled in {unsettled} of {all} runs (of {}).", label(who))
            }
        };
        pair.map(of).concat()
    }
}

/// Whether a closed loop of wrk ran faster than its warm-up did at last. Other loads are not those of their warm-up, or have a rate that is
/// not the contestant's.
fn rose(run: &Run, rates: &[f64]) -> bool {
    let best = rates.iter().rev().take(LAST).copied().fold(0.0, f64::max);
    let measured = per_second(run.ok + run.failed(), run.seconds);
    run.tool == "wrk" && measured > best * (1.0 + DRIFT * TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::Window;
    use crate::report::pairs::cells;

    /// Measured at 1000 a second, after a warm-up with these rates.
    fn run(id: u32, warmed_up: Option<bool>, before: &[f64]) -> (Run, Vec<Window>) {
        let run = Run {
            id,
            scenario: "core".into(),
            cell: "c".into(),
            contestant: "nginx".into(),
            round: id,
            tool: "wrk".into(),
            seconds: 10.0,
            ok: 10_000,
            warmed_up,
            ..Run::default()
        };
        let window =
            |goodput: &f64| Window { run: id, phase: "warm-up".into(), goodput: *goodput, ..Window::default() };
        (run, before.iter().map(window).collect())
    }

    fn data(runs: impl IntoIterator<Item = (Run, Vec<Window>)>) -> Data {
        let (runs, windows): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
        Data { runs, windows: windows.concat(), ..Data::default() }
    }

    #[test]
    fn a_run_is_warm_when_its_warm_up_settled_and_led_to_its_rate() {
        let table: [(Option<bool>, &[f64], [bool; 2]); 9] = [
            (Some(true), &[900.0, 1000.0, 1000.0, 1000.0], [true, true]),
            (Some(true), &[900.0, 900.0, 918.0], [true, true]),
            (Some(true), &[900.0, 916.0, 900.0], [false, false]),
            (Some(true), &[950.0, 900.0, 900.0, 900.0], [false, false]),
            (Some(true), &[1500.0, 1500.0, 1500.0], [true, true]),
            (Some(false), &[1000.0], [false, true]),
            (Some(false), &[500.0], [false, false]),
            (None, &[], [false, true]),
            (Some(true), &[], [true, true]),
        ];
        for (warmed_up, before, expected) in table {
            let data = data([run(1, warmed_up, before)]);
            let cells = cells(&data.runs, "core");
            let warm = [false, true].map(|quick| !Warmth::of(&data, quick).is_warming(&cells[0], "nginx"));
            assert_eq!(warm, expected, "{warmed_up:?} {before:?}: for a verdict, and for a glance");
        }
    }

    #[test]
    fn only_wrk_measures_what_it_warmed_up_with() {
        for tool in ["ab", "bench", ""] {
            let (run, windows) = run(1, Some(true), &[1.0]);
            let data = data([(Run { tool: tool.into(), ..run }, windows)]);
            assert!(!Warmth::of(&data, false).is_warming(&cells(&data.runs, "core")[0], "nginx"), "{tool}");
        }
    }

    #[test]
    fn more_than_half_of_the_valid_runs_decide_and_each_is_told() {
        for (cold, warming) in [(0, false), (2, false), (3, true), (5, true)] {
            let data = data((1..=5).map(|id| run(id, Some(id > cold), &[1000.0])));
            let warmth = Warmth::of(&data, false);
            let cells = cells(&data.runs, "core");
            assert_eq!(warmth.is_warming(&cells[0], "nginx"), warming, "{cold}");
            let note = warmth.note(&cells[0], ["portcullis", "nginx"]);
            let told = format!(" Warm-up had not settled in {cold} of 5 runs (of nginx).");
            assert_eq!(note, if cold == 0 { String::new() } else { told });
            let still = warmth.still(&cells);
            assert_eq!(still, if warming { ". Still warming up: nginx (c)" } else { "" }, "{cold}");
        }
    }
}
