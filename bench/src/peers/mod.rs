//! `bench peers`: who can take part on this machine, with which limits; and the Java originals, built.

use crate::child::tied;
use crate::contestant::{Availability, Configuration, Contestant, Setup, all, java};
use crate::table::say;
use clap::Subcommand;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

mod check;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Everyone who can take part, and the limits in their path as they come and as they are equalised, side by side.
    List,
    /// Starts each one that can take part, in both configurations, and has it pass requests on.
    Check {
        /// Only these contestants.
        contestants: Vec<String>,
    },
    /// Builds the Java originals with Maven, into target/peers; it fetches some 200 MB the first time.
    Build {
        /// Only these projects of bench/peers.
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(java::PROJECTS))]
        projects: Vec<String>,
    },
}

pub(crate) fn run(action: &Action) -> io::Result<()> {
    match action {
        Action::List => all().for_each(list),
        Action::Check { contestants } => check::run(contestants)?,
        Action::Build { projects } if projects.is_empty() => build_all(java::PROJECTS)?,
        Action::Build { projects } => build_all(&projects.iter().map(String::as_str).collect::<Vec<_>>())?,
    }
    Ok(())
}

fn list(contestant: &Contestant) {
    let state = match contestant.availability() {
        Availability::Ready => "ready".to_owned(),
        Availability::Missing { why, how } => format!("missing: {why}; {how}"),
    };
    say(&format!("{} ({}, {}): {state}", contestant.label, contestant.name, contestant.family));
    for line in side_by_side(contestant, &Setup::new(([127, 0, 0, 1], 0).into())) {
        say(&format!("  {line}"));
    }
}

/// A line for each limit: its stage, its key, stock, equalised. What is told stands bare, what it has by itself in brackets.
pub(crate) fn side_by_side(contestant: &Contestant, setup: &Setup) -> Vec<String> {
    let under = |configuration| contestant.limits(&Setup { configuration, ..setup.clone() });
    let shown = |limit: &crate::contestant::Limit| match limit.told {
        true => limit.value.clone(),
        false => format!("({})", limit.value),
    };
    let both = under(Configuration::Stock).into_iter().zip(under(Configuration::Equalised));
    both.map(|(stock, equalised)| {
        format!("{:<12} {:<76} {:<24} {}", stock.stage, stock.key, shown(&stock), shown(&equalised))
    })
    .collect()
}

fn build_all(projects: &[&str]) -> io::Result<()> {
    if Command::new("mvn").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return Err(io::Error::other("mvn was not found (Debian: apt-get install maven)"));
    }
    for project in projects {
        build(project)?;
        say(&format!("{project}: {}", java::jar(project).display()));
    }
    Ok(())
}

/// Maven's output is kept: a failure says where.
fn build(project: &str) -> io::Result<()> {
    let folder = java::output_folder();
    std::fs::create_dir_all(&folder)?;
    let log = folder.join(format!("{project}.log"));
    let output = File::create(&log)?;
    let mut maven = tied(Path::new("mvn"));
    maven.args(["-B", "-q", "-DskipTests", "package"]).current_dir(java::project_folder(project));
    let status = maven.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).status()?;
    if status.success() && java::jar(project).is_file() {
        return Ok(());
    }
    Err(io::Error::other(format!("{project}: Maven ended with {status}; what it said is in {}", log.display())))
}
