//! Every theme over ureq's Agent.

use super::*;

#[path = "bodies.rs"]
mod bodies;
#[path = "idle.rs"]
mod idle;
#[path = "interims.rs"]
mod interims;
#[path = "limits.rs"]
mod limits;
#[path = "numbers.rs"]
mod numbers;
#[path = "pooling.rs"]
mod pooling;
#[path = "requests.rs"]
mod requests;
#[path = "reuse.rs"]
mod reuse;
#[path = "tls.rs"]
mod tls;
#[path = "uploads.rs"]
mod uploads;

calls_over!(HttpClient::Ureq);
