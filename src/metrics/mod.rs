//! Counts and gauges: cheap to move on the way of a request, named only when somebody asks.
//!
//! A stage owns plain [`Counter`]s and [`Gauge`]s as fields and tells their names in [`Collect::collect`]; `management` renders what it is
//! told. Nothing here knows HTTP, and nothing allocates when it counts.

mod cell;
mod registry;
mod stripes;
mod timer;

pub use cell::{Counter, Gauge, Held};
pub use registry::Registry;
pub use stripes::Stripes;
pub use timer::Timer;

/// Where measured values are told to; `management` has one for JSON and one for Prometheus.
pub trait Sink {
    /// A value that goes up and down.
    fn gauge(&mut self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)], value: f64);

    /// A count since the start.
    fn counter(&mut self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)], value: u64);

    /// A number of durations, their sum and the longest.
    fn timer(&mut self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)], value: &Timer);
}

/// Has something to tell.
pub trait Collect: Send + Sync {
    /// Tells every value it owns. Names are Spring's dotted ones (`portcullis.queue.waiting`).
    fn collect(&self, sink: &mut dyn Sink);
}
