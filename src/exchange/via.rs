//! `Via` (RFC 9110 7.6.3): each gateway adds itself behind those before it, with the version in which it received the message. The same
//! field tells when a route leads back to the gateway.
//!
//! Says what our member looks like and finds it again; who adds it, and when a loop is one, is for the callers.

use http::{HeaderValue, Version};

const PSEUDONYM: &str = "portcullis";

/// A request that passed this many gateways of our name goes in circles; fewer may be a chain on purpose.
pub(super) const MOST_PASSES: usize = 8;

/// Our own member.
pub(super) fn member(received: Version) -> HeaderValue {
    HeaderValue::from_static(match received {
        Version::HTTP_10 => "1.0 portcullis",
        _ => "1.1 portcullis",
    })
}

/// All members on one line, ours last: whoever reads but one line of the field then reads all of it.
pub(super) fn appended<'a>(before: impl IntoIterator<Item = &'a HeaderValue>, ours: &HeaderValue) -> HeaderValue {
    let mut lines: Vec<&[u8]> = before.into_iter().map(HeaderValue::as_bytes).filter(|line| !line.is_empty()).collect();
    lines.push(ours.as_bytes());
    let all = HeaderValue::from_bytes(&lines.join(&b", "[..]));
    all.expect("values joined by commas and blanks are a value")
}

/// How often a value names us.
pub(super) fn own_members(value: &[u8]) -> usize {
    let is_own = |member: &&[u8]| {
        let mut words = member.split(|octet| matches!(octet, b' ' | b'\t')).filter(|word| !word.is_empty());
        words.nth(1).is_some_and(|name| name.eq_ignore_ascii_case(PSEUDONYM.as_bytes()))
    };
    value.split(|&octet| octet == b',').filter(is_own).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_members_are_told_from_others() {
        assert_eq!(own_members(b"1.1 portcullis"), 1);
        assert_eq!(own_members(b"1.0 fred,1.1\tPortcullis (x), HTTP/1.1  portcullis"), 2);
        assert_eq!(own_members(b"1.1 portcullis2, portcullis, 1.1 a.portcullis, \xe9, "), 0);
    }

    #[test]
    fn the_member_names_the_version_received() {
        assert_eq!(member(Version::HTTP_10), "1.0 portcullis");
        assert_eq!(member(Version::HTTP_11), "1.1 portcullis");
    }
}
