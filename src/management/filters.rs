//! `/actuator/filters`, in the shape of Zuul's FiltersEndpoint, with the gateway's own steps in place of filters.

use super::page::Page;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One step as the endpoint tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterLine {
    /// Zuul's filter type: pre, route, post or error.
    pub kind: &'static str,
    /// What takes it: a module here, a class in Zuul.
    pub class: &'static str,
    /// Its place among all steps.
    pub order: u32,
    /// Whether the configuration leaves it nothing to do.
    pub disabled: bool,
}

/// Steps by type, the types sorted as Zuul sorts them, in order within each.
pub(super) fn page(lines: &[FilterLine]) -> Page {
    let mut by_kind: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for line in lines {
        let value = json!({"class": line.class, "order": line.order, "disabled": line.disabled, "static": true});
        by_kind.entry(line.kind).or_default().push(value);
    }
    let all: Map<String, Value> = by_kind.into_iter().map(|(kind, lines)| (kind.into(), lines.into())).collect();
    Page::json(Value::Object(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::page::Content;

    #[test]
    fn steps_are_told_by_type() {
        let line = |kind, class, order| FilterLine { kind, class, order, disabled: order == 2 };
        let lines = [line("pre", "a", 1), line("pre", "b", 2), line("error", "c", 3)];
        let Content::Json(value) = page(&lines).content else { panic!("JSON expected") };
        let expected = concat!(
            r#"{"error":[{"class":"c","order":3,"disabled":false,"static":true}],"#,
            r#""pre":[{"class":"a","order":1,"disabled":false,"static":true},{"class":"b","order":2,"disabled":true,"static":true}]}"#
        );
        assert_eq!(value.to_string(), expected);
    }
}
