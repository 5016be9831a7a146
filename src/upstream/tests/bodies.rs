//! Bodies of answers: where they end, and what a body that ends too early is.

use super::*;

/// An origin that sends `answer` and closes, with a reset when `reset`.
fn sending(answer: &'static str, reset: bool) -> Origin {
    Origin::start(move |_, peer| {
        peer.head();
        peer.send(answer);
        if reset {
            peer.reset();
        }
    })
}

#[track_caller]
fn check(method: &str, answer: &'static str, expected: &str) {
    let origin = sending(answer, false);
    let mut answered = call(&server(&origin), request(method, "/", &[]), &mut TestClient::silent()).unwrap();
    assert_eq!(drain(&mut answered).unwrap(), expected, "{answer:?}");
    assert_eq!(answered.body.read(&mut [0; 9]).unwrap(), 0, "the end is not final: {answer:?}");
}

#[test]
fn a_body_ends_where_its_framing_says() {
    check("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello");
    check("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "");
    check("GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello", "he");
    check("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello");
    check("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n", "hello");
    check("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5  \r\nhello\r\n0 \r\n\r\n", "hello");
    check("GET", "HTTP/1.1 200 OK\r\n\r\nto the end", "to the end");
    check("GET", "HTTP/1.1 200 OK\r\n\r\n", "");
    check("GET", "HTTP/1.0 200 OK\r\n\r\nold", "old");
}

/// BODY-14, BODY-15.
#[test]
fn some_answers_have_no_body_whatever_they_say() {
    check("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", "");
    check("HEAD", "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n", "");
    check("HEAD", "HTTP/1.1 200 OK\r\n\r\n", "");
    check("GET", "HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", "");
    check("GET", "HTTP/1.1 204 No\r\n\r\nstray", "");
    check("GET", "HTTP/1.1 304 Not\r\nContent-Length: 120\r\n\r\n", "");
    check("GET", "HTTP/1.1 304 Not\r\nTransfer-Encoding: chunked\r\n\r\n", "");
    check("GET", "HTTP/1.1 205 Reset\r\n\r\n", "");
    check("GET", "HTTP/1.1 205 Reset\r\nContent-Length: 5\r\n\r\nstray", "");
}

#[test]
fn fields_of_bodiless_answers_are_as_received() {
    let origin = sending("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", false);
    let answer = call(&server(&origin), request("HEAD", "/", &[]), &mut TestClient::silent()).unwrap();
    assert_eq!((answer.fields["content-length"].as_bytes(), answer.body.length()), (&b"5000"[..], Some(0)));
}

/// BODY-18: what arrived is delivered, and the end is a failure of its own kind.
#[track_caller]
fn check_cut(answer: &'static str, reset: bool, arrived: &str) {
    let origin = sending(answer, reset);
    let server = server(&origin);
    let mut answered = get(&server).unwrap();
    let (mut got, mut octets) = (String::new(), [0; 9]);
    let error = loop {
        match answered.body.read(&mut octets) {
            Ok(0) => panic!("cut, and taken for complete: {answer:?}"),
            Ok(count) => got.push_str(std::str::from_utf8(&octets[..count]).unwrap()),
            Err(error) => break error,
        }
    };
    assert_eq!((error.reason, error.client), (Reason::UpstreamAborted, None), "{error}");
    // A reset may overtake what was sent before it.
    assert!(reset || got == arrived, "{got}");
    assert!(answered.body.has_buffered());
    assert!(answered.body.read(&mut octets).is_err(), "a cut body became complete");
    drop(answered);
    is_idle(&server, 0);
}

#[test]
fn a_cut_body_is_never_complete() {
    for reset in [false, true] {
        check_cut("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhello", reset, "hello");
        check_cut("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", reset, "");
        check_cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", reset, "");
        check_cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello", reset, "hello");
        check_cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", reset, "hello");
        check_cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", reset, "hello");
        check_cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n", reset, "hello");
    }
}

#[test]
fn a_reset_ends_no_body_that_a_close_would_end() {
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    let origin = Origin::start(move |_, peer| {
        peer.head();
        peer.send("HTTP/1.1 200 OK\r\n\r\nhello");
        may_go.lock().unwrap().recv().unwrap();
        peer.reset();
    });
    let mut answer = get(&server(&origin)).unwrap();
    assert_eq!(answer.body.read(&mut [0; 9]).unwrap(), 5);
    go.send(()).unwrap();
    fails(answer.body.read(&mut [0; 9]), Reason::UpstreamAborted, "reset");
}

#[track_caller]
fn check_bad(answer: &'static str) {
    let origin = sending(answer, false);
    let server = server(&origin);
    let outcome = get(&server).and_then(|mut answer| drain(&mut answer));
    fails(outcome, Reason::UpstreamBadResponse, "");
    is_idle(&server, 0);
}

/// SMUG-02 and its kind, on the way back.
#[test]
fn what_is_not_http_is_a_bad_response() {
    for answer in [
        "garbage\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\na b: c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    ] {
        check_bad(answer);
    }
}

#[test]
fn a_head_that_is_too_large_is_a_bad_response() {
    let field: &'static str = Box::leak(format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(70_000)).into_boxed_str());
    check_bad(field);
    let fields: &'static str = Box::leak(format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(129)).into_boxed_str());
    check_bad(fields);
    let trailer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: {}", "x".repeat(70_000));
    check_bad(Box::leak(trailer.into_boxed_str()));
}

#[test]
fn an_answer_split_at_every_octet_is_the_same_answer() {
    for answer in [OK, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\n"]
    {
        let origin = Origin::start(move |_, peer| {
            for at in 0..answer.len() {
                peer.head();
                peer.send(&answer[..at]);
                std::thread::yield_now();
                peer.send(&answer[at..]);
            }
        });
        let server = server(&origin);
        for _ in 0..answer.len() {
            assert_eq!(whole(get(&server)), (200, "hello".into()));
        }
        assert_eq!(origin.accepted(), 1);
    }
}

#[test]
fn what_is_buffered_can_be_read_without_waiting() {
    for answer in [OK, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"] {
        let origin = Origin::answering(answer);
        let server = server(&origin);
        let mut answer = get(&server).unwrap();
        let (mut got, mut octets) = (Vec::new(), [0; 3]);
        while answer.body.has_buffered() {
            match answer.body.read(&mut octets).unwrap() {
                0 => break,
                count => got.extend_from_slice(&octets[..count]),
            }
        }
        assert_eq!(got, b"hello");
        is_idle(&server, 1);
    }
}

#[test]
fn what_is_not_there_is_not_buffered() {
    for head in ["Content-Length: 5", "Transfer-Encoding: chunked", "X: until close"] {
        let (go, may_go) = std::sync::mpsc::channel::<()>();
        let may_go = std::sync::Mutex::new(may_go);
        let chunked = head.starts_with('T');
        let origin = Origin::start(move |_, peer| {
            peer.head();
            peer.send(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{}", if chunked { "5\r\n" } else { "" }));
            may_go.lock().unwrap().recv().unwrap();
            peer.send(if chunked { "hello\r\n0\r\n\r\n" } else { "hello" });
        });
        let mut answer = get(&server(&origin)).unwrap();
        assert!(!answer.body.has_buffered(), "{head}");
        assert!(!answer.body.has_buffered(), "{head}");
        go.send(()).unwrap();
        assert_eq!(drain(&mut answer).unwrap(), "hello");
    }
}

#[test]
fn a_body_can_be_read_on_another_thread() {
    for answer in [OK, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"] {
        let origin = Origin::answering(answer);
        let server = server(&origin);
        let answer = get(&server).unwrap();
        assert_eq!(std::thread::spawn(move || whole(Ok(answer))).join().unwrap().1, "hello");
        is_idle(&server, 1);
        let mut answer = get(&server).unwrap();
        assert!(answer.marks.reused);
        assert_eq!(answer.body.read(&mut [0; 2]).unwrap(), 2);
        assert_eq!(std::thread::spawn(move || whole(Ok(answer))).join().unwrap().1, "llo");
        is_idle(&server, 1);
    }
}

/// The largest length that there is, and the first that there is not.
#[test]
fn a_length_beyond_all_measure_is_a_length() {
    let origin = sending("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nhello", false);
    let server = server(&origin);
    let mut answer = get(&server).unwrap();
    assert_eq!(answer.body.length(), Some(u64::MAX));
    let mut octets = [0; 9];
    assert_eq!(answer.body.read(&mut octets).unwrap(), 5);
    assert_eq!(&octets[..5], b"hello");
    fails(answer.body.read(&mut octets), Reason::UpstreamAborted, "inside the body");
    drop(answer);
    is_idle(&server, 0);
    check_bad("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\nhello");
}

#[test]
fn a_large_body_passes_unchanged() {
    const LENGTH: usize = 5_000_000;
    let octets: Vec<u8> = (0..LENGTH).map(|i| (i * 31 % 251) as u8).collect();
    let sent = octets.clone();
    let origin = Origin::start(move |_, peer| {
        peer.head();
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n"));
        peer.send(&sent);
    });
    let mut answer = get(&server(&origin)).unwrap();
    let (mut got, mut buffer) = (Vec::new(), vec![0; 30_000]);
    loop {
        match answer.body.read(&mut buffer).unwrap() {
            0 => break,
            count => got.extend_from_slice(&buffer[..count]),
        }
    }
    assert!(got == octets);
}

/// Whatever an upstream sends: an answer or an error, no panic, no hang, nothing leaked, and no more octets than were sent.
#[test]
fn mutated_answers_do_no_harm() {
    let seeds = [
        OK,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n",
        "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No\r\nKeep-Alive: timeout=9\r\n\r\n",
        "HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\nContent-Length: 2, 2\r\n\r\nno",
    ];
    let origin = Origin::start(move |number, peer| {
        peer.head();
        peer.send(mutated(seeds[number % seeds.len()], number as u64));
    });
    let server = server(&origin);
    for _ in 0..400 {
        let outcome = get(&server).and_then(|mut answer| drain(&mut answer));
        assert!(outcome.is_err() || outcome.unwrap().len() < 200);
    }
    let idle = server.pool().idle;
    is_idle(&server, idle);
}

/// One to three octets changed, removed or repeated; the same for the same seed.
fn mutated(octets: &str, seed: u64) -> Vec<u8> {
    let mut octets = octets.as_bytes().to_vec();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..=next(3) {
        let at = next(octets.len());
        match next(3) {
            0 => octets[at] = *b"\0\r\n\t :;,019afHx\x7f\xff".get(next(18)).unwrap_or(&b'-'),
            1 => drop(octets.remove(at)),
            _ => octets.insert(at, octets[at]),
        }
    }
    octets
}
