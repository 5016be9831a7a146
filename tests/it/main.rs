//! Everything that is tested over sockets, in one binary. A table of contents.

/// Peers, parts and waiting.
mod support;

/// What RFC 9110 and 9112 ask of a gateway, case by case.
mod conformance;
