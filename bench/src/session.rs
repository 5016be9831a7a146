//! A measurement from its first task to its last: processes started and ended, rows kept after each run.
//!
//! Whatever ends it, the last task, an error or Ctrl-C, ends what it started: processes are guards, and all of them are tied to this one.

use crate::child::{Output, Running, tied};
use crate::contestant::{self, Scratch, Setup, Started};
use crate::load::{OBJECTIVE, open, per_second, wrk};
use crate::measure::environment;
use crate::measure::run::{Measured, Site, measure};
use crate::parity::Peers;
use crate::plan::{Task, durations, in_words};
use crate::raw::{Configuration, Results, Run};
use crate::scenario::{Cell, Effort, Target};
use crate::stop::Stop;
use crate::summary;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

mod alike;
mod note;

/// Threads and connections by which the ceiling is found.
const CEILING_LOAD: (u64, u64) = (1, 50);

/// What is needed for it.
pub(crate) struct Session<'a> {
    effort: &'a Effort,
    results: Results,
    stop: Stop,
    scratch: Scratch,
    progress: ProgressBar,
    live: Option<Live<'a>>,
    /// Which limits of whom are noted already.
    noted: HashMap<(&'static str, Configuration), note::Noted>,
    /// Before which scenarios the pair was compared.
    compared: HashSet<&'static str>,
    /// What the twin does not have, as far as it is noted.
    lacking: HashMap<Configuration, HashSet<String>>,
    /// What the others are held against.
    peers: Peers,
    /// What client and backend reach without anybody between them, in answers a second; unknown without wrk.
    ceiling: Option<f64>,
}

/// A contestant that runs, before a backend of its own.
struct Live<'a> {
    task: Task<'a>,
    // Ended before the backend: fields are dropped in this order.
    started: Started,
    backend: Running,
    backend_address: SocketAddr,
    is_warm: bool,
}

impl<'a> Session<'a> {
    pub(crate) fn new(effort: &'a Effort, results: Results, stop: Stop) -> io::Result<Self> {
        Ok(Self {
            effort,
            results,
            stop,
            scratch: Scratch::new()?,
            progress: ProgressBar::hidden(),
            live: None,
            noted: HashMap::new(),
            compared: HashSet::new(),
            lacking: HashMap::new(),
            peers: Peers::start()?,
            ceiling: None,
        })
    }

    /// Runs all tasks.
    pub(crate) fn run(mut self, tasks: &[Task<'a>]) -> io::Result<()> {
        environment::facts().iter().try_for_each(|(key, value)| self.results.fact(key, value))?;
        self.effort.facts().iter().try_for_each(|(key, value)| self.results.fact(key, value))?;
        let first = if open::may_come_first()? { "raised" } else { "as all others': raising it is not allowed here" };
        self.results.fact("priority of the open loop", first)?;
        self.look_at_ceiling()?;
        let verdict = if self.effort.quick { "none: one round of short cells" } else { "as the data allow" };
        self.results.fact("verdict", verdict)?;
        let durations = durations(tasks, self.effort);
        self.progress = bar(durations.iter().sum());
        for (task, duration) in tasks.iter().zip(durations) {
            self.stop.check()?;
            self.progress.set_message(format!("{} {}", task.scenario.name, task.contestant));
            self.task(task)?;
            self.progress.inc(duration.as_millis() as u64);
        }
        self.progress.finish_and_clear();
        Ok(())
    }

    /// Before anything else: how many answers a second wrk has of the backend.
    fn look_at_ceiling(&mut self) -> io::Result<()> {
        let (_backend, address) = backend(self.effort.seed)?;
        let url = format!("http://{address}{}", Target::LIST.path());
        let reached = wrk::run(&url, CEILING_LOAD, Duration::from_secs(1), &self.stop);
        let reached = reached.map(|outcome| per_second(outcome.counts.ok, outcome.seconds));
        let told = match &reached {
            Ok(rate) => format!("{rate:.0} answers a second"),
            Err(error) => format!("not measured: {error}"),
        };
        self.ceiling = reached.ok();
        self.results.fact("ceiling of client and backend without a gateway", &told)
    }

    fn say(&self, line: &str) {
        self.progress.suspend(|| crate::table::say(line));
    }

    /// One group of cells; a contestant that does not start is a row that says so.
    fn task(&mut self, task: &Task<'a>) -> io::Result<()> {
        let reusable = self.effort.quick && self.live.as_ref().is_some_and(|live| live.task.shares_process_with(task));
        if let Some(live) = self.live.as_ref().filter(|_| reusable) {
            let limits = live.started.limits.clone();
            self.note(task, &limits, None)?;
        } else {
            self.live = None;
            self.compare_pair(task)?;
            match self.start(task) {
                Ok(live) => self.live = Some(live),
                Err(error) => {
                    self.stop.check()?;
                    self.say(&format!("{}, {:?}: {error}", task.contestant, task.configuration));
                    return self.note_missing(task, &error.to_string());
                }
            }
        }
        task.turns().into_iter().try_for_each(|cell| self.cell(task, cell))
    }

    fn start(&mut self, task: &Task<'a>) -> io::Result<Live<'a>> {
        let contestant = contestant::named(task.contestant).ok_or_else(|| io::Error::other("no such contestant"))?;
        let (backend, backend_address) = backend(self.effort.seed)?;
        let setup = setup(task, backend_address, self.peers.recorder());
        let started = contestant.start(&setup, &self.scratch)?;
        let parity = self.look_at(task, &setup, started.address)?;
        self.note(task, &started.limits, parity)?;
        Ok(Live { task: *task, started, backend, backend_address, is_warm: false })
    }

    fn cell(&mut self, task: &Task<'a>, cell: &Cell) -> io::Result<()> {
        self.stop.check()?;
        let Some(live) = &mut self.live else { return Ok(()) };
        let process = live.started.process.as_ref();
        let pids = || process.map(Running::pids).unwrap_or_default();
        let site = Site {
            address: live.started.address,
            pids: &pids,
            tells: is_ours(task.contestant),
            backend: live.backend_address,
            backend_pids: live.backend.pids(),
            seed: self.effort.seed_of(task.round),
            objective: OBJECTIVE,
            ceiling: self.ceiling,
            stop: &self.stop,
        };
        let outcome = measure(&site, cell, self.effort.patience(!live.is_warm));
        live.is_warm = true;
        self.stop.check()?;
        let rows = outcome.unwrap_or_else(|error| {
            let run = Run { cell: cell.name.clone(), void: format!("not measured: {error}"), ..Run::default() };
            vec![Measured { run, ..Measured::default() }]
        });
        rows.into_iter().try_for_each(|measured| self.keep(task, measured))
    }

    fn keep(&mut self, task: &Task<'a>, measured: Measured) -> io::Result<()> {
        let run = Run {
            scenario: task.scenario.name.into(),
            contestant: task.contestant.into(),
            configuration: task.configuration,
            round: task.round,
            position: task.position,
            ..measured.run
        };
        self.say(&summary::line(&run));
        self.results.keep(run, measured.latencies, measured.windows).map(drop)
    }
}

/// What the contestant is told for the task.
fn setup(task: &Task<'_>, backend: SocketAddr, recorder: SocketAddr) -> Setup {
    let route = |name: &&str| contestant::Route { name: (*name).to_owned(), servers: vec![backend] };
    let mut overrides = task.group.overrides.clone();
    if is_ours(task.contestant) {
        overrides.push(("management.endpoints.web.exposure.include".into(), "health,prometheus".into()));
    }
    Setup {
        routes: task.group.services.iter().map(route).collect(),
        workers: task.group.workers,
        configuration: task.configuration,
        recorder: Some(recorder),
        overrides,
    }
}

/// Ours tell their counters.
fn is_ours(contestant: &str) -> bool {
    contestant.starts_with("portcullis") || contestant == "twin"
}

/// The backend, in a process of its own.
fn backend(seed: u64) -> io::Result<(Running, SocketAddr)> {
    let mut command = tied(&std::env::current_exe()?);
    command.args(["backend", "--seed", &seed.to_string()]);
    Running::listening(command, Output::Stdout)
}

/// On standard error, where it is one of a terminal; counts planned milliseconds.
fn bar(planned: Duration) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {percent} %  {elapsed} of about {prefix}, {eta} left  {msg}");
    let bar = ProgressBar::new(planned.as_millis() as u64).with_prefix(in_words(planned));
    bar.enable_steady_tick(Duration::from_secs(1));
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
