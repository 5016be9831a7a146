//! Builds [`Settings`] from the documents of all sources, and tells the faults of single keys: unknown, given twice, without effect,
//! with a value that it can't have.

use super::{Setting, Settings};
use crate::config::catalogue::{self, Effect, Key, NAMESPACES};
use crate::config::fault::{Fault, Place};
use crate::config::name::{Element, Name, nearest, uniform};
use crate::config::placeholder;
use crate::config::sources::{Document, Entry, with_lists};
use crate::config::values::{self, Value};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Merges the documents of files, the environment and the command line (the last document), later ones over earlier ones.
pub(crate) fn merge(documents: &[Document], environment: &[(String, String)], faults: &mut Vec<Fault>) -> Settings {
    let (arguments, files) = documents.split_last().map_or((&[][..], &[][..]), |(last, rest)| (last.as_slice(), rest));
    let mut building = Building { settings: Settings::default(), unread: Vec::new(), told: HashSet::new(), faults };
    files.iter().for_each(|document| building.document(document));
    let from_environment = building.environment(environment);
    building.document(&from_environment);
    building.document(arguments);
    let names = Names::new(files, environment, arguments);
    building.resolve_placeholders(&names);
    building.check_values();
    building.tell_unread(&names);
    building.settings
}

struct Building<'a> {
    settings: Settings,
    /// The first name of each namespace that is not read.
    unread: Vec<(String, String, Place)>,
    /// Keys without effect that were told already.
    told: HashSet<&'static str>,
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
            let name = entry.name.to_string();
            if let Some((first, place)) = given.get(&(found.key.name, found.ids.clone())) {
                let message = match place.line() {
                    Some(line) => format!("given twice, first as {first} on line {line}"),
                    None => format!("given twice, first as {first}"),
                };
                self.faults.push(Fault::error(&entry.place, name, message));
                continue;
            }
            given.insert((found.key.name, found.ids.clone()), (name.clone(), entry.place.clone()));
            if found.relaxed && found.key.is_exact() && entry.place.file().is_some() {
                let exact = found.key.name.replace("...>", ">");
                let message =
                    format!("taken for {exact}; Zuul itself would ignore it, since it reads that name only so spelt");
                self.faults.push(Fault::warning(&entry.place, name.clone(), message));
            }
            self.tell_effect(found.key, &name, &entry.place);
            let Entry { value, place, .. } = entry;
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
            if !self.unread.iter().any(|(told, ..)| *told == namespace) {
                self.unread.push((namespace, name, entry.place.clone()));
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

    /// The variables that mean a key. What stands for an id is an id that the files know, or a single word.
    fn environment(&self, environment: &[(String, String)]) -> Document {
        let known: BTreeSet<String> = self.settings.iter().flat_map(ids_named).collect();
        let entry = |(variable, value): &(String, String)| {
            let name = catalogue::by_variable(variable).into_iter().find_map(|(key, ids)| named(key, &ids, &known))?;
            Some(Entry { name, value: Value::Text(value.clone()), place: Place::Environment(variable.clone()) })
        };
        environment.iter().filter_map(entry).collect()
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
        for (namespace, name, place) in &self.unread {
            if names.used.borrow().contains(namespace) {
                continue;
            }
            let near = nearest(namespace, NAMESPACES).map(str::to_string);
            let message = format!("{namespace}.* is not read here");
            self.faults.push(Fault::warning(place, name.clone(), message).meaning(near));
        }
    }
}

/// The first element, or the first two below `spring`.
fn namespace(name: &Name) -> String {
    let words: Vec<_> = name.0.iter().map(|element| uniform(&element.text())).collect();
    let count = if words.first().is_some_and(|first| first == "spring") { 2 } else { 1 };
    words[..count.min(words.len())].join(".")
}

/// Whether a route's id seems to have been written with a bare dot, which splits it.
fn is_dotted_route(name: &Name) -> bool {
    let words: Vec<_> = name.0.iter().map(|element| uniform(&element.text())).collect();
    words.len() > 4 && words[..2] == ["zuul", "routes"]
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

/// What placeholders can name: keys of the command line, variables, keys of the files, in this order.
struct Names {
    arguments: HashMap<String, String>,
    environment: HashMap<String, String>,
    files: HashMap<String, String>,
    /// The namespaces of the files that were looked into.
    used: RefCell<HashSet<String>>,
}

impl Names {
    fn new(files: &[Document], environment: &[(String, String)], arguments: &[Entry]) -> Self {
        let flat = |entry: &Entry| (entry.name.uniform(), entry.value.text());
        Self {
            arguments: arguments.iter().map(flat).collect(),
            environment: environment.iter().cloned().collect(),
            files: files.iter().flatten().map(flat).collect(),
            used: RefCell::default(),
        }
    }

    fn look_up(&self, name: &str) -> Option<String> {
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
