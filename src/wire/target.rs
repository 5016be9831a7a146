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

/// Whether `octet` is refused even when it is relaxed, since `http::Uri`, through which requests go upstream, doesn't take it.
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
    let is_encoded = |at: usize| name.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    name.iter().enumerate().all(|(at, &o)| octet::is_host(o) && (o != b'%' || is_encoded(at)))
}

fn is_port(digits: &[u8]) -> bool {
    let number = |n: u32, digit: &u8| digit.is_ascii_digit().then(|| n * 10 + u32::from(digit - b'0'));
    digits.iter().try_fold(0, |n, digit| number(n, digit).filter(|&n| n <= 65_535)).is_some()
}
