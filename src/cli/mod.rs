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
use std::path::{Path, PathBuf};
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
    /// Configuration file (YAML or .properties); repeatable, later ones win. Default: gateway.yaml, application.yml, application.yaml or
    /// application.properties, whichever is there.
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
    if let Some(message) = property_after_a_blank(&words) {
        tell(&[message]);
        return Exit::Usage;
    }
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Fine };
            let _ = error.print();
            return exit;
        }
    };
    let with_sources = |then: &dyn Fn(&Sources) -> Exit| match sources(&arguments.config, properties.clone()) {
        Ok(sources) => then(&sources),
        Err(message) => {
            tell(&[message]);
            Exit::Failed
        }
    };
    match arguments.command.unwrap_or(Command::Run) {
        Command::Run => with_sources(&|sources| with_config(sources, run::run)),
        Command::Check { dump } => with_sources(&|sources| check::check(sources, dump)),
        Command::Routes { request } => {
            with_sources(&|sources| with_config(sources, |loaded| routes::routes(&loaded.config, &request)))
        }
        Command::ExampleProduct { port, threads } => run::example_product(port, threads),
        Command::Healthcheck => {
            with_sources(&|sources| with_config(sources, |loaded| health::healthcheck(&loaded.config)))
        }
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

/// `--server.port 8090`, as other programs take options: here the value stands behind `=`.
fn property_after_a_blank(words: &[OsString]) -> Option<String> {
    let is_key = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with("--") && word.contains('.'));
    let at = words.iter().position(is_key)?;
    let key = words[at].to_string_lossy();
    let value = words.get(at + 1).map_or("VALUE".into(), |value| value.to_string_lossy());
    Some(format!("error: {key}: the value of a property stands behind =: write {key}={value}"))
}

fn sources(files: &[PathBuf], arguments: Vec<(String, String)>) -> Result<Sources, String> {
    let files = if files.is_empty() { vec![default_file(&FILES, |file| file.exists())?] } else { files.to_vec() };
    let environment = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
    Ok(Sources { files, arguments, environment: environment.collect() })
}

/// What is looked for in the current directory without `-c`: ours, then Spring's.
const FILES: [&str; 4] = ["gateway.yaml", "application.yml", "application.yaml", "application.properties"];

/// The first that is there.
fn default_file(names: &[&str], is_there: impl Fn(&Path) -> bool) -> Result<PathBuf, String> {
    let found = names.iter().map(PathBuf::from).find(|file| is_there(file));
    found.ok_or_else(|| {
        let names = names.join(", ");
        format!("error: no configuration: none of {names} is in the current directory; name a file with -c FILE")
    })
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
    fn a_property_whose_value_stands_apart_is_a_usage_fault_that_says_what_to_write() {
        let words = ["portcullis", "run", "--server.port", "8090"].map(OsString::from);
        let said = property_after_a_blank(&words).unwrap();
        assert!(said.ends_with("write --server.port=8090"), "{said}");
        assert_eq!(main(words), Exit::Usage);
        let others = ["portcullis", "--config", "a.yaml", "check", "--dump"].map(OsString::from);
        assert_eq!(property_after_a_blank(&others), None);
    }

    #[test]
    fn without_a_file_the_first_of_the_usual_ones_is_taken() {
        let there = ["application.properties", "application.yml"].map(Path::new);
        assert_eq!(default_file(&FILES, |file| there.contains(&file)), Ok("application.yml".into()));
        let said = default_file(&FILES, |_| false).unwrap_err();
        assert!(FILES.iter().all(|name| said.contains(name)) && said.contains("-c"), "{said}");
    }

    #[test]
    fn a_word_that_nobody_knows_is_a_usage_fault() {
        assert_eq!(main(["portcullis", "--nonsense"].map(OsString::from)), Exit::Usage);
        assert_eq!(main(["portcullis", "frobnicate"].map(OsString::from)), Exit::Usage);
        assert_eq!(main(["portcullis", "version"].map(OsString::from)), Exit::Fine);
    }
}
