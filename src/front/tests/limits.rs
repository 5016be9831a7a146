//! Slow, silent and many clients, and a system that runs short.

use super::*;

fn hasty() -> FrontConfig {
    FrontConfig { connection_timeout: Duration::from_millis(150), ..one_worker() }
}

#[test]
fn half_sent_heads_hold_no_worker() {
    let front = TestFront::start(one_worker());
    let mut slow: Vec<_> = (0..20).map(|_| front.connect()).collect();
    for client in &mut slow {
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\n");
    }
    let mut fast = front.connect();
    for _ in 0..3 {
        fast.get("/echo");
        fast.expect("");
    }
    for client in &mut slow {
        client.send("Content-Length: 2\r\n\r\nok");
        client.expect("ok");
    }
    drop((slow, fast));
    front.ends_clean();
}

#[test]
fn a_head_that_comes_octet_by_octet_is_served() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    for octet in b"\r\nPOST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok" {
        client.send([*octet]);
    }
    client.expect("ok");
    drop(client);
    front.ends_clean();
}

#[test]
fn a_client_that_says_nothing_is_closed_silently() {
    let front = TestFront::start(hasty());
    let mut client = front.connect();
    client.expect_end();
    assert!(front.events.is_empty());
    front.ends_clean();
}

#[test]
fn a_client_that_leaves_in_the_middle_of_its_head_is_told_of() {
    let front = TestFront::start(one_worker());
    let mut client = front.connect();
    client.send("GET /echo HTT");
    drop(client);
    front.expect(&Event::Refused("client_aborted"));
    assert_eq!(front.gauge("portcullis.connections.aborted"), 1.0);
    front.ends_clean();
}

#[test]
fn a_head_that_stays_half_is_answered_408() {
    let front = TestFront::start(hasty());
    let mut client = front.connect();
    client.send("GET /echo HTT");
    let head = client.expect_status("408");
    assert!(head.contains("X-Gateway-Reason: head_timeout"), "{head}");
    client.expect_end();
    front.expect(&Event::Refused("head_timeout"));
    drop(client);
    front.ends_clean();
}

#[test]
fn a_dripping_head_has_no_more_time_than_a_stalled_one() {
    let front = TestFront::start(hasty());
    let mut client = front.connect();
    let until = Instant::now() + BOUND;
    client.stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    client.send("GET /");
    while client.stream.peek(&mut [0]).is_err() {
        assert!(Instant::now() < until, "it drips for ever");
        let _ = client.stream.write_all(b"a");
    }
    client.expect_status("408");
    drop(client);
    front.ends_clean();
}

#[test]
fn an_idle_connection_is_closed_after_the_keep_alive_timeout() {
    let front = TestFront::start(FrontConfig { keep_alive_timeout: Some(Duration::from_millis(100)), ..one_worker() });
    let mut client = front.connect();
    client.get("/echo");
    client.expect("");
    client.send("\r\n"); // some clients send an empty line after a body: it begins no request
    client.expect_end();
    front.expect_began("/echo");
    assert!(front.events.is_empty());
    front.ends_clean();
}

#[test]
fn a_body_that_stalls_ends_in_time() {
    let front = TestFront::start(hasty());
    let mut client = front.connect();
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
    front.expect_began("/echo");
    front.expect(&Event::Saw("BodyTimeout".into()));
    drop(client);
    front.ends_clean();
}

#[test]
fn a_body_that_drips_below_the_minimum_rate_is_cut_off() {
    let rate = FrontConfig { client_min_rate: 1_000_000, client_grace: Duration::from_millis(50), ..one_worker() };
    let front = TestFront::start(rate);
    let mut client = front.connect();
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    front.expect_began("/echo");
    let until = Instant::now() + BOUND;
    while front.events.is_empty() && client.stream.write_all(b"a").is_ok() {
        assert!(Instant::now() < until, "it drips for ever");
        std::thread::sleep(Duration::from_millis(2)); // the drip itself
    }
    front.expect(&Event::Saw("BodyTimeout".into()));
    drop(client);
    front.ends_clean();
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let stalled = hasty();
    let slow = FrontConfig { client_min_rate: 1 << 40, client_grace: Duration::from_millis(50), ..one_worker() };
    for config in [stalled, slow] {
        let front = TestFront::start(config);
        let mut client = front.connect();
        client.get("/flood");
        front.expect_began("/flood");
        front.expect(&Event::Saw("WriteTimeout".into()));
        front.wait_for("portcullis.connections.active", |n| n == 0.0);
        assert_eq!(front.gauge("portcullis.connections.aborted"), 1.0);
        front.ends_clean();
    }
}

#[test]
fn thousands_of_idle_connections_need_no_threads() {
    let room = super::super::raise_descriptors();
    let many = 10_000.min(room.saturating_sub(4_000) / 2);
    let config = FrontConfig {
        max_connections: many + 10,
        accept_count: 4096,
        max_threads: 200,
        min_spare: 4,
        runnable: 4,
        ..one_worker()
    };
    let front = TestFront::start(config);
    let mut clients: Vec<_> = (0..many).map(|_| front.connect()).collect();
    front.wait_for("portcullis.connections.active", |n| n == many as f64);
    for client in clients.iter_mut().step_by(97) {
        client.get("/echo");
        client.expect("");
    }
    assert!(front.gauge("portcullis.workers.active") + front.gauge("portcullis.workers.parked") <= 200.0);
    assert_eq!(front.gauge("portcullis.connections.active"), many as f64);
    drop(clients);
    front.ends_clean();
}

/// Runs in a process of its own, since the limit of descriptors is the process's.
#[test]
fn a_front_without_descriptors_lives_on() {
    const CHILD: &str = "PORTCULLIS_TEST_FEW_DESCRIPTORS";
    if std::env::var_os(CHILD).is_some() {
        return without_descriptors();
    }
    let name = "front::tests::limits::a_front_without_descriptors_lives_on";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}{}", String::from_utf8_lossy(&output.stderr));
}

fn without_descriptors() {
    let front = TestFront::start(one_worker());
    let mut first = front.connect();
    first.get("/echo");
    first.expect("");
    // Beyond the descriptors that are open there is room for clients only.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let mut filler = Vec::new();
    let few = rustix::process::Rlimit { current: Some(64), maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, few).unwrap();
    let mut second = front.connect();
    front.wait_for("portcullis.connections.accepted", |n| n == 2.0);
    while let Ok(file) = std::fs::File::open("/dev/null") {
        filler.push(file);
    }
    second.get("/echo");
    second.expect("");
    drop(filler.pop());
    let mut shed = front.connect(); // takes the last descriptor, so that the front has none for it
    front.wait_for("portcullis.accept.errors{descriptors}", |n| n >= 1.0);
    assert!(matches!(shed.stream.read(&mut [0]), Ok(0) | Err(_)), "closed rather than left to hang");
    filler.clear();
    let mut third = front.connect();
    third.get("/echo");
    third.expect("");
    first.get("/echo");
    first.expect("");
    drop((first, second, shed, third));
    front.ends_clean();
}
