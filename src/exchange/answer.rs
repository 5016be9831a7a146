//! From the upstream's answer head to the client's: which fields pass.
//!
//! They are written straight into the head that goes to the client, without a map in between. Status line, Date, Connection and the framing
//! lines are `wire::response`'s, which also knows which answers have no body.

use super::{Named, via};
use crate::router::Route;
use crate::wire::response::HeadWriter;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, VIA};
use http::{HeaderMap, HeaderName, HeaderValue, Version};

/// Writes the upstream's fields that the client sees, and `Via`; `received` is the upstream's version.
pub fn answer_fields(route: &Route, received: Version, upstream: &HeaderMap, head: &mut HeadWriter<'_>) {
    for (name, value) in passing(route, upstream) {
        head.field(name.as_str(), value);
    }
    if !route.answer_fields.drops(b"via") {
        head.field("via", &via::member(received));
    }
}

/// The same as a map, for gateways whose client and server write heads themselves; without the fields that frame the body.
pub fn answer_map(route: &Route, received: Version, upstream: &HeaderMap) -> HeaderMap {
    let mut fields = interim_fields(route, upstream);
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        fields.remove(name);
    }
    if !route.answer_fields.drops(b"via") {
        fields.append(VIA, via::member(received));
    }
    fields
}

/// The fields of an interim (1xx) answer that the client sees: what is dropped from a final one must not get out this way.
pub fn interim_fields(route: &Route, upstream: &HeaderMap) -> HeaderMap {
    let mut fields = HeaderMap::with_capacity(upstream.len());
    for (name, value) in passing(route, upstream) {
        fields.append(name, value.clone());
    }
    fields
}

fn passing<'a>(route: &'a Route, upstream: &'a HeaderMap) -> impl Iterator<Item = (&'a HeaderName, &'a HeaderValue)> {
    let table = &route.answer_fields;
    let options = upstream.get_all(CONNECTION).iter().flat_map(|value| value.as_bytes().split(|&octet| octet == b','));
    let named = Named::of(options.map(<[u8]>::trim_ascii).filter(|option| !option.is_empty()), table);
    let passes = move |name: &[u8]| !table.drops(name) && !named.contains(name);
    upstream.iter().filter(move |(name, _)| passes(name.as_str().as_bytes()))
}
