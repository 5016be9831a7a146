//! What the gateway was told: a resolved [`Config`], in which nothing that has a default is optional.
//!
//! ```text
//! files, environment, arguments -> entries -> settings -> Config
//!            sources               catalogue    resolve
//! ```
//!
//! `sources` splits names and leaves out inactive profiles; `settings` matches each entry with its key in the [`catalogue()`], merges by
//! precedence, resolves placeholders and checks values; `resolve` fills in defaults and looks up each backend's limits. Faults are
//! collected on the way and told all at once, each with file, line and key. Afterwards nobody asks again whether something was set.

mod advice;
pub mod catalogue;
mod effective;
pub mod fault;
pub mod model;
mod name;
mod placeholder;
mod profiles;
mod properties;
mod resolve;
mod routes_file;
mod settings;
mod sources;
mod values;
mod yaml;

pub use advice::{Advice, advice};
pub use catalogue::{Key, catalogue};
pub use effective::{Effective, Property};
pub use fault::{Fault, Place, Severity};
pub use model::Config;
pub use sources::Sources;

use settings::Settings;
use std::path::Path;

/// A configuration that can be run.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What the gateway was told.
    pub config: Config,
    /// What was written without effect, or with another one than it seems.
    pub warnings: Vec<Fault>,
    /// Every effective property with its origin, secrets masked.
    pub properties: Effective,
}

/// Reads and resolves everything.
///
/// # Errors
/// All faults at once, warnings among them, by file and line, if any of them is a [`Severity::Error`].
pub fn load(sources: &Sources) -> Result<Loaded, Vec<Fault>> {
    let mut faults = Vec::new();
    let documents = sources::read(sources, &mut faults);
    let settings = settings::merge(&documents, &sources.environment, &mut faults);
    finish(&settings, faults)
}

/// Reads and resolves a YAML text alone, as if it were the file `gateway.yaml`: for tests, and for gateways inside other programs.
///
/// # Errors
/// As for [`load`].
pub fn load_str(yaml: &str) -> Result<Loaded, Vec<Fault>> {
    let mut faults = Vec::new();
    let documents = sources::read_text(Path::new("gateway.yaml"), yaml, &mut faults);
    let settings = settings::merge(&documents, &[], &mut faults);
    finish(&settings, faults)
}

fn finish(settings: &Settings, mut faults: Vec<Fault>) -> Result<Loaded, Vec<Fault>> {
    let config = resolve::config(settings, &mut faults);
    faults.sort_by_key(|fault| (fault.path(), fault.place.line()));
    match faults.iter().any(|fault| fault.severity == Severity::Error) {
        true => Err(faults),
        false => Ok(Loaded { config, warnings: faults, properties: effective::effective(settings) }),
    }
}

#[cfg(test)]
mod tests;
