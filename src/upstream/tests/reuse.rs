//! Which connections are used again, and what happens when a used one turns out dead.

use super::*;
use crate::client::BodyLength;

/// Answers once, then reads a head and does `then` instead of answering.
fn stale(then: impl Fn(&mut Peer) + Send + Sync + 'static) -> Origin {
    first(move |peer| {
        peer.head();
        peer.send(OK);
        peer.head();
        then(peer);
    })
}

#[test]
fn a_connection_is_used_again() {
    let origin = Origin::answering(OK);
    let server = server(&origin);
    for attempt in 0..3 {
        let mut answer = get(&server).unwrap();
        assert_eq!((answer.status.as_u16(), answer.body.length()), (200, Some(5)));
        assert_eq!((answer.marks.reused, answer.marks.attempts), (attempt > 0, 1));
        assert_eq!(answer.marks.peer, Some(origin.address));
        assert_eq!(drain(&mut answer).unwrap(), "hello");
        is_idle(&server, 1);
    }
    assert_eq!(origin.accepted(), 1);
}

/// CONN-01: the outcome of a request on a connection that the upstream closes at that moment.
#[track_caller]
fn check_retry(method: &str, length: BodyLength, steps: Vec<Step>, retried: bool) {
    let origin = stale(|_| {});
    let server = server(&origin);
    whole(get(&server));
    let outcome = call(&server, request(method, "/x", &[]), &mut TestClient::new(length, steps));
    if retried {
        let answer = outcome.as_ref().unwrap();
        assert_eq!((answer.marks.attempts, answer.marks.reused), (2, false), "{method}");
        assert_eq!(whole(outcome).0, 200);
    } else {
        let error = fails(outcome, Reason::UpstreamAborted, "");
        assert_eq!((error.marks.attempts, error.marks.reused), (1, true), "{method}");
        is_idle(&server, 0);
    }
    assert_eq!(origin.accepted(), 1 + usize::from(retried), "{method}");
}

#[test]
fn a_stale_connection_is_replaced_once_when_nothing_can_happen_twice() {
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
        check_retry(method, BodyLength::None, vec![], true);
    }
    for method in ["POST", "PATCH", "PURGE"] {
        check_retry(method, BodyLength::None, vec![], false);
    }
    check_retry("PUT", BodyLength::Exactly(0), vec![], true);
    check_retry("PUT", BodyLength::Exactly(3), vec![Step::Data(b"abc")], false);
    check_retry("GET", BodyLength::Chunked, vec![Step::Data(b"abc")], false);
    // The head was sent, the body not taken yet.
    check_retry("PUT", BodyLength::Exactly(3), vec![Step::UntilAnswer, Step::Data(b"abc")], true);
    check_retry("POST", BodyLength::Exactly(3), vec![Step::UntilAnswer, Step::Data(b"abc")], false);
}

#[test]
fn a_body_that_was_not_taken_goes_out_on_the_new_connection() {
    let origin = Origin::start(|number, peer| {
        peer.head();
        if number == 0 {
            peer.send(OK);
            peer.head();
            return;
        }
        let body = peer.body(3);
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", String::from_utf8_lossy(&body)));
    });
    let server = server(&origin);
    whole(get(&server));
    let mut client = TestClient::new(BodyLength::Exactly(3), [Step::UntilReadable, Step::Data(b"abc")]);
    let outcome = call(&server, request("PUT", "/", &[]), &mut client);
    assert_eq!(whole(outcome), (200, "abc".into()));
}

#[test]
fn a_reset_is_as_stale_as_a_close() {
    let origin = stale(Peer::reset);
    let server = server(&origin);
    whole(get(&server));
    assert_eq!(get(&server).unwrap().marks.attempts, 2);
}

#[test]
fn the_retry_is_the_last_and_draws_no_pooled_connection() {
    // Both connections are pooled, then both go stale; every later one is closed without an answer.
    let origin = Origin::start(|number, peer| {
        peer.head();
        if number < 2 {
            peer.send(OK);
            peer.head();
        }
    });
    let server = server(&origin);
    let (one, two) = (get(&server), get(&server));
    whole(one);
    whole(two);
    is_idle(&server, 2);
    let error = fails(get(&server), Reason::UpstreamAborted, "closed without an answer");
    assert_eq!((error.marks.attempts, error.marks.reused), (2, false));
    assert_eq!(origin.accepted(), 3);
    is_idle(&server, 1);
}

#[test]
fn a_new_connection_is_never_retried() {
    let origin = first(|peer| drop(peer.head()));
    let server = server(&origin);
    let error = fails(get(&server), Reason::UpstreamAborted, "closed without an answer");
    assert_eq!(error.marks.attempts, 1);
    is_idle(&server, 0);
}

#[test]
fn an_octet_of_an_answer_forbids_the_retry() {
    let origin = stale(|peer| peer.send("HTT"));
    let server = server(&origin);
    whole(get(&server));
    fails(get(&server), Reason::UpstreamAborted, "closed inside the head");
    assert_eq!(origin.accepted(), 1);
}

#[test]
fn a_connection_closed_while_idle_is_noticed_before_it_is_used() {
    let (closed, is_closed) = std::sync::mpsc::channel();
    let closed = std::sync::Mutex::new(closed);
    let origin = first(move |peer| {
        peer.head();
        peer.send(OK);
        peer.stream.shutdown(std::net::Shutdown::Both).unwrap();
        closed.lock().unwrap().send(()).unwrap();
    });
    let server = server(&origin);
    let answer = get(&server);
    is_closed.recv().unwrap();
    whole(answer);
    let next = get(&server).unwrap();
    assert_eq!((next.marks.attempts, next.marks.reused), (1, false));
}

/// SMUG-11: whether the connection is used again after `answer`.
#[track_caller]
fn check_reuse(method: &str, answer: &'static str, reused: bool) {
    let origin = Origin::start(move |_, peer| {
        while peer.head().is_some() {
            peer.send(answer);
            if !reused {
                // What is left unread would otherwise wait for a close that ends it.
                return;
            }
        }
    });
    let server = server(&origin);
    let answered = call(&server, request(method, "/", &[]), &mut TestClient::silent());
    whole(answered);
    is_idle(&server, usize::from(reused));
}

#[test]
fn only_a_clean_end_gives_the_connection_back() {
    check_reuse("GET", OK, true);
    check_reuse("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true);
    check_reuse("GET", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", true);
    check_reuse("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", true);
    check_reuse("GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", true);
    check_reuse("GET", "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=9\r\nContent-Length: 2\r\n\r\nok", true);
    check_reuse("GET", "HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 2\r\n\r\nok", true);
    check_reuse("GET", "HTTP/1.1 204 No\r\n\r\n", true);
    check_reuse("GET", "HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\n", true);
    check_reuse("GET", "HTTP/1.1 304 Not\r\nContent-Length: 120\r\n\r\n", true);
    check_reuse("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", true);
    check_reuse("HEAD", "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n", true);

    check_reuse("GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false);
    check_reuse("GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false);
    check_reuse("GET", "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok", false);
    check_reuse("GET", "HTTP/1.1 200 OK\r\n\r\nto the end", false);
    check_reuse("GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok-and-more", false);
    check_reuse("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore", false);
    check_reuse("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n0\r\n\r\n", false);
    check_reuse("GET", "HTTP/1.1 204 No\r\n\r\nstray", false);
    check_reuse("GET", "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", false);
    check_reuse("GET", "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", false);
    check_reuse("GET", "HTTP/1.1 205 Reset\r\nContent-Length: 5\r\n\r\nstray", false);
    check_reuse("GET", "HTTP/1.1 205 Reset\r\n\r\n", false);
    check_reuse("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false);
}

#[test]
fn octets_that_come_after_an_answer_are_nobodys_answer() {
    let (sent, was_sent) = std::sync::mpsc::channel();
    let (go, may_go) = std::sync::mpsc::channel();
    let ends = std::sync::Mutex::new((sent, may_go));
    let origin = first(move |peer| {
        peer.head();
        peer.send(OK);
        let ends = ends.lock().unwrap();
        ends.1.recv().unwrap();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
        ends.0.send(()).unwrap();
        peer.is_closed();
    });
    let server = server(&origin);
    whole(get(&server));
    go.send(()).unwrap();
    was_sent.recv().unwrap();
    assert_eq!(whole(get(&server)).1, "hello");
    assert_eq!(origin.accepted(), 2);
}

/// SMUG-11: the end of a body that is longer than every buffer is received on its own, and what follows it is not.
#[test]
fn octets_behind_a_long_body_are_nobodys_answer() {
    const LENGTH: usize = 300_000;
    let (sent, was_sent) = std::sync::mpsc::channel();
    let sent = std::sync::Mutex::new(sent);
    let origin = first(move |peer| {
        peer.head();
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n{}", "x".repeat(LENGTH)));
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
        sent.lock().unwrap().send(()).unwrap();
        peer.is_closed();
    });
    let server = server(&origin);
    assert_eq!(whole(get(&server)).1.len(), LENGTH);
    was_sent.recv().unwrap();
    assert_eq!(whole(get(&server)).1, "hello");
    assert_eq!(origin.accepted(), 2);
}

#[test]
fn a_body_that_is_dropped_halfway_closes_its_connection() {
    let (told, closed) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let origin = first(move |peer| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
        told.lock().unwrap().send(peer.is_closed()).unwrap();
    });
    let server = server(&origin);
    let mut answer = get(&server).unwrap();
    assert_eq!(answer.body.read(&mut [0; 3]).unwrap(), 3);
    are_idle_and_busy(&server, 0, 1);
    drop(answer);
    assert!(closed.recv().unwrap());
    is_idle(&server, 0);
}
