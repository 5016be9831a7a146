//! Every key that a configuration file may hold, with what it does here. One table: reading, checking, near matches and the README's list
//! of keys are all made from it.
//!
//! The tables stand in one file a namespace. A name may hold `<id>` (one element: a route id), `<key...>` (one or more, joined by dots: a
//! service id) and end in `**` (whatever follows). Names are relaxed as Spring's are, but those which Zuul reads through Archaius by exact
//! name ([`Key::is_exact`]).

mod find;
mod gateway;
mod hystrix;
mod management;
mod ribbon;
mod server;
mod spring;
mod zuul;

pub(crate) use find::{NAMESPACES, by_variable, find, is_above, misspelt, near, reads};
pub(crate) use server::former_name;

use std::fmt;
use std::sync::LazyLock;

/// What a key is, and what it does here.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name, in the form that Spring's documentation has.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// The value when it is absent, as it would be written; empty when there is none.
    pub default: &'static str,
    /// Whether it does anything.
    pub effect: Effect,
    /// What it means, in one line.
    pub doc: &'static str,
}

impl Key {
    /// Whether Zuul reads it through Archaius, by its exact name.
    pub fn is_exact(&self) -> bool {
        let ribbon = self.name.starts_with("ribbon.") || self.name.starts_with("<service...>.");
        let spring = self.name.contains(".eureka.enabled") || self.name.contains(".eager-load");
        let archaius = ribbon && !spring
            || self.name.starts_with("hystrix.")
            || self.name.starts_with("niws.")
            || self.name.starts_with("zuul.eureka.");
        archaius && !self.name.ends_with("**")
    }

    /// Whether it changes what the gateway does.
    pub fn acts(&self) -> bool {
        matches!(self.effect, Effect::Acts | Effect::MatchingOnly)
    }
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true`, `on`, `yes`, `1` or their opposites.
    Flag,
    /// A whole number within bounds.
    Count {
        /// The smallest.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// `10s`, `500ms`, `PT10S`; a bare number counts in this unit. May be negative where that means "no bound".
    Duration {
        /// Of a bare number.
        unit: Unit,
        /// The smallest, in the unit.
        min: i64,
    },
    /// `16KB`, `2MB`; a bare number counts octets.
    Size {
        /// The smallest, in octets.
        min: i64,
        /// The largest, in octets.
        max: i64,
    },
    /// Any text.
    Text,
    /// Values between commas, or a YAML list.
    List,
    /// One of these, in any case.
    Choice(&'static [&'static str]),
    /// Anything: not looked at.
    Any,
}

/// The unit of a bare number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Thousandths of a second.
    Millis,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
}

/// What a key does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It takes effect.
    Acts,
    /// It takes effect on matching only: forwarding is octet for octet whatever it says.
    MatchingOnly,
    /// Spring or Zuul knows it; here it does nothing, for this reason.
    Inert(&'static str),
    /// It does nothing yet.
    Later(&'static str),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("true or false"),
            Self::Count { .. } => f.write_str("number"),
            Self::Duration { unit: Unit::Millis, .. } => f.write_str("time (ms)"),
            Self::Duration { unit: Unit::Seconds, .. } => f.write_str("time (s)"),
            Self::Duration { unit: Unit::Minutes, .. } => f.write_str("time (min)"),
            Self::Size { .. } => f.write_str("size"),
            Self::Text => f.write_str("text"),
            Self::List => f.write_str("list"),
            Self::Choice(words) => f.write_str(&words.join(", ")),
            Self::Any => f.write_str("any"),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Acts => f.write_str("acts"),
            Self::MatchingOnly => f.write_str("acts on matching only"),
            Self::Inert(reason) => write!(f, "no effect: {reason}"),
            Self::Later(reason) => write!(f, "no effect yet: {reason}"),
        }
    }
}

/// Every key, by namespace.
pub fn catalogue() -> &'static [Key] {
    static ALL: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let tables: [&[Key]; 8] = [
            server::KEYS,
            zuul::KEYS,
            ribbon::KEYS,
            hystrix::KEYS,
            management::KEYS,
            gateway::KEYS,
            spring::KEYS,
            spring::UNREAD_BUT_KNOWN,
        ];
        tables.concat()
    });
    &ALL
}

const fn acts(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { name, kind, default, effect: Effect::Acts, doc }
}

const fn matching(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { name, kind, default, effect: Effect::MatchingOnly, doc }
}

const fn inert(name: &'static str, reason: &'static str) -> Key {
    Key { name, kind: Kind::Any, default: "", effect: Effect::Inert(reason), doc: "" }
}

const fn later(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { name, kind, default, effect: Effect::Later("it is not built"), doc }
}

/// So many, from 1.
const POSITIVE: Kind = Kind::Count { min: 1, max: 1 << 31 };
/// So many, or none.
const COUNT: Kind = Kind::Count { min: 0, max: 1 << 31 };
/// So many, where -1 stands for "no bound".
const OR_MINUS: Kind = Kind::Count { min: -1, max: 1 << 31 };
const PORT: Kind = Kind::Count { min: 0, max: 65535 };
/// A time in milliseconds where nothing and less than nothing mean "no bound".
const MILLIS: Kind = Kind::Duration { unit: Unit::Millis, min: -1 };

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_is_listed_once_and_explains_itself() {
        let mut names = BTreeSet::new();
        for key in catalogue() {
            assert!(names.insert(key.name), "{} stands twice", key.name);
            match key.effect {
                Effect::Inert(reason) => assert!(!reason.is_empty(), "{}", key.name),
                _ => assert!(!key.doc.is_empty(), "{}", key.name),
            }
        }
    }
}
