//! The end: what runs is finished, what waits is served or refused by name, what is idle is closed, and at the deadline the rest is cut.

use super::*;

impl TestFront {
    /// Drains on another thread; the result comes over the channel.
    fn drain(&mut self, within: Duration) -> Receiver<super::super::Drained> {
        let front = self.front.take().unwrap();
        front.begin_drain();
        let (done, drained) = unbounded();
        std::thread::spawn(move || done.send(front.drain(Deadline::after(within))));
        drained
    }
}

#[test]
fn a_drain_closes_what_is_idle_and_finishes_what_runs() {
    let mut front = TestFront::start(one_worker());
    let mut idle: Vec<_> = (0..5).map(|_| front.connect()).collect();
    idle[0].get("/echo");
    idle[0].expect("");
    front.expect_began("/echo");
    front.wait_for("portcullis.connections.active", |n| n == 5.0);
    let mut busy = front.connect();
    busy.get("/wait");
    front.expect_began("/wait");
    let drained = front.drain(BOUND);
    for client in &mut idle {
        client.expect_end();
    }
    assert!(drained.is_empty(), "it waits for the request that runs");
    front.go();
    let (head, body) = busy.answer();
    assert!(head.contains("Connection: close") && body == "waited", "{head}");
    busy.expect_end();
    drop((idle, busy));
    assert!(drained.recv_timeout(BOUND).unwrap().is_clean());
    front.is_over();
    assert!(TcpStream::connect(front.address).is_err(), "the listener is closed");
}

#[test]
fn a_drain_serves_whole_requests_that_wait_and_refuses_half_ones() {
    let mut front = TestFront::start(one_worker());
    let mut busy = front.connect();
    busy.get("/wait");
    front.expect_began("/wait");
    let mut whole = front.connect();
    whole.get("/echo?whole");
    let mut half = front.connect();
    half.send("GET /echo?half HTTP/1.1\r\n");
    front.wait_for("portcullis.queue.waiting", |n| n == 2.0);
    let drained = front.drain(BOUND);
    front.go();
    busy.expect("waited");
    assert!(whole.answer().0.contains("Connection: close"));
    assert!(half.expect_status("503").contains("X-Gateway-Reason: draining"));
    front.expect_began("/echo?whole");
    front.expect(&Event::Refused("draining"));
    drop((busy, whole, half));
    assert!(drained.recv_timeout(BOUND).unwrap().is_clean());
    front.is_over();
}

#[test]
fn a_half_head_that_waits_for_its_client_is_refused() {
    let mut front = TestFront::start(one_worker());
    let mut half = front.connect();
    half.send("GET /echo HTTP/1.1\r\n");
    front.wait_for("portcullis.connections.active", |n| n == 1.0);
    let drained = front.drain(BOUND);
    assert!(half.expect_status("503").contains("X-Gateway-Reason: draining"));
    drop(half);
    assert!(drained.recv_timeout(BOUND).unwrap().is_clean());
}

#[test]
fn pipelined_requests_end_with_the_first_answer_of_a_drain() {
    let mut front = TestFront::start(one_worker());
    let mut client = front.connect();
    client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2));
    front.expect_began("/wait");
    let drained = front.drain(BOUND);
    front.go();
    assert!(client.answer().0.contains("Connection: close"));
    client.expect_end();
    drop(client);
    assert!(drained.recv_timeout(BOUND).unwrap().is_clean());
    assert!(front.events.is_empty());
}

#[test]
fn the_backlog_is_refused_by_name_when_there_is_no_room_for_it() {
    let mut front = TestFront::start(FrontConfig { max_connections: 1, ..one_worker() });
    let mut busy = front.connect();
    busy.get("/wait");
    front.expect_began("/wait");
    let mut beyond = front.connect();
    beyond.get("/echo");
    let drained = front.drain(BOUND);
    assert!(beyond.expect_status("503").contains("X-Gateway-Reason: draining"));
    beyond.expect_end();
    front.expect(&Event::Refused("draining"));
    front.go();
    busy.expect("waited");
    drop((busy, beyond));
    assert!(drained.recv_timeout(BOUND).unwrap().is_clean());
}

#[test]
fn at_the_deadline_the_rest_is_cut() {
    let mut front = TestFront::start(FrontConfig { max_threads: 2, runnable: 2, ..one_worker() });
    let mut upload = front.connect();
    upload.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
    front.expect_began("/echo");
    let mut upstream = front.connect();
    upstream.get("/gone");
    front.expect_began("/gone");
    front.expect(&Event::Saw("armed".into()));
    let drained = front.drain(Duration::from_millis(50)).recv_timeout(BOUND).unwrap();
    assert_eq!((drained.cut, drained.stuck), (2, 0));
    let mut saw = [front.event(), front.event()];
    saw.sort_by_key(|event| format!("{event:?}"));
    assert_eq!(saw, [Event::Saw("Gone".into()), Event::Saw("thrown".into())]);
    front.is_over();
}

#[test]
fn dropping_a_front_ends_it() {
    let mut front = TestFront::start(FrontConfig { max_threads: 3, runnable: 3, ..one_worker() });
    let mut client = front.connect();
    client.get("/echo");
    client.expect("");
    drop(front.front.take());
    front.is_over();
    assert!(matches!(client.stream.read(&mut [0]), Ok(0) | Err(_)));
    assert!(TcpStream::connect(front.address).is_err());
}

#[test]
fn a_front_can_listen_again_where_one_has_just_ended() {
    let front = TestFront::start(one_worker());
    let address = front.address;
    let mut client = front.connect();
    client.send("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    client.expect("");
    client.expect_end(); // the front closed first: its side of the connection stays in the system for a minute
    drop(client);
    front.ends_clean();
    let again = TestFront::start(FrontConfig { address, ..one_worker() });
    let mut client = again.connect();
    client.get("/echo");
    client.expect("");
    drop(client);
    again.ends_clean();
}
