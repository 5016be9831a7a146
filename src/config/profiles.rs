//! Profiles: which documents of a file count.
//!
//! A document says at its head for whom it is (`spring.profiles`, or `spring.config.activate.on-profile`), and `spring.profiles.active`
//! says who is there; without any, the profile `default` is. `sources` calls it, before anything is matched with the catalogue.

use super::fault::Fault;
use super::placeholder;
use super::settings::Names;
use super::sources::Document;

const VARIABLE: &str = "SPRING_PROFILES_ACTIVE";
const ACTIVE: &str = "spring.profiles.active";
const INCLUDE: &str = "spring.profiles.include";
const HEADS: [&str; 2] = ["spring.profiles", "spring.config.activate.onprofile"];

/// The active profiles: as the command line says, else the environment, else the last general document that says so. Placeholders in
/// these are resolved here; one that stands for nothing is told later, as for any key.
pub(crate) fn active(files: &[Document], arguments: &Document, environment: &[(String, String)]) -> Vec<String> {
    let general: Vec<Document> = files.iter().filter(|document| head(document).is_none()).cloned().collect();
    let from_environment = || environment.iter().find(|(name, _)| name == VARIABLE).map(|(_, value)| value.clone());
    let named = value(arguments, ACTIVE)
        .or_else(from_environment)
        .or_else(|| general.iter().filter_map(|document| value(document, ACTIVE)).next_back())
        .unwrap_or_default();
    let included = general.iter().chain([arguments]).filter_map(|document| value(document, INCLUDE));
    let names = Names::new(&general, environment, arguments);
    let resolved = |list: String| placeholder::resolve(&list, &|name| names.look_up(name)).unwrap_or(list);
    let lists: Vec<String> = [named].into_iter().chain(included).map(resolved).collect();
    let profiles = lists.iter().flat_map(|list| list.split(',')).map(str::trim).filter(|profile| !profile.is_empty());
    let profiles: Vec<String> = profiles.map(str::to_string).collect();
    if profiles.is_empty() { vec!["default".into()] } else { profiles }
}

/// The documents that are for everybody or for one of the active profiles. An expression that can't be read is a fault.
pub(crate) fn applying(documents: Vec<Document>, active: &[String], faults: &mut Vec<Fault>) -> Vec<Document> {
    let mut applies = |document: &Document| {
        let Some((expressions, at)) = head(document) else { return true };
        let results: Vec<_> = expressions.iter().map(|expression| holds(expression, active)).collect();
        if results.contains(&None) {
            let entry = &document[at];
            faults.push(Fault::error(&entry.place, entry.name.to_string(), "must be profiles joined by !, & and |"));
        }
        results.contains(&Some(true))
    };
    documents.into_iter().filter(|document| applies(document)).collect()
}

fn value(document: &Document, name: &str) -> Option<String> {
    document.iter().filter(|entry| entry.name.uniform() == name).map(|entry| entry.value.text()).next_back()
}

/// The expressions at the head of a document, and the entry that holds them.
fn head(document: &Document) -> Option<(Vec<String>, usize)> {
    let at = document.iter().position(|entry| HEADS.contains(&entry.name.uniform().as_str()))?;
    Some((document[at].value.items(), at)).filter(|(expressions, _)| !expressions.is_empty())
}

/// Whether `a & !b | (c)` holds; `None` when it can't be read.
fn holds(expression: &str, active: &[String]) -> Option<bool> {
    let mut rest = expression.trim();
    let result = any(&mut rest, active)?;
    rest.is_empty().then_some(result)
}

fn any(rest: &mut &str, active: &[String]) -> Option<bool> {
    let mut result = all(rest, active)?;
    while skip(rest, '|') {
        result |= all(rest, active)?;
    }
    Some(result)
}

fn all(rest: &mut &str, active: &[String]) -> Option<bool> {
    let mut result = one(rest, active)?;
    while skip(rest, '&') {
        result &= one(rest, active)?;
    }
    Some(result)
}

fn one(rest: &mut &str, active: &[String]) -> Option<bool> {
    if skip(rest, '!') {
        return one(rest, active).map(|result| !result);
    }
    if skip(rest, '(') {
        return any(rest, active).filter(|_| skip(rest, ')'));
    }
    let end = rest.find(|c: char| "!&|()".contains(c) || c.is_whitespace()).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    *rest = after.trim_start();
    (!name.is_empty()).then(|| active.iter().any(|profile| profile == name))
}

fn skip(rest: &mut &str, c: char) -> bool {
    match rest.strip_prefix(c) {
        Some(after) => {
            *rest = after.trim_start();
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_say_for_whom_a_document_is() {
        let active = ["dev".to_string(), "eu".to_string()];
        let table = [
            ("dev", Some(true)),
            ("prod", Some(false)),
            ("!prod", Some(true)),
            ("dev & eu", Some(true)),
            ("dev&us", Some(false)),
            ("us | eu", Some(true)),
            ("!(us | eu)", Some(false)),
            ("dev eu", None),
            ("(dev", None),
            ("", None),
            ("dev &", None),
        ];
        for (expression, expected) in table {
            assert_eq!(holds(expression, &active), expected, "{expression}");
        }
    }
}
