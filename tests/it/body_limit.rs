//! `gateway.client.max-body-size`: what is too long is refused by name, and never whole upstream.

use crate::support::gateway::{Container, Setup, assert_reason, for_both_containers};
use crate::support::origin::{TestOrigin, ok};
use crate::support::wait;

for_both_containers!(
    an_announced_body_that_is_too_long_is_refused_before_any_permit,
    a_body_that_grows_too_long_ends_the_exchange,
    a_body_of_just_the_limit_passes,
);

fn an_announced_body_that_is_too_long_is_refused_before_any_permit(container: Container) {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).container(container).set("gateway.client.max-body-size", "10").start();
    let mut client = gateway.client();
    let answer = client.request("POST", "/", "", b"hello world");
    assert_reason(&answer, 413, "body_too_large");
    assert_eq!(answer.field("Connection").as_deref(), Some("close"));
    client.assert_closed();
    assert_eq!(origin.connections(), 0);
    gateway.assert_quiet();
    assert_eq!(gateway.metric("portcullis_requests_failed_total", "body_too_large"), 1.0);
}

fn a_body_that_grows_too_long_ends_the_exchange(container: Container) {
    for strategy in ["SEMAPHORE", "THREAD"] {
        let (seen, whole) = crossbeam_channel::unbounded();
        let origin = TestOrigin::scripted(move |talk| {
            if talk.read_head().is_some() {
                let _ = seen.send(talk.read_body().is_some());
            }
        });
        let setup = Setup::to_service(&origin).container(container).set("zuul.ribbonIsolationStrategy", strategy);
        let gateway = setup.set("gateway.client.max-body-size", "10").start();
        let mut client = gateway.client();
        client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
        if container == Container::Native {
            // The other one hands over what it has when it has more of it.
            origin.wait_for_requests(1);
        }
        client.send("6\r\n world\r\n0\r\n\r\n");
        let answer = client.response();
        assert_reason(&answer, 413, "body_too_large");
        assert_eq!(answer.field("Connection").as_deref(), Some("close"), "{strategy}");
        client.assert_closed();
        gateway.assert_quiet();
        match container {
            Container::Native => assert_eq!(whole.recv_timeout(wait::PATIENCE), Ok(false), "{strategy}"),
            Container::TinyHttp => assert!(whole.try_iter().all(|whole| !whole), "{strategy}"),
        }
    }
}

fn a_body_of_just_the_limit_passes(container: Container) {
    let origin = TestOrigin::answering(|request| ok(&request.body));
    let gateway = Setup::to(&origin).container(container).set("gateway.client.max-body-size", "10").start();
    let mut client = gateway.client();
    assert_eq!(client.request("POST", "/", "", b"0123456789").text(), "0123456789");
    client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n");
    assert_eq!(client.response().text(), "0123456789");
    drop(client);
    gateway.assert_quiet();
}
