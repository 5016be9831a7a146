//! Builds [`Settings`] from the documents of all sources.
//!
//! Tells the faults of single keys: unknown, given twice, without effect, with a value that it can't have. A key given twice is a fault
//! within one document; between documents, the later one wins without a word, since that is what they are for.

use super::lookup::{Names, namespace};
use super::{Setting, Settings, variables};
use crate::config::catalogue::{self, Effect, Key, NAMESPACES};
use crate::config::fault::{Fault, Place};
use crate::config::name::{Name, nearest, uniform};
use crate::config::placeholder;
use crate::config::routes_file;
use crate::config::sources::{Document, Entry, with_lists};
use crate::config::values::{self, Value};
use std::collections::{HashMap, HashSet};

/// Merges the documents of files, the environment and the command line (the last document), later ones over earlier ones.
pub(crate) fn merge(documents: &[Document], environment: &[(String, String)], faults: &mut Vec<Fault>) -> Settings {
    let (arguments, files) = documents.split_last().map_or((&[][..], &[][..]), |(last, rest)| (last.as_slice(), rest));
    let names = Names::new(files, environment, arguments);
    let mut building = Building {
        settings: Settings::default(),
        like_zuul: is_like_zuul(&names),
        unread: Vec::new(),
        told: HashSet::new(),
        lists: HashSet::new(),
        faults,
    };
    files.iter().for_each(|document| building.document(document));
    let from_environment = variables::entries(environment, &building.settings, building.faults);
    building.document(&from_environment);
    building.document(arguments);
    building.resolve_placeholders(&names);
    building.check_values();
    building.tell_unread(&names);
    building.settings
}

struct Building<'a> {
    settings: Settings,
    /// `gateway.compat: zuul1`: what Zuul passes over is passed over here.
    like_zuul: bool,
    /// Each namespace that is not read, with the warning about its first name.
    unread: Vec<(String, Fault)>,
    /// Keys without effect that were told already.
    told: HashSet<&'static str>,
    /// Lists of a route file that were told already.
    lists: HashSet<&'static str>,
    faults: &'a mut Vec<Fault>,
}

impl Building<'_> {
    fn document(&mut self, document: &[Entry]) {
        let mut given: HashMap<(&'static str, Vec<String>), (String, Place)> = HashMap::new();
        for entry in with_lists(document) {
            let Some(found) = catalogue::find(&entry.name) else {
                self.unknown(&entry);
                continue;
            };
            let Entry { name, value, place } = entry;
            let name = name.to_string();
            // A variable can be spelt in one way only, and Spring finds it.
            let misspelt = found.relaxed && found.key.is_exact() && !matches!(place, Place::Environment(_));
            if misspelt && self.like_zuul {
                self.faults.push(passed_over(&place, name, found.key));
                continue;
            }
            if let Some(first) = given.get(&(found.key.name, found.ids.clone())) {
                self.faults.push(given_twice(&place, name, first));
                continue;
            }
            given.insert((found.key.name, found.ids.clone()), (name.clone(), place.clone()));
            if misspelt {
                self.faults.push(spelt_otherwise(&place, name.clone(), found.key));
            }
            self.tell_effect(found.key, &name, &place);
            self.settings.put(Setting { key: found.key, ids: found.ids, value, place, name });
        }
    }

    fn unknown(&mut self, entry: &Entry) {
        let name = entry.name.to_string();
        if entry.value.text().is_empty() && catalogue::is_above(&entry.name) {
            return;
        }
        if !catalogue::reads(&entry.name) {
            let namespace = namespace(&entry.name);
            if let Some(list) = routes_file::LISTS.into_iter().find(|list| uniform(list) == namespace) {
                return self.in_the_wrong_file(entry, list);
            }
            if !self.unread.iter().any(|(told, _)| *told == namespace) {
                let near =
                    nearest(&namespace, NAMESPACES).map(str::to_string).or_else(|| catalogue::misspelt(&entry.name));
                let fault = Fault::warning(&entry.place, name, format!("{namespace}.* is not read here")).meaning(near);
                self.unread.push((namespace, fault));
            }
            return;
        }
        let fault = match is_dotted_route(&entry.name) {
            true => {
                Fault::error(&entry.place, name, "unknown key; the id of a route with a dot in it is written \"[a.b]\"")
            }
            false => Fault::error(&entry.place, name, "unknown key").meaning(catalogue::near(&entry.name)),
        };
        self.faults.push(fault);
    }

    /// A list of a route file: a gateway without its routes is not what was meant. Told once, not for each entry.
    fn in_the_wrong_file(&mut self, entry: &Entry, list: &'static str) {
        if self.lists.insert(list) {
            let message =
                "stands in a route file, and gateway.routes-file names that; it is no configuration by itself";
            self.faults.push(Fault::error(&entry.place, list, message));
        }
    }

    /// One warning for each key that does nothing.
    fn tell_effect(&mut self, key: &'static Key, name: &str, place: &Place) {
        let message = match key.effect {
            Effect::Acts | Effect::MatchingOnly => return,
            Effect::Inert(reason) => format!("has no effect here: {reason}"),
            Effect::Later(reason) => format!("has no effect yet: {reason}"),
        };
        let family = key.name.strip_prefix("<service...>.").unwrap_or(key.name);
        if self.told.insert(family) {
            self.faults.push(Fault::warning(place, name, message));
        }
    }

    fn resolve_placeholders(&mut self, names: &Names) {
        for setting in &mut self.settings.settings {
            match setting.value.map(|text| placeholder::resolve(text, &|name| names.look_up(name))) {
                Ok(value) => setting.value = value,
                Err(message) if setting.key.acts() => {
                    self.faults.push(Fault::error(&setting.place, setting.name.clone(), message));
                    setting.value = Value::Null;
                }
                Err(_) => {}
            }
        }
    }

    fn check_values(&mut self) {
        for setting in &self.settings.settings {
            let Err(message) = values::check(setting.key.kind, &setting.value) else { continue };
            let at_fault = |fault: &Fault| fault.place == setting.place && fault.key == setting.name;
            match setting.key.acts() {
                true if self.faults.iter().any(at_fault) => {}
                true => self.faults.push(Fault::error(&setting.place, setting.name.clone(), message)),
                false => self.faults.push(Fault::warning(&setting.place, setting.name.clone(), message)),
            }
        }
    }

    /// One warning for each namespace that is not read, unless a placeholder used it.
    fn tell_unread(&mut self, names: &Names) {
        let used = names.used.borrow();
        let unused = self.unread.drain(..).filter(|(namespace, _)| !used.contains(namespace));
        self.faults.extend(unused.map(|(_, fault)| fault));
    }
}

fn given_twice(place: &Place, name: String, (first, at): &(String, Place)) -> Fault {
    let line = at.line().map(|line| format!(" on line {line}")).unwrap_or_default();
    Fault::error(place, name, format!("given twice, first as {first}{line}"))
}

fn spelt_otherwise(place: &Place, name: String, key: &Key) -> Fault {
    let exact = exact_name(key);
    let message = format!("taken for {exact}; Zuul itself would ignore it, since it reads that name only so spelt");
    Fault::warning(place, name, message)
}

fn passed_over(place: &Place, name: String, key: &Key) -> Fault {
    let exact = exact_name(key);
    let message = format!("not read under gateway.compat: zuul1, since Zuul reads that name only when spelt {exact}");
    Fault::warning(place, name, message)
}

fn exact_name(key: &Key) -> String {
    key.name.replace("...>", ">")
}

/// Asked before anything is put in, since it decides what is; a value that can't be had is a fault told later.
fn is_like_zuul(names: &Names) -> bool {
    let value = placeholder::resolve("${gateway.compat:}", &|name| names.look_up(name));
    value.is_ok_and(|value| value.trim().eq_ignore_ascii_case("zuul1"))
}

/// Whether a route's id seems to have been written with a bare dot, which splits it.
fn is_dotted_route(name: &Name) -> bool {
    let words: Vec<_> = name.0.iter().map(|element| uniform(&element.text())).collect();
    words.len() > 4 && words[..2] == ["zuul", "routes"]
}
