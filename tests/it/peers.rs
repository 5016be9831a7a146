//! The peers of the gateway against each other, with nothing between: what a test concludes from them must not be their own doing.

use crate::support::client::RawClient;
use crate::support::message::End;
use crate::support::origin::{TestOrigin, answer, chunked, ok};
use crate::support::wait;
use crossbeam_channel::unbounded;
use std::time::Duration;

#[test]
fn requests_and_answers_pass_whole_and_in_order() {
    let origin = TestOrigin::echoing();
    let mut client = RawClient::connect(origin.address());
    for (method, body) in [("GET", &b""[..]), ("POST", b"hello"), ("HEAD", b"")] {
        let got = client.request(method, "/p?q", "X-A: 1\r\n", body);
        assert_eq!(got.status, 200);
    }
    client.send("PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nfoo\r\n0\r\nT: 1\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((client.response().text(), client.response().text()), ("PUT /c".into(), "GET /next".into()));
    let requests = origin.requests();
    assert_eq!(requests.iter().map(|r| r.message.text()).collect::<Vec<_>>(), ["", "hello", "", "foo", ""]);
    assert_eq!(requests[3].message.trailer_values("t"), [b"1"]);
    assert_eq!((origin.connections(), origin.open_connections()), (1, 1));
    drop(client);
    wait::until("the connection ends", || origin.open_connections() == 0);
}

#[test]
fn interim_answers_are_kept_apart() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
        talk.send(chunked(&["fi", "nal"]));
    });
    let mut client = RawClient::connect(origin.address());
    assert_eq!(client.get("/").text(), "final");
    assert_eq!(client.interims().iter().map(|message| message.status).collect::<Vec<_>>(), [103]);
    client.assert_closed();
}

#[test]
fn ends_in_order_and_by_force_are_told_apart() {
    for by_force in [false, true] {
        let (cut, gate) = unbounded();
        let origin = TestOrigin::scripted(move |talk| {
            talk.read_request();
            talk.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart");
            talk.wait_for(&gate);
            if by_force {
                talk.reset();
            }
        });
        let mut client = RawClient::connect(origin.address());
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.wait_for_text("part").status, 200);
        cut.send(()).expect("the origin waits");
        let wanted = if by_force { End::Reset } else { End::Fin };
        assert_eq!(client.answer_or_end("GET").err(), Some(wanted));
        assert!(client.read_to_end().0.ends_with(b"part"));
    }
}

#[test]
fn the_origin_sees_how_its_peer_ends() {
    for by_force in [false, true] {
        let (told, end) = unbounded();
        let origin = TestOrigin::scripted(move |talk| {
            talk.read_request();
            let _ = told.send(talk.stall_until_closed());
        });
        let mut client = RawClient::connect(origin.address());
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        origin.wait_for_requests(1);
        if by_force {
            client.reset();
        } else {
            client.half_close();
            drop(client);
        }
        let wanted = if by_force { End::Reset } else { End::Fin };
        assert_eq!(end.recv_timeout(wait::PATIENCE), Ok(wanted));
    }
}

#[test]
fn answers_come_only_when_released_and_in_drips() {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    let mut client = RawClient::connect(origin.address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    origin.wait_for_requests(1);
    wait::stays("nothing comes", Duration::from_millis(50), || !client.has_news());
    release.send(()).expect("the origin waits");
    assert_eq!(client.response().text(), "released");
    let dripping = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.drip(answer("404 Not Found", "X-A: b\r\n", b"no"), Duration::from_micros(100));
    });
    let mut client = RawClient::connect(dripping.address());
    client.drip("GET / HTTP/1.1\r\nHost: a\r\n\r\n", Duration::from_micros(100));
    let got = client.response();
    assert_eq!((got.status, got.text().as_str(), got.field("x-a").as_deref()), (404, "no", Some("b")));
}

#[test]
fn a_large_body_is_discarded_to_the_octet() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_head();
        talk.read_body_up_to(3);
        let got = talk.discard(5_000_000);
        talk.send(ok(got.to_string()));
    });
    let mut client = RawClient::connect(origin.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n");
    client.send(vec![b'x'; 5_000_000]);
    assert_eq!(client.response().text(), "5000000");
}

/// What a gateway under test does wrong must fail the test that looks at it.
#[test]
fn a_malformed_answer_fails_the_client() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok");
    });
    let address = origin.address();
    let outcome = std::panic::catch_unwind(|| RawClient::connect(address).get("/"));
    assert!(outcome.is_err());
}
