//! What portcullis' own tests are made of, from where it stands, and the twin under test.

#![expect(dead_code, reason = "portcullis' own tests use more of it")]

#[path = "../../../tests/it/support/client.rs"]
pub(crate) mod client;
#[path = "../../../tests/it/support/message.rs"]
pub(crate) mod message;
#[path = "../../../tests/it/support/origin.rs"]
pub(crate) mod origin;
#[path = "../../../tests/it/support/parts.rs"]
pub(crate) mod parts;
#[path = "../../../tests/it/support/socket.rs"]
pub(crate) mod socket;
#[path = "../../../tests/it/support/wait.rs"]
pub(crate) mod wait;

use bench::twin::Twin;
use client::RawClient;
use message::Message;
use portcullis::metrics::{Sink, Timer};
use std::collections::BTreeMap;

/// A twin under test.
pub(crate) struct TestTwin(pub(crate) Twin);

/// The twin with this configuration, on loopback ports that the system picks, and with two threads.
#[track_caller]
pub(crate) fn twin(yaml: &str) -> TestTwin {
    let loopback = "server: {address: 127.0.0.1, port: 0}\ngateway.access-log.format: 'off'\n";
    let loaded = portcullis::config::load_str(&format!("{loopback}{yaml}")).expect("a sound configuration");
    TestTwin(Twin::start(&loaded.config, Some(2)).expect("the twin starts"))
}

impl TestTwin {
    pub(crate) fn client(&self) -> RawClient {
        RawClient::connect(self.0.address())
    }

    #[track_caller]
    pub(crate) fn get(&self, target: &str) -> Message {
        self.client().get(target)
    }

    /// The sum of the values of this name whose labels hold `label`.
    pub(crate) fn metric(&self, name: &str, label: &str) -> f64 {
        let told = self.told();
        let named = |key: &&String| key.split(' ').next() == Some(name) && key.contains(label);
        told.iter().filter(|(key, _)| named(key)).fold(0.0, |sum, (_, value)| sum + value)
    }

    /// Checks that nothing is held any more.
    #[track_caller]
    pub(crate) fn assert_quiet(&self) {
        const OF_USE: [&str; 4] = [".in.use", ".in.flight", ".queued", ".pending"];
        let mut held = Vec::new();
        let quiet = wait::holds_within(wait::PATIENCE, || {
            let told = self.told();
            let of_use = |key: &str| OF_USE.iter().any(|end| key.split(' ').next().unwrap_or_default().ends_with(end));
            assert!(told.keys().any(|key| of_use(key)), "the twin shows its gauges");
            held = told
                .iter()
                .filter(|(key, value)| of_use(key) && **value != 0.0)
                .map(|(k, v)| (k.clone(), *v))
                .collect();
            let sum = |name: &str| told.iter().filter(|(key, _)| key.starts_with(name)).map(|(_, v)| v).sum::<f64>();
            let leased = sum("portcullis.upstream.connections.open ") - sum("portcullis.upstream.connections.idle ");
            if leased != 0.0 {
                held.push(("leased connections".into(), leased));
            }
            held.is_empty()
        });
        assert!(quiet, "still held: {held:?}");
    }

    fn told(&self) -> BTreeMap<String, f64> {
        let mut told = Told::default();
        self.0.collect(&mut told);
        told.0
    }
}

/// Gauges and counters by name and labels.
#[derive(Default)]
struct Told(BTreeMap<String, f64>);

impl Told {
    fn add(&mut self, name: &str, labels: &[(&'static str, &str)], value: f64) {
        let labels: Vec<_> = labels.iter().map(|(_, value)| *value).collect();
        *self.0.entry(format!("{name} {}", labels.join(" "))).or_default() += value;
    }
}

impl Sink for Told {
    fn gauge(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: f64) {
        self.add(name, labels, value);
    }

    fn counter(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: u64) {
        self.add(name, labels, value as f64);
    }

    fn timer(&mut self, _: &'static str, _: &'static str, _: &[(&'static str, &str)], _: &Timer) {}
}

/// A refusal or failure of the gateway's own, told in field and body alike.
#[track_caller]
pub(crate) fn assert_reason(answer: &Message, status: u16, reason: &str) {
    assert_eq!((answer.status, answer.field("X-Gateway-Reason").as_deref()), (status, Some(reason)), "{answer:?}");
    let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("the error body is JSON");
    assert_eq!((&body["status"], &body["reason"]), (&status.into(), &reason.into()), "{body}");
    assert_eq!(answer.field("Retry-After").is_some(), status == 503, "{answer:?}");
}
