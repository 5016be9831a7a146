//! What becomes of a field, by its name: one table per route and direction, made when the routes are, asked for every field line.
//!
//! A table holds only the names that need more than being passed on, in lower case, sorted by length: a look-up compares a handful of
//! names of the same length and allocates nothing. Fields that nobody named pass octet for octet.

use crate::config::model::{RouteConfig, ZuulConfig};
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of a field that is not simply passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// It ends here.
    Drop,
    /// Host: replaced by the upstream's, or rebuilt (`zuul.add-host-header`).
    Host,
    /// Via: passed on, counted, and added to.
    Via,
    /// Max-Forwards: counts down for OPTIONS (RFC 9110 7.6.2).
    MaxForwards,
    /// One of `X-Forwarded-*`, which the gateway extends.
    Forwarded(ForwardedField),
    /// `Forwarded` (RFC 7239): the word of those before us.
    Forwarding,
}

/// The fields of `X-Forwarded-*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForwardedField {
    /// `X-Forwarded-For`.
    For,
    /// `X-Forwarded-Host`.
    Host,
    /// `X-Forwarded-Proto`.
    Proto,
    /// `X-Forwarded-Port`.
    Port,
    /// `X-Forwarded-Prefix`.
    Prefix,
}

impl ForwardedField {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 5] = [Self::For, Self::Host, Self::Proto, Self::Port, Self::Prefix];

    /// The field's name in lower case.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::For => "x-forwarded-for",
            Self::Host => "x-forwarded-host",
            Self::Proto => "x-forwarded-proto",
            Self::Port => "x-forwarded-port",
            Self::Prefix => "x-forwarded-prefix",
        }
    }
}

/// Fields that belong to one connection (RFC 9110 7.6.1, RFC 9112 C.2.2), whether Connection names them or not. Those of a proxy's own
/// authentication (RFC 9110 11.7) are meant for the next hop alone; the gateway asks for none.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The gateway answers `Expect` itself, frames each message anew, and hides as Zuul does who served it.
const REQUEST_DROPS: [&str; 4] = ["content-length", "expect", "server", "x-application-context"];
const ANSWER_DROPS: [&str; 4] = ["content-length", "host", "server", "x-application-context"];

/// One bucket for each length below this, and one for all that are longer.
const LENGTHS: usize = 40;

/// What becomes of which field, for one route and direction.
#[derive(Clone, Debug)]
pub(crate) struct FieldTable {
    entries: Vec<(Box<[u8]>, Treatment)>,
    /// The entries of length `n` are `starts[n]..starts[n + 1]`.
    starts: [u16; LENGTHS + 1],
}

impl FieldTable {
    /// The table for requests of a route.
    pub(crate) fn for_requests(zuul: &ZuulConfig, route: &RouteConfig) -> Self {
        let mut names = drops(&REQUEST_DROPS);
        names.insert("host".into(), Treatment::Host);
        names.insert("via".into(), Treatment::Via);
        names.insert("max-forwards".into(), Treatment::MaxForwards);
        names.insert("forwarded".into(), Treatment::Forwarding);
        names.extend(ForwardedField::ALL.map(|field| (field.name().into(), Treatment::Forwarded(field))));
        Self::of(names, zuul, route)
    }

    /// The table for answers of a route.
    pub(crate) fn for_answers(zuul: &ZuulConfig, route: &RouteConfig) -> Self {
        Self::of(drops(&ANSWER_DROPS), zuul, route)
    }

    /// What becomes of the field of this name, in any case; `None`: it is passed on.
    pub(crate) fn treatment(&self, name: &[u8]) -> Option<Treatment> {
        let bucket = bucket(name.len());
        let range = usize::from(self.starts[bucket])..usize::from(self.starts[bucket + 1]);
        self.entries[range].iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, treatment)| *treatment)
    }

    /// Whether the field of this name ends here.
    pub(crate) fn drops(&self, name: &[u8]) -> bool {
        self.treatment(name) == Some(Treatment::Drop)
    }

    /// What the configuration drops overrides what the gateway would do, so that its own fields can be switched off by name too.
    fn of(mut names: BTreeMap<String, Treatment>, zuul: &ZuulConfig, route: &RouteConfig) -> Self {
        names.extend(withheld(zuul, route).into_iter().map(|name| (name, Treatment::Drop)));
        let mut entries: Vec<_> =
            names.into_iter().map(|(name, what)| (name.into_bytes().into_boxed_slice(), what)).collect();
        entries.sort_by_key(|(name, _)| bucket(name.len()));
        let mut starts = [0; LENGTHS + 1];
        for (length, start) in starts.iter_mut().enumerate() {
            let before = entries.partition_point(|(name, _)| bucket(name.len()) < length);
            *start = u16::try_from(before).unwrap_or(u16::MAX);
        }
        Self { entries, starts }
    }
}

/// What the configuration drops from a route's requests and answers, in lower case: ignored and sensitive fields.
pub(super) fn withheld(zuul: &ZuulConfig, route: &RouteConfig) -> BTreeSet<String> {
    let sensitive = route.sensitive_headers.as_ref().unwrap_or(&zuul.sensitive_headers);
    zuul.ignored_headers.iter().chain(sensitive).map(|name| name.trim().to_ascii_lowercase()).collect()
}

fn bucket(length: usize) -> usize {
    length.min(LENGTHS - 1)
}

fn drops(names: &[&str]) -> BTreeMap<String, Treatment> {
    HOP_BY_HOP.iter().chain(names).map(|name| ((*name).to_owned(), Treatment::Drop)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::model::RouteTarget;

    fn route(sensitive: Option<&[&str]>) -> RouteConfig {
        RouteConfig {
            id: "a".into(),
            path: "/a/**".into(),
            target: RouteTarget::Service("a".into()),
            strip_prefix: true,
            retryable: false,
            sensitive_headers: sensitive.map(|names| names.iter().map(|name| (*name).into()).collect()),
            rejects_encoded_delimiters: false,
        }
    }

    #[test]
    fn the_same_lists_hold_both_ways() {
        let long = "x-".repeat(40);
        let zuul = ZuulConfig { ignored_headers: ["x-secret".into(), long.clone()].into(), ..ZuulConfig::default() };
        for table in [FieldTable::for_requests(&zuul, &route(None)), FieldTable::for_answers(&zuul, &route(None))] {
            for name in
                ["Cookie", "SET-COOKIE", "authorization", "X-Secret", &long, "Keep-Alive", "TE", "Upgrade", "Server"]
            {
                assert!(table.drops(name.as_bytes()), "{name}");
            }
            for name in ["X-Secre", "X-Secrets", "Content-Encoding", "Cookie2", "", "Date", &long[2..]] {
                assert_eq!(table.treatment(name.as_bytes()), None, "{name}");
            }
        }
    }

    /// CFG-10: an empty list of the route's own makes nothing sensitive; a list replaces the default.
    #[test]
    fn a_routes_own_list_replaces_the_global_one() {
        let zuul = ZuulConfig::default();
        let none = FieldTable::for_requests(&zuul, &route(Some(&[])));
        assert_eq!(none.treatment(b"cookie"), None);
        assert_eq!(none.treatment(b"Authorization"), None);
        let own = FieldTable::for_requests(&zuul, &route(Some(&["x-sens", "authorization"])));
        assert_eq!(own.treatment(b"cookie"), None);
        assert!(own.drops(b"X-Sens") && own.drops(b"Authorization"));
    }

    #[test]
    fn ignored_is_ignored_whatever_the_field_is_otherwise() {
        let ignored = ZuulConfig { ignored_headers: ["x-forwarded-for".into()].into(), ..ZuulConfig::default() };
        assert!(FieldTable::for_requests(&ignored, &route(None)).drops(b"X-Forwarded-For"));
    }
}
