//! The runner itself under test: against a gateway that is known well, and against one that is faulty on purpose.

use super::corpus::{Case, cases};
use super::run::{Lane, Limits, Verdict, play_all};
use super::upstream::Upstream;
use super::{LANES, LIMITS};
use crate::support::parts::{self, Service};
use crate::support::socket::listen;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

/// nginx is judged as the notes of the corpus say: whatever it fails carries a note about it, and much is left that it passes.
#[test]
fn nginx_fails_only_where_the_corpus_says_so() {
    let Some(nginx) = parts::find("nginx") else { return };
    let listeners: Vec<_> = (0..LANES).map(|_| listen()).collect();
    let addresses: Vec<_> = listeners.iter().map(|(_, address)| *address).collect();
    let service = Service::nginx(&nginx, LANES, &nginx_config(&addresses));
    let upstreams = listeners.into_iter().map(|(listener, _)| Upstream::start(listener, LIMITS.upstream_timeout));
    let lanes = upstreams.enumerate().map(|(i, upstream)| Lane::new(service.address(i), upstream, LIMITS)).collect();
    let cases = cases();
    let verdicts = play_all(lanes, &cases);
    assert_eq!(verdicts.len(), cases.len());
    let known =
        |id: &str| cases.iter().any(|case| case.id == id && case.note.as_ref().is_some_and(|n| n.contains("nginx")));
    let failed: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.passes()).collect();
    let news: Vec<String> = failed.iter().filter(|v| !known(&v.id)).map(ToString::to_string).collect();
    assert!(news.is_empty(), "nginx fails without a note:\n{}", news.join("\n"));
    assert!(failed.iter().any(|v| v.id == "forward-via-added"), "nginx never sends Via, and the runner saw one");
}

/// As like to an ordinary reverse proxy as nginx can be told to be, one server for each lane.
fn nginx_config(upstreams: &[SocketAddr]) -> String {
    let mut http = String::from(
        "proxy_http_version 1.1; client_header_timeout 2s; client_max_body_size 0; proxy_read_timeout 1s;\n\
         proxy_request_buffering off; proxy_buffering off; proxy_set_header Host $http_host; proxy_set_header Connection \"\";\n\
         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n",
    );
    for (i, upstream) in upstreams.iter().enumerate() {
        writeln!(
            http,
            "upstream up{i} {{ server {upstream}; keepalive 8; }}\n\
             server {{ listen 127.0.0.1:$PORT{i}; location / {{ proxy_pass http://up{i}; }} }}"
        )
        .expect("strings can be written to");
    }
    http
}

/// A tunnel that passes every octet on as it came is no gateway, and the runner must see each way in which it is none.
#[test]
fn a_blind_tunnel_is_found_out() {
    #[track_caller]
    fn check(lane: &mut Lane, case: &Case, complaint: &str) {
        let verdict = lane.play(case);
        let found = if complaint.is_empty() {
            verdict.passes()
        } else {
            verdict.problems.iter().any(|p| p.contains(complaint))
        };
        assert!(found, "wanted {complaint:?}: {verdict}");
    }
    let cases = cases();
    let case = |id: &str| cases.iter().find(|case| case.id == id).expect("a case");
    let (listener, upstream) = listen();
    let upstream_of_lane = Upstream::start(listener, LIMITS.upstream_timeout);
    let lane = &mut Lane::new(tunnel_to(upstream), upstream_of_lane, Limits { ..LIMITS });
    check(lane, case("length-plain"), "client connection is Closed");
    check(lane, case("upstream-cut-length"), "");
    check(lane, case("line-absolute-form"), "upstream target is http://gw.test/abs?x=1");
    check(lane, case("field-host-missing"), "0 Host fields");
    check(lane, case("field-space-before-colon"), "bad field line Content-Length : 3");
    check(lane, case("length-and-chunked"), "1 Content-Length and 1 Transfer-Encoding");
    check(lane, case("length-body-cut-off"), "");
    check(lane, case("persist-pipeline-bodies"), "octets follow a request before its response");
    check(lane, case("persist-close-in-list"), "");
    check(lane, case("forward-via-added"), "upstream Via is absent");
    check(lane, case("forward-connection-options"), "upstream X-Hop-A is 1");
    check(lane, case("http10-no-interim"), "103 sent to an HTTP/1.0 client");
    check(lane, case("upstream-length-differs"), "2 Content-Length");
    check(lane, case("upstream-no-answer-get"), "status drop");
    check(lane, case("persist-after-upstream-error"), "client connection is Closed");
    check(lane, case("method-head-upstream-sends-body"), "LEAKEDBIT");
}

/// Joins each client to a connection of its own.
fn tunnel_to(upstream: SocketAddr) -> SocketAddr {
    let (listener, address): (TcpListener, _) = listen();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(upstream) else { return };
            let (Ok(client_too), Ok(server_too)) = (client.try_clone(), server.try_clone()) else { return };
            std::thread::spawn(move || copy(&client, &server));
            std::thread::spawn(move || copy(&server_too, &client_too));
        }
    });
    address
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let mut chunk = [0; 16 * 1024];
    while let Ok(n @ 1..) = from.read(&mut chunk) {
        if to.write_all(&chunk[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
