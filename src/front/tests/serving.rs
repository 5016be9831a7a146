//! Requests and answers on one connection: order, persistence, versions, heads that cannot be served.

use super::*;

#[test]
fn serves_request_after_request_on_one_connection() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    for _ in 0..3 {
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
        client.expect("hello");
    }
    front.wait_for("portcullis.requests.served", |n| n == 3.0);
    assert_eq!(front.gauge("portcullis.connections.accepted"), 1.0);
    drop(client);
    front.ends_clean();
}

#[test]
fn pipelined_requests_are_answered_in_order_wherever_they_are_split() {
    let front = TestFront::start(one_worker());
    let whole = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none\
                 POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n\
                 POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nthree";
    for split in 0..=whole.len() {
        let mut client = front.connect();
        client.send(&whole[..split]);
        std::thread::yield_now();
        client.send(&whole[split..]);
        for body in ["one", "two", "three"] {
            client.expect(body);
        }
    }
    front.ends_clean();
}

#[test]
fn http_1_0_persists_only_when_asked_to() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    client.send("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert!(!client.answer().0.contains("close"));
    client.send("GET /echo HTTP/1.0\r\n\r\n");
    assert!(client.answer().0.contains("Connection: close"));
    client.expect_end();
    drop(client);
    front.ends_clean();
}

#[test]
fn a_client_that_asks_for_close_gets_its_answer_and_then_the_end() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    client.send("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /echo HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.answer().0.contains("Connection: close"));
    client.expect_end();
    drop(client);
    front.expect_began("/echo");
    assert!(front.events.is_empty(), "what follows a last request is not served");
    front.ends_clean();
}

#[test]
fn the_last_of_max_keep_alive_requests_closes() {
    let front = TestFront::start(FrontConfig { max_keep_alive_requests: Some(2), ..one_worker() });
    let mut client = front.connect();
    client.get("/echo");
    assert!(!client.answer().0.contains("close"));
    client.get("/echo");
    assert!(client.answer().0.contains("Connection: close"));
    client.expect_end();
    drop(client);
    front.ends_clean();
}

#[test]
fn heads_that_cannot_be_served_are_answered_told_and_closed() {
    let front = TestFront::start(one_worker());
    let long = "a".repeat(9000);
    let cases = [
        ("BROKEN\r\n\r\n".to_owned(), "400", "bad_request"),
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), "414", "target_too_long"),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), "431", "head_too_large"),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n".into(), "505", "bad_request"),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
            "400",
            "bad_request",
        ),
    ];
    for (request, status, reason) in cases {
        let mut client = front.connect();
        client.send(request);
        let head = client.expect_status(status);
        assert!(head.contains("Connection: close"), "{head}");
        client.expect_end();
        front.expect(&Event::Refused(reason));
    }
    front.ends_clean();
}

#[test]
fn a_panic_costs_its_connection_and_nothing_else() {
    let front = TestFront::start(one_worker());
    let (mut client, mut other) = (front.connect(), front.connect());
    other.get("/echo");
    other.expect("");
    front.expect_began("/echo");
    client.get("/panic");
    client.expect_status("500");
    client.expect_end();
    front.expect_began("/panic");
    front.expect(&Event::Refused("internal"));
    other.get("/half?panic");
    let mut got = Vec::new();
    let _ = other.stream.read_to_end(&mut got); // a reset may overtake what was sent
    assert!(!got.ends_with(b"\r\n\r\nhalf!"), "cut short");
    assert_eq!(front.gauge("portcullis.requests.panics"), 2.0);
    let mut third = front.connect();
    third.get("/echo");
    third.expect("");
    drop((client, other, third));
    front.ends_clean();
}

#[test]
fn an_answer_that_was_never_given_is_an_internal_error() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    client.get("/silent");
    client.expect_status("500");
    client.expect_end();
    drop(client);
    front.ends_clean();
}

#[test]
fn an_aborted_answer_is_reset() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    client.get("/half");
    let error = loop {
        match client.stream.read(&mut [0; 64]) {
            Ok(0) => panic!("closed as if whole"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    front.ends_clean();
}

#[test]
fn a_client_that_closed_its_side_with_the_request_gets_its_answer() {
    let front = TestFront::start(one_worker());
    for _ in 0..50 {
        let mut client = front.connect();
        client.get("/echo");
        client.finish();
        client.expect("");
        client.expect_end();
    }
    front.ends_clean();
}

#[test]
fn what_is_accepted_sends_without_delay_and_is_not_inherited() {
    let front = TestFront::start(one_worker());
    let _client = front.connect();
    front.wait_for("portcullis.connections.accepted", |n| n == 1.0);
    let shared = &front.front.as_ref().unwrap().shared;
    let mut checked = 0;
    shared.slots.claim_due(0, true, |owned| {
        let socket = owned.socket();
        let socket = socket.as_ref().unwrap();
        assert!(socket.nodelay().unwrap());
        assert!(rustix::io::fcntl_getfd(socket).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        checked += 1;
    });
    assert_eq!(checked, 1);
    front.ends_clean();
}

#[test]
fn several_fronts_live_in_one_process() {
    let fronts: Vec<_> = (0..3).map(|_| TestFront::start(one_worker())).collect();
    for front in &fronts {
        let mut client = front.connect();
        client.get("/name");
        client.expect("test-0");
    }
    for front in fronts {
        front.wait_for("portcullis.requests.served", |n| n == 1.0);
        front.ends_clean();
    }
}

/// Clients of every kind at once on a few workers: whatever they do, each whole request is answered and nothing is left over.
#[test]
fn clients_of_every_kind_at_once_leave_nothing_behind() {
    let config = FrontConfig { max_threads: 3, min_spare: 1, runnable: 2, max_connections: 6, ..one_worker() };
    let front = TestFront::start(config);
    std::thread::scope(|scope| {
        for seed in 0..8_u64 {
            let front = &front;
            scope.spawn(move || {
                let mut random = seed * 2_654_435_761 + 1;
                for _ in 0..60 {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    one_of_every_kind(front, random >> 33);
                }
            });
        }
    });
    front.ends_clean();
}

fn one_of_every_kind(front: &TestFront, random: u64) {
    let mut client = front.connect();
    let body = "x".repeat((random >> 8) as usize % 40_000);
    let post = format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    match random % 6 {
        0 => client.send(&post[..post.len() / 2]), // and leaves
        1 => {
            client.send(&post);
            client.finish();
            client.expect(&body);
            client.expect_end();
        }
        2 => {
            client.send(post.repeat(3));
            (0..3).for_each(|_| client.expect(&body));
        }
        3 => {
            client.get("/panic");
            client.expect_status("500");
        }
        4 => {
            client.get("/half");
            client.stream.read_to_end(&mut Vec::new()).unwrap_err();
        }
        _ => {
            let (first, second) = post.split_at(random as usize % post.len());
            client.send(first);
            client.send(second);
            client.expect(&body);
        }
    }
}

#[test]
fn a_request_is_received_before_it_waits_for_a_worker() {
    let front = TestFront::start(one_worker());
    let (mut first, mut second) = (front.connect(), front.connect());
    first.get("/wait");
    front.expect_began("/wait");
    second.send("GET /age HTTP/1.1\r\nHost: a\r\n\r\nGET /age?pipelined HTTP/1.1\r\nHost: a\r\n\r\n");
    front.wait_for("portcullis.queue.waiting", |n| n == 1.0);
    let known = Instant::now();
    while known.elapsed() < Duration::from_millis(20) {
        std::thread::yield_now();
    }
    front.go();
    front.expect_began("/age");
    let Event::Ages(age, queued) = front.event() else { panic!("no age") };
    assert!(queued >= Duration::from_millis(20) && age >= queued, "{age:?} {queued:?}");
    front.expect_began("/age?pipelined");
    let Event::Ages(_, queued) = front.event() else { panic!("no age") };
    assert_eq!(queued, Duration::ZERO, "it waited for the answer before its own");
    first.expect("waited");
    second.expect("");
    second.expect("");
    drop((first, second));
    front.ends_clean();
}

#[test]
fn a_head_that_is_completed_later_has_not_waited() {
    let front = TestFront::start(one_worker());
    let (mut first, mut second) = (front.connect(), front.connect());
    first.get("/wait");
    front.expect_began("/wait");
    second.send("GET /age HTTP/1.1\r\n");
    front.wait_for("portcullis.queue.waiting", |n| n == 1.0);
    front.go();
    first.expect("waited");
    front.wait_for("portcullis.queue.waiting", |n| n == 0.0);
    front.wait_for("portcullis.workers.idle", |n| n == 1.0);
    second.send("Host: a\r\n\r\n");
    front.expect_began("/age");
    let Event::Ages(_, queued) = front.event() else { panic!("no age") };
    assert_eq!(queued, Duration::ZERO);
    second.expect("");
    drop((first, second));
    front.ends_clean();
}
