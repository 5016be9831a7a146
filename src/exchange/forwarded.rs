//! `X-Forwarded-*`, joined as Zuul joins them (PreDecorationFilter): what came, then our own; `For` with a comma and a blank, `Prefix`
//! glued together, the others with a comma alone. Every line that came counts, and a member is added always.
//!
//! Values are octets: nothing that a client sent in these fields can fail a request. What came is believed, as in Zuul; only the last
//! member of each is the gateway's own word.

use super::plan::Peer;
use crate::router::Route;
use crate::router::fields::ForwardedField;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::net::IpAddr;

static NAMES: [HeaderName; 5] = [
    HeaderName::from_static(ForwardedField::For.name()),
    HeaderName::from_static(ForwardedField::Host.name()),
    HeaderName::from_static(ForwardedField::Proto.name()),
    HeaderName::from_static(ForwardedField::Port.name()),
    HeaderName::from_static(ForwardedField::Prefix.name()),
];

/// The order in which Zuul sends them.
const IN_ORDER: [ForwardedField; 5] =
    [ForwardedField::Host, ForwardedField::Proto, ForwardedField::Port, ForwardedField::Prefix, ForwardedField::For];

/// What the client's request said in `X-Forwarded-*`: one value for each field, its lines joined; empty lines count as absent.
#[derive(Debug, Default)]
pub(super) struct Inbound([Option<Bytes>; 5]);

/// Whom the client asked for: host and port without a default port, and the port.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) host: Bytes,
    port: Bytes,
}

impl Inbound {
    pub(super) fn add(&mut self, field: ForwardedField, value: Bytes) {
        if value.is_empty() {
            return;
        }
        let slot = &mut self.0[field as usize];
        *slot = Some(match slot.take() {
            Some(before) => Bytes::from([&before, separator(field), &value].concat()),
            None => value,
        });
    }

    fn get(&self, field: ForwardedField) -> Option<&Bytes> {
        self.0[field as usize].as_ref()
    }
}

impl Asked {
    /// From the authority that the client named, or from our own address when it named none.
    pub(super) fn of(authority: Option<Bytes>, peer: &Peer) -> Self {
        let authority = authority.unwrap_or_else(|| Bytes::from(own_authority(peer)));
        let default = peer.default_port();
        match port_colon(&authority) {
            Some(colon) if colon + 1 == authority.len() || &authority[colon + 1..] == default.as_bytes() => {
                Self { host: authority.slice(..colon), port: Bytes::from_static(default.as_bytes()) }
            }
            Some(colon) => Self { port: authority.slice(colon + 1..), host: authority },
            None => Self { host: authority, port: Bytes::from_static(default.as_bytes()) },
        }
    }
}

/// All that the fields are made of.
pub(super) struct Forwarding<'a> {
    pub(super) route: &'a Route,
    pub(super) inbound: &'a Inbound,
    pub(super) asked: &'a Asked,
    pub(super) peer: &'a Peer,
}

impl Forwarding<'_> {
    /// Adds the fields that the route's table doesn't drop.
    pub(super) fn insert_into(&self, fields: &mut HeaderMap) {
        let wanted = |field: &ForwardedField| self.route.adds.forwarded[*field as usize];
        for field in IN_ORDER.into_iter().filter(wanted) {
            if let Some(value) = self.value(field) {
                fields.insert(&NAMES[field as usize], value);
            }
        }
    }

    fn value(&self, field: ForwardedField) -> Option<HeaderValue> {
        let before = self.inbound.get(field);
        let own = match field {
            ForwardedField::For => address(self.peer.remote.ip().to_canonical()),
            ForwardedField::Host => self.asked.host.clone(),
            ForwardedField::Proto => Bytes::from_static(self.peer.scheme().as_bytes()),
            ForwardedField::Port if before.is_none() => port(self.inbound.get(ForwardedField::Proto), self.asked),
            ForwardedField::Port => self.asked.port.clone(),
            ForwardedField::Prefix => return prefix(before, self.route),
        };
        let value = match before {
            Some(before) => Bytes::from([before, separator(field), &own].concat()),
            None => own,
        };
        HeaderValue::from_maybe_shared(value).ok()
    }
}

/// The bare address. IPv4 is written by hand: it is on the way of every request, and the formatter costs ten times as much.
fn address(ip: IpAddr) -> Bytes {
    let IpAddr::V4(ip) = ip else { return Bytes::from(ip.to_string()) };
    let mut text = [0; 15];
    let mut end = 0;
    for (at, octet) in ip.octets().into_iter().enumerate() {
        let digits = [octet / 100, octet / 10 % 10, octet % 10];
        let skipped = if octet >= 100 {
            0
        } else if octet >= 10 {
            1
        } else {
            2
        };
        if at > 0 {
            text[end] = b'.';
            end += 1;
        }
        for digit in &digits[skipped..] {
            text[end] = b'0' + digit;
            end += 1;
        }
    }
    Bytes::copy_from_slice(&text[..end])
}

/// Zuul's guess when a proxy told the protocol but not the port: one default port for each protocol, then our own.
fn port(protocols: Option<&Bytes>, asked: &Asked) -> Bytes {
    let Some(protocols) = protocols else { return asked.port.clone() };
    let mut ports = Vec::new();
    for protocol in protocols.split(|&octet| octet == b',') {
        let port: &[u8] = if protocol.trim_ascii() == b"https" { b"443," } else { b"80," };
        ports.extend_from_slice(port);
    }
    ports.extend_from_slice(&asked.port);
    ports.into()
}

/// What came and the route's own piece, glued with a single slash.
fn prefix(before: Option<&Bytes>, route: &Route) -> Option<HeaderValue> {
    let Some(before) = before else { return route.prefix_value.clone() };
    let own = route.prefix.as_bytes();
    let before = if own.is_empty() { before } else { before.strip_suffix(b"/").unwrap_or(before) };
    HeaderValue::from_bytes(&[before, own].concat()).ok()
}

fn separator(field: ForwardedField) -> &'static [u8] {
    if field == ForwardedField::For { b", " } else { b"," }
}

/// The colon before the port; those inside of an IPv6 address are none.
fn port_colon(authority: &[u8]) -> Option<usize> {
    let colon = authority.iter().rposition(|&octet| octet == b':')?;
    (!authority[colon..].contains(&b']')).then_some(colon)
}

fn own_authority(peer: &Peer) -> String {
    let local = std::net::SocketAddr::new(peer.local.ip().to_canonical(), peer.local.port());
    local.to_string()
}
