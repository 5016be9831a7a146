//! Ant patterns as Spring's `AntPathMatcher` (5.2) reads them, compiled once: `?` is one character, `*` any number of them inside a
//! segment, `{name}` the same as `*`, and a whole segment `**` is any number of segments. Case counts; empty segments do not.
//!
//! A pattern only answers yes or no about a path that [`super::path`] has prepared; it never sees a query, and never allocates when it
//! matches. Called by the router for every request, so a mismatch in the first segment is found at once.

use std::fmt;

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    segments: Vec<Segment>,
    /// Whether the pattern ends in `/`: without a `**`, path and pattern must agree about that.
    ends_in_slash: bool,
}

/// A pattern that means something to Spring which is not offered here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnsupportedPattern {
    /// The variable with a regular expression, as written: `{id:[0-9]+}`.
    pub(crate) variable: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(Box<str>),
    /// `*` alone: any one segment.
    Any,
    Glob(Box<[Piece]>),
    /// `**` alone: any number of segments.
    Deep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Char(char),
    One,
    Many,
}

impl Pattern {
    /// Compiles `pattern` below `prefix`, which is taken literally (`zuul.prefix` is no pattern).
    ///
    /// # Errors
    /// [`UnsupportedPattern`] for `{name:regex}`.
    pub(crate) fn below(prefix: &str, pattern: &str) -> Result<Self, UnsupportedPattern> {
        let literal = segments(prefix).map(|text| Ok(Segment::Literal(text.into())));
        let segments = literal.chain(segments(pattern).map(Segment::parse)).collect::<Result<_, _>>()?;
        Ok(Self { segments, ends_in_slash: pattern.ends_with('/') })
    }

    /// Compiles `pattern`.
    ///
    /// # Errors
    /// [`UnsupportedPattern`] for `{name:regex}`.
    pub(crate) fn new(pattern: &str) -> Result<Self, UnsupportedPattern> {
        Self::below("", pattern)
    }

    /// Whether the whole of `path` matches; a path without a leading slash never does.
    pub(crate) fn matches(&self, path: &str) -> bool {
        if !path.starts_with('/') {
            return false;
        }
        let (mut at, mut rest) = (0, segments(path));
        // After a `**`: where the pattern goes on, and the first segment that it has not swallowed yet.
        let mut retry = None;
        loop {
            let mut after = rest.clone();
            match (self.segments.get(at), after.next()) {
                // A last `**` takes whatever is left, unread.
                (Some(Segment::Deep), _) if at + 1 == self.segments.len() => return true,
                (Some(Segment::Deep), _) => {
                    at += 1;
                    retry = Some((at, rest.clone()));
                }
                (Some(segment), Some(text)) if segment.matches(text) => {
                    at += 1;
                    rest = after;
                }
                (None, None) => return retry.is_some() || self.ends_in_slash == path.ends_with('/'),
                (Some(Segment::Any), None) if self.takes_an_empty_end(at) && retry.is_none() => {
                    return path.ends_with('/');
                }
                _ => match swallow_one(&mut retry) {
                    Some(again) => (at, rest) = again,
                    None => return false,
                },
            }
        }
    }

    /// How many segments stand literally before the first wildcard.
    pub(crate) fn leading_literals(&self) -> usize {
        self.segments.iter().take_while(|segment| matches!(segment, Segment::Literal(_))).count()
    }

    /// Whether every path that `other` matches is surely matched by this one. Errs towards no: a segment with `?`, `{` or `*` within covers
    /// only what is spelt alike.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let begins = |before: &[Segment]| before.iter().zip(&other.segments).all(|(wide, narrow)| wide.covers(narrow));
        match self.segments.split_last() {
            Some((Segment::Deep, before)) if !self.ends_in_slash => {
                other.segments.len() >= before.len() && begins(before)
            }
            _ => {
                let as_long = self.segments.len() == other.segments.len();
                as_long && self.ends_in_slash == other.ends_in_slash && begins(&self.segments)
            }
        }
    }

    /// `/foo/*` matches `/foo/`: a last `*` stands for the nothing behind a trailing slash.
    fn takes_an_empty_end(&self, at: usize) -> bool {
        at + 1 == self.segments.len()
    }
}

impl Segment {
    fn parse(text: &str) -> Result<Self, UnsupportedPattern> {
        let pieces = pieces(text)?;
        Ok(match pieces.as_slice() {
            [Piece::Many, Piece::Many] if text == "**" => Self::Deep,
            [Piece::Many] => Self::star(text),
            all if all.iter().all(|piece| matches!(piece, Piece::Char(_))) => Self::Literal(text.into()),
            all => Self::Glob(all.into()),
        })
    }

    /// `*` is told apart from `{name}`, since only the former matches nothing at the end of a path.
    fn star(text: &str) -> Self {
        if text == "*" { Self::Any } else { Self::Glob([Piece::Many].into()) }
    }

    fn covers(&self, other: &Self) -> bool {
        self == other || matches!((self, other), (Self::Any, Self::Literal(_)))
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Literal(literal) => **literal == *text,
            Self::Any | Self::Deep => true,
            Self::Glob(pieces) => glob_matches(pieces, text),
        }
    }
}

/// The segments of a path or pattern that are not empty.
pub(super) fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|segment| !segment.is_empty())
}

fn pieces(segment: &str) -> Result<Vec<Piece>, UnsupportedPattern> {
    let mut pieces = Vec::new();
    let mut rest = segment.chars();
    while let Some(c) = rest.next() {
        let piece = match c {
            '?' => Piece::One,
            '*' => Piece::Many,
            '{' => match variable(rest.as_str()) {
                Some(name) if name.contains(':') => {
                    return Err(UnsupportedPattern { variable: format!("{{{name}}}") });
                }
                Some(name) => {
                    rest = rest.as_str()[name.len() + 1..].chars();
                    Piece::Many
                }
                None => Piece::Char('{'),
            },
            c => Piece::Char(c),
        };
        pieces.push(piece);
    }
    Ok(pieces)
}

/// The text up to the brace that closes the variable; `None` when it is empty or never closed: the brace is then an ordinary character.
fn variable(after_brace: &str) -> Option<&str> {
    let mut depth = 1;
    for (at, c) in after_brace.char_indices() {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        if depth == 0 {
            return (at > 0).then(|| &after_brace[..at]);
        }
    }
    None
}

/// Glob matching with one point of return: the last `*` swallows one character more whenever what follows does not fit.
fn glob_matches(pieces: &[Piece], text: &str) -> bool {
    let (mut at, mut rest) = (0, text.chars());
    let mut retry = None;
    loop {
        let mut after = rest.clone();
        match (pieces.get(at), after.next()) {
            (Some(Piece::Many), _) => {
                at += 1;
                retry = Some((at, rest.clone()));
            }
            (Some(Piece::One), Some(_)) => (at, rest) = (at + 1, after),
            (Some(Piece::Char(wanted)), Some(c)) if *wanted == c => (at, rest) = (at + 1, after),
            (None, None) => return true,
            _ => match swallow_one(&mut retry) {
                Some(again) => (at, rest) = again,
                None => return false,
            },
        }
    }
}

/// Lets the last wildcard swallow one item more; `None` without a wildcard, or when nothing is left for it.
fn swallow_one<I: Iterator + Clone>(retry: &mut Option<(usize, I)>) -> Option<(usize, I)> {
    let (_, unswallowed) = retry.as_mut()?;
    unswallowed.next()?;
    retry.clone()
}

impl fmt::Display for UnsupportedPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} holds a regular expression, which is not supported: use {{name}} or *", self.variable)
    }
}

impl std::error::Error for UnsupportedPattern {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        let compiled = Pattern::new(pattern).unwrap();
        for path in matching {
            assert!(compiled.matches(path), "{pattern} must match {path}");
        }
        for path in others {
            assert!(!compiled.matches(path), "{pattern} must not match {path}");
        }
    }

    #[test]
    fn matches_what_springs_matcher_matches() {
        check("/foo/**", &["/foo", "/foo/", "/foo/a", "/foo/a/b"], &["/foobar", "/FOO/a", "/", "foo/a", ""]);
        check("/foo/*", &["/foo/a", "/foo/"], &["/foo", "/foo/a/b", "/foo/a/"]);
        check("/foo", &["/foo"], &["/foo/", "/foo/a"]);
        check("/foo/", &["/foo/"], &["/foo"]);
        check("/foo*", &["/foo", "/foobar"], &["/foo/a", "/fo"]);
        check("/**", &["/", "/a", "/a/b/"], &[""]);
        check("/", &["/"], &["/a"]);
        check("/*", &["/", "/a"], &["/a/b"]);
        check("/q?/**", &["/q1/x", "/qä"], &["/q/x", "/q12/x"]);
        check("/r*x/**", &["/rax/y", "/rx", "/raxx/y"], &["/rax2/y"]);
        check("/{id}/x/**", &["/7/x", "/7/x/y"], &["/x", "/7/y/x"]);
        check("/v{n}", &["/v", "/v2"], &["/w2", "/v2/x"]);
        check("/{id}", &["/7"], &["/", "/7/"]);
        check("/a{}b/{x", &["/a{}b/{x"], &["/a1b/{x"]);
    }

    #[test]
    fn deep_wildcards_stand_anywhere() {
        check("/**/admin/**", &["/admin", "/product/admin/x", "/a/b/admin/"], &["/product/adminx", "/a"]);
        check("/a/**/b/**/c", &["/a/b/c", "/a/x/b/y/z/c", "/a/b/b/c/c", "/a/b/c/"], &["/a/c/b", "/a/b/c/d"]);
        check("/**/*.js", &["/x.js", "/a/b/x.js"], &["/a/x.css", "/x.js/y"]);
        check("/a/**/**/b", &["/a/b", "/a/c/d/b"], &["/a"]);
        check("/a/**/*", &["/a/b", "/a/b/c"], &["/a/", "/a"]);
    }

    #[test]
    fn a_regular_expression_is_named() {
        let fault = Pattern::new("/users/{id:[0-9]+}").unwrap_err();
        assert!(fault.to_string().starts_with("{id:[0-9]+} holds"), "{fault}");
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = Pattern::new(&format!("/{}b", "*a".repeat(30))).unwrap();
        assert!(!pattern.matches(&format!("/{}", "a".repeat(4000))));
        let deep = Pattern::new(&"/**/a".repeat(30)).unwrap();
        assert!(!deep.matches(&format!("{}/b", "/a".repeat(2000))));
    }

    #[track_caller]
    fn covers(wide: &str, narrow: &str, expected: bool) {
        let (wide, narrow) = (Pattern::new(wide).unwrap(), Pattern::new(narrow).unwrap());
        assert_eq!(wide.covers(&narrow), expected, "{wide:?} and {narrow:?}");
    }

    #[test]
    fn a_pattern_covers_those_that_match_nothing_else() {
        covers("/api/**", "/api/sec/**", true);
        covers("/api/**", "/api", true);
        covers("/api/**", "/api/*", true);
        covers("/**", "/*/x", true);
        covers("/api/*", "/api/x", true);
        covers("/*/a/**", "/x/a/b", true);
        covers("/api/*", "/api/x/", false);
        covers("/api/*", "/api/**", false);
        covers("/api/*", "/api/x/y", false);
        covers("/api/**", "/*/sec", false);
        covers("/api/sec/**", "/api/**", false);
        covers("/apix/**", "/api/**", false);
        covers("/*/a/**", "/**", false);
        covers("/a?/**", "/ab/**", false);
        covers("/{id}/**", "/x/**", false);
    }
}
