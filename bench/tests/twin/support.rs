//! What portcullis' own tests are made of, from where it stands, and the twin under test.

#![expect(dead_code, reason = "portcullis' own tests use more of it")]

#[path = "../../../tests/it/support/message.rs"]
pub(crate) mod message;
#[path = "../../../tests/it/support/socket.rs"]
pub(crate) mod socket;
#[path = "../../../tests/it/support/wait.rs"]
pub(crate) mod wait;

use bench::twin::Twin;

/// The twin with this configuration, on loopback ports that the system picks, and with two threads.
#[track_caller]
pub(crate) fn twin(yaml: &str) -> Twin {
    let loopback = "server: {address: 127.0.0.1, port: 0}\ngateway.access-log.format: 'off'\n";
    let loaded = portcullis::config::load_str(&format!("{loopback}{yaml}")).expect("a sound configuration");
    Twin::start(&loaded.config, Some(2)).expect("the twin starts")
}
