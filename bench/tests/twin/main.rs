//! The asynchronous twin over sockets: the corpus of HTTP/1.1 cases, its limits, and its likeness to portcullis.

/// Peers and waiting: the same as in portcullis' own tests.
mod support;

/// The corpus, played by the same runner.
mod conformance;

/// Limits of one.
mod limits;

/// The circuit breaker.
mod circuit;

/// Bodies and ends.
mod streaming;

/// The same as portcullis, request by request.
mod parity;
