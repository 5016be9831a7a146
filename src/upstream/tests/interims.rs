//! Interim (1xx) answers: consumed, relayed as they come, never taken for the answer (SMUG-08).

use super::*;
use crate::client::BodyLength;

fn sending(answer: &'static str) -> Origin {
    Origin::start(move |_, peer| {
        while peer.head().is_some() {
            peer.send(answer);
        }
    })
}

#[test]
fn interim_answers_are_relayed_in_order() {
    let origin = sending(
        "HTTP/1.1 100 Continue\r\nDate: x\r\nContent-Length: 30\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
         HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    );
    let server = server(&origin);
    for _ in 0..2 {
        let mut client = TestClient::silent();
        let answer = call(&server, request("GET", "/", &[]), &mut client);
        assert_eq!(whole(answer), (200, "hello".into()));
        let hints = (103, "link: </a>\nlink: </b>".to_owned());
        assert_eq!(client.interims, [(100, "date: x\ncontent-length: 30".into()), (102, String::new()), hints]);
        is_idle(&server, 1);
    }
    assert_eq!(origin.accepted(), 1);
}

#[test]
fn an_interim_answer_is_relayed_before_the_answer_is_there() {
    let (told, was_told) = std::sync::mpsc::channel();
    let was_told = std::sync::Mutex::new(was_told);
    let origin = Origin::start(move |_, peer| {
        peer.head();
        peer.send("HTTP/1.1 103 Hints\r\n\r\n");
        was_told.lock().unwrap().recv().unwrap();
        peer.send(OK);
    });
    let mut client = TestClient::silent();
    client.on_interim = Some(Box::new(move || told.send(()).unwrap()));
    assert_eq!(whole(call(&server(&origin), request("GET", "/", &[]), &mut client)).0, 200);
}

#[test]
fn interim_answers_do_not_stop_an_upload() {
    let origin = Origin::start(|_, peer| {
        peer.head();
        peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n");
        assert_eq!(peer.body(3), b"abc");
        peer.send(OK);
        peer.is_closed();
    });
    let server = server(&origin);
    let mut client = TestClient::new(BodyLength::Exactly(3), [Step::UntilReadable, Step::Data(b"abc")]);
    assert_eq!(whole(call(&server, request("POST", "/", &[]), &mut client)), (200, "hello".into()));
    assert_eq!(client.interims.len(), 2);
    is_idle(&server, 1);
}

#[test]
fn an_interim_answer_counts_as_seen() {
    let origin = first(|peer| {
        peer.head();
        peer.send(OK);
        peer.head();
        peer.send("HTTP/1.1 102 Processing\r\n\r\n");
    });
    let server = server(&origin);
    whole(get(&server));
    fails(get(&server), Reason::UpstreamAborted, "");
    assert_eq!(origin.accepted(), 1, "sent twice");
}

#[test]
fn switching_protocols_that_nobody_asked_for_is_a_bad_response() {
    let origin = sending("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
    let server = server(&origin);
    fails(get(&server), Reason::UpstreamBadResponse, "101");
    is_idle(&server, 0);
}

/// Whoever skips an empty line would take the interim head behind it for the answer, and the answer for the next one.
#[test]
fn an_empty_line_before_a_head_is_a_bad_response() {
    for line in ["\r\n", "\n"] {
        for first in ["100 Continue", "101 Switching Protocols", "103 Early Hints", "200 OK"] {
            let origin = first_with(format!("{line}HTTP/1.1 {first}\r\n\r\n{OK}"));
            let server = server(&origin);
            fails(get(&server), Reason::UpstreamBadResponse, "empty line");
            is_idle(&server, 0);
        }
    }
}

fn first_with(answer: String) -> Origin {
    Origin::start(move |_, peer| {
        while peer.head().is_some() {
            peer.send(&answer);
        }
    })
}

/// As many fields as a final head may have, however they come.
#[test]
fn an_interim_answer_may_be_long_and_drip() {
    let hints = format!("HTTP/1.1 103 Hints\r\n{}\r\n", "Link: </a>; rel=preload; as=style; nopush\r\n".repeat(128));
    let origin = Origin::start(move |_, peer| {
        peer.head();
        hints.as_bytes().chunks(7).for_each(|piece| peer.send(piece));
        peer.send(OK);
        peer.is_closed();
    });
    let mut client = TestClient::silent();
    assert_eq!(whole(call(&server(&origin), request("GET", "/", &[]), &mut client)), (200, "hello".into()));
    assert_eq!(client.interims[0].1.lines().count(), 128);
}

#[test]
fn interim_answers_are_bounded_in_number_and_size() {
    let origin = Origin::start(|_, peer| {
        peer.head();
        peer.send("HTTP/1.1 102 Processing\r\n\r\n".repeat(1000));
    });
    fails(get(&server(&origin)), Reason::UpstreamBadResponse, "interim heads");
    let origin = Origin::start(|_, peer| {
        peer.head();
        peer.send(format!("HTTP/1.1 103 Hints\r\nLink: {}", "x".repeat(100_000)));
        peer.is_closed();
    });
    fails(get(&server(&origin)), Reason::UpstreamBadResponse, "larger than");
}

#[test]
fn a_client_that_is_gone_when_an_interim_answer_comes_ends_the_call() {
    let origin = sending("HTTP/1.1 103 Hints\r\n\r\n");
    let server = server(&origin);
    let mut client = TestClient { deaf: true, ..TestClient::silent() };
    let outcome = call(&server, request("GET", "/", &[]), &mut client);
    let error = fails(outcome, Reason::ClientAborted, "");
    assert_eq!(error.client, Some(crate::client::ClientError::Gone));
    is_idle(&server, 0);
}
