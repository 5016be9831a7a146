//! Bodies on the move through the twin, ends on either side, and its own end.

use crate::support::message::End;
use crate::support::origin::{TestOrigin, ok};
use crate::support::{twin, wait};
use crossbeam_channel::unbounded;
use portcullis::deadline::Deadline;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn url(origin: &TestOrigin) -> String {
    format!("zuul.routes.up: {{path: /**, url: '{}'}}\n", origin.url())
}

#[test]
fn events_and_uploads_are_passed_on_as_they_come() {
    let (next, gate) = unbounded();
    let (seen, first) = unbounded();
    let origin = TestOrigin::scripted(move |talk| {
        talk.read_head();
        talk.read_body_up_to(5);
        seen.send(()).expect("the test waits");
        talk.read_body();
        talk.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for chunk in ["3\r\none\r\n", "3\r\ntwo\r\n"] {
            talk.wait_for(&gate);
            talk.send(chunk);
        }
        talk.send("0\r\n\r\n");
    });
    let twin = twin(&url(&origin));
    let mut client = twin.client();
    client.send("POST / HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
    first.recv_timeout(wait::PATIENCE).expect("the first part reaches the upstream");
    client.send("0\r\n\r\n");
    assert_eq!(client.wait_for_head().body.len(), 0, "the head does not wait for a body");
    for event in ["one", "two"] {
        next.send(()).expect("the origin waits");
        client.wait_for_text(event);
    }
    assert_eq!(client.response().text(), "onetwo");
    assert_eq!(origin.only_request().text(), "first");
    twin.assert_quiet();
}

#[test]
fn an_answer_that_breaks_off_is_not_ended_as_if_it_were_whole() {
    for framing in ["Content-Length: 10\r\n", "Transfer-Encoding: chunked\r\n"] {
        let origin = TestOrigin::scripted(move |talk| {
            talk.read_request();
            let part = if framing.starts_with('C') { "five!" } else { "5\r\nfive!\r\n" };
            talk.send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n{part}"));
        });
        let twin = twin(&url(&origin));
        let mut client = twin.client();
        client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        let ended = client.answer_or_end("GET");
        assert!(matches!(ended, Err(End::Fin | End::Reset)), "{ended:?}");
        twin.assert_quiet();
        assert_eq!(twin.metric("portcullis.requests.failed", "upstream_aborted"), 1.0);
    }
}

#[test]
fn a_client_that_does_not_read_loses_its_connection_and_frees_what_it_held() {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while talk.send([b'x'; 64 * 1024]) {}
    });
    let twin = twin(&format!("{}server.tomcat.connection-timeout: 100ms\n", url(&origin)));
    let mut client = twin.client();
    client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    wait::until("it is given up", || twin.metric("portcullis.requests.failed", "client_aborted") == 1.0);
    twin.assert_quiet();
    wait::until("the upstream connection is closed", || origin.open_connections() == 0);
}

#[test]
fn a_drain_lets_the_running_request_finish_and_cuts_it_when_time_is_up() {
    let (release, gate) = unbounded();
    let origin = TestOrigin::gated(gate);
    for in_time in [true, false] {
        let twin = twin(&url(&origin));
        let before = origin.requests().len();
        let (mut client, mut idle) = (twin.client(), twin.client());
        client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        origin.wait_for_requests(before + 1);
        std::thread::scope(|scope| {
            let budget = if in_time { wait::PATIENCE } else { std::time::Duration::from_millis(50) };
            let drained = scope.spawn(move || twin.0.drain(Deadline::after(budget)));
            if in_time {
                idle.assert_closed();
                release.send(()).expect("the origin waits");
                let answer = client.response();
                assert_eq!((answer.status, answer.field("Connection").as_deref()), (200, Some("close")));
            } else {
                assert!(client.answer_or_end("GET").is_err());
            }
            assert_eq!(drained.join().expect("the drain ends"), in_time);
        });
    }
}

#[test]
fn the_program_says_where_it_listens_and_what_it_lacks_and_ends_in_order() {
    let origin = TestOrigin::answering(|_| ok(b"hello"));
    let folder = std::env::temp_dir().join(format!("twin-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (file, log) = (folder.join("gateway.yaml"), folder.join("access.log"));
    let yaml = format!(
        "server: {{address: 127.0.0.1, port: 0, tomcat: {{max-threads: 7}}}}\ngateway.access-log.file: '{}'\n{}",
        log.display(),
        url(&origin)
    );
    std::fs::write(&file, yaml).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_async-gateway"));
    command.arg("-c").arg(&file).args(["--threads", "1"]).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the twin starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let mut said = Vec::new();
    let address = loop {
        let line = lines.next().unwrap_or_else(|| panic!("it ended: {said:?}"));
        match line.strip_prefix("listening on ") {
            Some(address) => break address.parse().expect("an address"),
            None => said.push(line),
        }
    };
    assert!(said.iter().any(|line| line.ends_with("no worker threads: server.tomcat.max-threads")), "{said:?}");
    assert_eq!(crate::support::client::RawClient::connect(address).get("/x?y").text(), "hello");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let logged = std::fs::read_to_string(&log).expect("a log");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    assert!(logged.contains("\"GET /x?y HTTP/1.1\" 200 5") && logged.contains("backend=up"), "{logged}");
}
