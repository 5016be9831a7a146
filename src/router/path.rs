//! The path as patterns see it. What is forwarded are always the octets that came; this is a copy to match on, and the way back from a
//! number of matched segments to an offset in the original.
//!
//! ```text
//! raw      /shop;v=1//blue%20mug/a%2Fb        forwarded, whatever the matching says
//! text     /shop/blue mug/a%2Fb               what route patterns see: an encoded slash does not separate
//! lenient  /shop/blue mug/a/b                 what a lenient upstream could make of it: ignored patterns look at it too
//! ```
//!
//! A path that is read differently by different servers must not slip past a rule: dot segments in any reading are refused, and so are
//! control octets. Called by `exchange::plan`; never fails on an escape that is none (`%zz`) or on octets that are no UTF-8.

use crate::wire::octet;
use std::borrow::Cow;
use std::fmt;

/// How a path is turned into text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// `server.tomcat.uri-encoding`: escapes are UTF-8, else ISO-8859-1.
    pub utf8: bool,
    /// `zuul.decode-url`: escapes are decoded, but for that of a slash.
    pub decode: bool,
    /// `zuul.remove-semicolon-content`: what follows a `;` in a segment is left out.
    pub drop_parameters: bool,
}

/// The path of one request.
#[derive(Clone, Debug)]
pub struct MatchPath<'a> {
    raw: &'a [u8],
    text: Cow<'a, str>,
    others: Vec<String>,
    drop_parameters: bool,
}

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFault {
    /// A segment is `.` or `..`, plain, encoded, or with parameters.
    DotSegment,
    /// An escape stands for a control octet.
    Control,
}

impl<'a> MatchPath<'a> {
    /// Reads the path of an origin-form target, the query left out.
    ///
    /// # Errors
    /// [`PathFault`] when no server should be asked for such a path.
    pub fn read(raw: &'a [u8], reading: Reading) -> Result<Self, PathFault> {
        let drop_parameters = reading.drop_parameters;
        if let Some(plain) = plain(raw) {
            return Ok(Self { raw, text: Cow::Borrowed(plain), others: Vec::new(), drop_parameters });
        }
        let lenient = [lenient(raw, reading.utf8, true)?, lenient(raw, reading.utf8, false)?];
        let text = text(raw, reading);
        let others = lenient.into_iter().filter(|other| *other != text).collect();
        Ok(Self { raw, text: Cow::Owned(text), others, drop_parameters })
    }

    /// The octets that came.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// What route patterns are matched against.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every reading that a rule about paths must look at.
    pub fn readings(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.text()).chain(self.others.iter().map(String::as_str))
    }

    /// Where, in the original, the first `count` segments of the text end.
    pub fn raw_end(&self, count: usize) -> usize {
        let mut at = 0;
        for _ in 0..count {
            at = self.next_end(at);
        }
        at
    }

    /// The end of the next segment that is not empty in the text.
    fn next_end(&self, from: usize) -> usize {
        let mut at = from;
        while at < self.raw.len() {
            let start = at + self.raw[at..].iter().take_while(|&&octet| octet == b'/').count();
            let end = start + self.raw[start..].iter().take_while(|&&octet| octet != b'/').count();
            if !own_part(&self.raw[start..end], self.drop_parameters).is_empty() {
                return end;
            }
            at = end;
        }
        at
    }
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DotSegment => "the path holds a dot segment",
            Self::Control => "the path holds an encoded control octet",
        })
    }
}

impl std::error::Error for PathFault {}

/// The path itself when there is but one way to read it: no escape, parameter, backslash, empty or dot segment, nothing beyond ASCII.
fn plain(raw: &[u8]) -> Option<&str> {
    let mut before = 0;
    for &octet in raw {
        let ambiguous = match octet {
            b'%' | b';' | b'\\' | 0x80.. => true,
            b'/' | b'.' => before == b'/',
            _ => false,
        };
        if ambiguous {
            return None;
        }
        before = octet;
    }
    std::str::from_utf8(raw).ok()
}

fn text(raw: &[u8], reading: Reading) -> String {
    let mut text = Joined::default();
    for segment in raw.split(|&octet| octet == b'/').skip(1) {
        let segment = own_part(segment, reading.drop_parameters);
        let decoded = if reading.decode { decoded(segment, Slash::Keep) } else { Cow::Borrowed(segment) };
        text.push(&characters(&decoded, reading.utf8));
    }
    text.finish()
}

/// The path as a lenient upstream could read it: encoded slashes and backslashes separate, and parameters are dropped after decoding too.
/// Whether they are dropped `before` decoding as well decides what a slash encoded inside of a parameter means.
fn lenient(raw: &[u8], utf8: bool, before: bool) -> Result<String, PathFault> {
    let mut text = Joined::default();
    for segment in raw.split(|&octet| octet == b'/').skip(1) {
        let decoded = decoded(own_part(segment, before), Slash::Decode);
        if decoded.iter().any(u8::is_ascii_control) {
            return Err(PathFault::Control);
        }
        for part in decoded.split(|octet| matches!(octet, b'/' | b'\\')) {
            let part = own_part(part, true);
            if matches!(part, b"." | b"..") {
                return Err(PathFault::DotSegment);
            }
            text.push(&characters(part, utf8));
        }
    }
    Ok(text.finish())
}

/// A segment without its parameters, if those are to be dropped.
fn own_part(segment: &[u8], drop_parameters: bool) -> &[u8] {
    let end = if drop_parameters { segment.iter().position(|&octet| octet == b';') } else { None };
    &segment[..end.unwrap_or(segment.len())]
}

/// Segments put together with single slashes.
#[derive(Default)]
struct Joined {
    text: String,
    ends_in_slash: bool,
}

impl Joined {
    fn push(&mut self, segment: &str) {
        self.ends_in_slash = segment.is_empty();
        if !segment.is_empty() {
            self.text.push('/');
            self.text.push_str(segment);
        }
    }

    fn finish(mut self) -> String {
        if self.ends_in_slash {
            self.text.push('/');
        }
        self.text
    }
}

/// What becomes of an encoded slash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    /// It stays encoded, so that it separates nothing.
    Keep,
    Decode,
}

/// Escapes replaced by their octets; what is no escape stays.
fn decoded(segment: &[u8], slash: Slash) -> Cow<'_, [u8]> {
    if !segment.contains(&b'%') {
        return Cow::Borrowed(segment);
    }
    let mut out = Vec::with_capacity(segment.len());
    let mut rest = segment;
    while let [first, after @ ..] = rest {
        match octet::escape(rest) {
            Some(octet) if octet != b'/' || slash == Slash::Decode => {
                out.push(octet);
                rest = &rest[3..];
            }
            _ => {
                out.push(*first);
                rest = after;
            }
        }
    }
    Cow::Owned(out)
}

fn characters(octets: &[u8], utf8: bool) -> Cow<'_, str> {
    if utf8 {
        return String::from_utf8_lossy(octets);
    }
    Cow::Owned(octets.iter().map(|&octet| char::from(octet)).collect())
}

/// Whether a path holds an encoded `/`, `\`, `;`, `?` or `#`, which some upstreams decode before they look at it.
pub fn holds_encoded_delimiter(path: &[u8]) -> bool {
    let is_one =
        |code: &[u8]| [b"%2f", b"%5c", b"%3b", b"%3f", b"%23"].iter().any(|one| code.eq_ignore_ascii_case(*one));
    path.windows(3).any(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::Random;

    const SPRING: Reading = Reading { utf8: true, decode: true, drop_parameters: true };

    #[track_caller]
    fn check(raw: &str, text: &str) {
        let path = MatchPath::read(raw.as_bytes(), SPRING).unwrap();
        assert_eq!(path.text(), text, "{raw}");
    }

    #[track_caller]
    fn check_fault(raw: &str, fault: PathFault) {
        for reading in [SPRING, Reading { utf8: false, decode: false, drop_parameters: false }] {
            assert_eq!(MatchPath::read(raw.as_bytes(), reading).err(), Some(fault), "{raw}");
        }
    }

    /// Rows of the observed table of paths: the right column is what patterns see, not what is forwarded.
    #[test]
    fn patterns_see_decoded_text_without_parameters_and_empty_segments() {
        check("/product/list", "/product/list");
        check("/product//list", "/product/list");
        check("//product/list//", "/product/list/");
        check("/", "/");
        check("/a%20b", "/a b");
        check("/a%C3%A4b", "/aäb");
        check("/a%E4b", "/a\u{fffd}b");
        check("/a%3Fb%23c", "/a?b#c");
        check("/a%25b", "/a%b");
        check("/a%2eb%3Bc", "/a.b;c");
        check("/a;v=1/b;w=2", "/a/b");
        check("/;v=1/b/;w=2", "/b/");
        check("/a%2Fb", "/a%2Fb");
        check("/a%2fb", "/a%2fb");
        check("/a%5Cb", "/a\\b");
        check("/.a/b./...", "/.a/b./...");
    }

    /// PATH-10.
    #[test]
    fn an_escape_that_is_none_is_literal() {
        for raw in ["/a%", "/a%zz", "/a%4", "/%", "/a%%41"] {
            assert!(MatchPath::read(raw.as_bytes(), SPRING).is_ok(), "{raw}");
        }
        check("/a%zz", "/a%zz");
        check("/a%%41", "/a%A");
    }

    #[test]
    fn readings_can_be_switched_off() {
        let raw = b"/a%C3%A4;v=1/b";
        let read = |reading| MatchPath::read(raw, reading).unwrap().text().to_owned();
        assert_eq!(read(Reading { decode: false, ..SPRING }), "/a%C3%A4/b");
        assert_eq!(read(Reading { drop_parameters: false, ..SPRING }), "/aä;v=1/b");
        assert_eq!(read(Reading { utf8: false, ..SPRING }), "/aÃ¤/b");
        let octets = MatchPath::read(b"/caf\xe9", Reading { utf8: false, ..SPRING }).unwrap();
        assert_eq!(octets.text(), "/café");
    }

    /// PATH-14, and dot segments in every disguise.
    #[test]
    fn dot_segments_are_refused_in_every_reading() {
        let disguises = [
            "/product/../product",
            "/./a",
            "/a/..",
            "/a/.",
            "/%2e%2e/a",
            "/a/.%2E/b",
            "/public/..;/admin",
            "/a/..;x=1",
            "/a/%2e%2e;x",
            "/a/..%3Bx/b",
            "/a/..%2fb",
            "/a%2f..",
            "/a/..\\b",
            "/a%5c..%5cb",
            "/a\\..",
            "/a;/../b",
            "/a;x%2F../b",
            "/a/.;%2F",
        ];
        for raw in disguises {
            check_fault(raw, PathFault::DotSegment);
        }
    }

    #[test]
    fn encoded_controls_are_refused() {
        for raw in ["/a%00b", "/%0d%0aFAKE", "/a%7f", "/a%09", "/a;x=%0a/b", "/a%00/b"] {
            check_fault(raw, PathFault::Control);
        }
    }

    /// PATH-13: the second reading is what a lenient upstream could see.
    #[test]
    fn rules_see_lenient_readings_too() {
        let readings = |raw: &'static str| {
            let path = MatchPath::read(raw.as_bytes(), SPRING).unwrap();
            path.readings().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(readings("/admin/users"), ["/admin/users"]);
        assert_eq!(readings("/admin%2Fusers"), ["/admin%2Fusers", "/admin/users", "/admin/users"]);
        assert_eq!(readings("/admin%5Cusers"), ["/admin\\users", "/admin/users", "/admin/users"]);
        assert_eq!(readings("/admin%3Bx/secret"), ["/admin;x/secret", "/admin/secret", "/admin/secret"]);
        assert_eq!(readings("/admin;x=1/secret"), ["/admin/secret"]);
        assert_eq!(readings("/admin;x%2Fsecret"), ["/admin", "/admin/secret"]);
    }

    #[test]
    fn segments_lead_back_to_the_original() {
        let path = MatchPath::read(b"//;q/shop;v=1//blue%20mug/", SPRING).unwrap();
        assert_eq!(path.text(), "/shop/blue mug/");
        assert_eq!(path.raw_end(0), 0);
        assert_eq!(&path.raw()[path.raw_end(1)..], b"//blue%20mug/");
        assert_eq!(&path.raw()[path.raw_end(2)..], b"/");
        assert_eq!(path.raw_end(9), path.raw().len());
    }

    /// Seeded mutations: reading never panics, the text never holds an empty segment, and its segments and the original's agree in number.
    #[test]
    fn odd_paths_keep_text_and_original_in_step() {
        let alphabet = b"/%2eF;.a\\\xc3\xa4+5c03B";
        let mut random = Random(0x9e37_79b9);
        let mut accepted = 0;
        for _ in 0..50_000 {
            let length = random.below(14);
            let mut raw = vec![b'/'];
            raw.extend((0..length).map(|_| alphabet[random.below(alphabet.len())]));
            let Ok(path) = MatchPath::read(&raw, SPRING) else { continue };
            accepted += 1;
            let count = path.text().split('/').filter(|segment| !segment.is_empty()).count();
            assert!(!path.text().contains("//"), "{}", path.text());
            let end = path.raw_end(count);
            assert!(count == 0 || end > path.raw_end(count - 1));
            assert_eq!(path.raw_end(count + 1), raw.len());
        }
        assert!(accepted > 10_000, "{accepted}");
    }
}
