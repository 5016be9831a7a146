//! Portcullis and the twin before a recording backend: no difference, and one that is made on purpose is found.

use crate::support::parts::{self, Service};
use bench::parity::{Bench, Difference, Party, Place, Scope, probes};
use bench::twin::Twin;
use portcullis::server::Server;
use std::process::Command;

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

/// Any gateway can be looked at: nginx passes requests on as portcullis does, and knows nothing of Zuul's fields.
#[test]
fn nginx_differs_in_what_it_says_of_itself() {
    let Some(nginx) = parts::find("nginx") else { return };
    let bench = Bench::start().expect("a backend");
    let http = format!(
        "proxy_http_version 1.1; proxy_request_buffering off; proxy_buffering off; proxy_set_header Connection \"\";\n\
         server {{ listen 127.0.0.1:$PORT0; location /plain/ {{ proxy_pass http://{}/; }} }}",
        bench.backend()
    );
    let nginx = Service::nginx(&nginx, 1, &http);
    let yaml = bench.configuration().expect("a configuration");
    let loaded = portcullis::config::load_str(&yaml).expect("a sound configuration");
    let server = Server::start(loaded.config).expect("portcullis starts");
    let party = |name: &str, address| Party { name: name.into(), address };
    let (left, right) = (party("portcullis", server.local_addr()), party("nginx", nginx.address(0)));
    let found = bench.compare(&left, &right, Scope::Plain).expect("both answer");
    let of_get: Vec<String> = found.iter().filter(|d| d.probe == "GET").map(ToString::to_string).collect();
    for expected in [
        r#"GET: answer: field via: portcullis "1.1 portcullis", nginx has none"#,
        r#"GET: upstream's request: field x-forwarded-prefix: portcullis "/plain", nginx has none"#,
    ] {
        assert!(of_get.iter().any(|line| line == expected), "{expected}\n{of_get:#?}");
    }
    assert!(found.iter().all(|d| d.probe != "GET" || d.aspect.starts_with("field ")), "{of_get:#?}");
}

#[test]
fn the_command_starts_both_and_says_like_for_like() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench")).arg("parity").output().expect("bench starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.starts_with("like for like in "), "{said}");
}
