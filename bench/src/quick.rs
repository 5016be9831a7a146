//! `bench quick`: a first measurement, in a few minutes.
//!
//! Every cell is measured for all contestants in turn, forwards and backwards (ABBA), and told as medians; ratios are to nginx and to no
//! proxy in the same cell. All parts share the machine's processors, so the closed-loop figures are capacity probes, not verdicts.

use crate::child::{Running, Usage};
use crate::contestant::{self, Availability, Scratch, Setup, Started};
use crate::footprint;
use crate::table::{median, say};
use crate::wrk::{self, Outcome};
use clap::{Args, ValueEnum};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// How long, how often.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Seconds of each run of wrk.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Rounds; each cell tells their median.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only these parts.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Answers at once.
    Static,
    /// Answers after a delay.
    Slow,
    /// Memory and threads.
    Footprint,
}

impl Options {
    fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

const STATIC: (&str, &[usize]) = ("/product/list", &[10, 200, 1000]);
const SLOW: (&str, &[usize]) = ("/product/slow", &[100, 250, 500, 1000]);
const DELAY_MS: u64 = 50;

/// Measures and prints.
pub(crate) fn run(options: &Options) -> io::Result<()> {
    raise_descriptors()?;
    let scratch = Scratch::new()?;
    let (_backend, address) = contestant::backend(DELAY_MS)?;
    say(&format!("backend: one epoll thread on {address}\n"));
    if options.wants(Part::Static) {
        measure("static", options, STATIC, &start_all(address, 200, &scratch)?)?;
    }
    if options.wants(Part::Slow) {
        measure("50 ms", options, SLOW, &start_all(address, 1200, &scratch)?)?;
    }
    if options.wants(Part::Footprint) {
        footprint::run(&scratch)?;
    }
    Ok(())
}

/// No proxy, nginx and portcullis with `workers` threads; who is missing is left out, and said.
fn start_all(backend: SocketAddr, workers: usize, scratch: &Scratch) -> io::Result<Vec<Contender>> {
    let setup = Setup { workers, ..Setup::new(backend) };
    let mut started = Vec::new();
    for contestant in ["direct", "nginx", "portcullis"].into_iter().filter_map(contestant::named) {
        match contestant.availability() {
            Availability::Missing { why, how } => say(&format!("left out: {why} ({how})")),
            Availability::Ready => {
                let Started { address, process, limits } = contestant.start(&setup, scratch)?;
                for limit in limits.iter().filter(|limit| limit.told) {
                    say(&format!("{}: {} = {}", contestant.name, limit.key, limit.value));
                }
                started.push(Contender { name: contestant.name, address, process });
            }
        }
    }
    Ok(started)
}

/// One that runs.
struct Contender {
    name: &'static str,
    address: SocketAddr,
    process: Option<Running>,
}

fn measure(title: &str, options: &Options, (path, cells): (&str, &[usize]), all: &[Contender]) -> io::Result<()> {
    say(&format!("{title}: medians of {} rounds of {} s, two wrk threads", options.rounds, options.seconds));
    say(&format!(
        "{:>6}  {:<17} {:>9} {:>8} {:>8} {:>7} {:>8} {:>9}",
        "conns", "", "req/s", "p50 ms", "p99 ms", "errors", "/nginx", "/direct"
    ));
    for contestant in all {
        wrk::run(&url(contestant, path), 50, Duration::from_secs(2))?; // warm-up
    }
    for &connections in cells {
        let outcomes = cell(options, path, connections, all)?;
        let rate = |name| {
            let found = all.iter().zip(&outcomes).find(|(c, _)| c.name == name);
            found.map(|(_, outcome)| outcome.requests_per_second)
        };
        for (contestant, outcome) in all.iter().zip(&outcomes) {
            let ours = outcome.requests_per_second;
            say(&format!(
                "{connections:>6}  {:<17} {ours:>9.0} {:>8.2} {:>8.2} {:>7} {:>8} {:>9}",
                contestant.name,
                outcome.p50_ms,
                outcome.p99_ms,
                outcome.errors,
                ratio(ours, rate("nginx")),
                ratio(ours, rate("direct")),
            ));
        }
    }
    for contestant in all {
        if let Some(usage) = contestant.process.as_ref().map(|process| process.usage()).transpose()? {
            let Usage { threads, peak_kb, .. } = usage;
            say(&format!("{}: {threads} threads now, {} MB resident at most", contestant.name, peak_kb / 1024));
        }
    }
    say("");
    Ok(())
}

/// How often `base` goes into `ours`; `-` without one to compare with.
fn ratio(ours: f64, base: Option<f64>) -> String {
    base.filter(|base| *base > 0.0).map_or("-".into(), |base| format!("{:.2}", ours / base))
}

/// One cell: every contestant in turn, each second round backwards; medians, and the sum of errors.
fn cell(options: &Options, path: &str, connections: usize, all: &[Contender]) -> io::Result<Vec<Outcome>> {
    let mut runs = vec![Vec::new(); all.len()];
    for round in 0..options.rounds {
        let mut order: Vec<usize> = (0..all.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            runs[index].push(wrk::run(&url(&all[index], path), connections, Duration::from_secs(options.seconds))?);
        }
    }
    Ok(runs.iter().map(|runs| summary(runs)).collect())
}

fn summary(runs: &[Outcome]) -> Outcome {
    let of = |figure: fn(&Outcome) -> f64| median(runs.iter().map(figure));
    Outcome {
        requests_per_second: of(|run| run.requests_per_second),
        p50_ms: of(|run| run.p50_ms),
        p99_ms: of(|run| run.p99_ms),
        errors: runs.iter().map(|run| run.errors).sum(),
    }
}

fn url(contestant: &Contender, path: &str) -> String {
    format!("http://{}{path}", contestant.address)
}

/// The soft limit of open files up to the hard one; children inherit it.
fn raise_descriptors() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let hard = getrlimit(Resource::Nofile).maximum;
    Ok(setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_to_nobody_is_no_number() {
        assert_eq!([ratio(1.0, Some(2.0)), ratio(1.0, None), ratio(1.0, Some(0.0))], ["0.50", "-", "-"]);
    }

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn a_part_that_is_not_known_is_refused_and_the_known_ones_are_named() {
        let parse = |only: &str| <Line as clap::Parser>::try_parse_from(["bench", "--only", only]);
        let options = parse("slow,footprint").unwrap_or_else(|error| panic!("{error}")).options;
        assert!(options.wants(Part::Slow) && options.wants(Part::Footprint) && !options.wants(Part::Static));
        let error = parse("statik").err().expect("refused").to_string();
        assert!(["static", "slow", "footprint"].iter().all(|part| error.contains(part)), "{error}");
    }

    #[test]
    fn a_cell_tells_medians_and_all_errors() {
        let run = |rate, errors| Outcome { requests_per_second: rate, errors, ..Outcome::default() };
        let summary = summary(&[run(3.0, 1), run(1.0, 0), run(2.0, 2)]);
        assert_eq!((summary.requests_per_second, summary.errors), (2.0, 3));
    }
}
