//! Names of properties, as Spring reads them: `zuul.maxSemaphores`, `zuul.max-semaphores` and `zuul.max_semaphores` are one name.
//!
//! A name is a list of elements. What stands in brackets is opaque (`zuul.routes[api.v2].path`), a number in brackets is an index into a
//! list. Relaxed comparison is for the words of the catalogue alone: ids of routes and services are compared as they are written.

use std::fmt;

/// One element of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// A word or an id, as written.
    Word(String),
    /// `[...]`: an id that may hold anything.
    Quoted(String),
    /// `[3]`: a place in a list.
    Index(usize),
}

impl Element {
    /// What stands in it, without brackets.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Word(text) | Self::Quoted(text) => text.clone(),
            Self::Index(index) => index.to_string(),
        }
    }
}

/// The name of a property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) Vec<Element>);

impl Name {
    /// Reads `a.b[c.d].e[0]`. Brackets that don't close are part of the word, since keys are opaque.
    pub(crate) fn parse(text: &str) -> Self {
        let mut name = Self::default();
        name.append(text);
        name
    }

    /// This name followed by what `text` says.
    pub(crate) fn child(&self, text: &str) -> Self {
        let mut name = self.clone();
        name.append(text);
        name
    }

    /// This name followed by a place in a list.
    pub(crate) fn index(&self, index: usize) -> Self {
        let mut name = self.clone();
        name.0.push(Element::Index(index));
        name
    }

    fn append(&mut self, text: &str) {
        let mut rest = text;
        if rest.is_empty() {
            self.0.push(Element::Word(String::new()));
        }
        while !rest.is_empty() {
            rest = match bracketed(rest) {
                Some((inside, after)) => {
                    self.0.push(inside.parse().map_or_else(|_| Element::Quoted(inside.into()), Element::Index));
                    after.strip_prefix('.').unwrap_or(after)
                }
                None => {
                    let end = word_end(rest);
                    self.0.push(Element::Word(rest[..end].into()));
                    rest[end..].strip_prefix('.').unwrap_or(&rest[end..])
                }
            };
        }
    }

    /// The relaxed form of the whole name, by which placeholders find it.
    pub(crate) fn uniform(&self) -> String {
        let parts: Vec<_> = self.0.iter().map(|element| uniform(&element.text())).collect();
        parts.join(".")
    }
}

/// The end of the word that begins `text`: before the next dot or closed bracket.
fn word_end(text: &str) -> usize {
    text.char_indices()
        .skip(1)
        .find(|&(at, c)| c == '.' || (c == '[' && bracketed(&text[at..]).is_some()))
        .map_or(text.len(), |(at, _)| at)
}

/// What stands in the brackets that begin `text`, and what follows them.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let (inside, after) = text.strip_prefix('[')?.split_once(']')?;
    let ends = after.is_empty() || after.starts_with(['.', '[']);
    (ends && !inside.is_empty()).then_some((inside, after))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, element) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            match element {
                Element::Word(word) => write!(f, "{dot}{word}")?,
                Element::Quoted(text) => write!(f, "[{text}]")?,
                Element::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The relaxed form of a word: lower case, without `-` and `_`.
pub(crate) fn uniform(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// The candidate that is nearest to `word` in its relaxed form, if any is near enough to have been meant.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = candidates.into_iter().filter_map(|candidate| Some((nearness(word, candidate)?, candidate)));
    near.min_by_key(|&(distance, _)| distance).map(|(_, candidate)| candidate)
}

/// How far two words are from each other in their relaxed forms; `None` when one can't have been meant by the other.
pub(crate) fn nearness(word: &str, candidate: &str) -> Option<usize> {
    let (word, candidate) = (uniform(word), uniform(candidate));
    let bound = 1 + word.chars().count() / 5;
    Some(distance(&word, &candidate)).filter(|&distance| distance <= bound)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, elements: &[Element]) {
        assert_eq!(Name::parse(text).0, elements, "{text}");
    }

    fn word(text: &str) -> Element {
        Element::Word(text.into())
    }

    #[test]
    fn names_split_at_dots_outside_brackets() {
        check("server.port", &[word("server"), word("port")]);
        check("a[api.v2].path", &[word("a"), Element::Quoted("api.v2".into()), word("path")]);
        check("[api.v2].b", &[Element::Quoted("api.v2".into()), word("b")]);
        check("a[0]", &[word("a"), Element::Index(0)]);
        check("a[0].id", &[word("a"), Element::Index(0), word("id")]);
        check("urn:t:1", &[word("urn:t:1")]);
        check("Admin/1/*", &[word("Admin/1/*")]);
        check("a[b", &[word("a[b")]);
        check("[b", &[word("[b")]);
        check("a[]", &[word("a[]")]);
        check("", &[word("")]);
        check(".a", &[word(".a")]);
        check("a.", &[word("a")]);
        check("é[x]", &[word("é"), Element::Quoted("x".into())]);
    }

    #[test]
    fn relaxed_forms_of_a_name_agree() {
        for name in ["zuul.semaphore.max-semaphores", "zuul.semaphore.maxSemaphores", "ZUUL.semaphore.MAX_SEMAPHORES"] {
            assert_eq!(Name::parse(name).uniform(), "zuul.semaphore.maxsemaphores");
        }
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("servceId", ["path", "service-id", "url"]), Some("service-id"));
        assert_eq!(nearest("conect-timeout", ["connection-timeout", "connect-timeout"]), Some("connect-timeout"));
        assert_eq!(nearest("prot", ["port", "address"]), Some("port"));
        assert_eq!(nearest("colour", ["path", "url"]), None);
    }
}
