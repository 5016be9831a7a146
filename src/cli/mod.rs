//! The command line: words in, one of five exit codes out. Printing happens here and nowhere else.
//!
//! `--any.key=value` sets a property, as in Spring; such words are taken out before clap sees the rest, so that a key needs no declaration.

mod check;
mod health;
mod routes;
mod run;

use crate::config::{self, Loaded, Sources};
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// What the process tells its caller when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All went well.
    Fine = 0,
    /// The configuration is bad, or the start failed; for `healthcheck`: not healthy.
    Failed = 1,
    /// The command line can't be understood.
    Usage = 2,
    /// The drain was cut short: a second signal, or the phase timeout.
    Unclean = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// portcullis, a thread-per-request gateway in the manner of Zuul 1.
#[derive(Debug, Parser)]
#[command(
    name = "portcullis",
    version,
    about,
    after_help = "Any property can be set as --key=value, e.g. --server.port=8090."
)]
struct Arguments {
    /// Configuration file (YAML or .properties); repeatable, later ones win. Default: gateway.yaml.
    #[arg(short, long = "config", value_name = "FILE", global = true)]
    config: Vec<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Starts the gateway (the default).
    Run,
    /// Reads the configuration, tells every fault, every limit and what is worth a second look; starts nothing.
    Check {
        /// Prints every effective property with its origin, secrets masked.
        #[arg(long)]
        dump: bool,
    },
    /// Tells which route a request hits, and what the upstream would see.
    Routes {
        /// PATH, or METHOD and PATH; without them, all routes.
        #[arg(num_args = 0..=2)]
        request: Vec<String>,
    },
    /// Starts the example service alone.
    ExampleProduct {
        /// Port on 127.0.0.1; 0 lets the system pick.
        #[arg(long, default_value_t = 9000)]
        port: u16,
        /// Worker threads.
        #[arg(long, default_value_t = 200)]
        threads: usize,
    },
    /// Asks a running gateway's health endpoint; 0 when it is UP.
    Healthcheck,
    /// Prints the version.
    Version,
}

/// Runs what the words ask for.
pub fn main(words: impl IntoIterator<Item = OsString>) -> Exit {
    let (properties, words) = split_properties(words);
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Fine };
            let _ = error.print();
            return exit;
        }
    };
    let sources = || sources(&arguments.config, properties.clone());
    match arguments.command.unwrap_or(Command::Run) {
        Command::Run => with_config(&sources(), run::run),
        Command::Check { dump } => check::check(&sources(), dump),
        Command::Routes { request } => with_config(&sources(), |loaded| routes::routes(&loaded.config, &request)),
        Command::ExampleProduct { port, threads } => run::example_product(port, threads),
        Command::Healthcheck => with_config(&sources(), |loaded| health::healthcheck(&loaded.config)),
        Command::Version => {
            print(&format!("portcullis {}\n", env!("CARGO_PKG_VERSION")));
            Exit::Fine
        }
    }
}

/// Words of the form `--a.b=c` are properties; all others are for clap.
fn split_properties(words: impl IntoIterator<Item = OsString>) -> (Vec<(String, String)>, Vec<OsString>) {
    let (mut properties, mut rest) = (Vec::new(), Vec::new());
    for word in words {
        match word.to_str().and_then(property) {
            Some(property) => properties.push(property),
            None => rest.push(word),
        }
    }
    (properties, rest)
}

fn property(word: &str) -> Option<(String, String)> {
    let (key, value) = word.strip_prefix("--")?.split_once('=')?;
    key.contains('.').then(|| (key.to_owned(), value.to_owned()))
}

fn sources(files: &[PathBuf], arguments: Vec<(String, String)>) -> Sources {
    let files = if files.is_empty() { vec![PathBuf::from("gateway.yaml")] } else { files.to_vec() };
    let environment = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
    Sources { files, arguments, environment: environment.collect() }
}

/// Loads the configuration, or tells every fault.
fn with_config(sources: &Sources, then: impl FnOnce(Loaded) -> Exit) -> Exit {
    match config::load(sources) {
        Ok(loaded) => then(loaded),
        Err(faults) => {
            tell(&faults);
            Exit::Failed
        }
    }
}

/// One line a fault, on standard error.
fn tell(faults: &[impl Display]) {
    let mut out = std::io::stderr().lock();
    for fault in faults {
        let _ = writeln!(out, "{fault}");
    }
}

/// A reader that closed the pipe early is no fault of ours.
fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_words_are_properties_and_the_rest_is_for_clap() {
        let words = ["portcullis", "--server.port=1", "run", "--config=x.yaml", "--a.b=c=d", "-c"].map(OsString::from);
        let (properties, rest) = split_properties(words);
        let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        assert_eq!(properties, [pair("server.port", "1"), pair("a.b", "c=d")]);
        assert_eq!(rest, ["portcullis", "run", "--config=x.yaml", "-c"].map(OsString::from));
    }

    #[test]
    fn a_word_that_nobody_knows_is_a_usage_fault() {
        assert_eq!(main(["portcullis", "--nonsense"].map(OsString::from)), Exit::Usage);
        assert_eq!(main(["portcullis", "frobnicate"].map(OsString::from)), Exit::Usage);
        assert_eq!(main(["portcullis", "version"].map(OsString::from)), Exit::Fine);
    }
}
