//! x
mod tiny;
