//! Portcullis and the twin before a recording backend: no difference, and one that is made on purpose is found.

use bench::parity::{Bench, Difference, Party, Place, Scope, probes};
use bench::twin::Twin;
use portcullis::server::Server;

/// What differs between portcullis on the probes' configuration and the twin on the same with `changed` in it.
fn differences(changed: &[(&str, &str)]) -> Vec<Difference> {
    let bench = Bench::start().expect("a backend");
    let yaml = bench.configuration().expect("a configuration");
    let config = |yaml: &str| portcullis::config::load_str(yaml).expect("a sound configuration").config;
    let server = Server::start(config(&yaml)).expect("portcullis starts");
    let mut other = yaml.clone();
    for (from, to) in changed {
        assert!(other.contains(from), "{from}");
        other = other.replace(from, to);
    }
    let twin = Twin::start(&config(&other), Some(1)).expect("the twin starts");
    let party = |name: &str, address| Party { name: name.into(), address };
    let (left, right) = (party("portcullis", server.local_addr()), party("twin", twin.address()));
    bench.compare(&left, &right, Scope::All).expect("both answer")
}

#[test]
fn portcullis_and_the_twin_are_like_for_like() {
    let found: Vec<String> = differences(&[]).iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{} of {} probes:\n{}", found.len(), probes(Scope::All).len(), found.join("\n"));
}

#[test]
fn what_differs_is_found_in_the_answer_and_in_the_upstreams_request() {
    let found = differences(&[
        (
            "one.execution.isolation.semaphore.maxConcurrentRequests: 1\n",
            "one.execution.isolation.semaphore.maxConcurrentRequests: 2\n",
        ),
        ("zuul:\n", "zuul:\n  add-proxy-headers: false\n"),
    ]);
    let about = |probe: &str, place, aspect: &str| {
        found.iter().find(|d| d.probe == probe && d.place == place && d.aspect == aspect).map(ToString::to_string)
    };
    let full = about("semaphore full", Place::Answer, "status").expect("found");
    assert_eq!(full, r#"semaphore full: answer: status: portcullis "503", twin "200""#);
    let fields = about("GET", Place::Upstream, "field x-forwarded-for").expect("found");
    assert_eq!(fields, r#"GET: upstream's request: field x-forwarded-for: portcullis "127.0.0.1", twin has none"#);
    assert_eq!(about("GET", Place::Answer, "status"), None);
}
