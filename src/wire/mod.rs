//! HTTP/1.1 as octets (RFC 9112): no socket, no clock, no route. Parsers take slices and say "used, result" or "need more".
//!
//! A head goes through [`scan`] (where are its lines, is it too large), the request line, `httparse` for the field lines, then what RFC
//! 9112 asks of target, Host and Expect; what is refused is a [`HeadError`]. [`framing`] says how long its body is and [`chunked`] reads
//! it. [`response`] writes heads. Containers call all of it; handlers ask a finished [`head::RequestHead`].

pub mod chunked;
pub mod date;
mod error;
mod fields;
pub mod framing;
pub mod head;
pub mod octet;
pub mod response;
pub mod scan;
pub mod target;
#[cfg(test)]
pub(crate) mod testing;

pub use error::{FieldFault, HeadError};
