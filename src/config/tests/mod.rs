//! The module as a whole: text in, configuration or faults out.
//!
//! Parsers have their tables in their own files; here stands what several of them make together.

mod balance;
mod command;
mod fixtures;
mod keys;
mod limits;
mod precedence;
mod routes;

use super::{Config, Fault, Loaded, Severity, load_str};

/// The configuration of a text without errors.
#[track_caller]
fn config(yaml: &str) -> Config {
    loaded(yaml).config
}

#[track_caller]
fn loaded(yaml: &str) -> Loaded {
    load_str(yaml).unwrap_or_else(|faults| panic!("{}\n{yaml}", lines(&faults)))
}

/// The errors of a text, one a line.
fn errors(yaml: &str) -> Vec<String> {
    let faults = load_str(yaml).err().unwrap_or_default();
    faults.iter().filter(|fault| fault.severity == Severity::Error).map(Fault::to_string).collect()
}

/// The warnings of a text without errors, one a line.
#[track_caller]
fn warnings(yaml: &str) -> Vec<String> {
    loaded(yaml).warnings.iter().map(Fault::to_string).collect()
}

fn lines(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}
