//! portcullis: a thread-per-request, blocking HTTP/1.1 API gateway in the manner of Zuul 1.
//!
//! # The way of a request
//!
//! ```text
//! accept -> connection -> head -> route -> pre filters -> circuit -> isolation (semaphore | pool) -> upstream -> post filters -> response
//! ```
//!
//! [`gateway::Gateway`] tells it on one page. Modules are listed in the order in which a request meets them; arrows between them point
//! down this list.
//!
//! | a stranger looks for | and finds it in |
//! |---|---|
//! | where a connection is accepted, who may run | [`front`] |
//! | where a head is parsed, a body framed | [`wire`] |
//! | which route is hit, what is stripped | [`router`] |
//! | where a header is stripped or added | [`exchange`], [`router::fields`] |
//! | where a rate is limited | [`rate_limit`] |
//! | where a circuit opens, what is counted of a backend | [`command`] |
//! | where a permit is taken | [`isolation`] |
//! | what is sent again, and when | [`retry`] |
//! | where a server is chosen, or passed over | [`balance`] |
//! | where a timeout is set | [`deadline`], [`upstream`] |
//! | where a failure becomes a status | [`reason`], [`reply`] |

pub mod cli;
pub mod config;
pub mod server;
// The two containers, and what they hand to whom.
pub mod front;
pub mod container;
pub mod client;
pub mod wire;
// The way of a request.
pub mod gateway;
pub mod router;
pub mod exchange;
pub mod rate_limit;
pub mod command;
pub mod isolation;
pub mod retry;
pub mod balance;
pub mod upstream;
pub mod reply;
// What it is noted in, and who asks.
pub mod access_log;
pub mod counts;
pub mod metrics;
pub mod management;
pub mod example;
mod query;
// What all of them use.
pub mod reason;
pub mod deadline;
pub mod cancel;
pub mod phase;
pub mod scheduling;
