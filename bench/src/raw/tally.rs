//! Counts by word, such as requests by reason of refusal: in one CSV cell as `pool_full=3;semaphore_full=12`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// How often each word was counted; words that never were are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally(BTreeMap<String, u64>);

impl Tally {
    /// `count` more of `word`.
    pub(crate) fn add(&mut self, word: &str, count: u64) {
        match self.0.get_mut(word) {
            Some(sum) => *sum += count,
            None if count > 0 => drop(self.0.insert(word.into(), count)),
            None => {}
        }
    }

    /// All counts together.
    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// How often `word` was counted.
    pub(crate) fn of(&self, word: &str) -> u64 {
        self.0.get(word).copied().unwrap_or(0)
    }

    /// Words in their order, with their counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(word, count)| (word.as_str(), *count))
    }

    /// What was counted since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        self.iter().map(|(word, count)| (word, count.saturating_sub(before.of(word)))).collect()
    }
}

impl<'a> FromIterator<(&'a str, u64)> for Tally {
    fn from_iter<I: IntoIterator<Item = (&'a str, u64)>>(counts: I) -> Self {
        let mut tally = Self::default();
        counts.into_iter().for_each(|(word, count)| tally.add(word, count));
        tally
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (word, count)) in self.iter().enumerate() {
            let semicolon = if n == 0 { "" } else { ";" };
            write!(f, "{semicolon}{word}={count}")?;
        }
        Ok(())
    }
}

impl std::str::FromStr for Tally {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair = |part: &str| {
            let (word, count) = part.split_once('=')?;
            Some((word.to_owned(), count.parse::<u64>().ok()?))
        };
        let pairs: Option<BTreeMap<_, _>> = text.split(';').filter(|part| !part.is_empty()).map(pair).collect();
        pairs.map(Self).ok_or_else(|| format!("not counts by word: {text}"))
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Nothing counted is told as such: an empty cell would mean that nobody counted.
        if self.0.is_empty() { serializer.serialize_str("0") } else { serializer.collect_str(self) }
    }
}

impl<'de> Deserialize<'de> for Tally {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "0" { Ok(Self::default()) } else { text.parse().map_err(serde::de::Error::custom) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_word_are_told_and_read_back() {
        for text in ["", "a=1", "pool_full=3;semaphore_full=12"] {
            assert_eq!(text.parse::<Tally>().map(|tally| tally.to_string()).as_deref(), Ok(text));
        }
        for bad in ["a", "a=", "a=x", "=;"] {
            assert!(bad.parse::<Tally>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_what_came_since_is_left() {
        let before = Tally::from_iter([("a", 2), ("b", 1)]);
        let now = Tally::from_iter([("a", 5), ("b", 1), ("c", 4)]);
        assert_eq!(now.since(&before), Tally::from_iter([("a", 3), ("c", 4)]));
        assert_eq!((now.total(), now.of("a"), now.of("none")), (10, 5, 0));
    }
}
