//! Typed reading of settings: what is absent, or was refused when it was checked, is `None`.
//!
//! So `resolve` never tells a fault twice and never asks whether a value is sound. Asking for a name that the catalogue doesn't hold is a
//! mistake of ours, and fails in tests.

use super::{Setting, Settings};
use crate::config::catalogue::{Kind, Unit, catalogue};
use crate::config::values;
use std::time::Duration;

/// Reads the keys of one id, or those without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read<'a> {
    settings: &'a Settings,
    id: &'a str,
}

impl<'a> Read<'a> {
    pub(super) fn new(settings: &'a Settings, id: &'a str) -> Self {
        Self { settings, id }
    }

    /// The setting itself, whatever its value.
    pub(crate) fn setting(self, name: &'static str) -> Option<&'a Setting> {
        debug_assert!(catalogue().iter().any(|key| key.name == name), "{name} is not in the catalogue");
        self.settings.find(name, self.id)
    }

    /// The setting, if its value is one that its key takes.
    fn sound(self, name: &'static str) -> Option<&'a Setting> {
        self.setting(name).filter(|setting| values::check(setting.key.kind, &setting.value).is_ok())
    }

    /// Yes or no.
    pub(crate) fn flag(self, name: &'static str) -> Option<bool> {
        values::flag(&self.text(name)?).ok()
    }

    /// A number, within the bounds of its key.
    pub(crate) fn count(self, name: &'static str) -> Option<i64> {
        self.sound(name)?.value.text().parse().ok()
    }

    /// A number that its key doesn't let be negative.
    pub(crate) fn amount(self, name: &'static str) -> Option<usize> {
        self.count(name).and_then(|number| usize::try_from(number).ok())
    }

    /// A time; `Some(None)` is "no bound": nothing or less than nothing was written.
    pub(crate) fn time(self, name: &'static str) -> Option<Option<Duration>> {
        let setting = self.sound(name)?;
        let unit = match setting.key.kind {
            Kind::Duration { unit, .. } => unit,
            _ => Unit::Millis,
        };
        values::duration(&setting.value.text(), unit).ok()
    }

    /// A time that needs a bound: the longest that counts stands for none.
    pub(crate) fn bounded_time(self, name: &'static str) -> Option<Duration> {
        self.time(name).map(|time| time.unwrap_or(values::LONGEST))
    }

    /// A size in octets; negative where that means "no bound".
    pub(crate) fn size(self, name: &'static str) -> Option<i64> {
        values::octets(&self.sound(name)?.value.text()).ok()
    }

    /// Any text; null is empty.
    pub(crate) fn text(self, name: &'static str) -> Option<String> {
        self.sound(name).map(|setting| setting.value.text())
    }

    /// Any text that is not empty.
    pub(crate) fn words(self, name: &'static str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// A list; null and empty are an empty one.
    pub(crate) fn items(self, name: &'static str) -> Option<Vec<String>> {
        self.sound(name).map(|setting| setting.value.items())
    }

    /// The place of the chosen word among the key's choices.
    pub(crate) fn choice(self, name: &'static str) -> Option<usize> {
        let setting = self.sound(name)?;
        match setting.key.kind {
            Kind::Choice(words) => values::choice(&setting.value.text(), words).ok(),
            _ => None,
        }
    }
}
