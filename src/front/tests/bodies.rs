//! Request bodies: asked for once, read without waiting or with, swallowed within bounds, and watched beside another descriptor.

use super::*;
use std::os::fd::AsFd;

#[test]
fn a_client_that_expects_100_is_asked_once_when_its_body_is_read() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    client.expect_status("100");
    client.send("ok");
    client.expect("ok");
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok");
    client.expect("ok"); // it did not wait, so there is nothing to ask for
    drop(client);
    front.ends_clean();
}

#[test]
fn a_body_that_nobody_asked_for_ends_the_connection_with_its_answer() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    client.send("POST /ignore HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assert!(client.answer().0.contains("Connection: close"));
    client.expect_end();
    drop(client);
    front.ends_clean();
}

#[test]
fn an_unread_body_within_the_bound_is_swallowed() {
    let front = TestFront::start(FrontConfig { max_swallow_size: Some(20_000), ..one_worker() });
    let mut client = front.connect();
    // All of it is there before the worker looks for it, so that its patience is not tested.
    client.send(["POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n", &"x".repeat(20_000)].concat());
    assert!(!client.answer().0.contains("close"));
    client.send("POST /ignore HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    client.expect("ignored");
    client.get("/echo");
    client.expect("");
    drop(client);
    front.ends_clean();
}

/// Without a bound on the octets there is one on the time.
#[test]
fn an_endless_unread_body_holds_no_worker() {
    let front = TestFront::start(FrontConfig { max_swallow_size: None, ..one_worker() });
    let mut endless = front.connect();
    endless.send("POST /ignore HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut stream = endless.stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || {
        let chunk = [&b"10000\r\n"[..], &[b'x'; 0x10000], b"\r\n"].concat();
        while stream.write_all(&chunk).is_ok() {}
    });
    front.expect_began("/ignore");
    let mut other = front.connect();
    other.get("/echo");
    other.expect("");
    sending.join().unwrap();
    drop((endless, other));
    front.ends_clean();
}

#[test]
fn an_unread_body_beyond_the_bound_closes_but_never_resets_the_answer_away() {
    let front = TestFront::start(FrontConfig { max_swallow_size: Some(99), ..one_worker() });
    let mut client = front.connect();
    client.send("POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n");
    front.expect_began("/ignore");
    client.send(vec![b'x'; 300_000]);
    assert!(client.answer().0.contains("Connection: close"));
    client.expect_end();
    drop(client);
    front.ends_clean();
}

#[test]
fn broken_chunks_and_cut_bodies_are_told_apart() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
    front.expect_began("/echo");
    front.expect(&Event::Saw("BadBody".into()));
    let mut cut = front.connect();
    cut.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
    cut.finish();
    front.expect_began("/echo");
    front.expect(&Event::Saw("Gone".into()));
    drop((client, cut));
    front.ends_clean();
}

#[test]
fn a_large_body_and_a_large_answer_pass_whole() {
    let front = TestFront::start(FrontConfig { max_threads: 2, runnable: 2, ..one_worker() });
    let body: String = (0..400_000).map(|n: u32| char::from(b'a' + (n % 23) as u8)).collect();
    let mut client = front.connect();
    let mut sender = client.stream.try_clone().unwrap();
    let (head, chunk) = ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", body.clone());
    let sends = std::thread::spawn(move || {
        sender.write_all(head.as_bytes()).unwrap();
        for part in chunk.as_bytes().chunks(7_777) {
            sender.write_all(format!("{:x}\r\n", part.len()).as_bytes()).unwrap();
            sender.write_all(part).unwrap();
            sender.write_all(b"\r\n").unwrap();
        }
        sender.write_all(b"0\r\n\r\n").unwrap();
    });
    let (_, answer) = client.answer();
    sends.join().unwrap();
    assert!(answer == body);
    drop(client);
    front.ends_clean();
}

/// Waits for its client beside another descriptor, and tells what woke it.
struct Watcher {
    told: Sender<String>,
    other: TcpStream,
}

impl Handler for Watcher {
    type Local = ();

    fn local(&self) {}

    fn serve(&self, (): &mut (), _: Request, client: &mut dyn Client) -> Ending {
        let mut tell = |other, by| self.told.send(format!("{:?}", client.wait(other, by))).unwrap();
        tell(Some(self.other.as_fd()), Deadline::after(Duration::from_millis(1)));
        tell(None, Deadline::NEVER); // the client's body is there
        tell(Some(self.other.as_fd()), Deadline::NEVER);
        answer(client, b"")
    }

    fn refused(&self, _: &Refused) {}
}

#[test]
fn a_wait_ends_with_what_comes_first_and_the_other_goes_first() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut upstream = listener.accept().unwrap().0;
    let (told, tells) = unbounded();
    let front = Front::start(one_worker(), Arc::new(Watcher { told, other })).unwrap();
    let mut client = RawClient::connect(front.local_addr());
    let mut post = |expected: [&str; 3]| {
        let expect = |told: &str| assert_eq!(tells.recv_timeout(BOUND).unwrap(), format!("Ok({told})"));
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n");
        expect(expected[0]);
        client.send("x");
        expect(expected[1]);
        expect(expected[2]);
        client.expect("");
    };
    post(["Expired", "Client", "Client"]);
    upstream.write_all(b"early").unwrap();
    post(["Other", "Client", "Other"]);
    drop(client);
    assert!(front.drain(Deadline::after(BOUND)).is_clean());
}
