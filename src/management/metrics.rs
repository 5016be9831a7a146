//! `/actuator/metrics`: Spring's JSON of one meter, narrowed by tags (MetricsEndpoint of Boot 2.3).

use super::page::Page;
use super::snapshot::{Sample, Snapshot, Value, base_unit};
use serde_json::{Map, json};
use std::collections::{BTreeMap, BTreeSet};

/// `/actuator/metrics`: every name, sorted.
pub(super) fn names(snapshot: &Snapshot) -> Page {
    Page::json(json!({ "names": snapshot.0.keys().collect::<Vec<_>>() }))
}

/// `/actuator/metrics/{name}?tag=k:v`: the sum over the series that carry all of `tags`, and what they can be narrowed by further.
pub(super) fn meter(snapshot: &Snapshot, name: &str, tags: &[String]) -> Page {
    let mut wanted = Vec::new();
    for tag in tags {
        match tag.split_once(':') {
            Some(pair) => wanted.push(pair),
            None => return Page::bad_request(format!("each tag must have the form key:value, but one was: {tag}")),
        }
    }
    let Some(meter) = snapshot.0.get(name) else { return Page::not_found(format!("no meter has the name {name}")) };
    let carries = |sample: &&Sample| wanted.iter().all(|&(k, v)| sample.labels.iter().any(|(n, x)| *n == k && x == v));
    let samples: Vec<&Sample> = meter.samples.iter().filter(carries).collect();
    let Some(sum) = samples.iter().map(|sample| sample.value).reduce(Value::plus) else {
        return Page::not_found(format!("{name} has no series with these tags"));
    };
    Page::json(json!({
        "name": name,
        "description": meter.help,
        "baseUnit": base_unit(name, sum),
        "measurements": measurements(sum),
        "availableTags": available_tags(&samples, &wanted),
    }))
}

fn measurements(value: Value) -> serde_json::Value {
    #[expect(clippy::cast_precision_loss, reason = "Spring tells counts as doubles")]
    let count = |n: u64| json!({ "statistic": "COUNT", "value": n as f64 });
    match value {
        Value::Gauge(now) => json!([{ "statistic": "VALUE", "value": now }]),
        Value::Counter(n) => json!([count(n)]),
        Value::Timer { count: n, total, longest } => json!([
            count(n),
            { "statistic": "TOTAL_TIME", "value": total.as_secs_f64() },
            { "statistic": "MAX", "value": longest.as_secs_f64() },
        ]),
    }
}

fn available_tags(samples: &[&Sample], wanted: &[(&str, &str)]) -> Vec<serde_json::Value> {
    let mut tags: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in samples.iter().flat_map(|sample| &sample.labels) {
        if !wanted.iter().any(|(key, _)| key == name) {
            tags.entry(name).or_default().insert(value);
        }
    }
    let tag = |(name, values): (&str, BTreeSet<&str>)| {
        let mut tag = Map::new();
        tag.insert("tag".into(), name.into());
        tag.insert("values".into(), values.into_iter().collect());
        serde_json::Value::Object(tag)
    };
    tags.into_iter().map(tag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::page::Content;
    use crate::management::snapshot::fake::Sample3;
    use std::sync::Arc;

    #[track_caller]
    fn check(page: Page, status: u16, expected: &str) {
        assert_eq!(page.status.as_u16(), status);
        match page.content {
            Content::Json(value) => assert_eq!(value.to_string(), expected),
            Content::Error(message) => assert_eq!(message, expected),
            other => panic!("{other:?}"),
        }
    }

    fn meter_page(name: &str, tags: &[&str]) -> Page {
        let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
        meter(&Snapshot::take(&[Arc::new(Sample3)]), name, &tags)
    }

    #[test]
    fn names_are_sorted() {
        let snapshot = Snapshot::take(&[Arc::new(Sample3)]);
        let expected = r#"{"names":["portcullis.queue.wait","portcullis.refused","portcullis.workers.busy"]}"#;
        check(names(&snapshot), 200, expected);
    }

    #[test]
    fn a_counter_is_summed_over_its_series_and_narrowed_by_tags() {
        let all = r#"{"name":"portcullis.refused","description":"Refusals.","baseUnit":null,"measurements":[{"statistic":"COUNT","value":12.0}],"availableTags":[{"tag":"reason","values":["draining","queue_full"]},{"tag":"stage","values":["front","queue"]}]}"#;
        check(meter_page("portcullis.refused", &[]), 200, all);
        let one = r#"{"name":"portcullis.refused","description":"Refusals.","baseUnit":null,"measurements":[{"statistic":"COUNT","value":9.0}],"availableTags":[{"tag":"stage","values":["front","queue"]}]}"#;
        check(meter_page("portcullis.refused", &["reason:draining"]), 200, one);
        let two = r#"{"name":"portcullis.refused","description":"Refusals.","baseUnit":null,"measurements":[{"statistic":"COUNT","value":5.0}],"availableTags":[]}"#;
        check(meter_page("portcullis.refused", &["reason:draining", "stage:front"]), 200, two);
    }

    #[test]
    fn a_timer_tells_count_sum_and_longest_in_seconds() {
        let expected = r#"{"name":"portcullis.queue.wait","description":"How long requests waited.","baseUnit":"seconds","measurements":[{"statistic":"COUNT","value":2.0},{"statistic":"TOTAL_TIME","value":2.0},{"statistic":"MAX","value":1.5}],"availableTags":[]}"#;
        check(meter_page("portcullis.queue.wait", &[]), 200, expected);
    }

    #[test]
    fn what_cannot_be_found_or_read_is_refused() {
        check(meter_page("nothing", &[]), 404, "no meter has the name nothing");
        check(meter_page("portcullis.refused", &["reason:x"]), 404, "portcullis.refused has no series with these tags");
        let message = "each tag must have the form key:value, but one was: reason";
        check(meter_page("portcullis.refused", &["reason"]), 400, message);
    }
}
