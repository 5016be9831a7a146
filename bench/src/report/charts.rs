//! Which plots the data give.

use super::numbers::short;
use super::pairs::{Cell, label, place};
use super::plot::{Axis, Guide, Plot, Scale, Series};
use super::warmth::Warmth;
use crate::measure::statistics::Summary;
use crate::raw::{Data, Kind, Latency, Run};
use std::collections::HashMap;

mod crossover;
mod time;

pub(crate) use crossover::crossover;
pub(crate) use time::{TwoSides, over_time};

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
        let told = runs.iter().filter_map(|run| Some((*run, self.0.get(&run.id)?)));
        let told = told.flat_map(|(run, latencies)| latencies.iter().map(move |latency| (run, *latency)));
        for (_, latency) in told.filter(|(run, latency)| run.reaches(1.0 - latency.percentile / 100.0)) {
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
    Series { label: label(name).to_owned(), style, joined: true, points, spans: Vec::new() }
}

/// The line through the medians, with the spread of the rounds where there were several.
fn with_spread(name: &str, summaries: &[(f64, Summary)]) -> Series {
    let several = summaries.iter().filter(|(_, summary)| summary.runs > 1);
    Series {
        spans: several.map(|(x, summary)| (*x, summary.low, summary.high)).collect(),
        ..line(name, summaries.iter().map(|(x, summary)| (*x, summary.median)).collect())
    }
}

/// What is said of each plot whose lines are made so.
const MEDIANS: &str = "Points are medians of the valid rounds, upright strokes reach from the lowest round to the highest. Lines that lie on each other hide \
                       all but the last";

/// How late answers came, as far into the tail as was measured.
pub(crate) fn latencies(scenario: &str, cell: &Cell<'_>, curves: &Curves<'_>) -> Plot {
    let x = Axis::new("percentile: so many of the requests took no longer", Scale::Tail);
    let (from, load) = match cell.kind() {
        Kind::Closed => {
            ("sent", "Closed loop: what would have been sent during a pause is missing, so the tail is too good")
        }
        _ => ("due", "Open loop: time in a queue counts, and a request that was given up counts as its time limit"),
    };
    let y = Axis::new(format!("latency from when a request was {from}, ms"), Scale::Log);
    let title = format!("Latency: {scenario}, {}, {}", cell.name, cell.configuration.word());
    let note = format!("{load}. At each percentile the median of the valid rounds; {}{}", rounds(cell), early(cell));
    Plot { series: series(cell, |runs| curves.median(runs)), note, ..Plot::new(title, x, y) }
}

/// Whose line is not that of answers that were served in time.
fn early(cell: &Cell<'_>) -> String {
    let names = cell.contestants().into_iter().filter(|name| !cell.valid(name).is_empty() && !cell.is_served(name));
    let names: Vec<&str> = names.map(label).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(". Refusals, failures or late answers are among the latencies of {}", names.join("; ")),
    }
}

/// How many valid rounds and how many answers stand behind a line.
fn rounds(cell: &Cell<'_>) -> String {
    let counts: Vec<usize> = cell.contestants().iter().map(|name| cell.valid(name).len()).collect();
    let (low, high) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&0));
    let answers = cell.runs.iter().filter(|run| run.counts()).map(|run| run.answered());
    let fewest =
        answers.min().map_or(String::new(), |fewest| format!(", each with at least {} answers", short(fewest as f64)));
    let rounds = if low == high { format!("{low}") } else { format!("{low} to {high}") };
    format!("{rounds} of them for each line{fewest}")
}

/// Right answers over the number of connections; a plot for each delay, size and configuration that was tried with several numbers.
pub(crate) fn concurrency(scenario: &str, cells: &[Cell<'_>], warmth: &Warmth) -> Vec<Plot> {
    let closed = |cell: &&Cell<'_>| cell.kind() == Kind::Closed;
    let common = |run: &Run| format!("backend delay {} ms, body {} bytes", run.delay_ms, run.body_octets);
    alike(cells.iter().filter(closed), common)
        .into_iter()
        .filter_map(|(what, cells)| {
            let x = Axis::new("connections, each with one request under way (closed loop)", Scale::Log);
            let series = over(&cells, |run| run.connections as f64, |run| Some(run.goodput))?;
            let y = Axis::new("right answers a second", spread_of(&series));
            let title = format!("Throughput over concurrency: {scenario}, {what}");
            let note = format!("{MEDIANS}{}{}", nothing_of(&series, y.scale), warmth.still(cells.iter().copied()));
            Some(Plot { series, note, ..Plot::new(title, x, y) })
        })
        .collect()
}

/// A logarithmic scale where the greatest is so many times the least that the least would lie on the axis.
fn spread_of(series: &[Series]) -> Scale {
    let values = || series.iter().flat_map(|series| &series.points).map(|(_, y)| *y).filter(|y| *y > 0.0);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    if high > 10.0 * low { Scale::Log } else { Scale::Linear }
}

/// Who has a point that a logarithmic scale cannot show.
fn nothing_of(series: &[Series], scale: Scale) -> String {
    let has_zero = |series: &&Series| scale == Scale::Log && series.points.iter().any(|(_, y)| *y <= 0.0);
    let names: Vec<&str> = series.iter().filter(has_zero).map(|series| series.label.as_str()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(". Without a right answer somewhere, where no point is drawn: {}", names.join("; ")),
    }
}

/// Memory and threads over parked connections.
pub(crate) fn parked(scenario: &str, cells: &[Cell<'_>]) -> Vec<Plot> {
    let parked = |cell: &&Cell<'_>| cell.kind() == Kind::Parked;
    let mut plots = Vec::new();
    for (what, cells) in alike(cells.iter().filter(parked), |_| String::new()) {
        let mut add = |name: &str, unit: &str, value: fn(&Run) -> Option<f64>| {
            let title = format!("{name} over idle connections: {scenario}{what}");
            if let Some(series) = over(&cells, |run| run.connections as f64, value) {
                let (x, y) = (Axis::new("idle connections", Scale::Linear), Axis::new(unit, spread_of(&series)));
                plots.push(Plot { series, note: MEDIANS.into(), ..Plot::new(title, x, y) });
            }
        };
        add("Memory", "memory (PSS), MiB", |run| run.pss_kb.map(|kb| kb as f64 / 1024.0));
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
        let common = format!("{}, {}", common(run), cell.configuration.word());
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
            Some((x(runs.first()?), Summary::of(runs.iter().filter_map(|run| y(run)))?))
        };
        let one = |name: &&str| {
            let mut points: Vec<_> = cells.iter().filter_map(|cell| point(name, cell)).collect();
            points.sort_by(|(left, _), (right, _)| left.total_cmp(right));
            with_spread(name, &points)
        };
        names.iter().map(one).filter(|series| !series.points.is_empty()).collect()
    })
}
