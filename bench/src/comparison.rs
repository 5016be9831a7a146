//! `bench quick` and `bench all`: what was chosen, how long it will take, the measurement, and its tables.

use crate::contestant::{self, Availability};
use crate::footprint;
use crate::plan::{durations, in_words, tasks};
use crate::raw::{self, Configuration, Data, Part, Participant, Results};
use crate::scenario::{self, Effort, Scenario};
use crate::session::Session;
use crate::stop::Stop;
use crate::summary;
use crate::table::say;
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to measure, how long, how often.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Only these scenarios: core, scheduling, seed0 to seed3, sweep, idle, isolation, tail, bodies, overload; in `quick` footprint too.
    #[arg(long, value_delimiter = ',')]
    scenario: Vec<String>,
    /// Only these contestants, also in scenarios that have them not by themselves; `bench peers list` names them.
    #[arg(long, value_delimiter = ',')]
    contestant: Vec<String>,
    /// Only this configuration, also of scenarios that are equalised by themselves.
    #[arg(long)]
    configuration: Option<Configuration>,
    /// The length of each cell instead of its own; wrk takes whole seconds, 1 at least. `overload` and `isolation` keep a least length, and
    /// in `all` every open loop that is judged by its latency at 99 %.
    #[arg(long, value_parser = positive)]
    seconds: Option<f64>,
    /// Rounds: five by default, one in `quick`.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Threads of blocking contestants when equalised, instead of each scenario's own number.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    workers: Option<u16>,
    /// The most windows of a warm-up: at most 5 of these for later cells of the same process; 0 for none.
    #[arg(long)]
    warm_up: Option<u32>,
    /// The length of each window of a warm-up, in whole seconds: two by default, one in `quick`.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    window: Option<u32>,
    /// Everybody in core alone, the other scenarios for direct, portcullis, its twin and nginx; `quick` is always so.
    #[arg(long)]
    narrow: bool,
    /// One process for the cells of a group that a contestant plays in one round, instead of one for each: a JVM is warmed once. In even
    /// rounds it plays them backwards. Not in `idle`, which is about memory.
    #[arg(long)]
    shared: bool,
    /// Of arrivals and of heavy-tailed delays.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where results go: a new directory below bench/results by default, named by the date.
    #[arg(long)]
    results: Option<PathBuf>,
    /// Says what would be done and how long it would take, and does nothing.
    #[arg(long)]
    plan: bool,
}

/// The one part of `quick` that is no scenario: it has one contestant and no rounds.
const FOOTPRINT: &str = "footprint";

/// One round of short cells.
pub(crate) fn quick(options: &Options) -> io::Result<()> {
    let stop = Stop::on_signals()?;
    let wants_footprint = wants(&options.scenario, FOOTPRINT) && wants(&options.contestant, "portcullis");
    let others: Vec<String> = options.scenario.iter().filter(|name| *name != FOOTPRINT).cloned().collect();
    if options.scenario.is_empty() || !others.is_empty() {
        say("not a verdict: one round of short cells, all parts on the same processors");
        compare(&Options { scenario: others, ..options.clone() }, &options.effort(Effort::QUICK), &stop)?;
    }
    if wants_footprint && !options.plan {
        raise_descriptors()?;
        footprint::run(&contestant::Scratch::new()?, &stop)?;
    }
    Ok(())
}

/// Five rounds, in which nobody is favoured.
pub(crate) fn all(options: &Options) -> io::Result<()> {
    compare(options, &options.effort(Effort::ALL), &Stop::on_signals()?)
}

/// What was measured in parts, as one; a scenario that was measured again counts as it was the last time.
pub(crate) fn join(parts: &[PathBuf], into: &Path, again: bool) -> io::Result<()> {
    let read = |dir: &PathBuf| Ok(Part { name: dir.display().to_string(), data: Data::read(dir)? });
    let mut parts = parts.iter().map(read).collect::<io::Result<Vec<Part>>>()?;
    if again {
        raw::leave_out_what_came_again(&mut parts);
    }
    raw::join(&parts).map_err(io::Error::other)?.write(into)?;
    crate::report::run(into)
}

impl Options {
    fn effort(&self, base: Effort) -> Effort {
        let Self { seconds, rounds, warm_up, window, narrow, shared, seed, .. } = *self;
        Effort { seconds, rounds, warm_up, window, narrow, shared, seed, ..base }
    }
}

/// Nothing chosen is everything.
fn wants(chosen: &[String], name: &str) -> bool {
    chosen.is_empty() || chosen.iter().any(|other| other == name)
}

fn compare(options: &Options, effort: &Effort, stop: &Stop) -> io::Result<()> {
    let mut scenarios = chosen(scenario::all(effort), &options.scenario)?;
    if let Some(workers) = options.workers {
        scenarios.iter_mut().flat_map(|it| &mut it.groups).for_each(|group| group.workers = workers.into());
    }
    let (contestants, missing) = contestants(&options.contestant)?;
    let named: &[&str] = if options.contestant.is_empty() { &[] } else { &contestants };
    scenarios.iter_mut().for_each(|scenario| scenario.invite(named, options.configuration));
    let tasks = tasks(&scenarios, &contestants, options.configuration, effort);
    let planned: Duration = durations(&tasks, effort).iter().sum();
    for scenario in &scenarios {
        say(&format!("{:<10} {}", scenario.name, scenario.about));
    }
    missing.iter().for_each(|it| say(&format!("{} is missing: {}", it.contestant, it.missing)));
    if tasks.is_empty() && missing.is_empty() {
        return Err(io::Error::other("nothing to measure: nobody who was chosen has a part in what was chosen"));
    }
    let rounds = effort.rounds();
    say(&format!("contestants: {}\n{rounds} rounds, at most about {}", contestants.join(", "), in_words(planned)));
    if options.plan {
        return Ok(());
    }
    raise_descriptors()?;
    let dir = options.results.clone().map_or_else(|| new_directory(&results_folder()), Ok)?;
    let mut results = Results::create(&dir)?;
    missing.into_iter().try_for_each(|participant| results.participant(participant))?;
    scenarios.iter().try_for_each(|it| results.fact(&format!("threads in {}", it.name), &it.workers()))?;
    let ended = Session::new(effort, results, stop.clone())?.run(&tasks);
    // Also after Ctrl-C: what was measured until then is told.
    let data = Data::read(&dir)?;
    summary::tables(&data.runs).iter().for_each(|line| say(line));
    say(&format!("verdict: {}\nraw data: {}", data.fact("verdict").unwrap_or("none"), dir.display()));
    crate::report::run(&dir)?;
    ended
}

/// The scenarios of these names; an error names those that there are.
fn chosen(scenarios: Vec<Scenario>, names: &[String]) -> io::Result<Vec<Scenario>> {
    let known: Vec<&str> = scenarios.iter().map(|scenario| scenario.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(io::Error::other(format!("{name} is no scenario; there are {}", known.join(", "))));
    }
    Ok(scenarios.into_iter().filter(|scenario| wants(names, scenario.name)).collect())
}

/// Those that are ready, and those that are missing and why.
fn contestants(names: &[String]) -> io::Result<(Vec<&'static str>, Vec<Participant>)> {
    if let Some(name) = names.iter().find(|name| contestant::named(name).is_none()) {
        let known: Vec<&str> = contestant::all().map(|contestant| contestant.name).collect();
        return Err(io::Error::other(format!("{name} is no contestant; there are {}", known.join(", "))));
    }
    let (mut ready, mut missing) = (Vec::new(), Vec::new());
    for contestant in contestant::all().filter(|contestant| wants(names, contestant.name)) {
        match contestant.availability() {
            Availability::Ready => ready.push(contestant.name),
            Availability::Missing { why, how } => missing.push(Participant {
                contestant: contestant.name.into(),
                missing: format!("{why}; {how}"),
                ..Participant::default()
            }),
        }
    }
    Ok((ready, missing))
}

fn results_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results")
}

/// A directory of today's that is not there yet: `2026-11-30`, `2026-11-30-2`.
fn new_directory(folder: &Path) -> io::Result<PathBuf> {
    let today = jiff::Timestamp::now().to_string();
    let today = today.get(..10).unwrap_or("today");
    let named = |n: u32| folder.join(if n == 1 { today.to_owned() } else { format!("{today}-{n}") });
    let free = (1..1000).map(named).find(|path| !path.exists());
    free.ok_or_else(|| io::Error::other(format!("too many results in {}", folder.display())))
}

/// The soft limit of open files up to the hard one; children inherit it.
fn raise_descriptors() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let hard = getrlimit(Resource::Nofile).maximum;
    Ok(setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard })?)
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("a number of seconds, more than 0".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn scenarios_are_chosen_by_name_and_unknown_ones_refused() {
        let all = || scenario::all(&Effort::QUICK);
        let picked = chosen(all(), &names(&["tail", "seed2"])).expect("known");
        assert_eq!(picked.iter().map(|scenario| scenario.name).collect::<Vec<_>>(), ["seed2", "tail"]);
        assert_eq!(chosen(all(), &[]).expect("all").len(), all().len());
        let error = chosen(all(), &names(&["tale"])).expect_err("refused").to_string();
        assert!(error.contains("tale") && error.contains("tail"), "{error}");
    }

    #[test]
    fn contestants_are_chosen_by_name_and_unknown_ones_refused() {
        let (ready, missing) = contestants(&names(&["direct", "portcullis"])).expect("known");
        assert_eq!((ready, missing.len()), (vec!["direct", "portcullis"], 0));
        let error = contestants(&names(&["zuul3"])).expect_err("refused").to_string();
        assert!(error.contains("zuul3") && error.contains("zuul2"), "{error}");
    }

    #[test]
    fn results_of_one_day_do_not_meet() {
        let folder = std::env::temp_dir().join(format!("portcullis-days-{}", std::process::id()));
        let first = new_directory(&folder).expect("a name");
        std::fs::create_dir_all(&first).expect("made");
        let second = new_directory(&folder).expect("a name");
        std::fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(second, PathBuf::from(format!("{}-2", first.display())));
    }

    #[test]
    fn seconds_are_more_than_none() {
        assert_eq!(positive("0.5"), Ok(0.5));
        assert!(["0", "-1", "x", "inf"].iter().all(|text| positive(text).is_err()));
    }
}
