//! The request target: its four forms (RFC 9112 3.2) and the octets that may stand in it (RFC 3986).
//!
//! Nothing is decoded, normalised or repaired here: what passes is forwarded octet for octet, and dot segments or a percent sign without
//! two digits are for others to judge. A fragment, white space, controls and octets above 127 never pass; of what else no URI may hold,
//! that passes which is relaxed. CONNECT is refused with 501: this is a gateway, it offers no tunnels.

use crate::config::model::Relaxed;
use crate::wire::error::HeadError;
use crate::wire::head::RequestHead;
use crate::wire::octet;
use bytes::Bytes;
use http::Method;
use std::net::Ipv6Addr;

/// The longest target that `http::Uri` takes.
pub const LONGEST: usize = 65_534;

/// Where the parts of a target are, from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TargetParts {
    authority: Option<(u32, u32)>,
    path: (u32, u32),
    query: Option<u32>,
    /// `*`, or an absolute target for OPTIONS that has nothing after its authority (RFC 9112 3.2.4).
    asterisk: bool,
}

impl RequestHead {
    /// The path, octet for octet: of an absolute target too, where `/` stands for an empty one; `*` for the asterisk-form.
    pub fn path(&self) -> &[u8] {
        let parts = self.parts();
        match parts.path {
            _ if parts.asterisk => b"*",
            (start, end) if start == end => b"/",
            (start, end) => &self.target()[start as usize..end as usize],
        }
    }

    /// What stands after the first question mark; `Some` of nothing when nothing does.
    pub fn query(&self) -> Option<&[u8]> {
        self.parts().query.map(|start| &self.target()[start as usize..])
    }

    /// The host and port that the request is for: the authority of an absolute target, else the Host field; `None` when there is neither,
    /// or an empty one.
    pub fn host(&self) -> Option<&[u8]> {
        let authority = self.parts().authority.map(|(start, end)| &self.target()[start as usize..end as usize]);
        authority.or_else(|| self.values("host").next()).filter(|host| !host.is_empty())
    }

    /// The target as an origin server wants it: path and query, or `*`. It shares the received octets if they hold it as it is.
    pub fn origin_form_bytes(&self) -> Bytes {
        let parts = self.parts();
        let (start, end) = parts.path;
        if parts.asterisk {
            Bytes::from_static(b"*")
        } else if start == end {
            Bytes::from([b"/", &self.target()[end as usize..]].concat())
        } else {
            self.target_bytes().slice(start as usize..)
        }
    }
}

/// Whether `octet`, which no URI may hold, is refused even when it is relaxed: either `http::Uri`, through which requests go upstream,
/// doesn't take it there, or it is none of those that Tomcat lets relax.
pub fn never_relaxed(octet: u8, in_query: bool) -> bool {
    match octet {
        b'"' => in_query,
        b'`' => !in_query,
        b'[' | b'\\' | b']' | b'^' | b'{' | b'|' | b'}' => false,
        _ => true,
    }
}

/// Takes the target apart.
pub(super) fn parse(method: &Method, target: &[u8], relaxed: &Relaxed) -> Result<TargetParts, HeadError> {
    if method == Method::CONNECT {
        return Err(HeadError::Connect);
    }
    if target.len() > LONGEST {
        return Err(HeadError::LineTooLong { limit: LONGEST });
    }
    match target {
        [] => Err(HeadError::BadRequestLine),
        [b'/', ..] => path_and_query(target, 0, relaxed),
        b"*" if method == Method::OPTIONS => {
            Ok(TargetParts { authority: None, path: (0, 1), query: None, asterisk: true })
        }
        _ => absolute(method, target, relaxed),
    }
}

fn absolute(method: &Method, target: &[u8], relaxed: &Relaxed) -> Result<TargetParts, HeadError> {
    let colon = target.windows(3).position(|three| three == b"://").ok_or(HeadError::TargetForm)?;
    let scheme = &target[..colon];
    if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
        return Err(HeadError::TargetForm);
    }
    let start = colon + 3;
    let end = target[start..].iter().position(|o| b"/?#".contains(o)).map_or(target.len(), |at| start + at);
    if start == end || !is_host_and_port(&target[start..end]) {
        return Err(HeadError::TargetAuthority);
    }
    let parts = path_and_query(target, end, relaxed)?;
    let asterisk = method == Method::OPTIONS && end == target.len();
    Ok(TargetParts { authority: Some((start as u32, end as u32)), asterisk, ..parts })
}

fn path_and_query(target: &[u8], start: usize, relaxed: &Relaxed) -> Result<TargetParts, HeadError> {
    let path_end = memchr::memchr(b'?', &target[start..]).map_or(target.len(), |at| start + at);
    let query = (path_end < target.len()).then_some(path_end + 1);
    for at in start..path_end {
        check(target, at, octet::is_path, |o| relaxed.path.contains(&o) && !never_relaxed(o, false))?;
    }
    for at in query.unwrap_or(target.len())..target.len() {
        check(target, at, octet::is_query, |o| relaxed.query.contains(&o) && !never_relaxed(o, true))?;
    }
    let query = query.map(|at| at as u32);
    Ok(TargetParts { authority: None, path: (start as u32, path_end as u32), query, asterisk: false })
}

fn check(target: &[u8], at: usize, is: fn(u8) -> bool, relaxed: impl Fn(u8) -> bool) -> Result<(), HeadError> {
    let octet = target[at];
    if is(octet) || relaxed(octet) { Ok(()) } else { Err(HeadError::TargetOctet { at, octet }) }
}

/// `uri-host [":" port]` (RFC 9110 7.2), the host possibly empty, the port empty or below 65536. No user information, no zone, and no
/// address form of the future.
pub(super) fn is_host_and_port(value: &[u8]) -> bool {
    let (host_is_fine, rest) = match value {
        [b'[', inner @ ..] => match memchr::memchr(b']', inner) {
            Some(end) => (is_ipv6(&inner[..end]), &inner[end + 1..]),
            None => return false,
        },
        _ => {
            let end = memchr::memchr(b':', value).unwrap_or(value.len());
            (is_name(&value[..end]), &value[end..])
        }
    };
    host_is_fine && (rest.is_empty() || rest.strip_prefix(b":").is_some_and(is_port))
}

fn is_ipv6(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

fn is_name(name: &[u8]) -> bool {
    name.iter().enumerate().all(|(at, &o)| octet::is_host(o) && (o != b'%' || octet::escape(&name[at..]).is_some()))
}

fn is_port(digits: &[u8]) -> bool {
    let number = |n: u32, digit: &u8| digit.is_ascii_digit().then(|| n * 10 + u32::from(digit - b'0'));
    digits.iter().try_fold(0, |n, digit| number(n, digit).filter(|&n| n <= 65_535)).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::head::HeadLimits;

    fn parse(line: &str, relaxed: &Relaxed) -> Result<RequestHead, HeadError> {
        let octets = format!("{line} HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        RequestHead::parse(octets.as_bytes(), &HeadLimits::of_size(70_000), relaxed)
            .map(|found| found.expect("whole").0)
    }

    #[track_caller]
    fn accepts(line: &str, path: &str, query: Option<&str>, host: &str, origin_form: &str) {
        let head = parse(line, &Relaxed::default()).unwrap();
        assert_eq!(head.path(), path.as_bytes());
        assert_eq!(head.query(), query.map(str::as_bytes));
        assert_eq!(head.host(), Some(host.as_bytes()));
        assert_eq!(head.origin_form_bytes(), origin_form);
        assert_eq!(head.target(), line.split_once(' ').unwrap().1.as_bytes(), "as received");
    }

    /// In origin-form: what is forwarded is what came.
    #[track_caller]
    fn passes(target: &str) {
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        accepts(&format!("GET {target}"), path, query, "gw.test", target);
    }

    #[track_caller]
    fn refuses(line: &str, expected: HeadError) {
        assert_eq!(parse(line, &Relaxed::default()).err(), Some(expected));
    }

    #[test]
    fn origin_form_passes_octet_for_octet() {
        passes("/where?q=now");
        passes("/q%7Eu?a=1%2B1+2%203&b=%41%26c%3D1");
        passes("//user@other.example//a///b/");
        passes("/a/./b/../c/%2e%2E/d;x=1/..;/e");
        passes("/na%C3%AFve%282%29.txt%2f");
        passes("/http://x.test/");
    }

    #[test]
    fn odd_queries_keep_order_repeats_and_emptiness() {
        passes("/p?flag&a=1&&=x&a=2;b=3&c==&d?e=/f:@!$'()*");
        for query in ["?", "??", "?flag", "?flag=", "?a/b=1", "?a=1&a=2&A=3", "?&&x", "?k=v==", "?k=a=%20b", ""] {
            passes(&format!("/p{query}"));
        }
    }

    #[test]
    fn a_percent_sign_without_digits_passes() {
        for target in ["/a%", "/a%zz", "/a?p=50%&q=1", "/50%?a=100%&b=%zz", "/%00"] {
            passes(target);
        }
    }

    #[test]
    fn absolute_form_gives_path_query_and_host() {
        accepts("GET http://x.test/abs?x=1", "/abs", Some("x=1"), "x.test", "/abs?x=1");
        accepts("GET HTTPS://x.test:8443/a?b?c", "/a", Some("b?c"), "x.test:8443", "/a?b?c");
        accepts("GET http://x.test", "/", None, "x.test", "/");
        accepts("GET http://x.test?q=1", "/", Some("q=1"), "x.test", "/?q=1");
        accepts("GET http://x.test?", "/", Some(""), "x.test", "/?");
        accepts("GET http://[::1]:80//a", "//a", None, "[::1]:80", "//a");
        refuses("GET http://user:secret@gw.test/p", HeadError::TargetAuthority);
        refuses("GET http:///p", HeadError::TargetAuthority);
        refuses("GET http://", HeadError::TargetAuthority);
        refuses("GET http://a b/p", HeadError::TargetAuthority);
        refuses("GET http://a\u{e9}/p", HeadError::TargetAuthority);
        refuses("GET http://gw.test:x/p", HeadError::TargetAuthority);
        refuses("GET ftp://gw.test/p", HeadError::TargetForm);
        refuses("GET http:/gw.test/p", HeadError::TargetForm);
        refuses("GET http://gw.test/a#b", HeadError::TargetOctet { at: 16, octet: b'#' });
    }

    #[test]
    fn asterisk_form_is_for_options_only() {
        accepts("OPTIONS *", "*", None, "gw.test", "*");
        accepts("OPTIONS http://x.test", "*", None, "x.test", "*");
        accepts("OPTIONS http://x.test/", "/", None, "x.test", "/");
        accepts("OPTIONS http://x.test?q", "/", Some("q"), "x.test", "/?q");
        refuses("GET *", HeadError::TargetForm);
        refuses("OPTIONS */", HeadError::TargetForm);
    }

    #[test]
    fn no_tunnels_are_offered() {
        refuses("CONNECT gw.test:443", HeadError::Connect);
        refuses("CONNECT /path", HeadError::Connect);
        refuses("GET gw.test:443", HeadError::TargetForm);
    }

    #[test]
    fn targets_in_no_form_are_not_repaired() {
        for target in ["../etc/passwd", "index.html", "?q", "#f", "\\a", "%2Fa", "a/http://b/", ":80"] {
            refuses(&format!("GET {target}"), HeadError::TargetForm);
        }
    }

    #[test]
    fn octets_that_no_uri_may_hold_are_refused() {
        for octet in ("\0\x01\t\x0b\r\x1f \"#<>[\\]^`{|}\x7f\u{80}\u{e9}").chars() {
            let mut first = [0; 4];
            let first = octet.encode_utf8(&mut first).as_bytes()[0];
            refuses(&format!("GET /a{octet}b"), HeadError::TargetOctet { at: 2, octet: first });
            refuses(&format!("GET /?a{octet}b"), HeadError::TargetOctet { at: 3, octet: first });
        }
    }

    #[test]
    fn relaxed_octets_pass_where_they_are_relaxed() {
        let all = b"\"<>[\\]^`{|}\0 #\x7f\xe9".to_vec();
        let relaxed = |path: &[u8], query: &[u8]| Relaxed { path: path.to_vec(), query: query.to_vec() };
        assert!(parse("GET /x?match[]=up", &relaxed(b"", b"[]")).is_ok());
        let elsewhere = HeadError::TargetOctet { at: 2, octet: b'[' };
        assert_eq!(parse("GET /x[0]?y=[1]", &relaxed(b"", b"[]")).err(), Some(elsewhere));
        for octet in 0..128_u8 {
            let everywhere = relaxed(&all, &all);
            let path = parse(&format!("GET /a{}b", octet as char), &everywhere).is_ok();
            assert_eq!(path, octet == b'?' || octet::is_path(octet) || b"\"[\\]^{|}".contains(&octet), "{octet:#04x}");
            let query = parse(&format!("GET /?a{}b", octet as char), &everywhere).is_ok();
            assert_eq!(query, octet::is_query(octet) || b"[\\]^`{|}".contains(&octet), "{octet:#04x}");
        }
    }

    #[test]
    fn what_passes_can_go_upstream_octet_for_octet() {
        let all = b"\"<>[\\]^`{|}".to_vec();
        let relaxed = Relaxed { path: all.clone(), query: all.clone() };
        let upstream = |target: String| {
            http::uri::PathAndQuery::try_from(target.as_str()).is_ok_and(|taken| taken.as_str() == target)
        };
        for octet in (0..128_u8).filter(|&o| o != b'?') {
            for prefix in ["/a", "/?a"] {
                let target = format!("{prefix}{}b", octet as char);
                let passes = parse(&format!("GET {target}"), &relaxed).is_ok();
                assert!(!passes || upstream(target), "{octet:#04x} after {prefix}");
            }
            if all.contains(&octet) {
                assert_eq!(never_relaxed(octet, false), !upstream(format!("/{}", octet as char)), "{octet:#04x}");
                assert_eq!(never_relaxed(octet, true), !upstream(format!("/?{}", octet as char)), "{octet:#04x}");
            }
        }
    }

    #[test]
    fn targets_are_as_long_as_the_upstream_side_takes_them() {
        for length in [7999, 8001, 16_385, LONGEST] {
            let target = format!("/{}", "a".repeat(length - 1));
            passes(&target);
            assert!(http::uri::PathAndQuery::try_from(target).is_ok());
        }
        refuses(&format!("GET /{}", "a".repeat(LONGEST)), HeadError::LineTooLong { limit: LONGEST });
    }
}
