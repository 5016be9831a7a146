//! The corpus of HTTP/1.1 cases, played from both sides of the gateway.

mod against_others;
pub(crate) mod corpus;
pub(crate) mod judge;
pub(crate) mod player;
pub(crate) mod run;
pub(crate) mod upstream;

use crate::support::gateway::{Setup, TestGateway};
use crate::support::socket::listen;
use corpus::Level;
use run::{Lane, Limits, play_all};
use std::time::Duration;
use upstream::Upstream;

const LANES: usize = 8;
const LIMITS: Limits = Limits { upstream_timeout: Duration::from_secs(1), header_timeout: Duration::from_secs(2) };

#[test]
fn every_case_can_be_read() {
    assert_eq!(corpus::cases().len(), 141);
    for declined in corpus::declined() {
        let case = corpus::cases().into_iter().find(|case| case.id == declined.id);
        let case = case.unwrap_or_else(|| panic!("{} is no case", declined.id));
        assert_eq!(case.level, Level::Should, "{}: a must cannot be declined", case.id);
        assert!(!declined.reason.is_empty(), "{} is declined without a reason", case.id);
    }
}

#[test]
fn the_gateway_meets_the_corpus() {
    meets_the_corpus("native");
}

#[test]
fn the_gateway_meets_the_corpus_with_ureq_behind_it() {
    meets_the_corpus("ureq");
}

/// Every case of level `must`, and every `should` that is not declined; a declined case that passes is a stale entry.
#[track_caller]
fn meets_the_corpus(http_client: &str) {
    let (gateways, lanes): (Vec<TestGateway>, Vec<Lane>) = (0..LANES).map(|_| lane(http_client)).unzip();
    let cases = corpus::cases();
    let declined: Vec<String> = corpus::declined().into_iter().map(|declined| declined.id).collect();
    let verdicts = play_all(lanes, &cases);
    assert_eq!(verdicts.len(), cases.len());
    let wrong = verdicts.iter().filter(|verdict| verdict.passes() == declined.contains(&verdict.id));
    let wrong: Vec<String> = wrong.map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    gateways.iter().for_each(TestGateway::assert_quiet);
}

fn lane(http_client: &str) -> (TestGateway, Lane) {
    let (listener, address) = listen();
    let setup = Setup::new()
        .url_route("up", "/**", &format!("http://{address}"))
        .set("zuul.sensitive-headers", "")
        .set("gateway.http-client", http_client)
        .set("zuul.host.socketTimeoutMillis", LIMITS.upstream_timeout.as_millis().to_string())
        .set("server.tomcat.connection-timeout", format!("{}ms", LIMITS.header_timeout.as_millis()))
        .set("server.tomcat.max-threads", "8");
    let gateway = setup.start();
    let lane = Lane::new(gateway.address(), Upstream::start(listener, LIMITS.upstream_timeout), LIMITS);
    (gateway, lane)
}
