//! Uploads: answers that come early, upstreams and clients that leave (BODY-11).

use super::*;
use crate::client::{BodyLength, ClientError};
use crate::deadline::Deadline;
use crate::phase::{Phase, PhaseHandle, adopt};
use crate::upstream::testing::LONG;
use std::sync::Arc;

const REFUSAL: &str = "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig";

/// Uploads 100 MB, or so many chunks, to an origin that reads a little of it and does `then`.
fn upload(
    length: BodyLength,
    then: impl Fn(&mut Peer) + Send + Sync + 'static,
) -> (Origin, Arc<Server>, Result<Answer, CallError>) {
    let origin = Origin::start(move |_, peer| {
        peer.head();
        peer.body(65_536);
        then(peer);
    });
    let server = server(&origin);
    let mut client = TestClient::new(length, [Step::Fill(100_000_000)]);
    let outcome = call(&server, request("POST", "/", &[]), &mut client);
    (origin, server, outcome)
}

#[test]
fn an_early_answer_is_delivered_though_the_upstream_closes_behind_it() {
    for length in [BodyLength::Exactly(100_000_000), BodyLength::Exactly(u64::MAX), BodyLength::Chunked] {
        let (_origin, server, outcome) = upload(length, |peer| peer.send(REFUSAL));
        assert_eq!(whole(outcome), (413, "big".into()), "{length:?}");
        is_idle(&server, 0);
    }
}

#[test]
fn an_early_answer_is_delivered_though_the_upstream_reads_on() {
    for length in [BodyLength::Exactly(100_000_000), BodyLength::Chunked] {
        // It would like to keep the connection too: the gateway must not.
        let (_origin, server, outcome) = upload(length, |peer| {
            peer.send(OK);
            while peer.body(1000).len() == 1000 {}
        });
        assert_eq!(whole(outcome), (200, "hello".into()));
        is_idle(&server, 0);
    }
}

#[test]
fn an_early_answer_is_delivered_though_the_upstream_neither_reads_nor_closes() {
    for length in [BodyLength::Exactly(100_000_000), BodyLength::Chunked] {
        let handle = PhaseHandle { slot: Arc::default(), tick: Arc::default() };
        let slot = handle.slot.clone();
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        let _adopted = adopt(handle);
        let (_origin, server, outcome) = upload(length, move |peer| {
            // The gateway is stuck: every buffer between is full.
            let bound = Deadline::after(LONG);
            while slot.read().0 != Phase::Upstream && !bound.has_passed() {
                std::thread::yield_now();
            }
            peer.send(OK);
            let _ = held.lock().unwrap().recv();
        });
        assert_eq!(whole(outcome), (200, "hello".into()));
        is_idle(&server, 0);
        drop(hold);
    }
}

#[test]
fn an_early_answer_is_delivered_while_the_client_is_waited_for() {
    let (told, rest) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let origin = Origin::start(move |number, peer| {
        peer.head();
        let begun: &[u8] = if number == 0 { b"abc" } else { b"3\r\nabc\r\n" };
        assert_eq!(peer.body(begun.len()), begun);
        peer.send(OK);
        told.lock().unwrap().send(peer.body(1)).unwrap();
    });
    let server = server(&origin);
    for length in [BodyLength::Exactly(6), BodyLength::Chunked] {
        let steps = [Step::Data(b"abc"), Step::UntilAnswer, Step::Data(b"def")];
        let mut client = TestClient::new(length, steps);
        let answer = call(&server, request("POST", "/", &[]), &mut client);
        assert_eq!(client.steps.len(), 2, "the rest of the upload was taken");
        assert_eq!(whole(answer), (200, "hello".into()));
        is_idle(&server, 0);
        assert!(rest.recv().unwrap().is_empty(), "the message was ended as if it were whole");
    }
}

#[test]
fn an_upstream_that_leaves_without_a_word_during_an_upload_is_an_abort() {
    for length in [BodyLength::Exactly(100_000_000), BodyLength::Chunked] {
        let (_origin, server, outcome) = upload(length, |_| {});
        let error = fails(outcome, Reason::UpstreamAborted, "");
        assert_eq!((error.client, error.marks.attempts), (None, 1));
        is_idle(&server, 0);
    }
}

#[test]
fn a_client_that_leaves_during_its_upload_ends_the_upstream_request_unfinished() {
    for (length, error, reason) in [
        (BodyLength::Exactly(6), ClientError::Gone, Reason::ClientAborted),
        (BodyLength::Chunked, ClientError::Gone, Reason::ClientAborted),
        (BodyLength::Chunked, ClientError::BadBody, Reason::BadRequest),
        (BodyLength::Chunked, ClientError::TooLarge, Reason::BodyTooLarge),
        (BodyLength::Exactly(6), ClientError::BodyTimeout, Reason::BodyTimeout),
    ] {
        let (tell, told) = std::sync::mpsc::channel();
        let tell = std::sync::Mutex::new(tell);
        let origin = Origin::start(move |_, peer| {
            peer.head();
            tell.lock().unwrap().send(peer.body(100)).unwrap();
        });
        let server = server(&origin);
        let mut client = TestClient::new(length, [Step::Data(b"abc"), Step::Pause, Step::Fail(error)]);
        let failed = fails(call(&server, request("POST", "/", &[]), &mut client), reason, error.message());
        assert_eq!(failed.client, Some(error));
        let body = told.recv().unwrap();
        assert!(body == b"abc" || body == b"3\r\nabc\r\n", "{body:?}");
        is_idle(&server, 0);
    }
}

/// Trap 1: a container that reports an end where there is none must not spin the gateway.
#[test]
fn a_body_shorter_than_announced_is_a_client_that_left() {
    let origin = Origin::answering(OK);
    let server = server(&origin);
    let mut client = TestClient::new(BodyLength::Exactly(6), [Step::Data(b"abc")]);
    let error = fails(call(&server, request("POST", "/", &[]), &mut client), Reason::ClientAborted, "");
    assert_eq!(error.client, Some(ClientError::Gone));
    is_idle(&server, 0);
}

#[test]
fn a_large_upload_arrives_whole() {
    for length in [BodyLength::Exactly(3_000_000), BodyLength::Chunked] {
        let origin = Origin::start(move |_, peer| {
            peer.head();
            let count = match length {
                BodyLength::Exactly(length) => peer.body(length as usize).iter().filter(|o| **o == b'x').count(),
                _ => {
                    let mut count = 0;
                    loop {
                        let mut line = peer.body(3);
                        while !line.ends_with(b"\r\n") {
                            line.extend(peer.body(1));
                        }
                        let size = std::str::from_utf8(&line[..line.len() - 2]).unwrap();
                        let size = usize::from_str_radix(size, 16).unwrap();
                        count += peer.body(size + 2).iter().filter(|octet| **octet == b'x').count();
                        if size == 0 {
                            break count;
                        }
                    }
                }
            };
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{count}"));
            peer.is_closed();
        });
        let server = server(&origin);
        let mut client = TestClient::new(length, [Step::Fill(3_000_000)]);
        assert_eq!(whole(call(&server, request("POST", "/", &[]), &mut client)).1, "3000000");
        is_idle(&server, 1);
    }
}
