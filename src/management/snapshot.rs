//! Every measured value at one moment, by meter name: what `metrics` and `prometheus` both render.
//!
//! Values that are told twice under one name and with the same labels are added up, since Prometheus refuses a page that repeats a series.

use crate::metrics::{Collect, Sink, Timer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// All meters, sorted by their dotted names.
#[derive(Debug, Default)]
pub(super) struct Snapshot(pub(super) BTreeMap<&'static str, Meter>);

/// One meter: what it means and its values by labels.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) help: &'static str,
    pub(super) samples: Vec<Sample>,
}

/// One series of a meter, at this moment.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: Value,
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// Goes up and down.
    Gauge(f64),
    /// Since the start.
    Counter(u64),
    /// Durations.
    Timer { count: u64, total: Duration, longest: Duration },
}

impl Value {
    /// Both together, as if one series had counted them.
    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Gauge(a), Self::Gauge(b)) => Self::Gauge(a + b),
            (Self::Counter(a), Self::Counter(b)) => Self::Counter(a.wrapping_add(b)),
            (Self::Timer { count: a, total: s, longest: l }, Self::Timer { count: b, total: t, longest: m }) => {
                Self::Timer { count: a.wrapping_add(b), total: s.saturating_add(t), longest: l.max(m) }
            }
            (first, _) => first,
        }
    }
}

impl Snapshot {
    /// Asks everyone.
    pub(super) fn take(sources: &[Arc<dyn Collect>]) -> Self {
        let mut snapshot = Self::default();
        for source in sources {
            source.collect(&mut snapshot);
        }
        snapshot
    }

    fn add(&mut self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)], value: Value) {
        let meter = self.0.entry(name).or_insert(Meter { help, samples: Vec::new() });
        let same =
            |sample: &&mut Sample| sample.labels.iter().map(|(n, v)| (*n, v.as_str())).eq(labels.iter().copied());
        match meter.samples.iter_mut().find(same) {
            Some(sample) => sample.value = sample.value.plus(value),
            None => {
                let labels = labels.iter().map(|&(n, v)| (n, v.to_owned())).collect();
                meter.samples.push(Sample { labels, value });
            }
        }
    }
}

impl Sink for Snapshot {
    fn gauge(&mut self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)], value: f64) {
        self.add(name, help, labels, Value::Gauge(value));
    }

    fn counter(&mut self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)], value: u64) {
        self.add(name, help, labels, Value::Counter(value));
    }

    fn timer(&mut self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)], value: &Timer) {
        let value = Value::Timer { count: value.count(), total: value.total(), longest: value.longest() };
        self.add(name, help, labels, value);
    }
}

/// The base unit of a meter: Micrometer's for the meters that have its names; ours say their unit in their name.
pub(super) fn base_unit(name: &str, value: Value) -> Option<&'static str> {
    match name {
        _ if matches!(value, Value::Timer { .. }) => Some("seconds"),
        "process.uptime" | "process.start.time" => Some("seconds"),
        "process.files.open" | "process.files.max" => Some("files"),
        "process.cpu.time" => Some("ns"),
        "process.memory.resident" => Some("bytes"),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod fake {
    use super::*;

    /// A source with one of each kind, as the tests of both renderings expect it.
    pub(in crate::management) struct Sample3;

    impl Collect for Sample3 {
        fn collect(&self, sink: &mut dyn Sink) {
            let timer = Timer::default();
            timer.record(Duration::from_millis(1500));
            timer.record(Duration::from_millis(500));
            sink.timer("portcullis.queue.wait", "How long requests waited.", &[], &timer);
            sink.counter("portcullis.refused", "Refusals.", &[("reason", "queue_full"), ("stage", "queue")], 3);
            sink.counter("portcullis.refused", "Refusals.", &[("reason", "draining"), ("stage", "queue")], 4);
            sink.counter("portcullis.refused", "Refusals.", &[("reason", "draining"), ("stage", "front")], 5);
            sink.gauge("portcullis.workers.busy", "Now \\ here.\nOr there.", &[("name", "a\"b\\c\nd")], 2.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_that_is_told_twice_is_one_sum() {
        let snapshot = Snapshot::take(&[Arc::new(fake::Sample3), Arc::new(fake::Sample3)]);
        let names: Vec<_> = snapshot.0.keys().copied().collect();
        assert_eq!(names, ["portcullis.queue.wait", "portcullis.refused", "portcullis.workers.busy"]);
        let refused: Vec<_> = snapshot.0["portcullis.refused"].samples.iter().map(|s| s.value).collect();
        assert_eq!(refused, [Value::Counter(6), Value::Counter(8), Value::Counter(10)]);
        let expected = Value::Timer { count: 4, total: Duration::from_secs(4), longest: Duration::from_millis(1500) };
        assert_eq!(snapshot.0["portcullis.queue.wait"].samples[0].value, expected);
        assert_eq!(snapshot.0["portcullis.workers.busy"].samples[0].value, Value::Gauge(4.0));
    }
}
