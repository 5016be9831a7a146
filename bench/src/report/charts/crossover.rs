//! Where a thread for each request stops paying: offered rate against delay, with Little's line.
//!
//! Rate times delay is how many requests are under way on average (Little's law). Beyond the number of threads a blocking gateway must let
//! some wait, whatever it costs otherwise; an asynchronous one need not.

use super::{Axis, Cell, Guide, MEDIANS, Plot, Run, Scale, Series, alike, line, over};
use crate::raw::Kind;
use crate::report::court::Court;
use crate::report::section::{BLOCKING, TWIN};
use crate::report::verdict::Standing;

/// For each delay what became of rising rates; then all of them as one map of who was better.
pub(crate) fn crossover(cells: &[Cell<'_>], threads: usize, court: &Court) -> Vec<Plot> {
    let open: Vec<&Cell<'_>> = cells.iter().filter(|cell| matches!(cell.kind(), Kind::Open | Kind::Poisson)).collect();
    let mut plots = vec![map(&open, threads, court)];
    for (what, cells) in alike(open.into_iter(), |run| format!("backend delay {} ms", run.delay_ms)) {
        plots.extend(of_delay(&what, &cells, threads));
    }
    plots
}

fn of_delay(what: &str, cells: &[&Cell<'_>], threads: usize) -> Vec<Plot> {
    let delay_ms = cells.first().and_then(|cell| cell.runs.first()).map_or(0.0, |run| run.delay_ms);
    let mut plots = Vec::new();
    let mut add = |name: &str, y: Axis, value: fn(&Run) -> Option<f64>| {
        if let Some(series) = over(cells, |run| run.offered_per_second.unwrap_or(0.0), value) {
            let guide = (delay_ms > 0.0).then(|| Guide::at(threads as f64 * 1000.0 / delay_ms, little(threads)));
            let x = Axis::new("offered requests a second", Scale::Linear);
            let title = format!("{name} over the offered rate: {what}");
            let note =
                format!("{MEDIANS}. Right of the dotted line more requests are under way than there are threads");
            plots.push(Plot { series, guides: guide.into_iter().collect(), note, ..Plot::new(title, x, y) });
        }
    };
    add("Latency at 99 %", Axis::new("latency from when a request was due, ms", Scale::Log), Run::p99);
    add("Goodput", Axis::new("right answers in time, % of what was offered", Scale::Linear), |run| {
        Some(100.0 * run.served()?)
    });
    plots
}

fn little(threads: usize) -> String {
    format!("Little's law, rate × delay = {threads} threads")
}

const KINDS: [(Standing, &str); 4] = [
    (Standing::Subject, "blocking is better"),
    (Standing::Neither, "within noise"),
    (Standing::Reference, "async is better"),
    (Standing::Open, "no verdict"),
];

/// Better is who answers sooner at 99 % where both serve what is offered, else who serves more.
fn map(cells: &[&Cell<'_>], threads: usize, court: &Court) -> Plot {
    let x = Axis::new("delay of the backend, ms", Scale::Log);
    let y = Axis::new("offered requests a second", Scale::Log);
    let not = if court.quick { ", not a verdict" } else { "" };
    let series = KINDS.iter().enumerate().map(|(n, (kind, label))| Series {
        joined: false,
        label: format!("{label}{not}"),
        ..line(label, points(cells, *kind, court)).styled(n + 1)
    });
    let series = series.filter(|series| !series.points.is_empty()).collect();
    let delays: Vec<f64> = cells.iter().flat_map(|cell| &cell.runs).map(|run| run.delay_ms).collect();
    let curve = delays.iter().copied().reduce(f64::min).zip(delays.iter().copied().reduce(f64::max));
    let curve = curve.into_iter().flat_map(|(low, high)| steps(low, high));
    let curve = curve.map(|delay| (delay, threads as f64 * 1000.0 / delay)).collect();
    let guides = vec![Guide { label: little(threads), points: curve }];
    let note = "Each mark is a cell of the sweep, and tells who was better there. Above the dotted line more requests are under way than there \
                are threads"
        .into();
    Plot {
        series,
        guides,
        note,
        ..Plot::new("Crossover: portcullis and its async twin, offered rate against delay", x, y)
    }
}

/// Delay and rate of the cells in which portcullis stands so beside its twin.
fn points(cells: &[&Cell<'_>], wanted: Standing, court: &Court) -> Vec<(f64, f64)> {
    let point = |cell: &&Cell<'_>| {
        let run = cell.runs.iter().find(|run| run.contestant == BLOCKING)?;
        (court.stands(cell, (BLOCKING, TWIN)) == wanted).then_some((run.delay_ms, run.offered_per_second?))
    };
    cells.iter().filter_map(point).collect()
}

/// Well beyond both ends, so that a single delay has a line too; what leaves the picture is not drawn.
fn steps(low: f64, high: f64) -> impl Iterator<Item = f64> {
    const STEPS: i32 = 128;
    let (low, high) = (low / 4.0, high * 4.0);
    (0..=STEPS).map(move |step| low * (high / low).powf(f64::from(step) / f64::from(STEPS)))
}
