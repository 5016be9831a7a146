//! Which plots the data give.

use super::numbers::short;
use super::pairs::{Cell, label, place};
use super::plot::{Axis, Guide, Plot, Scale, Series};
use crate::measure::statistics::Summary;
use crate::raw::{Configuration, Data, Kind, Latency, Run};
use std::collections::HashMap;

mod crossover;
mod time;

pub(crate) use crossover::crossover;
pub(crate) use time::{TwoSides, over_time};

/// How a configuration is called.
pub(crate) fn word(configuration: Configuration) -> &'static str {
    match configuration {
        Configuration::Stock => "stock",
        Configuration::Equalised => "equalised",
    }
}

/// The points of each run's distribution.
pub(crate) struct Curves<'a>(HashMap<u32, Vec<&'a Latency>>);

impl<'a> Curves<'a> {
    pub(crate) fn of(data: &'a Data) -> Self {
        let mut curves: HashMap<u32, Vec<&Latency>> = HashMap::new();
        data.latencies.iter().for_each(|latency| curves.entry(latency.run).or_default().push(latency));
        Self(curves)
    }

    /// At each percentile the median of the runs; a mean of percentiles would be of nothing.
    fn median(&self, runs: &[&Run]) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, Vec<f64>)> = Vec::new();
        for latency in runs.iter().filter_map(|run| self.0.get(&run.id)).flatten() {
            match points.iter_mut().find(|(percentile, _)| *percentile == latency.percentile) {
                Some((_, values)) => values.push(latency.ms),
                None => points.push((latency.percentile, vec![latency.ms])),
            }
        }
        points.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        let median = |(percentile, values): (f64, Vec<f64>)| Some((percentile, Summary::of(values)?.median));
        points.into_iter().filter_map(median).collect()
    }
}

/// One line for each contestant of a cell, whose points `points` makes of the runs that count.
fn series<'a>(cell: &Cell<'a>, points: impl Fn(&[&'a Run]) -> Vec<(f64, f64)>) -> Vec<Series> {
    let one = |name: &'a str| line(name, points(&cell.valid(name)));
    cell.contestants().into_iter().map(one).filter(|series| !series.points.is_empty()).collect()
}

fn line(name: &str, points: Vec<(f64, f64)>) -> Series {
    // Whoever has no place of its own in the list comes after all that have.
    let style = if place(name) == usize::MAX { 39 } else { place(name) };
    Series { label: label(name).to_owned(), style, joined: true, points }
}

/// How late answers came, as far into the tail as was measured.
pub(crate) fn latencies(scenario: &str, cell: &Cell<'_>, curves: &Curves<'_>) -> Plot {
    let x = Axis::new("part of the requests that were answered in time (each nine at the same distance)", Scale::Tail);
    let from = if cell.kind() == Kind::Closed { "sent" } else { "due" };
    let y = Axis::new(format!("latency from when a request was {from}, ms"), Scale::Log);
    let title = format!("Latency: {scenario}, {}, {}", cell.name, word(cell.configuration));
    Plot { series: series(cell, |runs| curves.median(runs)), ..Plot::new(title, x, y) }
}

/// Right answers over the number of connections; a plot for each delay, size and configuration that was tried with several numbers.
pub(crate) fn concurrency(scenario: &str, cells: &[Cell<'_>]) -> Vec<Plot> {
    let closed = |cell: &&Cell<'_>| cell.kind() == Kind::Closed;
    alike(cells.iter().filter(closed), |run| format!("{} ms, {} octets", short(run.delay_ms), run.body_octets))
        .into_iter()
        .filter_map(|(what, cells)| {
            let x = Axis::new("connections", Scale::Log);
            let y = Axis::new("right answers a second", Scale::Linear);
            let title = format!("Throughput over concurrency: {scenario}, {what}");
            let series = over(&cells, |run| run.connections as f64, |run| Some(run.goodput))?;
            Some(Plot { series, ..Plot::new(title, x, y) })
        })
        .collect()
}

/// Memory and threads over parked connections.
pub(crate) fn parked(scenario: &str, cells: &[Cell<'_>]) -> Vec<Plot> {
    let parked = |cell: &&Cell<'_>| cell.kind() == Kind::Parked;
    let mut plots = Vec::new();
    for (what, cells) in alike(cells.iter().filter(parked), |_| String::new()) {
        let mut add = |name: &str, unit: &str, value: fn(&Run) -> Option<f64>| {
            let title = format!("{name} over idle connections: {scenario}{what}");
            let (x, y) = (Axis::new("idle connections", Scale::Linear), Axis::new(unit, Scale::Linear));
            if let Some(series) = over(&cells, |run| run.connections as f64, value) {
                plots.push(Plot { series, ..Plot::new(title, x, y) });
            }
        };
        add("Memory", "resident memory, MB", |run| run.rss_kb.map(|kb| kb as f64 / 1024.0));
        add("Threads", "threads", |run| run.threads.map(|threads| threads as f64));
    }
    plots
}

/// Cells that differ in nothing but the number of connections, with what they have in common and their configuration in words.
fn alike<'c, 'a>(
    cells: impl Iterator<Item = &'c Cell<'a>>,
    common: impl Fn(&Run) -> String,
) -> Vec<(String, Vec<&'c Cell<'a>>)> {
    let mut groups: Vec<(String, Vec<&Cell<'_>>)> = Vec::new();
    for cell in cells {
        let Some(run) = cell.runs.first() else { continue };
        let common = format!("{}, {}", common(run), word(cell.configuration));
        match groups.iter_mut().find(|(known, _)| *known == common) {
            Some((_, group)) => group.push(cell),
            None => groups.push((common, vec![cell])),
        }
    }
    groups
}

/// A line for each contestant: the median of `y` in each cell over `x`; `None` with fewer than two places on x.
fn over(cells: &[&Cell<'_>], x: fn(&Run) -> f64, y: fn(&Run) -> Option<f64>) -> Option<Vec<Series>> {
    let mut names: Vec<&str> = cells.iter().flat_map(|cell| cell.contestants()).collect();
    names.sort_by_key(|name| place(name));
    names.dedup();
    let mut places: Vec<f64> = cells.iter().filter_map(|cell| cell.runs.first()).map(|run| x(run)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    (places.len() > 1).then(|| {
        let point = |name: &str, cell: &&Cell<'_>| {
            let runs = cell.valid(name);
            Some((x(runs.first()?), Summary::of(runs.iter().filter_map(|run| y(run)))?.median))
        };
        let one = |name: &&str| {
            let mut points: Vec<_> = cells.iter().filter_map(|cell| point(name, cell)).collect();
            points.sort_by(|(left, _), (right, _)| left.total_cmp(right));
            line(name, points)
        };
        names.iter().map(one).filter(|series| !series.points.is_empty()).collect()
    })
}
