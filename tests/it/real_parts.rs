//! With the tools that users have: nginx behind the gateway, wrk, ab and curl in front of it, openssl for certificates.
//!
//! Each test says that it is skipped when its part is missing; where parts are required it fails instead.

use crate::support::gateway::{Setup, assert_reason};
use crate::support::origin::{TestOrigin, ok};
use crate::support::parts::{self, Scratch, Service};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

const PAGES: &str = r#"
server {
    listen 127.0.0.1:$PORT0;
    default_type text/plain;
    gzip on; gzip_proxied any; gzip_min_length 1; gzip_types text/plain; gzip_http_version 1.0;
    location = /small { return 200 "small\n"; }
    location = /none { return 204; }
    location = /moved { return 302 /small; }
    location = /missing { return 404 "missing\n"; }
    location / { root $ROOT; }
}
"#;

fn nginx_pages(nginx: &Path, files: &Scratch) -> Service {
    files.write("large.bin", (0..3_000_000_u32).map(|i| (i % 251) as u8).collect::<Vec<_>>());
    files.write("text.txt", "a line of text\n".repeat(5000));
    Service::nginx(nginx, 1, &PAGES.replace("$ROOT", &files.path().display().to_string()))
}

fn in_front_of(address: SocketAddr) -> Setup {
    Setup::new().url_route("nginx", "/**", &format!("http://{address}"))
}

/// Every page is the same with and without the gateway between, over connections that are kept on both sides.
#[test]
fn nginx_is_served_as_it_is() {
    let Some(nginx) = parts::find("nginx") else { return };
    let files = Scratch::new();
    let service = nginx_pages(&nginx, &files);
    let gateway = in_front_of(service.address(0)).set("server.tomcat.max-threads", "1").start();
    let mut through = gateway.client();
    let requests = [
        ("GET", "/small", ""),
        ("HEAD", "/small", ""),
        ("GET", "/none", ""),
        ("GET", "/moved", ""),
        ("GET", "/missing", ""),
        ("GET", "/large.bin", ""),
        ("GET", "/large.bin", "Range: bytes=100-199\r\n"),
        ("GET", "/large.bin", "Range: bytes=9000000-\r\n"),
        ("GET", "/text.txt", ""),
        ("GET", "/text.txt", "Accept-Encoding: gzip\r\n"),
        ("GET", "/text.txt", "If-Modified-Since: Wed, 01 Jan 2098 00:00:00 GMT\r\n"),
        ("HEAD", "/large.bin", ""),
    ];
    for (method, target, fields) in requests {
        let mut direct = crate::support::client::RawClient::connect(service.address(0));
        let (want, got) = (direct.request(method, target, fields, b""), through.request(method, target, fields, b""));
        assert_eq!((got.status, got.body == want.body), (want.status, true), "{method} {target} {fields}");
        for field in ["Content-Length", "Content-Type", "Content-Encoding", "Content-Range", "ETag", "Last-Modified"] {
            assert_eq!(got.field(field), want.field(field), "{field} of {method} {target} {fields}");
        }
    }
    assert_eq!(gateway.metric("portcullis_upstream_connections_opened_total", ""), 1.0);
    drop(through);
    gateway.assert_quiet();
}

/// Under load for a second: no error, no other status, and nothing held afterwards.
#[test]
fn wrk_sees_no_error() {
    let (Some(nginx), Some(wrk)) = (parts::find("nginx"), parts::find("wrk")) else { return };
    let files = Scratch::new();
    let service = nginx_pages(&nginx, &files);
    for connections in ["1", "50", "400"] {
        let gateway = in_front_of(service.address(0)).set("gateway.access-log.format", "off");
        let gateway = gateway.set("hystrix.command.nginx.execution.isolation.semaphore.maxConcurrentRequests", "1000");
        let gateway = gateway
            .set("zuul.host.maxPerRouteConnections", "1000")
            .set("zuul.host.maxTotalConnections", "1000")
            .start();
        let url = format!("http://{}/small", gateway.address());
        let output = parts::run(&wrk, &["-t1", "-c", connections, "-d1s", &url]);
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(
            !report.contains("Socket errors") && !report.contains("Non-2xx"),
            "{connections} connections:\n{report}"
        );
        let total = report.lines().find_map(|line| line.trim().split_once(" requests in ")?.0.parse::<f64>().ok());
        let total = total.expect("wrk reports a total");
        gateway.assert_quiet();
        let counted = gateway.metric("portcullis_responses_total", "status=\"200\"");
        let cut_at_the_end: f64 = connections.parse().expect("a number");
        assert!(counted >= total && counted <= total + cut_at_the_end, "wrk counts {total}, the gateway {counted}");
    }
}

/// BODY-17: HTTP/1.0 with keep-alive, as `ab -k` speaks it.
#[test]
fn ab_keeps_its_connections() {
    let Some(ab) = parts::find("ab") else { return };
    let origin = TestOrigin::answering(|_| ok(b"hello"));
    let gateway = Setup::to(&origin).start();
    let url = format!("http://{}/", gateway.address());
    let output = parts::run(&ab, &["-q", "-k", "-n", "500", "-c", "5", &url]);
    let report = String::from_utf8_lossy(&output.stdout);
    let number = |what: &str| {
        let line =
            report.lines().find(|line| line.starts_with(what)).unwrap_or_else(|| panic!("no {what} in:\n{report}"));
        line.split_whitespace().filter_map(|word| word.parse::<u32>().ok()).next().expect("a number")
    };
    assert_eq!((number("Complete requests:"), number("Failed requests:")), (500, 0), "{report}");
    assert_eq!(number("Keep-Alive requests:"), 500, "{report}");
    gateway.assert_quiet();
}

/// BODY-12: curl waits a second for the 100 of a large upload; and a HEAD, a chunked upload and HTTP/1.0.
#[test]
fn curl_is_content() {
    let Some(curl) = parts::find("curl") else { return };
    let origin = TestOrigin::answering(|request| {
        let length = request.body.len().to_string();
        if request.method == b"HEAD" { b"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n".to_vec() } else { ok(length) }
    });
    let gateway = Setup::to(&origin).start();
    let files = Scratch::new();
    let upload = format!("@{}", files.write("upload", vec![b'x'; 2_000_000]).display());
    let url = format!("http://{}/", gateway.address());
    let say = |args: &[&str]| {
        let all = [&["-sS", "--fail", "--max-time", "20"][..], args, &[url.as_str()]].concat();
        String::from_utf8_lossy(&parts::run(&curl, &all).stdout).into_owned()
    };
    let timed = say(&["--data-binary", &upload, "-w", " %{time_total} %{http_code}", "-H", "Expect: 100-continue"]);
    let words: Vec<_> = timed.split(' ').collect();
    assert_eq!((words[0], words[2]), ("2000000", "200"), "{timed}");
    assert!(words[1].parse::<f64>().is_ok_and(|seconds| seconds < 0.9), "it waited in vain for a 100: {timed}");
    assert_eq!(say(&["--data-binary", &upload, "-H", "Transfer-Encoding: chunked"]), "2000000");
    assert!(say(&["-I"]).to_lowercase().contains("content-length: 77"));
    assert_eq!(say(&["-0"]), "0");
    gateway.assert_quiet();
}

/// A certificate for `localhost` that nobody signed, and its key.
fn self_signed(openssl: &Path, files: &Scratch) -> (String, String) {
    let (cert, key) = (files.path().join("cert.pem"), files.path().join("key.pem"));
    let (cert, key) = (cert.display().to_string(), key.display().to_string());
    let args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext"];
    parts::run(openssl, &[&args[..], &["subjectAltName=DNS:localhost", "-keyout", &key, "-out", &cert]].concat());
    (cert, key)
}

/// CONN-19, CONN-20: verified on both kinds of routes, unless switched off, which is for url routes alone; the name that is asked for is
/// the upstream's, whatever the client's Host.
#[test]
fn certificates_are_verified_unless_told_otherwise() {
    let Some(openssl) = parts::find("openssl") else { return };
    let files = Scratch::new();
    let (cert, key) = self_signed(&openssl, &files);
    let server = Service::start(1, |ports, _| {
        let mut command = Command::new(&openssl);
        command.args(["s_server", "-www", "-quiet", "-accept", &ports[0].to_string(), "-cert", &cert, "-key", &key]);
        command.args(["-servername", "localhost", "-servername_fatal", "-cert2", &cert, "-key2", &key]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    });
    let authority = format!("localhost:{}", server.address(0).port());
    let url = format!("https://{authority}");
    let by_url = Setup::new().url_route("up", "/**", &url);
    let by_service = Setup::new().set("zuul.routes.up.path", "/**").set("zuul.routes.up.serviceId", "up");
    let by_service = by_service.set("up.ribbon.listOfServers", url.clone()).set("up.ribbon.ReadTimeout", "5000");
    const TRUST_ALL: &str = "zuul.sslHostnameValidationEnabled";
    assert_reason(&by_url.clone().start().get("/"), 502, "connect_failed");
    assert_reason(&by_service.clone().start().get("/"), 502, "connect_failed");
    assert_reason(&by_service.set(TRUST_ALL, "false").start().get("/"), 502, "connect_failed");
    let trusting = by_url.set(TRUST_ALL, "false").start();
    let answer = trusting.get("/");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("s_server"), "{}", answer.text());
    trusting.assert_quiet();
}
