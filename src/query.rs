//! Paths and queries as small services read them: percent-decoded into text.
//!
//! For our own answers only (actuator, example service, errors); routes are matched elsewhere and forward what they got, octet for octet.

use crate::wire::octet;

/// The query's names and values in order, decoded as forms are (`+` is a space); octets that are not UTF-8 are replaced.
pub(crate) fn parameters(query: &[u8]) -> impl Iterator<Item = (String, String)> {
    query.split(|&b| b == b'&').filter(|part| !part.is_empty()).map(|part| {
        let (name, value) = match part.iter().position(|&b| b == b'=') {
            Some(at) => (&part[..at], &part[at + 1..]),
            None => (part, &part[part.len()..]),
        };
        (decode(name, true), decode(value, true))
    })
}

/// The first value of the parameter `name`.
pub(crate) fn parameter(query: &[u8], name: &str) -> Option<String> {
    parameters(query).find(|(n, _)| n == name).map(|(_, value)| value)
}

/// A path segment, percent-decoded.
pub(crate) fn decode_segment(segment: &[u8]) -> String {
    decode(segment, false)
}

/// A `%` without two hex digits after it stands for itself.
fn decode(octets: &[u8], plus_is_space: bool) -> String {
    let mut plain = Vec::with_capacity(octets.len());
    let mut rest = octets;
    while let [first, after @ ..] = rest {
        let escaped = octet::escape(rest);
        plain.push(match first {
            b'+' if plus_is_space => b' ',
            first => escaped.unwrap_or(*first),
        });
        rest = if escaped.is_some() { &rest[3..] } else { after };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_in_order() {
        let query = b"a=1&b=%C3%A4+o&a=2&&flag&%=%4&c=%ff";
        let found: Vec<_> = parameters(query).collect();
        let expected = [("a", "1"), ("b", "ä o"), ("a", "2"), ("flag", ""), ("%", "%4"), ("c", "\u{fffd}")];
        assert_eq!(found, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
        assert_eq!(parameter(query, "a").as_deref(), Some("1"));
        assert_eq!(parameter(query, "z"), None);
        assert_eq!(decode_segment(b"a%2Eb+c"), "a.b+c");
    }
}
