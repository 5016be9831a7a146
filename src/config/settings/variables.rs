//! Environment variables that mean a key: `ZUUL_SEMAPHORE_MAXSEMAPHORES`, `ZUUL_ROUTES_USERS_URL`.
//!
//! A variable can't spell an id exactly. So what stands for one is an id that the files know and that is spelt so but for dots, dashes,
//! underscores and case; else a single word, in lower case. One that could mean several of them is an error: none is guessed. A variable that
//! fits no key is ignored, as in Spring: the environment is shared.

use super::{Setting, Settings};
use crate::config::catalogue::{self, Key};
use crate::config::fault::{Fault, Place};
use crate::config::name::{Element, Name, uniform};
use crate::config::sources::{Document, Entry};
use crate::config::values::Value;
use std::collections::BTreeSet;

/// The variables that mean a key, as entries; the settings of the files say which ids there are.
pub(super) fn entries(environment: &[(String, String)], files: &Settings, faults: &mut Vec<Fault>) -> Document {
    let known: BTreeSet<String> = files.iter().flat_map(ids_named).collect();
    let mut entries = Document::new();
    for (variable, value) in environment {
        let place = Place::Environment(variable.clone());
        match catalogue::by_variable(variable).into_iter().find_map(|(key, ids)| named(key, &ids, &known)) {
            None => {}
            Some(Ok(name)) => entries.push(Entry { name, value: Value::Text(value.clone()), place }),
            Some(Err(Ambiguous { key, ids })) => {
                let message = format!("may mean any of {}; name it in a file or on the command line", ids.join(", "));
                faults.push(Fault::error(&place, key, message));
            }
        }
    }
    entries
}

/// A variable that is spelt as several ids are.
struct Ambiguous {
    key: &'static str,
    ids: Vec<String>,
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
fn named(key: &'static Key, ids: &[Vec<String>], known: &BTreeSet<String>) -> Option<Result<Name, Ambiguous>> {
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
        let mut spelt_so = known.iter().filter(is_spelt_so).cloned();
        let id = match (spelt_so.next(), spelt_so.next()) {
            (Some(id), None) => id,
            (Some(first), Some(second)) => {
                let ids = [first, second].into_iter().chain(spelt_so).collect();
                return Some(Err(Ambiguous { key: key.name, ids }));
            }
            (None, _) if tokens.len() == 1 => spelt,
            (None, _) if matches!(word, "<logger" | "<key") && !key.name.starts_with("hystrix") => tokens.join("."),
            (None, _) => return None,
        };
        name.0.push(Element::Quoted(id));
    }
    Some(Ok(name))
}
