//! What happened when: right answers and failures over the time of a run.

use super::{Axis, Cell, Guide, Plot, Scale, Series, line};
use crate::measure::statistics::Summary;
use crate::raw::{Data, Run, Window};
use crate::scenario::OVERLOAD;

/// Which side of the same requests is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TwoSides {
    /// Right answers.
    Good,
    /// Refusals and failures.
    Failed,
}

impl TwoSides {
    fn of(self, window: &Window) -> f64 {
        match self {
            Self::Good => window.goodput,
            Self::Failed => window.failed_per_second,
        }
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Good => ("Right answers over time", "right answers within the objective, a second"),
            Self::Failed => ("Refusals and failures over time", "refusals and failures a second"),
        }
    }
}

/// A line for each contestant: at each time the median of its rounds, the warm-up left out.
pub(crate) fn over_time(scenario: &str, cell: &Cell<'_>, data: &Data, side: TwoSides) -> Plot {
    let (name, unit) = side.words();
    let title = format!("{name}: {scenario}, {}, {}", cell.name, cell.configuration.word());
    let (x, y) = (Axis::new("time, s", Scale::Linear), Axis::new(unit, Scale::Linear));
    let one = |name: &&str| line(name, points(&cell.valid(name), data, side));
    let series: Vec<Series> = cell.contestants().iter().map(one).filter(|series| !series.points.is_empty()).collect();
    let note = format!(
        "Each request counts at the time when it was due. At each time the median of the valid rounds. The load is {} of the rate at which all \
         of what binds first is held: threads when equalised, connections to the service as ours and Zuul 1 come",
        parts().map(percent).join(", then ")
    );
    Plot { series, note, guides: turns(cell, data), ..Plot::new(title, x, y) }
}

/// When the load rose past what the threads hold, and when it fell again.
fn turns(cell: &Cell<'_>, data: &Data) -> Vec<Guide> {
    let begins = |phase: &str| {
        let windows = data.windows.iter().filter(|window| window.phase == phase);
        let windows = windows.filter(|window| cell.runs.iter().any(|run| run.id == window.run));
        windows.map(|window| window.at_seconds).reduce(f64::min)
    };
    let [_, overload, after] = parts().map(percent);
    let turns = [("overload", format!("load rises to {overload}")), ("recovery", format!("load falls to {after}"))];
    turns.into_iter().filter_map(|(phase, label)| Some(Guide::at(begins(phase)?, label))).collect()
}

/// The load of each phase, as part of the knee.
fn parts() -> [f64; 3] {
    OVERLOAD.map(|(part, _)| part)
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

fn points(runs: &[&Run], data: &Data, side: TwoSides) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, Vec<f64>)> = Vec::new();
    let of_runs = data.windows.iter().filter(|window| runs.iter().any(|run| run.id == window.run));
    for window in of_runs.filter(|window| window.phase != "warm-up") {
        match points.iter_mut().find(|(at, _)| *at == window.at_seconds) {
            Some((_, values)) => values.push(side.of(window)),
            None => points.push((window.at_seconds, vec![side.of(window)])),
        }
    }
    points.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let median = |(at, values): (f64, Vec<f64>)| Some((at, Summary::of(values)?.median));
    points.into_iter().filter_map(median).collect()
}
