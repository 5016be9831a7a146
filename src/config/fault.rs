//! What is wrong with a configuration: one line each, naming file, line, key and what was probably meant.
//!
//! Nothing here decides what is wrong. Readers and resolvers collect faults instead of stopping at the first, so that a user sees them all
//! at once; only [`Severity::Error`] keeps the gateway from starting.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether the gateway can start in spite of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, but something that was written has no effect or another one.
    Warning,
}

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file, with the line when it is known (from 1).
    File(Arc<Path>, Option<usize>),
    /// An environment variable of this name.
    Environment(String),
    /// The command line.
    Arguments,
    /// Nowhere: a default.
    Default,
}

impl Place {
    /// How strong the source is: the command line wins over the environment, that over files.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File(..) => 1,
            Self::Environment(_) => 2,
            Self::Arguments => 3,
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path, _) => Some(path),
            _ => None,
        }
    }

    /// The line in the file, from 1.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::File(_, line) => *line,
            _ => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, Some(line)) => write!(f, "{}:{line}", path.display()),
            Self::File(path, None) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Arguments => f.write_str("command line"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Whether it keeps the gateway from starting.
    pub severity: Severity,
    /// Where.
    pub place: Place,
    /// Which key, as it was written; empty when it is about a whole file.
    pub key: String,
    /// What is wrong with it, without a full stop.
    pub message: String,
    /// What was probably meant.
    pub near: Option<String>,
}

impl Fault {
    /// A fault that keeps the gateway from starting.
    pub(crate) fn error(place: &Place, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, place: place.clone(), key: key.into(), message: message.into(), near: None }
    }

    /// A fault that the gateway can start with.
    pub(crate) fn warning(place: &Place, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(place, key, message) }
    }

    /// The same fault with a name that was probably meant.
    pub(crate) fn meaning(mut self, near: Option<String>) -> Self {
        self.near = near;
        self
    }

    /// A fault of a whole file.
    pub(crate) fn file(path: &Path, line: Option<usize>, message: impl Into<String>) -> Self {
        Self::error(&Place::File(Arc::from(path), line), "", message)
    }

    /// The file it is in, if it is in one.
    pub fn path(&self) -> Option<PathBuf> {
        self.place.file().map(Path::to_path_buf)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", visible(&self.key))?;
        }
        f.write_str(&visible(&self.message))?;
        match &self.near {
            Some(near) => write!(f, "; did you mean {}?", visible(near)),
            None => Ok(()),
        }
    }
}

/// A text in one line: keys and values may hold anything.
fn visible(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_one_line_that_names_all() {
        let place = Place::File(Arc::from(Path::new("gateway.yaml")), Some(7));
        let fault = Fault::error(&place, "zuul.routes.a.servceId", "unknown key").meaning(Some("service-id".into()));
        assert_eq!(
            fault.to_string(),
            "error: gateway.yaml:7: zuul.routes.a.servceId: unknown key; did you mean service-id?"
        );
        let odd = Fault::warning(&Place::Arguments, "a\nb\u{1b}[31m", "x");
        assert_eq!(odd.to_string(), "warning: command line: a\\nb\\u{1b}[31m: x");
        let whole = Fault::file(Path::new("x.yaml"), None, "can't be read");
        assert_eq!(whole.to_string(), "error: x.yaml: can't be read");
    }
}
