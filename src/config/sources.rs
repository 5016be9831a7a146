//! Where the configuration comes from: files, environment and command line, read into flat entries in the order in which they count.
//!
//! Everything comes in through [`Sources`]; nothing here looks at the process's own environment. What an entry means is decided later, by
//! `settings`: here names are only split, documents of inactive profiles left out, and keys given twice in one mapping refused.

use super::fault::{Fault, Place};
use super::name::{Element, Name};
use super::values::Value;
use super::yaml::{self, Node};
use super::{profiles, properties};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the configuration comes from. Arguments win over the environment, that wins over files, a later file over an earlier one, and a
/// later document of a file over an earlier one.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// YAML, `.properties` or JSON files, in order.
    pub files: Vec<PathBuf>,
    /// `--any.key=value`, as `("any.key", "value")`, in order.
    pub arguments: Vec<(String, String)>,
    /// The environment, as `("SERVER_PORT", "8080")`. Variables that fit no key are ignored, but placeholders can name them.
    pub environment: Vec<(String, String)>,
}

/// One key with its value, not yet understood.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// Entries that stand together: a document of a file, or the command line.
pub(crate) type Document = Vec<Entry>;

/// Reads every file, and leaves out the documents of profiles that are not active. The command line is the last document.
pub(crate) fn read(sources: &Sources, faults: &mut Vec<Fault>) -> Vec<Document> {
    let mut documents = Vec::new();
    for path in &sources.files {
        match std::fs::read(path) {
            Ok(octets) => match text(path, octets) {
                Ok(text) => documents.extend(file(path, &text, faults)),
                Err(fault) => faults.push(fault),
            },
            Err(error) => faults.push(Fault::file(path, None, format!("can't be read: {error}"))),
        }
    }
    applying(documents, sources, faults)
}

/// The documents of a text in place of files.
pub(crate) fn read_text(path: &Path, text: &str, faults: &mut Vec<Fault>) -> Vec<Document> {
    let documents = file(path, text, faults);
    applying(documents, &Sources::default(), faults)
}

fn applying(documents: Vec<Document>, sources: &Sources, faults: &mut Vec<Fault>) -> Vec<Document> {
    let arguments: Document = sources.arguments.iter().map(argument).collect();
    let active = profiles::active(&documents, &arguments, &sources.environment);
    let mut documents = profiles::applying(documents, &active, faults);
    documents.push(arguments);
    documents
}

/// The octets as UTF-8; those of a `.properties` file else as Java takes them, in ISO-8859-1.
fn text(path: &Path, octets: Vec<u8>) -> Result<String, Fault> {
    String::from_utf8(octets).or_else(|error| {
        let (end, octets) = (error.utf8_error().valid_up_to(), error.into_bytes());
        if is_properties(path) {
            return Ok(octets.iter().map(|&octet| char::from(octet)).collect());
        }
        let line = 1 + octets[..end].iter().filter(|&&octet| octet == b'\n').count();
        Err(Fault::file(path, Some(line), "this is not UTF-8"))
    })
}

fn is_properties(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "properties")
}

fn argument((name, value): &(String, String)) -> Entry {
    Entry { name: Name::parse(name), value: Value::Text(value.clone()), place: Place::Arguments }
}

/// The documents of one file's text.
fn file(path: &Path, text: &str, faults: &mut Vec<Fault>) -> Vec<Document> {
    let shared: Arc<Path> = Arc::from(path);
    if is_properties(path) {
        return vec![properties_file(&shared, text, faults)];
    }
    match yaml::documents(text) {
        Ok(roots) => roots.into_iter().map(|root| Flattening::document(&shared, root, faults)).collect(),
        Err(broken) => {
            faults.push(Fault::file(path, broken.line, format!("this is no YAML: {}", broken.message)));
            Vec::new()
        }
    }
}

fn properties_file(path: &Arc<Path>, text: &str, faults: &mut Vec<Fault>) -> Document {
    let properties = properties::parse(text).unwrap_or_else(|line| {
        faults.push(Fault::file(path, Some(line), "a malformed \\u escape"));
        Vec::new()
    });
    let entry = |property: properties::Property| Entry {
        name: Name::parse(&property.key),
        value: Value::Text(property.value),
        place: Place::File(path.clone(), Some(property.line)),
    };
    properties.into_iter().map(entry).collect()
}

/// Turns a tree into flat entries.
struct Flattening<'a> {
    path: &'a Arc<Path>,
    entries: Document,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Flattening<'a> {
    fn document(path: &'a Arc<Path>, root: Node, faults: &'a mut Vec<Fault>) -> Document {
        let mut flattening = Self { path, entries: Document::new(), faults };
        match root {
            Node::Map(map) => flattening.map(&Name::default(), map, 1),
            Node::Scalar(_, line) => flattening.fault(line, "", "a configuration is made of keys with values"),
            Node::List(_) => flattening.fault(1, "", "a configuration is made of keys with values, not of a list"),
        }
        flattening.entries
    }

    fn node(&mut self, name: Name, node: Node, line: usize) {
        match node {
            Node::Scalar(text, _) => self.entry(name, text.map_or(Value::Null, Value::Text), line),
            Node::Map(map) => self.map(&name, map, line),
            Node::List(items) => self.list(&name, items, line),
        }
    }

    fn map(&mut self, name: &Name, map: Vec<(yaml::Key, Node)>, line: usize) {
        if map.is_empty() && !name.0.is_empty() {
            return self.entry(name.clone(), Value::Null, line);
        }
        let mut lines: HashMap<String, usize> = HashMap::new();
        for (key, node) in map {
            let name = name.child(&key.text);
            if key.text.trim().is_empty() {
                self.fault(key.line, &name.to_string(), "a key without a name");
                continue;
            }
            match lines.get(&key.text) {
                Some(first) => self.fault(key.line, &name.to_string(), &format!("given twice, first on line {first}")),
                None => {
                    lines.insert(key.text, key.line);
                    self.node(name, node, key.line);
                }
            }
        }
    }

    fn list(&mut self, name: &Name, items: Vec<Node>, line: usize) {
        let texts: Option<Vec<String>> = items.iter().map(scalar).collect();
        match texts {
            Some(texts) => self.entry(name.clone(), Value::List(texts), line),
            None => items.into_iter().enumerate().for_each(|(at, item)| self.node(name.index(at), item, line)),
        }
    }

    fn entry(&mut self, name: Name, value: Value, line: usize) {
        self.entries.push(Entry { name, value, place: Place::File(self.path.clone(), Some(line)) });
    }

    fn fault(&mut self, line: usize, key: &str, message: &str) {
        self.faults.push(Fault::error(&Place::File(self.path.clone(), Some(line)), key, message));
    }
}

fn scalar(node: &Node) -> Option<String> {
    match node {
        Node::Scalar(text, _) => Some(text.clone().unwrap_or_default()),
        _ => None,
    }
}

/// Gathers `a[0]`, `a[1]` into the list `a`, by their numbers, at the place of the first.
pub(crate) fn with_lists(document: &[Entry]) -> Document {
    let mut gathered: Document = Vec::new();
    let mut lists: HashMap<String, (usize, BTreeMap<usize, String>)> = HashMap::new();
    for entry in document {
        let Some((Element::Index(index), above)) = entry.name.0.split_last() else {
            gathered.push(entry.clone());
            continue;
        };
        let name = Name(above.to_vec());
        let (_, items) = lists.entry(name.to_string()).or_insert_with(|| {
            gathered.push(Entry { name, value: Value::Null, place: entry.place.clone() });
            (gathered.len() - 1, BTreeMap::new())
        });
        items.insert(*index, entry.value.text());
    }
    for (at, items) in lists.into_values() {
        gathered[at].value = Value::List(items.into_values().collect());
    }
    gathered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(file_name: &str, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let documents = file(Path::new(file_name), text, &mut faults);
        let entries = documents.iter().flat_map(|document| with_lists(document));
        let lines = entries.map(|e| format!("{}:{}={}", e.place.line().unwrap_or(0), e.name, e.value.text()));
        lines.chain(faults.iter().map(Fault::to_string)).collect()
    }

    #[test]
    fn yaml_and_properties_come_to_the_same() {
        let yaml = entries("a.yaml", "zuul:\n  routes:\n    a: /a/**\n  ignored-patterns: [x, y]\n");
        assert_eq!(yaml, ["3:zuul.routes.a=/a/**", "4:zuul.ignored-patterns=x,y"]);
        let flat = "zuul.routes.a=/a/**\nzuul.ignored-patterns[1]=y\nzuul.ignored-patterns[0]=x\n";
        assert_eq!(entries("a.properties", flat), ["1:zuul.routes.a=/a/**", "2:zuul.ignored-patterns=x,y"]);
    }

    #[test]
    fn lists_of_maps_keep_their_places() {
        assert_eq!(entries("a.yaml", "a:\n- id: x\n- id: y\n"), ["2:a[0].id=x", "3:a[1].id=y"]);
        assert_eq!(entries("a.yaml", "a: []\nb: {}\nc:\n"), ["1:a=", "2:b=", "3:c="]);
    }

    #[test]
    fn a_key_given_twice_names_both_lines() {
        let twice = entries("a.yaml", "a:\n  b: 1\n  c: 2\n  b: 3\n");
        assert_eq!(twice, ["2:a.b=1", "3:a.c=2", "error: a.yaml:4: a.b: given twice, first on line 2"]);
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        assert_eq!(entries("a.yaml", "- a\n- b\n").len(), 1);
        assert_eq!(entries("a.yaml", "just words\n"), ["error: a.yaml:1: a configuration is made of keys with values"]);
        assert_eq!(entries("a.yaml", "a:\n  \"\": 1\n"), ["error: a.yaml:2: a.: a key without a name"]);
        assert!(entries("a.yaml", "a: [1\n")[0].starts_with("error: a.yaml:2: this is no YAML"));
        assert_eq!(entries("a.properties", "a=\\u1\n"), ["error: a.properties:1: a malformed \\u escape"]);
    }

    #[test]
    fn a_missing_file_is_a_fault() {
        let mut faults = Vec::new();
        let sources = Sources { files: vec!["/nonexistent/gateway.yaml".into()], ..Sources::default() };
        read(&sources, &mut faults);
        assert!(
            faults[0].to_string().starts_with("error: /nonexistent/gateway.yaml: can't be read: "),
            "{}",
            faults[0]
        );
    }

    #[test]
    fn only_properties_may_be_latin_1() {
        let latin = || vec![b'a', b'\n', 0xe4];
        assert_eq!(text(Path::new("a.properties"), latin()), Ok("a\nä".into()));
        assert_eq!(text(Path::new("a.yaml"), "aä".into()), Ok("aä".into()));
        let fault = text(Path::new("a.yaml"), latin()).expect_err("no UTF-8");
        assert_eq!(fault.to_string(), "error: a.yaml:2: this is not UTF-8");
    }
}
