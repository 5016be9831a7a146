//! The raw data of a measurement, as CSV: written after each run, so that an interruption loses one run at most, and read back by the report.
//!
//! ```text
//! bench/results/<date>/runs.csv          one row a run
//!                      latencies.csv     each run's latency distribution: a percentile curve
//!                      windows.csv       goodput over time: warm-up curves, and recovery after an overload
//!                      contestants.csv   who took part with which limits, and who is missing and why
//!                      environment.csv   kernel, processor, versions, limits, seeds of randomness
//! ```

mod join;
mod run;
mod tally;
#[cfg(test)]
mod tests;

pub(crate) use join::{Part, join, leave_out_what_came_again};
pub(crate) use run::{Configuration, Kind, Run, scenarios};
pub(crate) use tally::Tally;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::Path;

/// A point of a run's latency distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// [`Run::id`].
    pub(crate) run: u32,
    /// From 0 to 100.
    pub(crate) percentile: f64,
    /// At most this long, in milliseconds: from the intended send time in an open loop.
    pub(crate) ms: f64,
}

/// What happened in a part of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Window {
    /// [`Run::id`].
    pub(crate) run: u32,
    /// Which part: `warm-up`, `measured`, `overload`, `recovery`.
    pub(crate) phase: String,
    /// When it began, in seconds from the begin of the warm-up or of the measured time.
    pub(crate) at_seconds: f64,
    /// How long it lasted.
    pub(crate) seconds: f64,
    /// Requests a second that were scheduled; empty for a closed loop.
    pub(crate) offered_per_second: Option<f64>,
    /// Right answers a second; of an open loop those within the objective to what was due then, whenever they came.
    pub(crate) goodput: f64,
    /// Refusals and failures a second.
    pub(crate) failed_per_second: f64,
}

/// Who takes part, or why not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Participant {
    /// The name in [`Run::contestant`].
    pub(crate) contestant: String,
    /// With which limits.
    pub(crate) configuration: Configuration,
    /// What it says of its version.
    pub(crate) version: String,
    /// Every limit in its path, as `key = value`, one a line; of a later scenario those that it sets otherwise.
    pub(crate) limits: String,
    /// The scenario that set them otherwise; empty at the first start.
    #[serde(default)]
    pub(crate) scenario: String,
    /// Why it is missing, and how to get it; empty when it took part.
    pub(crate) missing: String,
    /// How it differs from portcullis in what it does, or that it does not; empty when never compared.
    pub(crate) parity: String,
}

/// Something about the machine or the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fact {
    /// `kernel`, `cpu`, `seed`.
    pub(crate) key: String,
    /// Its value.
    pub(crate) value: String,
}

/// Everything that one measurement left.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Data {
    pub(crate) runs: Vec<Run>,
    pub(crate) latencies: Vec<Latency>,
    pub(crate) windows: Vec<Window>,
    pub(crate) participants: Vec<Participant>,
    pub(crate) environment: Vec<Fact>,
}

impl Data {
    /// Reads a directory that [`Results`] wrote.
    pub(crate) fn read(dir: &Path) -> io::Result<Self> {
        Ok(Self {
            runs: read(&dir.join(RUNS))?,
            latencies: read(&dir.join(LATENCIES))?,
            windows: read(&dir.join(WINDOWS))?,
            participants: read(&dir.join(CONTESTANTS))?,
            environment: read(&dir.join(ENVIRONMENT))?,
        })
    }

    /// Writes all of it as a measurement would; runs are numbered from 1 in their order.
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        let mut results = Results::create(dir)?;
        for run in &self.runs {
            let latencies = self.latencies.iter().filter(|latency| latency.run == run.id).cloned().collect();
            let windows = self.windows.iter().filter(|window| window.run == run.id).cloned().collect();
            results.keep(run.clone(), latencies, windows)?;
        }
        self.participants.iter().try_for_each(|it| results.participant(it.clone()))?;
        self.environment.iter().try_for_each(|it| results.fact(&it.key, &it.value))
    }

    /// The value of `key` in the environment.
    pub(crate) fn fact(&self, key: &str) -> Option<&str> {
        self.environment.iter().find(|fact| fact.key == key).map(|fact| fact.value.as_str())
    }
}

const RUNS: &str = "runs.csv";
const LATENCIES: &str = "latencies.csv";
const WINDOWS: &str = "windows.csv";
const CONTESTANTS: &str = "contestants.csv";
const ENVIRONMENT: &str = "environment.csv";

/// Where a measurement writes.
pub(crate) struct Results {
    runs: Table,
    latencies: Table,
    windows: Table,
    contestants: Table,
    environment: Table,
    next: u32,
}

impl Results {
    /// Begins files in `dir`, which is made; an error when there are some already, since nothing is overwritten.
    pub(crate) fn create(dir: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let table = |name| Table::create(&dir.join(name));
        Ok(Self {
            runs: table(RUNS)?,
            latencies: table(LATENCIES)?,
            windows: table(WINDOWS)?,
            contestants: table(CONTESTANTS)?,
            environment: table(ENVIRONMENT)?,
            next: 1,
        })
    }

    /// Keeps a run with its distribution and windows, whose `run` is set here; answers its id.
    pub(crate) fn keep(&mut self, mut run: Run, latencies: Vec<Latency>, windows: Vec<Window>) -> io::Result<u32> {
        let id = self.next;
        self.next += 1;
        run.id = id;
        self.latencies.append(latencies.into_iter().map(|latency| Latency { run: id, ..latency }))?;
        self.windows.append(windows.into_iter().map(|window| Window { run: id, ..window }))?;
        self.runs.append([run])?;
        Ok(id)
    }

    /// Notes who takes part.
    pub(crate) fn participant(&mut self, participant: Participant) -> io::Result<()> {
        self.contestants.append([participant])
    }

    /// Notes a fact of the environment.
    pub(crate) fn fact(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.environment.append([Fact { key: key.into(), value: value.into() }])
    }
}

struct Table(csv::Writer<File>);

impl Table {
    fn create(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        Ok(Self(csv::Writer::from_writer(File::create_new(path).map_err(named)?)))
    }

    fn append<R: Serialize>(&mut self, rows: impl IntoIterator<Item = R>) -> io::Result<()> {
        for row in rows {
            self.0.serialize(row)?;
        }
        self.0.flush()
    }
}

fn read<R: DeserializeOwned>(path: &Path) -> io::Result<Vec<R>> {
    let named = |error: csv::Error| io::Error::other(format!("{}: {error}", path.display()));
    let mut reader = csv::Reader::from_path(path).map_err(named)?;
    reader.deserialize().collect::<Result<_, _>>().map_err(named)
}
