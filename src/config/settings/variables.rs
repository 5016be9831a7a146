//! Environment variables that mean a key: `ZUUL_SEMAPHORE_MAXSEMAPHORES`, `ZUUL_ROUTES_USERS_URL`.
//!
//! A variable can't spell an id exactly. So what stands for one is an id that the files know and that is spelt so but for dots, dashes,
//! underscores and case; else a single word, in lower case. A variable that fits no key is ignored, as in Spring: the environment is shared.

use super::{Setting, Settings};
use crate::config::catalogue::{self, Key};
use crate::config::fault::Place;
use crate::config::name::{Element, Name, uniform};
use crate::config::sources::{Document, Entry};
use crate::config::values::Value;
use std::collections::BTreeSet;

/// The variables that mean a key, as entries; the settings of the files say which ids there are.
pub(super) fn entries(environment: &[(String, String)], files: &Settings) -> Document {
    let known: BTreeSet<String> = files.iter().flat_map(ids_named).collect();
    let entry = |(variable, value): &(String, String)| {
        let name = catalogue::by_variable(variable).into_iter().find_map(|(key, ids)| named(key, &ids, &known))?;
        Some(Entry { name, value: Value::Text(value.clone()), place: Place::Environment(variable.clone()) })
    };
    environment.iter().filter_map(entry).collect()
}

/// The ids that a setting speaks of: in its name, and services in its value.
fn ids_named(setting: &Setting) -> Vec<String> {
    let mut ids = setting.ids.clone();
    if matches!(setting.key.name, "zuul.routes.<id>.service-id" | "zuul.routes.<id>.location") {
        ids.push(setting.value.text());
    }
    ids
}

/// The name that a variable means for this key, if every id is known or a single word.
fn named(key: &Key, ids: &[Vec<String>], known: &BTreeSet<String>) -> Option<Name> {
    let mut ids = ids.iter();
    let mut name = Name::default();
    for word in key.name.split('.').filter(|word| !word.is_empty() && *word != ">") {
        if !word.starts_with('<') {
            name.0.push(Element::Word(word.into()));
            continue;
        }
        let tokens = ids.next()?;
        let spelt = tokens.concat();
        let is_spelt_so = |id: &&String| uniform(id).replace('.', "") == spelt;
        let id = match known.iter().find(is_spelt_so) {
            Some(id) => id.clone(),
            None if tokens.len() == 1 => spelt,
            None if matches!(word, "<logger" | "<key") && !key.name.starts_with("hystrix") => tokens.join("."),
            None => return None,
        };
        name.0.push(Element::Quoted(id));
    }
    Some(name)
}
