//! The two halves of an exchange that need no socket: what a request head becomes upstream ([`plan()`]), and what the upstream's head becomes
//! for the client ([`answer_fields`]). Blocking and asynchronous gateways use the same code.
//!
//! ```text
//! RequestHead, Peer --plan--> route, method, target, fields   ...call...   status, fields --answer--> field lines
//! ```
//!
//! Nothing here waits, reads a clock or knows a client library. End-to-end octets pass unchanged; what belongs to one hop ends here, both
//! ways. Framing fields are not made here: the upstream client and the container know best what they send.

pub mod answer;
mod client_address;
pub mod explain;
mod forwarded;
pub mod plan;
mod request_fields;
mod via;

pub use answer::{answer_fields, answer_map, interim_fields};
pub use plan::{ALLOW, Peer, Plan, Planned, Refusal, Rules, plan, plan_forward};
pub use request_fields::OF_THE_SERVER;

use crate::router::fields::FieldTable;

/// The fields that `Connection` names in one message, besides those that end here anyway.
#[derive(Debug, Default)]
struct Named<'h>(Vec<&'h [u8]>);

impl<'h> Named<'h> {
    /// Does not allocate for what almost every message says: nothing, `close` or `keep-alive`.
    fn of(options: impl Iterator<Item = &'h [u8]>, table: &FieldTable) -> Self {
        let is_plain = |option: &[u8]| option.eq_ignore_ascii_case(b"close") || table.drops(option);
        Self(options.filter(|option| !is_plain(option)).collect())
    }

    fn contains(&self, name: &[u8]) -> bool {
        self.0.iter().any(|named| named.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests;
