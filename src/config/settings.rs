//! Entries become settings: each one matched with its key in the catalogue, merged by precedence, its placeholders resolved, its value
//! checked against what the key takes. Typed reading is then a matter of [`Read`].
//!
//! Faults of names and values are told here, once for all keys; `resolve` only adds what concerns several keys at once.

mod build;
mod lookup;
mod read;
mod variables;

pub(crate) use build::merge;
pub(crate) use lookup::Names;
pub(crate) use read::Read;

use super::catalogue::Key;
use super::fault::Place;
use super::values::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One key that was set, with the value that won.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) key: &'static Key,
    /// What stands for the ids in the key's name.
    pub(crate) ids: Vec<String>,
    /// With placeholders resolved, where that was possible.
    pub(crate) value: Value,
    pub(crate) place: Place,
    /// The name as it was written.
    pub(crate) name: String,
}

impl Setting {
    /// The value as a path; a relative one counts from the file that names it.
    pub(crate) fn path(&self) -> PathBuf {
        let folder = self.place.file().and_then(Path::parent).unwrap_or(Path::new(""));
        folder.join(self.value.text())
    }
}

/// Everything that was set, in the order in which it first appeared.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    settings: Vec<Setting>,
    places: HashMap<(&'static str, String), usize>,
}

impl Settings {
    /// The settings in order of first appearance.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter()
    }

    /// Keys without an id in their name.
    pub(crate) fn all(&self) -> Read<'_> {
        Read::new(self, "")
    }

    /// Keys that hold this id.
    pub(crate) fn one<'a>(&'a self, id: &'a str) -> Read<'a> {
        Read::new(self, id)
    }

    fn find(&self, name: &'static str, id: &str) -> Option<&Setting> {
        self.places.get(&(name, id.to_string())).map(|&at| &self.settings[at])
    }

    /// Puts a setting in, over a former one, whose place in the order it takes.
    fn put(&mut self, setting: Setting) {
        let id = setting.ids.join("\0");
        match self.places.entry((setting.key.name, id)) {
            std::collections::hash_map::Entry::Occupied(former) => self.settings[*former.get()] = setting,
            std::collections::hash_map::Entry::Vacant(vacant) => {
                vacant.insert(self.settings.len());
                self.settings.push(setting);
            }
        }
    }
}
