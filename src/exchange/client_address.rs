//! Whose request it is, where proxies stand before the gateway: for rate limits, which must not believe strangers.
//!
//! `X-Forwarded-For` grows at its end, so it is read from there, for as long as whoever wrote a member is one of `gateway.trusted-proxies`.
//! Where those are not written the answer is the connection's other end, although its fields are passed on as Zuul does.

use super::plan::Rules;
use crate::wire::head::RequestHead;
use std::net::{IpAddr, SocketAddr};

impl Rules {
    /// The address of the client of a request that came from `peer`: the first one, backwards, that is none of the trusted proxies'.
    pub fn client_address(&self, head: &RequestHead, peer: IpAddr) -> IpAddr {
        let Some(trusted) = &self.trusted_proxies else { return peer };
        let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
        let lines: Vec<_> = head.values("x-forwarded-for").collect();
        let mut members = lines.iter().rev().flat_map(|line| line.rsplit(|&octet| octet == b','));
        let mut client = peer.to_canonical();
        while is_trusted(&client) {
            let Some(before) = members.next().and_then(address) else { break };
            client = before;
        }
        client
    }
}

/// An address, in brackets or with a port, as some proxies write it.
fn address(member: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(member.trim_ascii()).ok()?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().or_else(|_| text.parse().map(|address: SocketAddr| address.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load_str;
    use crate::wire::testing::request;

    #[track_caller]
    fn check(trusted: &str, fields: &str, peer: &str, expected: &str) {
        let rules = Rules::new(&load_str(trusted).unwrap().config);
        let head = request(&format!("GET / HTTP/1.1\r\nHost: a{fields}"));
        let client = rules.client_address(&head, peer.parse().unwrap());
        assert_eq!(client, expected.parse::<IpAddr>().unwrap(), "{fields} from {peer}");
    }

    #[test]
    fn nobody_is_believed_unless_he_is_named() {
        check("server.port: 1", "\r\nX-Forwarded-For: 192.0.2.1", "10.0.0.1", "10.0.0.1");
        check("gateway.trusted-proxies: 10.0.0.0/8", "\r\nX-Forwarded-For: 192.0.2.1", "198.51.100.1", "198.51.100.1");
    }

    #[test]
    fn trusted_members_are_passed_over_from_the_end() {
        let trusted = "gateway.trusted-proxies: ['10.0.0.0/8', '2001:db8::/32']";
        check(trusted, "", "10.0.0.1", "10.0.0.1");
        check(trusted, "\r\nX-Forwarded-For: 192.0.2.1", "10.0.0.1", "192.0.2.1");
        check(trusted, "\r\nX-Forwarded-For: 192.0.2.1", "::ffff:10.0.0.1", "192.0.2.1");
        check(trusted, "\r\nX-Forwarded-For: 1.1.1.1, 192.0.2.1,10.0.0.2", "10.0.0.1", "192.0.2.1");
        check(trusted, "\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 10.0.0.2", "10.0.0.1", "192.0.2.1");
        check(trusted, "\r\nX-Forwarded-For: 10.0.0.3, 10.0.0.2", "10.0.0.1", "10.0.0.3");
        check(trusted, "\r\nX-Forwarded-For: [2001:db9::1]", "2001:db8::1", "2001:db9::1");
        check(trusted, "\r\nX-Forwarded-For: 192.0.2.1:4711", "10.0.0.1", "192.0.2.1");
        check(trusted, "\r\nX-Forwarded-For: 192.0.2.1, unknown, 10.0.0.2", "10.0.0.1", "10.0.0.2");
    }
}
