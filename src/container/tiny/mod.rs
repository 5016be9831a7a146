//! x
mod socket;
