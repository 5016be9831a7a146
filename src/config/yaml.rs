//! YAML to a tree with a line for every key and value: the only file that names the parser, so that it can be replaced.
//!
//! `serde_yaml` tells positions in its errors alone. So each scalar is visited by a visitor that keeps the scalar and answers with an
//! error: the parser has consumed the scalar by then and its error names the line, which is what we came for. Order is the document's, and
//! duplicate keys are kept, for the caller to complain about with both lines. Scalars become text, as Spring's binder takes them.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;

/// A node of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A value as text; `None` is null.
    Scalar(Option<String>, usize),
    /// Keys in document order, with duplicates.
    Map(Vec<(Key, Node)>),
    /// Items in order.
    List(Vec<Node>),
}

/// A key and its line (from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// Why a text is no YAML, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
}

/// The documents of a stream, those that hold anything.
///
/// # Errors
/// The first place that is no YAML.
pub(crate) fn documents(text: &str) -> Result<Vec<Node>, Broken> {
    let mut documents = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        match (AnyNode { role: Role::Value }).deserialize(document) {
            Ok(Node::Scalar(None, _)) => {}
            Ok(node) => documents.push(node),
            Err(error) if error.to_string().starts_with("EOF while parsing") => {}
            Err(error) => return Err(broken(&error)),
        }
    }
    Ok(documents)
}

fn broken(error: &serde_yaml::Error) -> Broken {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_string();
    Broken { line: error.location().map(|at| at.line()), message }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Value,
}

/// Reads one node of whatever kind.
#[derive(Clone, Copy)]
struct AnyNode {
    role: Role,
}

impl<'de> DeserializeSeed<'de> for AnyNode {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        let seen = RefCell::new(None);
        match deserializer.deserialize_any(NodeVisitor { role: self.role, seen: &seen }) {
            Ok(node) => Ok(node),
            Err(error) => match seen.take() {
                Some(scalar) => Ok(Node::Scalar(scalar, line_in(&error.to_string()))),
                None => Err(error),
            },
        }
    }
}

/// The line in an error's text; the very first position of a stream is not told.
fn line_in(error: &str) -> usize {
    let digits = error.rsplit_once(" at line ").and_then(|(_, tail)| tail.split(' ').next());
    digits.and_then(|line| line.parse().ok()).unwrap_or(1)
}

/// Builds maps and lists; a scalar goes to `seen`, and an error is answered.
struct NodeVisitor<'a> {
    role: Role,
    seen: &'a RefCell<Option<Option<String>>>,
}

impl NodeVisitor<'_> {
    fn scalar<E: Error>(self, text: Option<String>) -> Result<Node, E> {
        self.seen.replace(Some(text));
        Err(E::custom("a scalar"))
    }
}

impl<'de> Visitor<'de> for NodeVisitor<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without a tag of its own")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        self.scalar(None)
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        self.scalar(None)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        self.scalar(Some(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        self.scalar(Some(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        self.scalar(Some(value.to_string()))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Node, E> {
        self.scalar(Some(value.to_string()))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Node, E> {
        self.scalar(Some(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        self.scalar(Some(format!("{value:?}")))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        self.scalar(Some(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        self.no_key::<A::Error>()?;
        let mut list = Vec::new();
        while let Some(node) = items.next_element_seed(AnyNode { role: Role::Value })? {
            list.push(node);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        self.no_key::<A::Error>()?;
        let mut map = Vec::new();
        while let Some(key) = entries.next_key_seed(AnyNode { role: Role::Key })? {
            let value = entries.next_value_seed(AnyNode { role: Role::Value })?;
            if let Node::Scalar(text, line) = key {
                map.push((Key { text: text.unwrap_or_default(), line }, value));
            }
        }
        Ok(Node::Map(merged(map)))
    }
}

impl NodeVisitor<'_> {
    fn no_key<E: Error>(&self) -> Result<(), E> {
        match self.role {
            Role::Key => Err(E::custom("a key must be a plain value")),
            Role::Value => Ok(()),
        }
    }
}

/// Replaces `<<` by what it points to, behind the map's own keys, which win.
fn merged(map: Vec<(Key, Node)>) -> Vec<(Key, Node)> {
    let (merges, mut own): (Vec<_>, Vec<_>) = map.into_iter().partition(|(key, _)| key.text == "<<");
    for (_, node) in merges {
        let sources = match node {
            Node::List(items) => items,
            single => vec![single],
        };
        for (key, value) in sources.into_iter().filter_map(into_map).flatten() {
            if !own.iter().any(|(mine, _)| mine.text == key.text) {
                own.push((key, value));
            }
        }
    }
    own
}

fn into_map(node: Node) -> Option<Vec<(Key, Node)>> {
    match node {
        Node::Map(map) => Some(map),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `key@line=value@line`, one entry a word, as a compact picture of a tree.
    fn picture(node: &Node) -> String {
        match node {
            Node::Scalar(text, line) => format!("{}@{line}", text.as_deref().unwrap_or("null")),
            Node::List(items) => format!("[{}]", items.iter().map(picture).collect::<Vec<_>>().join(" ")),
            Node::Map(map) => {
                let entries: Vec<_> =
                    map.iter().map(|(key, value)| format!("{}@{}={}", key.text, key.line, picture(value))).collect();
                format!("{{{}}}", entries.join(" "))
            }
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let documents = documents(text).unwrap_or_else(|broken| panic!("{broken:?}"));
        assert_eq!(documents.iter().map(picture).collect::<Vec<_>>().join(" --- "), expected);
    }

    #[track_caller]
    fn refuse(text: &str, line: usize, message: &str) {
        let broken = documents(text).expect_err(text);
        assert_eq!(broken.line, Some(line), "{broken:?}");
        assert!(broken.message.contains(message), "{broken:?}");
    }

    #[test]
    fn every_key_and_value_knows_its_line() {
        check("a: 1", "{a@1=1@1}");
        check("a: 1\nb:\n  c: x\n", "{a@1=1@1 b@2={c@3=x@3}}");
        check("\n# comment\na:\n  - 1\n  - x: y\n", "{a@3=[1@4 {x@5=y@5}]}");
        check("a: {b: 1, c: [d, e]}\n", "{a@1={b@1=1@1 c@1=[d@1 e@1]}}");
        check("a: |\n  text at line 99 column 3\nb: c\n", "{a@1=text at line 99 column 3\n@1 b@3=c@3}");
        check("\"x at line 7 column 1\": 2\n", "{x at line 7 column 1@1=2@1}");
    }

    #[test]
    fn order_and_duplicates_are_kept() {
        check("z: 1\na: 2\nz: 3\n", "{z@1=1@1 a@2=2@2 z@3=3@3}");
    }

    #[test]
    fn scalars_are_text_as_written() {
        check("a: yes\nb: on\nc: 0x10\nd: 1.0\ne: 010\n", "{a@1=yes@1 b@2=on@2 c@3=16@3 d@4=1.0@4 e@5=010@5}");
        check("a:\nb: ~\nc: \"\"\nd: '~'\n", "{a@1=null@1 b@2=null@2 c@3=@3 d@4=~@4}");
        check("404: no\ntrue: x\n", "{404@1=no@1 true@2=x@2}");
        check("a: -1\nb: 10s\nc: 12345678901234567890\n", "{a@1=-1@1 b@2=10s@2 c@3=12345678901234567890@3}");
        check("a: '{b: c}'\n", "{a@1={b: c}@1}");
        check("\u{feff}a: ä\n", "{a@1=ä@1}");
    }

    #[test]
    fn documents_are_counted_through() {
        check("a: 1\n---\nb: 2\n---\n# nothing\n---\nc: 3\n", "{a@1=1@1} --- {b@3=2@3} --- {c@7=3@7}");
        check("", "");
        check("# only a comment\n", "");
        check("---\n", "");
    }

    #[test]
    fn anchors_and_merge_keys_are_followed() {
        check("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n", "{a@1={p@1=1@1 q@1=2@1} b@2={q@4=3@4 p@1=1@1}}");
        check("a: &x 5\nb: *x\n", "{a@1=5@1 b@2=5@1}");
    }

    #[test]
    fn what_is_no_yaml_is_refused_with_its_line() {
        refuse("a: 1\nb: [1, 2\nc: 3\n", 3, "did not find expected");
        refuse("a: 1\n  b: 2\n", 2, "mapping values are not allowed");
        refuse("a: 1\nb: @project.version@\n", 2, "cannot start any token");
        refuse("a:\n\tb: 1\n", 2, "cannot start any token");
        refuse("a: 1\nb: *nowhere\n", 2, "unknown anchor");
        refuse("a: 1\nb: !java.util.Date 2020\n", 2, "tag of its own");
        refuse("a: 1\n? [x, y]\n: 2\n", 2, "a key must be a plain value");
    }

    #[test]
    fn nested_aliases_do_not_explode() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let item = format!("*a{}", level - 1);
            text += &format!("a{level}: &a{level} [{}]\n", vec![item; 9].join(", "));
        }
        assert!(documents(&text).is_err());
        let deep = "[".repeat(5000);
        assert!(documents(&deep).is_err());
    }
}
