//! Meters of the process itself, under Micrometer's names where it has the same meter.
//!
//! Read from the system when somebody asks; a value that the system does not give (no /proc) is left out, never made up.

use crate::metrics::{Collect, Sink};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Tells what the process is and uses.
#[derive(Debug)]
pub struct ProcessMeters {
    started: Instant,
    start_time: SystemTime,
}

impl ProcessMeters {
    /// For a process that started at `started`, which was `start_time` on the wall clock; `main` takes both first of all.
    pub fn new(started: Instant, start_time: SystemTime) -> Self {
        Self { started, start_time }
    }

    fn collect_times(&self, sink: &mut dyn Sink) {
        let since_epoch = self.start_time.duration_since(UNIX_EPOCH).unwrap_or_default();
        sink.gauge("process.start.time", "Start of the process, since the epoch.", &[], since_epoch.as_secs_f64());
        sink.gauge("process.uptime", "Time since the start of the process.", &[], self.started.elapsed().as_secs_f64());
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let seconds = u64::try_from(cpu.tv_sec).unwrap_or_default();
        let nanos = u64::try_from(cpu.tv_nsec).unwrap_or_default();
        let cpu_time = seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        sink.counter("process.cpu.time", "Processor time that all threads used.", &[], cpu_time);
    }
}

impl Collect for ProcessMeters {
    fn collect(&self, sink: &mut dyn Sink) {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        sink.gauge("portcullis.build.info", "Always 1; the version stands in the label.", &version, 1.0);
        self.collect_times(sink);
        collect_files(sink);
        collect_memory_and_threads(sink);
        if let Ok(count) = std::thread::available_parallelism() {
            sink.gauge("system.cpu.count", "Processors that the process may use.", &[], to_double(count.get() as u64));
        }
    }
}

fn collect_files(sink: &mut dyn Sink) {
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        // The listing holds the descriptor that reads it, too.
        let open = open.count().saturating_sub(1);
        sink.gauge("process.files.open", "Open file descriptors.", &[], to_double(open as u64));
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        sink.gauge("process.files.max", "File descriptors that may be open at once.", &[], to_double(most));
    }
}

fn collect_memory_and_threads(sink: &mut dyn Sink) {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    if let Some(kib) = number_after(&status, "VmRSS:") {
        sink.gauge("process.memory.resident", "Memory in use that is not swapped out.", &[], to_double(kib * 1024));
    }
    if let Some(threads) = number_after(&status, "Threads:") {
        sink.gauge("process.threads", "Threads of the process.", &[], to_double(threads));
    }
}

fn number_after(status: &str, label: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_whitespace().next()?.parse().ok()
}

#[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
fn to_double(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::snapshot::{Snapshot, Value};
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn numbers_are_found_by_their_label() {
        let status = "Name:\tx\nVmRSS:\t   10744 kB\nThreads:\t13\nOdd:\tx\n";
        assert_eq!(number_after(status, "VmRSS:"), Some(10744));
        assert_eq!(number_after(status, "Threads:"), Some(13));
        assert_eq!(number_after(status, "Odd:"), None);
        assert_eq!(number_after(status, "None:"), None);
    }

    #[test]
    fn the_process_is_told() {
        let meters = ProcessMeters::new(Instant::now(), UNIX_EPOCH + Duration::from_secs(7));
        let snapshot = Snapshot::take(&[Arc::new(meters)]);
        assert_eq!(snapshot.0["process.start.time"].samples[0].value, Value::Gauge(7.0));
        assert_eq!(snapshot.0["portcullis.build.info"].samples[0].labels[0].0, "version");
        for name in ["process.memory.resident", "process.threads", "process.files.open", "process.files.max"] {
            let Value::Gauge(value) = snapshot.0[name].samples[0].value else { panic!("{name} is a gauge") };
            assert!(value >= 1.0, "{name} {value}");
        }
    }
}
