//! Everything that is tested over sockets, in one binary. A table of contents.

/// Peers, parts and waiting.
mod support;

/// The peers against each other.
mod peers;

/// The command line.
mod cli;

/// The gateway inside another program.
mod library;

/// Which target, method and body reach which upstream.
mod forwarding;

/// Which fields pass, in both directions.
mod headers;

/// The client's connection over its life.
mod keep_alive;

/// Heads and bodies that are wrong, too long or too odd.
mod framing;

/// Bodies that are too long.
mod body_limit;

/// The status table.
mod errors;

/// Limits of one, refused by name.
mod isolation;

/// Who asks too often.
mod rate_limit;

/// When a circuit opens and closes.
mod circuit;

/// What answers in place of a service that failed.
mod fallback;

/// Limits that move, waits for a permit, and who is next in a queue.
mod limits;

/// Which of several servers is asked.
mod balancing;

/// One burst against every limit.
mod bursts;

/// Everything at once.
mod chaos;

/// Which of the times binds.
mod timeouts;

/// Requests that are sent again.
mod retries;

/// Bodies on the move, and ends on either side.
mod streaming;

/// A gateway that has nothing to do.
mod rest;

/// The end of a gateway.
mod shutdown;

/// The actuator.
mod management;

/// Hystrix's stream of events.
mod stream;

/// What each key does.
mod config_effects;

/// The README against the product.
mod readme;

/// The front under stress.
mod front;

/// With nginx, wrk, ab, curl and openssl.
mod real_parts;

/// House rules that a machine can check.
mod tidy;

/// What RFC 9110 and 9112 ask of a gateway, case by case.
mod conformance;
