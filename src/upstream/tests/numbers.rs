//! What a server tells of itself.

use super::*;
use crate::metrics::{Collect, Sink, Timer};
use std::collections::BTreeMap;

#[test]
fn the_numbers_of_a_server_are_told() {
    #[derive(Default)]
    struct Told(BTreeMap<String, f64>);
    impl Sink for Told {
        fn gauge(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: f64) {
            assert_eq!(labels[0], ("backend", "svc"));
            self.0.insert(name.into(), value);
        }
        fn counter(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: u64) {
            let reason = labels.get(2).map_or(String::new(), |(_, reason)| format!(":{reason}"));
            self.0.insert(format!("{name}{reason}"), value as f64);
        }
        fn timer(&mut self, name: &'static str, _: &'static str, _: &[(&'static str, &str)], value: &Timer) {
            self.0.insert(name.into(), value.count() as f64);
        }
    }
    let origin = first(|peer| {
        peer.head();
        peer.send(OK);
        peer.head();
    });
    let server = server(&origin);
    whole(get(&server));
    fails(call(&server, request("POST", "/", &[]), &mut TestClient::silent()), Reason::UpstreamAborted, "");
    whole(get(&server));
    let mut told = Told::default();
    server.collect(&mut told);
    assert_eq!(told.0.get("portcullis.upstream.failures:timeout"), Some(&0.0), "what has not happened is told too");
    told.0.retain(|name, value| !name.contains("failures:") || *value > 0.0);
    let expected = [
        ("attempts", 3.0),
        ("connect", 2.0),
        ("connections.idle", 1.0),
        ("connections.max", 50.0),
        ("connections.open", 1.0),
        ("connections.opened", 2.0),
        ("connections.pending", 0.0),
        ("connections.reused", 1.0),
        ("connections.wait", 0.0),
        ("failures:upstream_aborted", 1.0),
    ];
    let expected = expected.map(|(name, value)| (format!("portcullis.upstream.{name}"), value));
    assert_eq!(told.0.into_iter().collect::<Vec<_>>(), expected);
}
