//! What the names in placeholders stand for: keys in any spelling, and environment variables.
//!
//! Values are as they were written: `placeholder` goes on resolving in them. It is noted which namespaces were looked into, since those are
//! of use even when nothing else reads them.

use crate::config::name::{Name, uniform};
use crate::config::sources::{Document, Entry};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// What placeholders can name: keys of the command line, variables, keys of the files, in this order.
pub(crate) struct Names {
    arguments: HashMap<String, String>,
    environment: HashMap<String, String>,
    files: HashMap<String, String>,
    /// The namespaces of the files that were looked into.
    pub(super) used: RefCell<HashSet<String>>,
}

impl Names {
    pub(crate) fn new(files: &[Document], environment: &[(String, String)], arguments: &[Entry]) -> Self {
        let flat = |entry: &Entry| (entry.name.uniform(), entry.value.text());
        Self {
            arguments: arguments.iter().map(flat).collect(),
            environment: environment.iter().cloned().collect(),
            files: files.iter().flatten().map(flat).collect(),
            used: RefCell::default(),
        }
    }

    pub(crate) fn look_up(&self, name: &str) -> Option<String> {
        let parsed = Name::parse(name);
        let key = parsed.uniform();
        let screaming = |name: &str| name.replace(['.', '-'], "_").to_uppercase();
        let variable = || {
            let without_dashes = name.replace('-', "");
            let spellings = [name.to_string(), screaming(name), screaming(&without_dashes)];
            spellings.iter().find_map(|spelling| self.environment.get(spelling))
        };
        let in_file = || {
            self.used.borrow_mut().insert(namespace(&parsed));
            self.files.get(&key)
        };
        self.arguments.get(&key).or_else(variable).or_else(in_file).cloned()
    }
}

/// What a name belongs to: its first element, or the first two below `spring`.
pub(super) fn namespace(name: &Name) -> String {
    let words: Vec<_> = name.0.iter().map(|element| uniform(&element.text())).collect();
    let count = if words.first().is_some_and(|first| first == "spring") { 2 } else { 1 };
    words[..count.min(words.len())].join(".")
}
