//! Comparisons with other gateways, run side by side on the user's own machine.

fn main() {}
