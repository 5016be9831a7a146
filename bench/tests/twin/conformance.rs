//! The corpus of HTTP/1.1 cases against the twin. What hyper decides by itself, before the twin or behind its back, is listed with its
//! reason; every other case must pass, and a listed one that passes is a stale entry.

#![expect(dead_code, reason = "portcullis' own tests use more of the runner")]

#[path = "../../../tests/it/conformance/corpus.rs"]
mod corpus;
#[path = "../../../tests/it/conformance/judge.rs"]
mod judge;
#[path = "../../../tests/it/conformance/player.rs"]
mod player;
#[path = "../../../tests/it/conformance/run.rs"]
mod run;
#[path = "../../../tests/it/conformance/upstream.rs"]
mod upstream;

use crate::support::socket::listen;
use crate::support::{TestTwin, twin};
use corpus::Declined;
use run::{Lane, Limits, play_all};
use std::time::Duration;
use upstream::Upstream;

const LANES: usize = 8;
const LIMITS: Limits = Limits { upstream_timeout: Duration::from_secs(1), header_timeout: Duration::from_secs(2) };

#[test]
fn the_twin_meets_the_corpus_but_for_what_hyper_decides() {
    let listed: Vec<Declined> = serde_yaml::from_str(include_str!("decided_by_hyper.yaml")).expect("a list");
    let cases = corpus::cases();
    for entry in &listed {
        assert!(cases.iter().any(|case| case.id == entry.id), "{} is no case", entry.id);
        assert!(!entry.reason.is_empty(), "{} has no reason", entry.id);
    }
    let (twins, lanes): (Vec<TestTwin>, Vec<Lane>) = (0..LANES).map(|_| lane()).unzip();
    let verdicts = play_all(lanes, &cases);
    assert_eq!(verdicts.len(), cases.len());
    let is_listed = |id: &str| listed.iter().any(|entry| entry.id == id);
    let wrong = verdicts.iter().filter(|verdict| verdict.passes() == is_listed(&verdict.id));
    let wrong: Vec<String> = wrong.map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    twins.iter().for_each(TestTwin::assert_quiet);
}

fn lane() -> (TestTwin, Lane) {
    let (listener, address) = listen();
    let twin = twin(&format!(
        "zuul:\n  sensitive-headers: ''\n  host.socketTimeoutMillis: {}\n  routes.up: {{path: /**, url: 'http://{address}'}}\n\
         server.tomcat.connection-timeout: {}ms\n",
        LIMITS.upstream_timeout.as_millis(),
        LIMITS.header_timeout.as_millis()
    ));
    let lane = Lane::new(twin.0.address(), Upstream::start(listener, LIMITS.upstream_timeout), LIMITS);
    (twin, lane)
}
