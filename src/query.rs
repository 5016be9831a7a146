//! Paths and queries as small services read them: percent-decoded into text.
//!
//! For our own pages only (actuator, example service); routes are matched elsewhere and forward what they got, octet for octet.

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
    let mut at = 0;
    while let Some(&octet) = octets.get(at) {
        let escaped = octets.get(at + 1..at + 3).filter(|_| octet == b'%').and_then(hex_pair);
        plain.push(match octet {
            b'+' if plus_is_space => b' ',
            _ => escaped.unwrap_or(octet),
        });
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn hex_pair(digits: &[u8]) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    Some(digit(digits[0])? << 4 | digit(digits[1])?)
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
