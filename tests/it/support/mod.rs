//! What the tests are made of: peers that speak raw octets, the gateway under test, real parts from the system, and waiting with a bound.

pub(crate) mod client;
pub(crate) mod gateway;
pub(crate) mod message;
pub(crate) mod origin;
pub(crate) mod parts;
pub(crate) mod socket;
pub(crate) mod wait;
