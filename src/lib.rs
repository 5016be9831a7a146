//! portcullis: a thread-per-request, blocking HTTP/1.1 API gateway in the manner of Zuul 1.
//!
//! # The way of a request
//!
//! ```text
//! accept -> connection -> head -> route -> pre filters -> isolation (semaphore | pool) -> upstream (ureq) -> post filters -> response
//! ```
//!
//! Modules are listed in the order in which a request meets them.

pub mod cancel;
pub mod client;
pub mod config;
pub mod deadline;
pub mod front;
pub mod metrics;
pub mod phase;
pub mod reason;
pub mod reply;
pub mod scheduling;
pub mod wire;
