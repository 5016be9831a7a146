//! Whom a request counts for: one number, whatever it is made from.
//!
//! Pure. Clients of one IPv6 network of 64 bits count as one, since such a network is what a single customer is given, and addresses
//! within it cost nothing. A header's value counts as its hash, so that a long one costs no more memory than a short one; the hash is keyed,
//! so that nobody can choose values which meet.

use crate::config::model::RateLimitKey;
use crate::wire::head::RequestHead;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};

/// A key as the table has it.
pub(super) type Key = u128;

/// The bits of an IPv6 address that name a network.
const NETWORK: u128 = !0 << 64;

/// Makes keys of requests.
pub(super) struct Keys {
    kind: RateLimitKey,
    /// Two, of 64 bits each.
    hashers: [RandomState; 2],
}

impl Keys {
    pub(super) fn new(kind: RateLimitKey) -> Self {
        Self { kind, hashers: Default::default() }
    }

    /// The key of a request. Without the header it is that of all requests without.
    pub(super) fn of(&self, head: &RequestHead, client: impl FnOnce() -> IpAddr) -> Key {
        match &self.kind {
            RateLimitKey::Route => 0,
            RateLimitKey::Address => of_address(client()),
            RateLimitKey::Header(name) => {
                let value = head.values(name.as_str()).next();
                let [high, low] = [0, 1].map(|half: usize| u128::from(self.hashers[half].hash_one(value)));
                high << 64 | low
            }
        }
    }
}

fn of_address(address: IpAddr) -> Key {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => Ipv6Addr::to_bits(address) & NETWORK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::request;
    use http::HeaderName;

    #[track_caller]
    fn check(one: &str, other: &str, same: bool) {
        let of = |text: &str| of_address(text.parse().unwrap());
        assert_eq!(of(one) == of(other), same, "{one} {other}");
    }

    #[test]
    fn an_ipv6_network_is_one_client() {
        check("192.0.2.1", "192.0.2.1", true);
        check("192.0.2.1", "192.0.2.2", false);
        check("192.0.2.1", "::ffff:192.0.2.1", true);
        check("2001:db8::1", "2001:db8::ffff:0:0:1", true);
        check("2001:db8::1", "2001:db8:0:1::1", false);
        check("::", "0.0.0.0", false);
    }

    #[test]
    fn a_headers_value_is_the_key_and_its_absence_is_one_too() {
        let keys = Keys::new(RateLimitKey::Header(HeaderName::from_static("x-api-key")));
        let of = |fields: &str| {
            keys.of(&request(&format!("GET / HTTP/1.1\r\nHost: a{fields}")), || "192.0.2.1".parse().unwrap())
        };
        assert_eq!(of("\r\nX-Api-Key: a"), of("\r\nx-api-key: a\r\nx-api-key: b"));
        assert_ne!(of("\r\nX-Api-Key: a"), of("\r\nX-Api-Key: A"));
        assert_eq!(of(""), of("\r\nX-Other: a"));
        assert_ne!(of(""), of("\r\nX-Api-Key:"));
    }
}
