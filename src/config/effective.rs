//! The effective properties, for `check --dump`: every key that counts, with the value that won and where it came from.
//!
//! Secrets are masked here, before anybody can print them: by the key's name as Spring does, and the user information of urls in any
//! value.

use super::catalogue::{catalogue, former_name};
use super::fault::Place;
use super::settings::Settings;
use std::fmt;

/// Every effective property, in the order of the files; then the defaults of the keys that were not set, by an older name either.
#[derive(Clone, Debug, Default)]
pub struct Effective {
    /// The properties.
    pub properties: Vec<Property>,
}

/// One property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The key's name in the catalogue, ids not filled in.
    pub key: &'static str,
    /// Its name, as the catalogue spells it.
    pub name: String,
    /// Its value, placeholders resolved, secrets masked.
    pub value: String,
    /// Where it comes from.
    pub origin: Place,
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}  # {}", self.name, self.value, self.origin)
    }
}

impl fmt::Display for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.properties.iter().try_for_each(|property| writeln!(f, "{property}"))
    }
}

/// What the settings come to.
pub(crate) fn effective(settings: &Settings) -> Effective {
    let written = settings.iter().map(|setting| {
        let name =
            if setting.key.name.ends_with("**") { setting.name.clone() } else { named(setting.key.name, &setting.ids) };
        Property {
            key: setting.key.name,
            value: masked(&name, &setting.value.text()),
            name,
            origin: setting.place.clone(),
        }
    });
    let is_set = |name: &str| settings.iter().any(|setting| setting.key.name == name);
    let unset = |key: &&super::Key| !is_set(key.name) && !former_name(key.name).is_some_and(is_set);
    let defaults = catalogue().iter().filter(|key| !key.default.is_empty() && !key.name.contains('<')).filter(unset);
    let defaults = defaults.map(|key| Property {
        key: key.name,
        name: key.name.into(),
        value: key.default.into(),
        origin: Place::Default,
    });
    Effective { properties: written.chain(defaults).collect() }
}

/// The key's name with its ids; those with a dot in brackets where Spring needs them.
fn named(pattern: &str, ids: &[String]) -> String {
    let mut name = String::new();
    let (mut rest, mut ids) = (pattern, ids.iter());
    while let Some((before, after)) = rest.split_once('<') {
        let (open, after) = after.split_once('>').unwrap_or((after, ""));
        let id = ids.next().map_or("", String::as_str);
        name.push_str(before);
        match id.contains('.') && !open.ends_with("...") {
            true => {
                name.truncate(name.trim_end_matches('.').len());
                name.push_str(&format!("[{id}]"));
            }
            false => name.push_str(id),
        }
        rest = after;
    }
    name + rest
}

const MASK: &str = "******";

/// The value, unless the name says that it is a secret; passwords within urls are masked in any value.
fn masked(name: &str, value: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    // What a rate is counted by is called a key too.
    let secret = !name.starts_with("gateway.rate-limit.")
        && (["password", "secret", "token", "key"].iter().any(|end| last.ends_with(end))
            || last.contains("credentials"));
    match secret && !value.is_empty() {
        true => MASK.into(),
        false => without_user_information(value),
    }
}

/// Replaces what stands between `://` and `@` in each url.
fn without_user_information(value: &str) -> String {
    let mut out = String::new();
    let mut rest = value;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(['/', '?', '#', ',', ' ']).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(user_end) => {
                out.push_str(MASK);
                &after[user_end..]
            }
            None => after,
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        #[track_caller]
        fn check(name: &str, value: &str, expected: &str) {
            assert_eq!(masked(name, value), expected, "{name}");
        }
        check("info.db.password", "x", MASK);
        check("info.api-key", "x", MASK);
        check("info.apiKey", "x", MASK);
        check("info.git.credentials.user", "x", "x");
        check("info.my-credentials-file", "x", MASK);
        check("info.token", "", "");
        check("zuul.thread-pool.thread-pool-key-prefix", "p-", "p-");
        check("zuul.routes.a.url", "http://u:p@h:1/x@y", "http://******@h:1/x@y");
        check(
            "eureka.client.service-url.defaultZone",
            "http://u:p@a/e,http://b/e,http://v:q@c/e",
            "http://******@a/e,http://b/e,http://******@c/e",
        );
        check("zuul.prefix", "/api", "/api");
        check("gateway.rate-limit.routes.a.key", "address", "address");
    }

    #[test]
    fn names_carry_their_ids() {
        assert_eq!(named("zuul.routes.<id>.path", &["a".into()]), "zuul.routes.a.path");
        assert_eq!(named("zuul.routes.<id>.path", &["api.v2".into()]), "zuul.routes[api.v2].path");
        assert_eq!(named("<service...>.ribbon.X", &["api.v2".into()]), "api.v2.ribbon.X");
        assert_eq!(named("logging.level.<logger...>", &["a.b".into()]), "logging.level.a.b");
        assert_eq!(named("server.port", &[]), "server.port");
    }
}
