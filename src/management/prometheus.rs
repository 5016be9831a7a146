//! `/actuator/prometheus`: the text exposition format 0.0.4, with the names that Micrometer gives.
//!
//! ```text
//! # HELP portcullis_refused_total Requests refused.
//! # TYPE portcullis_refused_total counter
//! portcullis_refused_total{reason="queue_full"} 3.0
//! ```

use super::page::Page;
use super::snapshot::{Meter, Sample, Snapshot, Value, base_unit};
use std::fmt::Write;

const MEDIA_TYPE: &str = "text/plain;version=0.0.4;charset=utf-8";

/// Every meter.
pub(super) fn page(snapshot: &Snapshot) -> Page {
    let mut text = String::with_capacity(8 * 1024);
    for (name, meter) in &snapshot.0 {
        write_meter(&mut text, name, meter);
    }
    Page::text(MEDIA_TYPE, text)
}

fn write_meter(text: &mut String, name: &str, meter: &Meter) {
    let Some(first) = meter.samples.first() else { return };
    let base = family_name(name, first.value);
    match first.value {
        Value::Gauge(_) => {
            write_head(text, &base, meter.help, "gauge");
            write_series(text, &base, &meter.samples, |value| match value {
                Value::Gauge(now) => Some(now),
                _ => None,
            });
        }
        Value::Counter(_) => {
            write_head(text, &base, meter.help, "counter");
            write_series(text, &base, &meter.samples, |value| match value {
                Value::Counter(n) => Some(to_double(n)),
                _ => None,
            });
        }
        Value::Timer { .. } => write_timer(text, &base, meter),
    }
}

/// A timer is a summary of count and sum, and a gauge of its own for the longest.
fn write_timer(text: &mut String, base: &str, meter: &Meter) {
    write_head(text, base, meter.help, "summary");
    write_series(text, &format!("{base}_count"), &meter.samples, |value| match value {
        Value::Timer { count, .. } => Some(to_double(count)),
        _ => None,
    });
    write_series(text, &format!("{base}_sum"), &meter.samples, |value| match value {
        Value::Timer { total, .. } => Some(total.as_secs_f64()),
        _ => None,
    });
    let max = format!("{base}_max");
    write_head(text, &max, meter.help, "gauge");
    write_series(text, &max, &meter.samples, |value| match value {
        Value::Timer { longest, .. } => Some(longest.as_secs_f64()),
        _ => None,
    });
}

fn write_head(text: &mut String, name: &str, help: &str, kind: &str) {
    let help = help.replace('\\', "\\\\").replace('\n', "\\n");
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn write_series(text: &mut String, name: &str, samples: &[Sample], number: impl Fn(Value) -> Option<f64>) {
    for sample in samples {
        let Some(number) = number(sample.value) else { continue };
        text.push_str(name);
        write_labels(text, &sample.labels);
        let _ = match number {
            n if n.is_infinite() => writeln!(text, " {}Inf", if n > 0.0 { '+' } else { '-' }),
            n => writeln!(text, " {n:?}"),
        };
    }
}

fn write_labels(text: &mut String, labels: &[(&'static str, String)]) {
    for (index, (name, value)) in labels.iter().enumerate() {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(text, "{}{}=\"{value}\"", if index == 0 { '{' } else { ',' }, snake(name));
    }
    if !labels.is_empty() {
        text.push('}');
    }
}

/// Micrometer's naming convention: snake case, the base unit, `_total` for counters.
fn family_name(name: &str, value: Value) -> String {
    let mut family = snake(name);
    let mut ensure_suffix = |suffix: &str| {
        if !family.ends_with(suffix) {
            family.push_str(suffix);
        }
    };
    if let Some(unit) = base_unit(name, value) {
        ensure_suffix(&format!("_{unit}"));
    }
    if matches!(value, Value::Counter(_)) {
        ensure_suffix("_total");
    }
    family
}

/// Letters, digits and `_` (metric and label names alike), with a letter in front.
fn snake(name: &str) -> String {
    let mut snake: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !snake.starts_with(|c: char| c.is_ascii_alphabetic()) {
        snake.insert_str(0, "m_");
    }
    snake
}

#[expect(clippy::cast_precision_loss, reason = "the format knows doubles only")]
fn to_double(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::page::Content;
    use crate::management::snapshot::fake::Sample3;
    use crate::metrics::{Collect, Sink};
    use std::sync::Arc;

    #[track_caller]
    fn check(source: impl Collect + 'static, expected: &str) {
        let Content::Text(media_type, text) = page(&Snapshot::take(&[Arc::new(source)])).content else {
            panic!("text expected")
        };
        assert_eq!(media_type, "text/plain;version=0.0.4;charset=utf-8");
        assert_eq!(text, expected);
    }

    #[test]
    fn each_kind_has_its_form_and_labels_are_escaped() {
        check(
            Sample3,
            r#"# HELP portcullis_queue_wait_seconds How long requests waited.
# TYPE portcullis_queue_wait_seconds summary
portcullis_queue_wait_seconds_count 2.0
portcullis_queue_wait_seconds_sum 2.0
# HELP portcullis_queue_wait_seconds_max How long requests waited.
# TYPE portcullis_queue_wait_seconds_max gauge
portcullis_queue_wait_seconds_max 1.5
# HELP portcullis_refused_total Refusals.
# TYPE portcullis_refused_total counter
portcullis_refused_total{reason="queue_full",stage="queue"} 3.0
portcullis_refused_total{reason="draining",stage="queue"} 4.0
portcullis_refused_total{reason="draining",stage="front"} 5.0
# HELP portcullis_workers_busy Now \\ here.\nOr there.
# TYPE portcullis_workers_busy gauge
portcullis_workers_busy{name="a\"b\\c\nd"} 2.0
"#,
        );
    }

    struct Odd;
    impl Collect for Odd {
        fn collect(&self, sink: &mut dyn Sink) {
            sink.gauge("1.odd-näme", "h", &[("a.b", "x")], f64::INFINITY);
            sink.counter("files.total", "h", &[], 1);
            sink.gauge("process.uptime", "h", &[], f64::NAN);
        }
    }

    #[test]
    fn odd_names_and_numbers_stay_within_the_format() {
        check(
            Odd,
            "# HELP m_1_odd_n_me h\n# TYPE m_1_odd_n_me gauge\nm_1_odd_n_me{a_b=\"x\"} +Inf\n\
             # HELP files_total h\n# TYPE files_total counter\nfiles_total 1.0\n\
             # HELP process_uptime_seconds h\n# TYPE process_uptime_seconds gauge\nprocess_uptime_seconds NaN\n",
        );
    }
}
