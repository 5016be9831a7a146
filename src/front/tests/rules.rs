//! The rules that keep the front free of lost events, double owners and hangs, each with a front of one worker where that is harder.

use super::*;
use rustix::net::sockopt::set_socket_linger;

/// A client whose request occupies the only worker.
fn occupy(front: &TestFront) -> RawClient {
    let mut client = front.connect();
    client.get("/wait");
    front.expect_began("/wait");
    client
}

/// Closes with a reset.
fn reset(client: RawClient) {
    set_socket_linger(&client.stream, Some(Duration::ZERO)).unwrap();
}

#[test]
fn a_connection_beyond_the_most_waits_until_another_ends() {
    let front = TestFront::start(FrontConfig { max_connections: 1, ..one_worker() });
    let mut first = front.connect();
    first.get("/echo");
    first.expect("");
    let mut second = front.connect();
    second.get("/echo?second");
    first.get("/echo?first");
    first.expect("");
    assert_eq!(front.gauge("portcullis.connections.accepted"), 1.0);
    drop(first);
    second.expect("");
    drop(second);
    front.ends_clean();
}

#[test]
fn a_peer_that_is_gone_before_it_is_accepted_harms_nobody() {
    let front = TestFront::start(FrontConfig { max_connections: 1, ..one_worker() });
    let mut first = front.connect();
    first.get("/echo");
    first.expect("");
    (0..3).for_each(|_| reset(front.connect()));
    let mut second = front.connect();
    second.get("/echo");
    drop(first);
    second.expect("");
    drop(second);
    front.ends_clean();
}

#[test]
fn what_stands_behind_a_body_that_was_read_past_the_buffer_is_served() {
    let front = TestFront::start(one_worker());
    let body = "x".repeat(100_000);
    let head = |target: &str| format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
    for round in 0..10 {
        let mut client = front.connect();
        client.send(format!("{}{body}{}{body}", head("/echo"), head("/echo")));
        if round % 2 == 0 {
            client.finish();
        }
        client.expect(&body);
        client.expect(&body);
        if round % 2 == 0 {
            client.expect_end();
        }
    }
    front.ends_clean();
}

#[test]
fn who_waits_for_the_only_worker_is_served_when_it_is_free() {
    let front = TestFront::start(one_worker());
    for _ in 0..20 {
        let mut busy = occupy(&front);
        let mut others: Vec<_> = (0..3).map(|_| front.connect()).collect();
        for (number, other) in others.iter_mut().enumerate() {
            other.get(&format!("/echo?{number}"));
        }
        front.wait_for("portcullis.queue.waiting", |n| n == 3.0);
        front.go();
        busy.expect("waited");
        for other in &mut others {
            other.expect("");
            assert!(matches!(front.event(), Event::Began(target) if target.starts_with("/echo?")));
        }
        drop((busy, others));
        front.wait_for("portcullis.connections.active", |n| n == 0.0);
    }
    assert!(front.gauge("portcullis.queue.wait") >= 60.0);
    front.ends_clean();
}

#[test]
fn an_idle_front_makes_no_wake_ups() {
    let front = TestFront::start(one_worker());
    let mut clients: Vec<_> = (0..3).map(|_| front.connect()).collect();
    for client in &mut clients {
        client.get("/echo");
        client.expect("");
    }
    let until = Instant::now() + BOUND;
    loop {
        let before = front.gauge("portcullis.housekeeper.ticks");
        std::thread::sleep(Duration::from_millis(300)); // what is shown is that nothing happens meanwhile
        if front.gauge("portcullis.housekeeper.ticks") == before {
            break;
        }
        assert!(Instant::now() < until, "it ticks on");
    }
    // Now that the housekeeper sleeps: the last idle worker must wake it when it gets busy, or nobody would see who comes next.
    clients[0].get("/wait");
    clients[1].get("/echo");
    front.wait_for("portcullis.queue.waiting", |n| n == 1.0);
    front.go();
    clients[0].expect("waited");
    clients[1].expect("");
    drop(clients);
    front.ends_clean();
}

#[test]
fn workers_that_fail_to_start_are_replaced() {
    struct Flaky(std::sync::atomic::AtomicUsize);
    impl Handler for Flaky {
        type Local = ();
        fn local(&self) {
            assert!(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 3, "on purpose");
        }
        fn serve(&self, (): &mut (), _: Request, client: &mut dyn Client) -> Ending {
            answer(client, b"up")
        }
        fn refused(&self, _: &Refused) {}
    }
    let front = Front::start(one_worker(), Arc::new(Flaky(Default::default()))).unwrap();
    let mut client = RawClient::connect(front.local_addr());
    client.get("/");
    client.expect("up");
    drop(client);
    assert!(front.drain(Deadline::after(BOUND)).is_clean());
}

#[test]
fn requests_in_line_give_way_to_others() {
    let front = TestFront::start(one_worker());
    let mut many = front.connect();
    many.send((0..10).map(|n| format!("GET /wait?{n} HTTP/1.1\r\nHost: a\r\n\r\n")).collect::<String>());
    front.expect_began("/wait?0");
    let mut one = front.connect();
    one.get("/echo");
    front.wait_for("portcullis.queue.waiting", |n| n == 1.0);
    front.go();
    front.expect_began("/echo");
    for n in 1..10 {
        front.expect_began(&format!("/wait?{n}"));
        front.go();
    }
    for _ in 0..10 {
        many.expect("waited");
    }
    one.expect("");
    drop((many, one));
    front.ends_clean();
}

#[test]
fn after_sixteen_requests_in_line_a_connection_queues_again() {
    let front = TestFront::start(FrontConfig { queue_capacity: 0, ..one_worker() });
    let mut many = front.connect();
    many.send("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n".repeat(40));
    for _ in 0..40 {
        many.expect("");
    }
    assert!(front.gauge("portcullis.queue.wait") >= 2.0);
    assert_eq!(front.gauge("portcullis.connections.refused{queue_full}"), 0.0, "it is never too much");
    drop(many);
    front.ends_clean();
}

#[test]
fn what_does_not_fit_into_the_queue_is_refused_without_a_worker() {
    let front = TestFront::start(FrontConfig { queue_capacity: 1, ..one_worker() });
    let mut busy = occupy(&front);
    let mut queued = front.connect();
    queued.get("/echo?queued");
    front.wait_for("portcullis.queue.waiting", |n| n == 1.0);
    let mut refused = front.connect();
    refused.get("/echo?refused");
    let head = refused.expect_status("503");
    for field in ["X-Gateway-Reason: queue_full", "Connection: close", "Retry-After: "] {
        assert!(head.contains(field), "{head}");
    }
    refused.expect_end();
    front.expect(&Event::Refused("queue_full"));
    front.go();
    busy.expect("waited");
    queued.expect("");
    assert_eq!(front.gauge("portcullis.connections.refused{queue_full}"), 1.0);
    drop((busy, queued, refused));
    front.ends_clean();
}

#[test]
fn a_refusal_is_not_reset_away_by_what_its_client_still_sends() {
    let front = TestFront::start(FrontConfig { queue_capacity: 0, ..one_worker() });
    let mut busy = occupy(&front);
    let mut refused = front.connect();
    refused.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 600000\r\n\r\n");
    front.expect(&Event::Refused("queue_full"));
    for _ in 0..6 {
        refused.send(vec![b'x'; 100_000]);
    }
    refused.expect_status("503");
    refused.expect_end();
    front.go();
    busy.expect("waited");
    drop((busy, refused));
    front.ends_clean();
}

#[test]
fn a_client_that_is_gone_is_not_refused() {
    let front = TestFront::start(FrontConfig { queue_capacity: 0, ..one_worker() });
    let mut busy = occupy(&front);
    drop(front.connect());
    front.wait_for("portcullis.connections.aborted", |n| n == 1.0);
    front.go();
    busy.expect("waited");
    assert!(front.events.is_empty());
    drop(busy);
    front.ends_clean();
}

#[test]
fn who_waits_too_long_is_refused() {
    let front = TestFront::start(FrontConfig { queue_timeout: Duration::from_millis(50), ..one_worker() });
    let mut busy = occupy(&front);
    let mut late = front.connect();
    late.get("/echo");
    assert!(late.expect_status("503").contains("X-Gateway-Reason: queue_timeout"));
    late.expect_end();
    front.expect(&Event::Refused("queue_timeout"));
    front.go();
    busy.expect("waited");
    drop((busy, late));
    front.ends_clean();
}

#[test]
fn a_client_that_vanishes_throws_its_switch() {
    for threads in [1, 2] {
        let front = TestFront::start(FrontConfig { max_threads: threads, runnable: threads, ..one_worker() });
        let mut client = front.connect();
        client.get("/gone");
        front.expect_began("/gone");
        front.expect(&Event::Saw("armed".into()));
        reset(client);
        front.expect(&Event::Saw("thrown".into()));
        let mut next = front.connect();
        next.get("/gone");
        front.expect_began("/gone");
        front.expect(&Event::Saw("armed".into()));
        front.go();
        next.expect("quiet"); // its slot's former connection is none of its affair
        drop(next);
        front.expect(&Event::Saw("quiet".into()));
        front.ends_clean();
    }
}

#[test]
fn a_client_that_closes_its_side_only_is_still_there() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    client.get("/gone");
    front.expect_began("/gone");
    front.expect(&Event::Saw("armed".into()));
    client.finish();
    let mut other = front.connect();
    other.get("/echo");
    front.wait_for("portcullis.queue.waiting", |n| n == 1.0); // whatever came before it was announced too
    front.go();
    client.expect("quiet");
    client.expect_end();
    other.expect("");
    drop(other);
    front.ends_clean();
}

#[test]
fn more_workers_come_as_requests_block_and_leave_when_they_are_not_needed() {
    let config = FrontConfig { max_threads: 40, min_spare: 2, runnable: 2, ..one_worker() };
    let front = TestFront::start(config);
    let mut clients: Vec<_> = (0..40).map(|_| front.connect()).collect();
    for client in &mut clients {
        client.get("/wait");
    }
    front.wait_for("portcullis.workers.phase{upstream}", |n| n == 40.0);
    assert_eq!(front.gauge("portcullis.workers.active"), 40.0);
    for _ in 0..40 {
        front.go();
    }
    for client in &mut clients {
        client.expect("waited");
    }
    front.wait_for("portcullis.workers.active", |n| n <= 3.0); // half as many again as runnable may stay
    for client in &mut clients {
        client.get("/wait");
    }
    front.wait_for("portcullis.workers.phase{upstream}", |n| n == 40.0);
    for _ in 0..40 {
        front.go();
    }
    for client in &mut clients {
        client.expect("waited");
    }
    drop(clients);
    front.ends_clean();
}
