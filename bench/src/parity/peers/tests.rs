//! Contestants as a measurement starts them, and what is made of differences.

use super::*;
use crate::twin::Twin;
use portcullis::server::Server;

fn difference(probe: &str, place: Place, aspect: &str, (left, right): (&str, &str)) -> Difference {
    let side = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Difference {
        probe: probe.into(),
        place,
        aspect: aspect.into(),
        left: side("portcullis", left),
        right: side("nginx", right),
    }
}

#[test]
fn each_kind_of_difference_is_told_once_and_fields_last() {
    let asked = probes(Scope::Plain).len();
    let found = [
        difference("GET", Place::Answer, "field via", ("1", "none")),
        difference("GET", Place::Upstream, "field host", ("a", "b")),
        difference("HEAD", Place::Answer, "field via", ("1", "none")),
        difference("HEAD", Place::Upstream, "field host", ("a", "c")),
        difference("PUT", Place::Upstream, "body", ("x", "")),
        difference("PUT", Place::Answer, "field via", ("1", "none")),
        difference("429", Place::Upstream, "number of requests", ("1", "2")),
        difference("503", Place::Upstream, "number of requests", ("1", "2")),
        difference("encoded", Place::Answer, "status", ("200", "400")),
        difference("encoded", Place::Answer, "field via", ("1", "none")),
        difference("encoded", Place::Answer, "body", ("hello", "sorry")),
        difference("encoded", Place::Upstream, "number of requests", ("1", "0")),
        difference("encoded", Place::Upstream, "field te", ("none", "trailers")),
    ];
    let wanted = [
        format!("not like for like: 6 kinds of differences in {asked} requests"),
        "  encoded: answer: status: portcullis 200, nginx 400".into(),
        "  PUT: upstream's request: body: portcullis x, nginx ".into(),
        "  429: upstream's request: number of requests: portcullis 1, nginx 2 (and in 1 more)".into(),
        "  encoded: upstream's request: number of requests: portcullis 1, nginx 0".into(),
        "  GET: answer: field via: portcullis 1, nginx none (and in 2 more)".into(),
        "  GET: upstream's request: field host: portcullis a, nginx b (and in 1 more, some with other values)".into(),
    ];
    assert_eq!(verdict(&found), wanted.join("\n"));
    assert_eq!(verdict(&[]), format!("like for like in {asked} requests"));
}

#[test]
fn what_the_twin_lacks_comes_first() {
    let lacks = ["not in the twin: x".to_owned()];
    let like = "like for like in 23 requests";
    assert_eq!(verdict_and_lacks(like, &[]), like);
    let said = format!("not like for like: 1 thing that no probe shows; {like}\n  not in the twin: x");
    assert_eq!(verdict_and_lacks(like, &lacks), said);
    let unlike = "not like for like: 1 kinds of differences in 23 requests\n  GET: answer";
    let two = [&lacks[..], &["y".to_owned()]].concat();
    let said = "not like for like: 2 things that no probe shows; 1 kinds of differences in 23 requests\n  not in the twin: x\n  y\n  GET: answer";
    assert_eq!(verdict_and_lacks(unlike, &two), said);
}

/// The twin as a contestant of this name, on the probes' configuration with `changed` in it.
fn look(peers: &mut Peers, changed: &str) -> Option<Vec<String>> {
    let yaml = peers.bench.configuration().unwrap();
    let config = |yaml: &str| portcullis::config::load_str(yaml).unwrap().config;
    let server = Server::start(config(&yaml)).unwrap();
    let twin = Twin::start(&config(&yaml.replace("zuul:\n", &format!("zuul:\n{changed}"))), Some(1)).unwrap();
    let reference = || Ok(Started { address: server.local_addr(), process: None, limits: Vec::new() });
    let found = peers.look(("nginx", Configuration::Stock), twin.address(), reference).unwrap();
    let aspect = |it: &Difference| format!("{:?}: {}", it.place, it.aspect);
    let mut kinds: Vec<String> = found?.iter().map(aspect).collect();
    kinds.sort_unstable();
    kinds.dedup();
    Some(kinds)
}

#[test]
fn a_later_look_tells_only_what_is_new() {
    let mut peers = Peers::start().unwrap();
    assert_eq!(look(&mut peers, ""), Some(Vec::new()), "the first tells also that there is nothing");
    assert_eq!(look(&mut peers, ""), None);
    let forwarded =
        ["for", "host", "port", "prefix", "proto"].map(|name| format!("Upstream: field x-forwarded-{name}"));
    let without = "  add-proxy-headers: false\n";
    assert_eq!(look(&mut peers, without), Some(forwarded.into()));
    assert_eq!(look(&mut peers, without), None);
    let host = Some(vec!["Upstream: field host".to_owned()]);
    assert_eq!(look(&mut peers, &format!("{without}  add-host-header: true\n")), host);
}

#[test]
fn a_glance_looks_once_and_some_are_compared_elsewhere() {
    let mut peers = Peers::start().unwrap();
    let wants = |peers: &Peers, name, glance| peers.wants(name, Configuration::Stock, glance);
    assert!(["direct", "portcullis"].iter().all(|name| !wants(&peers, name, false)));
    assert!(wants(&peers, "nginx", true) && wants(&peers, "twin", true));
    look(&mut peers, "");
    assert!(!wants(&peers, "nginx", true) && wants(&peers, "nginx", false));
    assert!(peers.wants("nginx", Configuration::Equalised, true));
}
