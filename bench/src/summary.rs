//! What is printed: a line for each run when it ends, and at the end a table for each scenario, medians with their spread.

use crate::measure::statistics::Summary;
use crate::raw::{Configuration, Kind, Run, scenarios};
use crate::scenario::published;
use std::collections::BTreeMap;

/// One run on one line.
pub(crate) fn line(run: &Run) -> String {
    let offered = run.offered_per_second.map_or(String::new(), |rate| format!(" of {rate:.0}"));
    let void = if run.counts() { String::new() } else { format!("  VOID: {}", run.void) };
    format!(
        "{:<9} {:<34} {:<22} {:<9} {:>7.0}{offered}/s  p50 {} p99 {} ms  answered {} failed {}{void}",
        run.scenario,
        run.cell,
        run.contestant,
        run.configuration.word(),
        run.goodput,
        number(run.p50_ms, 2),
        number(run.p99(), 2),
        run.answered(),
        run.failed(),
    )
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.digits$}"))
}

/// A cell of a scenario in one configuration.
type Key<'a> = (&'a str, &'a str, Configuration);

/// Tables of all runs: cells in the order of their first runs.
pub(crate) fn tables(runs: &[Run]) -> Vec<String> {
    let mut keys: Vec<Key<'_>> = Vec::new();
    let mut cells: BTreeMap<Key<'_>, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        let key = (run.scenario.as_str(), run.cell.as_str(), run.configuration);
        if !keys.contains(&key) {
            keys.push(key);
        }
        cells.entry(key).or_default().push(run);
    }
    let mut lines = Vec::new();
    // Runs of a glance come by contestants, so a scenario's cells may stand apart.
    for scenario in scenarios(runs) {
        lines.extend([String::new(), format!("== {scenario}"), HEAD.into()]);
        for key in keys.iter().filter(|key| key.0 == scenario) {
            lines.extend(table(key, &cells[key]));
        }
        lines.extend(published_lines(scenario));
    }
    lines
}

const HEAD: &str = "contestant                runs  good/s  spread   p50 ms   p99 ms  failed  cpu %  cpu ms/1000  MB  threads  /nginx  /direct";

fn table((_, cell, configuration): &Key<'_>, runs: &[&Run]) -> Vec<String> {
    let title = if runs[0].kind == Kind::Closed { "  (closed loop: a capacity probe)" } else { "" };
    let mut lines = vec![format!("-- {cell}, {}{title}", configuration.word())];
    let mut contestants: Vec<&str> = Vec::new();
    for run in runs {
        if !contestants.contains(&run.contestant.as_str()) {
            contestants.push(&run.contestant);
        }
    }
    let rate = |name: &str| Summary::of(counting(runs, name).map(|run| run.goodput)).map(|rate| rate.median);
    for name in contestants {
        lines.push(row(name, runs, rate("nginx"), rate("direct")));
    }
    lines
}

/// The runs of a contestant that count.
fn counting<'a>(runs: &'a [&'a Run], contestant: &'a str) -> impl Iterator<Item = &'a &'a Run> {
    runs.iter().filter(move |run| run.contestant == contestant && run.counts())
}

fn row(name: &str, runs: &[&Run], nginx: Option<f64>, direct: Option<f64>) -> String {
    let voids: Vec<&&Run> = runs.iter().filter(|run| run.contestant == name && !run.counts()).collect();
    let void = voids.first().map_or(String::new(), |run| format!("  {} void: {}", voids.len(), run.void));
    let of = |figure: fn(&Run) -> Option<f64>| Summary::of(counting(runs, name).filter_map(|run| figure(run)));
    let Some(good) = of(|run| Some(run.goodput)) else { return format!("{name:<24} {void}") };
    let median = |figure: fn(&Run) -> Option<f64>, digits| number(of(figure).map(|figure| figure.median), digits);
    let failed: u64 = counting(runs, name).map(|run| run.failed()).sum();
    format!(
        "{name:<24} {:>5} {:>7.0} {:>6.0}% {:>8} {:>8} {failed:>7} {:>6} {:>12} {:>3} {:>8} {:>7} {:>8}{void}",
        good.runs,
        good.median,
        good.spread() * 100.0,
        median(|run| run.p50_ms, 2),
        median(Run::p99, 2),
        median(|run| Some(run.share(run.cpu_seconds())? * 100.0), 0),
        median(|run| run.cpu_per_thousand.map(|cpu| cpu * 1000.0), 1),
        median(|run| run.pss_kb.map(|kb| kb as f64 / 1024.0), 0),
        median(|run| run.threads.map(|threads| threads as f64), 0),
        ratio(good.median, nginx),
        ratio(good.median, direct),
    )
}

/// How often `base` goes into `ours`; `-` without one to compare with.
fn ratio(ours: f64, base: Option<f64>) -> String {
    number(base.filter(|base| *base > 0.0).map(|base| ours / base), 2)
}

fn published_lines(scenario: &str) -> Vec<String> {
    let mut lines: Vec<String> = published::of(scenario)
        .map(|it| format!("   {:<30} {:<16} {:<22} {} {}", it.cell, it.contestant, it.figure, it.value, it.unit))
        .collect();
    if !lines.is_empty() {
        lines.insert(0, "-- published by its author, on another machine, and repeated as far as was told how:".into());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(contestant: &str, goodput: f64, void: &str) -> Run {
        let (scenario, cell) = ("core".to_owned(), "static c10".to_owned());
        Run { scenario, cell, contestant: contestant.into(), goodput, ok: 1, void: void.into(), ..Run::default() }
    }

    #[test]
    fn medians_stand_beside_nginx_and_no_proxy_and_void_runs_are_left_out() {
        let runs = [
            run("direct", 200.0, ""),
            run("nginx", 100.0, ""),
            run("portcullis", 70.0, ""),
            run("portcullis", 90.0, ""),
            run("portcullis", 1.0, "2 were lost"),
        ];
        let lines = tables(&runs);
        let ours = lines.iter().find(|line| line.starts_with("portcullis")).expect("a row");
        let words: Vec<&str> = ours.split_whitespace().collect();
        assert_eq!(words[..4], ["portcullis", "2", "80", "25%"]);
        assert!(ours.contains("0.80") && ours.contains("0.40") && ours.ends_with("1 void: 2 were lost"), "{ours}");
        assert!(lines.iter().any(|line| line.contains("capacity probe")));
    }

    #[test]
    fn a_ratio_to_nobody_is_no_number() {
        assert_eq!([ratio(1.0, Some(2.0)), ratio(1.0, None), ratio(1.0, Some(0.0))], ["0.50", "-", "-"]);
    }

    #[test]
    fn the_authors_own_figures_stand_below() {
        let seed = |name: &str| Run { scenario: name.into(), ..run("nginx", 1.0, "") };
        assert!(tables(&[seed("seed0")]).iter().any(|line| line.contains("37372.05")));
        assert!(!tables(&[seed("tail")]).iter().any(|line| line.contains("published")));
    }
}
