//! `/actuator/info`: the `info.*` properties as a tree, and nothing that the operator did not write.

use super::page::Page;
use serde_json::{Map, Value};

/// The properties, whose keys are dotted and lack `info.`; a key below one that has a value already is told whole, dots and all.
pub(super) fn page(info: &[(String, String)]) -> Page {
    let mut tree = Map::new();
    for (key, value) in info {
        insert(&mut tree, key, value);
    }
    Page::json(Value::Object(tree))
}

fn insert(tree: &mut Map<String, Value>, key: &str, value: &str) {
    if let Some((first, rest)) = key.split_once('.')
        && let Value::Object(branch) = tree.entry(first).or_insert_with(|| Value::Object(Map::new()))
    {
        return insert(branch, rest, value);
    }
    tree.insert(key.to_owned(), value.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::page::Content;

    #[track_caller]
    fn check(info: &[(&str, &str)], expected: &str) {
        let info: Vec<_> = info.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let Content::Json(value) = page(&info).content else { panic!("JSON expected") };
        assert_eq!(value.to_string(), expected);
    }

    #[test]
    fn dotted_keys_become_a_tree_in_order() {
        check(&[], "{}");
        check(
            &[("app.name", "edge"), ("zone", "b"), ("app.version", "1.2")],
            r#"{"app":{"name":"edge","version":"1.2"},"zone":"b"}"#,
        );
        check(&[("app", "x"), ("app.name", "edge")], r#"{"app":"x","app.name":"edge"}"#);
    }
}
