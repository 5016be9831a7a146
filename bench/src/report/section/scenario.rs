//! One scenario: what it asks, the author's figures, tables, verdicts, plots.

use super::{cost, glance, load, published, ratios, served, verdicts};
use crate::raw::{Configuration, Data, Kind, Run};
use crate::report::charts::{Curves, TwoSides, concurrency, crossover, latencies, over_time, parked};
use crate::report::court::Court;
use crate::report::document::Document;
use crate::report::pairs::{Cell, cells};
use crate::scenario::{self, Effort};

const SWEEP: &str = "sweep";

/// The one with everybody.
const CORE: &str = "core";

/// Adds the scenario of this name.
pub(super) fn scenario(document: &mut Document, data: &Data, name: &str) {
    let cells = with_nginx_beside(name, cells(&data.runs, name));
    let court = Court::of(data);
    document.heading(2, format!("{name}{}", about(name)));
    document.paragraph(loads(&cells));
    if let Some(threads) = threads(data, name) {
        document.paragraph(format!(
            "Threads of blocking contestants, when equalised: {threads}{}.",
            of_delays(name, &threads)
        ));
    }
    document.table(load::table(&cells));
    if name == CORE {
        for configuration in [Configuration::Stock, Configuration::Equalised] {
            document.table(glance::table(name, &cells, configuration, &court.warmth));
        }
    }
    document.table(published::table(name, &cells));
    let otherwise = scenario::published::otherwise(name);
    if !otherwise.is_empty() {
        document.paragraph(format!("A repetition as far as its author told how. {otherwise}"));
    }
    plots(document, data, &court, (name, &cells));
    document.heading(3, format!("{name}: verdicts"));
    document.table(verdicts::table(data, &court, &cells));
    document.heading(3, format!("{name}: figures"));
    document.table(served::table(&cells));
    document.table(ratios::table(&cells));
    document.table(cost::table(&cells));
    document.table(cost::worth(&cells));
}

fn all() -> Vec<scenario::Scenario> {
    scenario::all(&Effort::ALL)
}

fn about(name: &str) -> String {
    all()
        .iter()
        .find(|scenario| scenario.name == name)
        .map_or(String::new(), |scenario| format!(": {}", scenario.about))
}

/// How many threads blocking contestants had, when equalised: as the measurement noted it, since it can be told another number; else, for
/// results without the note, what the scenario says.
fn threads(data: &Data, name: &str) -> Option<String> {
    let noted = data.fact(&format!("threads in {name}")).map(str::to_owned);
    noted.or_else(|| Some(all().iter().find(|scenario| scenario.name == name)?.workers()))
}

/// Which of several numbers of threads belongs to what, where the scenario has one for each of its groups.
fn of_delays(name: &str, threads: &str) -> String {
    let Some(scenario) = all().into_iter().find(|it| it.name == name && it.groups.len() > 1) else {
        return String::new();
    };
    if scenario.workers() != threads || !threads.contains(',') {
        return String::new();
    }
    let of = |group: &scenario::Group| {
        let names: Vec<&str> = group.cells.iter().map(|cell| cell.name.as_str()).collect();
        format!("{} in {}", group.workers, names.join(", "))
    };
    format!(" ({})", scenario.groups.iter().map(of).collect::<Vec<_>>().join("; "))
}

/// How requests were brought, and what may be made of it.
fn loads(cells: &[Cell<'_>]) -> String {
    let says = |kind: Kind| match kind {
        Kind::Closed => {
            "Closed loop on shared processors: a connection sends its next request when the last was answered. Its rows are capacity probes; \
             their latencies leave out the requests that would have come during a pause."
        }
        Kind::Open => "Open loop: requests come at a constant rate, whatever becomes of them.",
        Kind::Poisson => {
            "Open loop: requests come at random times with a constant mean rate, whatever becomes of them."
        }
        Kind::Parked => {
            "Parked: connections stand idle, and memory and threads are looked at. Not all memory is the model's: nginx sets aside a place for \
             each of the worker_connections that it is told, hyper keeps two buffers of 8 KiB with each of the twin's connections, and a JVM \
             has what its heap grew to."
        }
    };
    let mut words: Vec<&str> = Vec::new();
    for cell in cells {
        let word = says(cell.kind());
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// In the comparison of nginx's workers, nginx has a cell for each number of them and the gateways have one: they are set side by side.
fn with_nginx_beside<'a>(name: &str, mut cells: Vec<Cell<'a>>) -> Vec<Cell<'a>> {
    if name != "seed3" {
        return cells;
    }
    let find = |configuration: Configuration| {
        cells.iter().find(move |cell| cell.name == "gateway" && cell.configuration == configuration).cloned()
    };
    let beside = |cell: &Cell<'a>| -> Option<Vec<&'a Run>> {
        let is_nginx = cell.contestants() == ["nginx"];
        is_nginx.then(|| find(cell.configuration)).flatten().map(|gateways| gateways.runs)
    };
    let gateways: Vec<Option<Vec<&Run>>> = cells.iter().map(beside).collect();
    if gateways.iter().all(Option::is_none) {
        return cells;
    }
    for (cell, gateways) in cells.iter_mut().zip(gateways) {
        cell.runs.extend(gateways.unwrap_or_default());
    }
    cells.retain(|cell| cell.name != "gateway" || cell.contestants().contains(&"nginx"));
    cells
}

fn plots(document: &mut Document, data: &Data, court: &Court, (name, cells): (&str, &[Cell<'_>])) {
    let threads = threads(data, SWEEP).filter(|_| name == SWEEP).and_then(|threads| threads.parse().ok());
    if let Some(threads) = threads {
        crossover(cells, threads, court).into_iter().for_each(|plot| document.figure(plot));
    }
    concurrency(name, cells, &court.warmth).into_iter().for_each(|plot| document.figure(plot));
    parked(name, cells).into_iter().for_each(|plot| document.figure(plot));
    let curves = Curves::of(data);
    // The sweep has many cells, and its own plots.
    for cell in cells.iter().filter(|cell| name != SWEEP && cell.kind() != Kind::Parked) {
        document.figure(latencies(name, cell, &curves));
    }
    let overloaded = |cell: &&Cell<'_>| {
        let mut windows = data.windows.iter().filter(|window| window.phase == "overload");
        windows.any(|window| cell.runs.iter().any(|run| run.id == window.run))
    };
    for cell in cells.iter().filter(overloaded) {
        document.figure(over_time(name, cell, data, TwoSides::Good));
        document.figure(over_time(name, cell, data, TwoSides::Failed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_stand_beside_each_number_of_nginxs_workers_and_alone_where_nginx_is_missing() {
        let run = |cell: &str, contestant: &str| Run {
            scenario: "seed3".into(),
            cell: cell.into(),
            contestant: contestant.into(),
            ..Run::default()
        };
        let told = |runs: &[Run]| -> Vec<String> {
            let cells = with_nginx_beside("seed3", cells(runs, "seed3"));
            cells.iter().map(|cell| format!("{}: {}", cell.name, cell.contestants().join(" "))).collect()
        };
        let ours = run("gateway", "portcullis");
        let both = [run("nginx, 1 workers", "nginx"), run("nginx, 2 workers", "nginx"), ours.clone()];
        assert_eq!(told(&both), ["nginx, 1 workers: portcullis nginx", "nginx, 2 workers: portcullis nginx"]);
        assert_eq!(told(&[ours]), ["gateway: portcullis"]);
    }
}
