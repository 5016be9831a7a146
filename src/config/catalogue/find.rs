//! From a name that somebody wrote to the key of the catalogue that it means, or to the key that it nearly is.
//!
//! Pure: names in, keys out. The words of a name are compared relaxed; what stands for an id is kept as it was written.

use super::{Key, catalogue};
use crate::config::name::{Element, Name, nearness, uniform};
use std::sync::LazyLock;

/// A key and what stands for the ids in its name, and for its `**`.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    pub(crate) key: &'static Key,
    pub(crate) ids: Vec<String>,
    /// Whether a word differs from the catalogue's spelling.
    pub(crate) relaxed: bool,
}

#[derive(Debug)]
enum Part {
    Word {
        text: String,
        uniform: String,
    },
    /// `<id>`.
    One,
    /// `<key...>`.
    Several,
    /// `**`.
    Rest,
}

#[derive(Debug)]
struct Pattern {
    key: &'static Key,
    parts: Vec<Part>,
}

/// The catalogue with split names, those with more words first, so that the most particular name wins.
fn patterns() -> &'static [Pattern] {
    static ALL: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
        let mut all: Vec<_> = catalogue().iter().map(|key| Pattern { key, parts: split(key.name) }).collect();
        all.sort_by_key(|pattern| {
            let open = pattern.parts.iter().filter(|part| !matches!(part, Part::Word { .. })).count();
            let rest = matches!(pattern.parts.last(), Some(Part::Rest));
            let begins_open = !matches!(pattern.parts.first(), Some(Part::Word { .. }));
            (begins_open, rest, open, std::cmp::Reverse(pattern.parts.len()))
        });
        all
    });
    &ALL
}

fn split(name: &str) -> Vec<Part> {
    name.replace("...>", ">>").split('.').map(part).collect()
}

fn part(text: &str) -> Part {
    match text {
        "**" => Part::Rest,
        _ if text.ends_with(">>") => Part::Several,
        _ if text.starts_with('<') => Part::One,
        _ => Part::Word { text: text.into(), uniform: uniform(text) },
    }
}

/// The key that a name means.
pub(crate) fn find(name: &Name) -> Option<Match> {
    let words: Vec<_> = name.0.iter().map(|element| (element, uniform(&element.text()))).collect();
    patterns().iter().find_map(|pattern| {
        let mut found = Match { key: pattern.key, ids: Vec::new(), relaxed: false };
        fits(&pattern.parts, &words, &mut found).then_some(found)
    })
}

fn fits(parts: &[Part], words: &[(&Element, String)], found: &mut Match) -> bool {
    match (parts.first(), words.first()) {
        (None, None) => true,
        (Some(Part::Rest), _) => {
            found.ids.push(words.iter().map(|(element, _)| element.text()).collect::<Vec<_>>().join("."));
            true
        }
        (Some(Part::Word { text, uniform }), Some((element, word))) => {
            if uniform != word {
                return false;
            }
            let relaxed = found.relaxed;
            found.relaxed |= *text != element.text();
            fits(&parts[1..], &words[1..], found) || {
                found.relaxed = relaxed;
                false
            }
        }
        (Some(Part::One), Some((element, _))) => with_id(element.text(), &parts[1..], &words[1..], found),
        (Some(Part::Several), Some(_)) => (1..=words.len()).rev().any(|count| {
            let id: Vec<_> = words[..count].iter().map(|(element, _)| element.text()).collect();
            with_id(id.join("."), &parts[1..], &words[count..], found)
        }),
        _ => false,
    }
}

fn with_id(id: String, parts: &[Part], words: &[(&Element, String)], found: &mut Match) -> bool {
    found.ids.push(id);
    fits(parts, words, found) || {
        found.ids.pop();
        false
    }
}

/// What the names begin with that are ours to read whole.
pub(crate) const NAMESPACES: [&str; 8] =
    ["server", "zuul", "ribbon", "hystrix", "management", "gateway", "logging", "error"];

/// Whether names that begin like this one are read, so that an unknown one is a mistake; else they belong to somebody else.
pub(crate) fn reads(name: &Name) -> bool {
    let words: Vec<_> = name.0.iter().map(|element| uniform(&element.text())).collect();
    let of_a_service =
        words.len() > 2 && words[0] != "spring" && words[1..words.len() - 1].iter().any(|w| w == "ribbon");
    words.first().is_some_and(|first| NAMESPACES.contains(&first.as_str())) || of_a_service
}

/// Whether keys stand below this name, so that it can stand alone and empty.
pub(crate) fn is_above(name: &Name) -> bool {
    let words: Vec<_> = name.0.iter().map(|element| uniform(&element.text())).collect();
    patterns().iter().any(|pattern| {
        pattern.parts.len() > words.len()
            && pattern.parts.iter().zip(&words).all(|(part, word)| match part {
                Part::Word { uniform, .. } => uniform == word,
                Part::Several => true,
                Part::One | Part::Rest => false,
            })
    })
}

/// The name that was probably meant: one word differs a little, or the last word stands elsewhere in the same namespace.
pub(crate) fn near(name: &Name) -> Option<String> {
    misspelt(name).or_else(|| misplaced(name))
}

/// The name of which one word was misspelt a little.
pub(crate) fn misspelt(name: &Name) -> Option<String> {
    let texts: Vec<_> = name.0.iter().map(Element::text).collect();
    let near = patterns().iter().filter_map(|pattern| Some((one_word_off(&pattern.parts, &texts)?, pattern)));
    near.min_by_key(|&(distance, _)| distance).map(|(_, pattern)| written(&pattern.parts, &texts))
}

/// How far the one word that differs is off, if it is near and the only one.
fn one_word_off(parts: &[Part], texts: &[String]) -> Option<usize> {
    (parts.len() == texts.len()).then_some(())?;
    let differing = parts.iter().zip(texts).filter_map(|(part, text)| match part {
        Part::Word { uniform: expected, text: right } if *expected != uniform(text) => Some(nearness(text, right)),
        _ => None,
    });
    let differing: Vec<_> = differing.collect();
    match differing.as_slice() {
        [distance] => *distance,
        _ => None,
    }
}

fn misplaced(name: &Name) -> Option<String> {
    let (first, last) = (uniform(&name.0.first()?.text()), uniform(&name.0.last()?.text()));
    let is = |part: Option<&Part>, word: &str| matches!(part, Some(Part::Word { uniform, .. }) if uniform == word);
    let pattern = patterns().iter().find(|p| is(p.parts.first(), &first) && is(p.parts.last(), &last))?;
    Some(pattern.key.name.replace("...>", ">"))
}

/// A pattern with the words of a name in place of its ids.
fn written(parts: &[Part], texts: &[String]) -> String {
    let words = parts.iter().zip(texts).map(|(part, written)| match part {
        Part::Word { text, .. } => text.as_str(),
        _ => written.as_str(),
    });
    words.collect::<Vec<_>>().join(".")
}

/// The keys that an environment variable may mean, with the words that stand for ids, in lower case: `ZUUL_ROUTES_USERS_URL`. A word may be
/// split at its dashes or not (`MAX_THREADS`, `MAXTHREADS`). Only keys that do something are looked at.
pub(crate) fn by_variable(variable: &str) -> Vec<(&'static Key, Vec<Vec<String>>)> {
    let tokens: Vec<_> = variable.split('_').map(str::to_lowercase).collect();
    if tokens.iter().any(String::is_empty) || variable.chars().any(|c| c.is_ascii_lowercase()) {
        return Vec::new();
    }
    let candidates = patterns().iter().filter(|pattern| pattern.key.acts()).filter_map(|pattern| {
        let mut ids = Vec::new();
        spells(&pattern.parts, &tokens, &mut ids).then_some((pattern.key, ids))
    });
    candidates.collect()
}

fn spells(parts: &[Part], tokens: &[String], ids: &mut Vec<Vec<String>>) -> bool {
    match parts.first() {
        None => tokens.is_empty(),
        Some(Part::Rest) => false,
        Some(Part::Word { uniform, .. }) => (1..=tokens.len())
            .any(|count| tokens[..count].concat() == *uniform && spells(&parts[1..], &tokens[count..], ids)),
        Some(Part::One | Part::Several) => (1..=tokens.len()).any(|count| {
            ids.push(tokens[..count].to_vec());
            spells(&parts[1..], &tokens[count..], ids) || {
                ids.pop();
                false
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, key: &str, ids: &[&str], relaxed: bool) {
        let found = find(&Name::parse(name)).unwrap_or_else(|| panic!("{name} means nothing"));
        assert_eq!((found.key.name, found.ids), (key, ids.iter().map(|id| id.to_string()).collect()), "{name}");
        assert_eq!(found.relaxed, relaxed, "{name}");
    }

    #[test]
    fn names_mean_keys_however_they_are_spelt() {
        check("server.port", "server.port", &[], false);
        check("zuul.semaphore.maxSemaphores", "zuul.semaphore.max-semaphores", &[], true);
        check("zuul.ribbonIsolationStrategy", "zuul.ribbon-isolation-strategy", &[], true);
        check("zuul.routes.a.serviceId", "zuul.routes.<id>.service-id", &["a"], true);
        check("zuul.routes.users", "zuul.routes.<id>", &["users"], false);
        check("zuul.LegacyFilter.pre.disable", "zuul.<filter>.<type>.disable", &["LegacyFilter", "pre"], false);
        check("zuul.routes.path.path", "zuul.routes.<id>.path", &["path"], false);
    }

    #[test]
    fn ids_are_opaque() {
        for id in ["api.v2", "My_Svc-1", "urn:t:1", "Admin/1/*", "a b"] {
            check(&format!("zuul.routes[{id}].url"), "zuul.routes.<id>.url", &[id], false);
            check(&format!("[{id}].ribbon.ReadTimeout"), "<service...>.ribbon.ReadTimeout", &[id], false);
        }
        check("api.v2.ribbon.ReadTimeout", "<service...>.ribbon.ReadTimeout", &["api.v2"], false);
        check(
            "hystrix.command.api.v2.execution.timeout.enabled",
            "hystrix.command.<key...>.execution.timeout.enabled",
            &["api.v2"],
            false,
        );
        check("logging.level.org.springframework", "logging.level.<logger...>", &["org.springframework"], false);
    }

    #[test]
    fn the_most_particular_key_wins() {
        let exact = "hystrix.command.default.execution.isolation.strategy";
        check(exact, exact, &[], false);
        check("ribbon.ReadTimeout", "ribbon.ReadTimeout", &[], false);
        check("ribbon.read-timeout", "ribbon.ReadTimeout", &[], true);
        check("zuul.ribbon.eager-load.enabled", "zuul.ribbon.eager-load.**", &["enabled"], false);
        check("server.servlet.context-path", "server.servlet.context-path", &[], false);
        check("server.servlet.jsp.registered", "server.servlet.**", &["jsp.registered"], false);
    }

    #[test]
    fn near_names_are_found() {
        #[track_caller]
        fn check(name: &str, expected: Option<&str>) {
            assert!(find(&Name::parse(name)).is_none(), "{name}");
            assert_eq!(near(&Name::parse(name)).as_deref(), expected, "{name}");
        }
        check("zuul.routes.a.servceId", Some("zuul.routes.a.service-id"));
        check("zuul.semaphore.max-semaphors", Some("zuul.semaphore.max-semaphores"));
        check("zuul.max-semaphores", Some("zuul.semaphore.max-semaphores"));
        check("server.tomcat.max-thread", Some("server.tomcat.max-threads"));
        check("server.prot", Some("server.port"));
        check("users.ribbon.listOfServer", Some("users.ribbon.listOfServers"));
        check("zuul.host.conect-timeout-millis", Some("zuul.host.connect-timeout-millis"));
        check("ribbon.connection-timeout", Some("ribbon.ConnectTimeout"));
        check("a.ribbon.NFLoacBalancerRuleClassName", Some("a.ribbon.NFLoadBalancerRuleClassName"));
        check("zuul.nonsense", None);
    }

    #[test]
    fn variables_mean_keys() {
        #[track_caller]
        fn check(variable: &str, expected: &[(&str, &[&[&str]])]) {
            let found = by_variable(variable);
            let found: Vec<_> = found.iter().map(|(key, ids)| (key.name, ids.clone())).collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(key, ids)| (*key, ids.iter().map(|id| id.iter().map(|t| t.to_string()).collect()).collect()))
                .collect::<Vec<(&str, Vec<Vec<String>>)>>();
            assert_eq!(found, expected, "{variable}");
        }
        check("SERVER_PORT", &[("server.port", &[])]);
        check("ZUUL_SEMAPHORE_MAXSEMAPHORES", &[("zuul.semaphore.max-semaphores", &[])]);
        check("ZUUL_SEMAPHORE_MAX_SEMAPHORES", &[("zuul.semaphore.max-semaphores", &[])]);
        check("SERVER_TOMCAT_THREADS_MAX", &[("server.tomcat.threads.max", &[])]);
        check(
            "ZUUL_ROUTES_USERS_URL",
            &[("zuul.routes.<id>.url", &[&["users"]]), ("zuul.routes.<id>", &[&["users", "url"]])],
        );
        check("USERS_RIBBON_LISTOFSERVERS", &[("<service...>.ribbon.listOfServers", &[&["users"]])]);
        check("ZUUL_PORT", &[]);
        check("PATH", &[]);
        check("EUREKA_PORT_8761_TCP", &[]);
        check("server_port", &[]);
    }

    #[test]
    fn namespaces_are_told_apart() {
        for read in ["zuul.x", "a.ribbon.x", "api.v2.ribbon.x", "server", "gateway.x.y"] {
            assert!(reads(&Name::parse(read)), "{read}");
        }
        for unread in ["spring.cloud.loadbalancer.ribbon.enabled", "feign.x", "a.ribbon", "my.own"] {
            assert!(!reads(&Name::parse(unread)), "{unread}");
        }
        assert!(is_above(&Name::parse("zuul.routes")) && is_above(&Name::parse("zuul")));
        assert!(!is_above(&Name::parse("zuul.nonsense")));
    }
}
