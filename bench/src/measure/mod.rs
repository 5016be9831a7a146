//! How a run is made to mean something: what it cost, whether it was warm, whether its counts add up, and whether it counts at all.
//!
//! ```text
//! for each group of cells, round and contestant (ABBA):
//!   start -> parity -> warm-up until three windows bring nothing new -> counters, cost -> load -> cost, counters -> reconcile -> void? -> row
//! ```

mod bring;
pub(crate) mod counters;
pub(crate) mod environment;
pub(crate) mod order;
mod parked;
pub(crate) mod process;
pub(crate) mod reconcile;
pub(crate) mod recovery;
pub(crate) mod run;
pub(crate) mod statistics;
pub(crate) mod void;
pub(crate) mod warm_up;

#[cfg(test)]
mod tests;
