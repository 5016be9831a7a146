//! The fields that the upstream sees: the client's, but for those that end here, and then the gateway's own.
//!
//! Ours are added last and are not subject to what the client's `Connection` names: naming `X-Forwarded-For` or `Host` there removes
//! neither what the gateway says nor what the proxies before it said. One pass, one look-up a field; values share the received octets.

use super::Named;
use super::forwarded::{Asked, Forwarding, Inbound};
use super::plan::{Peer, Refusal, Rules};
use super::via;
use crate::router::Route;
use crate::router::fields::Treatment;
use crate::wire::framing;
use crate::wire::head::RequestHead;
use bytes::Bytes;
use http::header::{HOST, MAX_FORWARDS, VIA};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

/// The value of Host that stands for the server's own authority, which is known when one is chosen.
pub const OF_THE_SERVER: &str = "";

/// All of them.
pub(super) fn request_fields(
    route: &Route,
    rules: &Rules,
    head: &RequestHead,
    peer: &Peer,
) -> Result<HeaderMap, Refusal> {
    // Room for ours: Host, five of X-Forwarded-*, Via.
    let mut fields = HeaderMap::with_capacity(head.fields().len() + 7);
    // It stands first, whose it will be.
    fields.append(HOST, HeaderValue::from_static(OF_THE_SERVER));
    let mut passage = Passage {
        named: Named::of(framing::connection_options(head), &route.request_fields),
        fields,
        inbound: Inbound::default(),
        host: None,
        passes: 0,
        believes: rules.believes(peer),
        joins: rules.add_proxy_headers,
        route,
        head,
    };
    for (index, (name, value)) in head.fields().enumerate() {
        passage.take(index, name, value)?;
    }
    passage.finish(rules, peer)
}

/// The fields on their way through.
struct Passage<'a> {
    route: &'a Route,
    head: &'a RequestHead,
    named: Named<'a>,
    fields: HeaderMap,
    inbound: Inbound,
    host: Option<Bytes>,
    /// How often the request came through a gateway of our name.
    passes: usize,
    /// Whether the peer is to be believed about those before it.
    believes: bool,
    /// Whether what they said is joined with our own word.
    joins: bool,
}

impl Passage<'_> {
    fn take(&mut self, index: usize, name: &[u8], value: &[u8]) -> Result<(), Refusal> {
        match self.route.request_fields.treatment(name) {
            Some(Treatment::Drop) => {}
            Some(Treatment::Host) => self.host = Some(self.head.value_bytes(index)),
            Some(Treatment::Forwarded(_) | Treatment::Forwarding) if !self.believes => {}
            Some(Treatment::Forwarded(field)) if self.joins => self.inbound.add(field, self.head.value_bytes(index)),
            Some(Treatment::Via) => {
                self.passes += via::own_members(value);
                self.pass(index, name)?;
            }
            Some(Treatment::MaxForwards) if *self.head.method() == Method::OPTIONS => self.count_down(index, value)?,
            Some(Treatment::MaxForwards) => self.pass(index, name)?,
            Some(_) | None if self.named.contains(name) => {}
            Some(_) | None => self.pass(index, name)?,
        }
        Ok(())
    }

    fn pass(&mut self, index: usize, name: &[u8]) -> Result<(), Refusal> {
        let name = HeaderName::from_bytes(name).map_err(|_| Refusal::bad_request("a field name is no token"))?;
        self.append(name, self.head.value_bytes(index))
    }

    fn append(&mut self, name: HeaderName, value: Bytes) -> Result<(), Refusal> {
        let value = HeaderValue::from_maybe_shared(value);
        let value = value.map_err(|_| Refusal::bad_request("a field value holds control characters"))?;
        self.fields.try_append(name, value).map_err(|_| Refusal::bad_request("too many fields"))?;
        Ok(())
    }

    /// A value that is no number is passed on: the field is a courtesy. Zero never comes here, the gateway answers it.
    fn count_down(&mut self, index: usize, value: &[u8]) -> Result<(), Refusal> {
        let value = match max_forwards(value).and_then(|left| left.checked_sub(1)) {
            Some(left) => Bytes::from(left.to_string()),
            None => self.head.value_bytes(index),
        };
        self.append(MAX_FORWARDS, value)
    }

    fn finish(mut self, rules: &Rules, peer: &Peer) -> Result<HeaderMap, Refusal> {
        if self.passes >= via::MOST_PASSES {
            return Err(Refusal::bad_request("loop: Via names this gateway too often"));
        }
        let (adds_host, adds_via) = (rules.add_host_header && self.route.adds.host, self.route.adds.via);
        if adds_host || rules.add_proxy_headers {
            let asked = Asked::of(self.authority(), peer);
            if rules.add_proxy_headers {
                let forwarding = Forwarding { route: self.route, inbound: &self.inbound, asked: &asked, peer };
                forwarding.insert_into(&mut self.fields);
            }
            if adds_host {
                let host = HeaderValue::from_maybe_shared(asked.host);
                self.fields.insert(HOST, host.map_err(|_| Refusal::bad_request("Host holds control characters"))?);
            }
        }
        if adds_via {
            let ours = via::member(self.head.version());
            let all = if self.fields.contains_key(VIA) { via::appended(self.fields.get_all(VIA), &ours) } else { ours };
            self.fields.insert(VIA, all);
        }
        Ok(self.fields)
    }

    /// What the client named: in an absolute target, which overrides Host (RFC 9112 3.2.2), or in Host.
    fn authority(&mut self) -> Option<Bytes> {
        let field = self.host.take().filter(|host| !host.is_empty() && self.head.target().starts_with(b"/"));
        field.or_else(|| self.head.host().map(Bytes::copy_from_slice))
    }
}

/// The number in a Max-Forwards value (RFC 9110 7.6.2).
pub(super) fn max_forwards(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|octet| octet.is_ascii_digit()))?;
    digits.parse().ok()
}
