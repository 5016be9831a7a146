//! `gateway.*`, `logging.level.*` and `management.server.*`: what is ours, and what is said where.

use crate::support::client::RawClient;
use crate::support::gateway::{Setup, TestGateway, assert_reason};
use crate::support::origin::TestOrigin;
use crate::support::parts::Scratch;
use crate::support::socket::free_port;
use crate::support::wait;
use std::net::SocketAddr;

#[track_caller]
fn logged(gateway: &TestGateway, wanted: &str) -> String {
    wait::until_some("the access log has its line", || {
        gateway.process.stdout().into_iter().find(|line| line.contains(wanted))
    })
}

/// A chunk-size line that is longer than ureq reads tells the clients apart.
#[test]
fn the_client_of_the_servers_can_be_ureq() {
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;signature=0123456789abcdef\r\nok\r\n0\r\n\r\n";
    let origin = TestOrigin::answering(move |_| chunk.into());
    for (http_client, whole) in [("native", true), ("ureq", false)] {
        let gateway = Setup::to(&origin).set("gateway.http-client", http_client).start();
        let mut client = gateway.client();
        client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        let answer = client.answer_or_end("GET");
        let is_whole = answer.is_ok_and(|answer| (answer.status, &*answer.body) == (200, b"ok"));
        assert_eq!(is_whole, whole, "{http_client}");
    }
}

/// OPS-05: Combined, with control octets, quotes and what is not ASCII escaped.
#[test]
fn the_access_log_is_combined_and_cannot_be_forged() {
    let origin = TestOrigin::echoing();
    let gateway = Setup::to(&origin).start();
    let mut client = gateway.client();
    let fields = "User-Agent: a\"b\\c\u{e9}\r\nReferer: http://r.test/\r\n";
    assert_eq!(client.request("GET", "/FAKE%22?q=%0d%0a", fields, b"").status, 200);
    let line = logged(&gateway, "FAKE");
    assert!(line.starts_with("127.0.0.1 - - ["), "{line}");
    assert!(line.contains("\"GET /FAKE%22?q=%0d%0a HTTP/1.1\" 200 "), "{line}");
    assert!(line.contains("\"http://r.test/\""), "{line}");
    assert!(line.bytes().all(|octet| (0x20..0x7f).contains(&octet)), "{line:?}");
    assert!(!line.contains("a\"b"), "{line}");
}

#[test]
fn the_access_log_can_be_json_or_off() {
    let origin = TestOrigin::echoing();
    let json = Setup::to(&origin).set("gateway.access-log.format", "json").start();
    assert_eq!(json.get("/json?q=1").status, 200);
    let line: serde_json::Value = serde_json::from_str(&logged(&json, "/json")).expect("one JSON object a line");
    assert_eq!(line["status"], 200, "{line}");
    let mut off = Setup::to(&origin).set("gateway.access-log.format", "off").start();
    assert_eq!(off.get("/silent").status, 200);
    assert_eq!(off.stop(), Some(0));
    assert!(off.process.stdout().iter().all(|line| !line.contains("/silent")));
}

#[test]
fn the_access_log_can_go_to_a_file() {
    let (origin, scratch) = (TestOrigin::echoing(), Scratch::new());
    let file = scratch.path().join("access.log");
    let mut gateway = Setup::to(&origin).set("gateway.access-log.file", file.display().to_string()).start();
    assert_eq!(gateway.get("/filed").status, 200);
    assert_eq!(gateway.stop(), Some(0));
    let text = std::fs::read_to_string(&file).expect("the file is written");
    assert_eq!(text.lines().filter(|line| line.contains("/filed")).count(), 1, "{text}");
    assert!(gateway.process.stdout().iter().all(|line| !line.contains("/filed")));
}

/// As log rotation does it: the file is moved away, then the signal.
#[test]
fn the_access_log_is_opened_anew_when_told_to() {
    let (origin, scratch) = (TestOrigin::echoing(), Scratch::new());
    let (file, moved) = (scratch.path().join("access.log"), scratch.path().join("access.log.1"));
    let mut gateway = Setup::to(&origin).set("gateway.access-log.file", file.display().to_string()).start();
    assert_eq!(gateway.get("/before").status, 200);
    let holds =
        |file: &std::path::Path, what: &str| std::fs::read_to_string(file).is_ok_and(|text| text.contains(what));
    wait::until("it is written", || holds(&file, "/before"));
    std::fs::rename(&file, &moved).expect("the file can be moved");
    gateway.process.signal(rustix::process::Signal::USR1);
    wait::until("the file is there again", || file.exists());
    assert_eq!(gateway.get("/after").status, 200);
    assert_eq!(gateway.stop(), Some(0));
    assert!(holds(&file, "/after") && !holds(&file, "/before") && !holds(&moved, "/after"));
}

/// OPS-04: one line for each request, however it ended; a client that left is a 499.
#[test]
fn every_request_has_one_line() {
    let origin = TestOrigin::scripted(|talk| {
        let Some(request) = talk.read_request() else { return };
        if request.target == b"/waits" {
            talk.stall_until_closed();
        } else {
            talk.send(crate::support::origin::ok(b"fine"));
        }
    });
    let mut gateway = Setup::to(&origin).start();
    assert_eq!(gateway.get("/fine").status, 200);
    let mut leaver = gateway.client();
    leaver.send("GET /waits HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(2);
    leaver.reset();
    let mut bad = gateway.client();
    bad.send("nonsense\r\n\r\n");
    assert_eq!(bad.response().status, 400);
    let mut ahead = gateway.client();
    ahead.send("GET /ahead HTTP/2.0\r\nHost: gw.test\r\n\r\n");
    assert_eq!(ahead.response().status, 505);
    gateway.assert_quiet();
    assert_eq!(gateway.metric("portcullis_responses_total", "status=\"505\""), 1.0);
    assert_eq!(gateway.stop(), Some(0));
    let lines = gateway.process.stdout();
    let with = |text: &str| lines.iter().filter(|line| line.contains(text)).collect::<Vec<_>>();
    assert_eq!(with("/fine").len(), 1, "{lines:?}");
    assert!(matches!(with("/waits")[..], [line] if line.contains(" 499 ")), "{lines:?}");
    assert_eq!(with(" 400 ").len(), 1, "{lines:?}");
    assert_eq!(with(" 505 ").len(), 1, "{lines:?}");
    assert!(with(" 400 ").iter().all(|line| line.contains(" reason=bad_request detail=\"")), "{lines:?}");
}

/// What failed, at whom and by which limit, is for the log alone.
#[test]
fn the_log_says_what_failed_and_the_answer_does_not() {
    let origin = TestOrigin::scripted(|talk| drop((talk.read_request(), talk.stall_until_closed())));
    let setup = Setup::to(&origin).set("zuul.host.socketTimeoutMillis", "100");
    let setup = setup.url_route("gone", "/gone/**", "http://127.0.0.1:1").service_route("none", "/none/**", &[]);
    let gateway = setup.set("gateway.client.max-body-size", "10").start();
    let rows =
        [("/slow", "up", "read timeout"), ("/gone/x", "gone", "connection refused"), ("/none/x", "none", "no server")];
    for (target, backend, detail) in rows {
        let answer = gateway.get(target);
        let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("the error body is JSON");
        assert_eq!(body["message"], "", "{target}");
        let line = logged(&gateway, target);
        assert!(line.contains(&format!(" backend={backend} ")), "{line}");
        assert!(line.split_once(" detail=\"").is_some_and(|(_, told)| told.contains(detail)), "{line}");
    }
    let answer = gateway.client().request("POST", "/large", "", b"hello world");
    let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("the error body is JSON");
    assert_eq!(body["message"], "the request's body is too long");
    assert!(logged(&gateway, "/large").contains(" backend=up "));
}

/// Shown by what is said about a start that fails.
#[test]
fn log_levels_are_for_all_or_per_logger() {
    let (_taken, address) = crate::support::socket::listen();
    let failing = Setup::new().set("server.port", address.port().to_string());
    let said = |keys: &[(&str, &str)]| {
        let setup = keys.iter().fold(failing.clone(), |setup, (key, value)| setup.set(*key, *value));
        setup.run_to_end(&["run"]).stderr.contains("cannot start")
    };
    assert!(said(&[]));
    assert!(!said(&[("logging.level.root", "OFF")]));
    assert!(!said(&[("logging.level.portcullis", "OFF")]));
    assert!(said(&[("logging.level.root", "OFF"), ("logging.level.portcullis", "ERROR")]));
}

#[test]
fn the_gateway_has_a_name() {
    let gateway = Setup::new().set("spring.application.name", "edge-7").start();
    let log = gateway.process.stderr();
    assert!(log.iter().any(|line| line.contains("] starting edge-7 (portcullis ")), "{log:?}");
}

/// The main listener's workers, each with its scheduling policy as the system tells it.
fn workers(gateway: &TestGateway) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", gateway.process.pid())).expect("Linux lists threads");
    let policy = |stat: String| {
        let (_, name_and_rest) = stat.split_once('(')?;
        let (name, rest) = name_and_rest.rsplit_once(')')?;
        let number = name.strip_prefix("gateway-")?;
        // Field 41, of which the number of the thread and its name are the first two.
        number.parse::<u32>().ok().and_then(|_| rest.split_whitespace().nth(38).map(str::to_owned))
    };
    tasks.flatten().filter_map(|task| policy(std::fs::read_to_string(task.path().join("stat")).ok()?)).collect()
}

#[test]
fn so_many_workers_as_should_run_stand_ready() {
    for count in [3, 7] {
        let setup = Setup::new().set("gateway.workers.runnable", count.to_string());
        let gateway = setup.set("server.tomcat.threads.min-spare", "1").start();
        wait::until("they have begun", || workers(&gateway).len() == count);
    }
}

#[test]
fn workers_are_scheduled_as_told() {
    for (scheduling, policy) in [("batch", "3"), ("normal", "0")] {
        let gateway = Setup::new().set("gateway.workers.scheduling", scheduling).start();
        wait::until("every worker has its policy", || {
            let workers = workers(&gateway);
            !workers.is_empty() && workers.iter().all(|known| known == policy)
        });
    }
}

#[test]
fn management_listens_where_it_is_told_to() {
    let port = free_port();
    let setup =
        Setup::new().set("management.server.port", port.to_string()).set("management.server.address", "127.0.0.3");
    let gateway = setup.start();
    assert_eq!(gateway.management(), SocketAddr::from(([127, 0, 0, 3], port)));
    assert_eq!(gateway.manage("/actuator/health").status, 200);
    assert!(RawClient::try_connect(SocketAddr::from(([127, 0, 0, 1], port))).is_err());
    assert_eq!(gateway.get("/actuator/health").status, 404, "not on the main port any more");
}

#[test]
fn the_example_service_runs_inside() {
    let port = free_port();
    let setup = Setup::new().set("gateway.example.port", port.to_string());
    let gateway = setup
        .url_route("product", "/product/**", &format!("http://127.0.0.1:{port}"))
        .set("zuul.routes.product.stripPrefix", "false")
        .start();
    let answer = gateway.get("/product/list");
    assert_eq!(answer.status, 200);
    assert!(
        serde_json::from_slice::<serde_json::Value>(&answer.body).is_ok_and(|json| json.is_array() || json.is_object())
    );
    let mut client = gateway.client();
    assert_eq!(client.request("POST", "/product/upload", "", b"12345").status, 200);
    // HDR-19: what the gateway adds to a head that is just within its limits is not too much for the service.
    let most = (1..100).map(|number| format!("X-Many-{number}: {}\r\n", "v".repeat(60))).collect::<String>();
    client.send(format!("GET /product/list?{} HTTP/1.1\r\nHost: gw.test\r\n{most}\r\n", "q".repeat(8150)));
    assert_eq!(client.response().status, 200);
    let mut slow: Vec<_> = (0..12).map(|_| gateway.client()).collect();
    for client in &mut slow {
        client.send("GET /product/slow?ms=60000 HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    }
    wait::until("all are upstream", || gateway.metric("portcullis_semaphore_in_use", "") == 12.0);
    assert_eq!(client.get("/product/list").status, 200, "slow requests don't hold up others");
    slow.into_iter().for_each(RawClient::reset);
    drop(client);
    gateway.assert_quiet();
}

/// A second way to give routes.
#[test]
fn routes_can_come_from_a_json_file() {
    let (origin, scratch) = (TestOrigin::echoing(), Scratch::new());
    let routes = serde_json::json!({
        "routeDefinitionList": [{"id": "product", "uri": "lb://productRibbon", "order": 0,
            "predicates": [{"name": "Path", "args": {"pattern": "/product/*"}}]}],
        "ribbonDefinitionList": [{"clientName": "productRibbon", "listOfServers": origin.address().to_string()}],
    });
    let file = scratch.write("routes.json", routes.to_string());
    let setup = Setup::new().set("gateway.routes-file", file.display().to_string());
    assert_eq!(setup.start().get("/product/list").text(), "GET /product/list");
}

/// HDR-10: only who is trusted is believed about those before it.
#[test]
fn strangers_are_not_believed() {
    let origin = TestOrigin::echoing();
    for (trusted, expected) in [("127.0.0.0/8, ::1", "6.6.6.6, 127.0.0.1"), ("10.0.0.1", "127.0.0.1")] {
        let gateway = Setup::to(&origin).set("gateway.trusted-proxies", trusted).start();
        let mut client = gateway.client();
        assert_eq!(client.request("GET", "/x", "X-Forwarded-For: 6.6.6.6\r\n", b"").status, 200);
        let seen = origin.requests().pop().expect("it arrived");
        assert_eq!(seen.message.field("X-Forwarded-For").as_deref(), Some(expected));
    }
}

/// PATH-13: for one route, or for all of them but one; the log tells why.
#[test]
fn encoded_delimiters_can_be_refused() {
    let origin = TestOrigin::echoing();
    let setup = Setup::new().url_route("a", "/a/**", &origin.url()).url_route("b", "/b/**", &origin.url());
    let one = setup.clone().set("gateway.encoded-delimiters.a", "reject").start();
    assert_reason(&one.get("/a/x%2Fy"), 400, "bad_request");
    assert!(logged(&one, "/a/x%2Fy").contains("encoded delimiter"));
    assert_eq!(one.get("/b/x%2Fy").text(), "GET /x%2Fy");
    let setup = setup.set("gateway.encoded-delimiters.[*]", "reject").set("gateway.encoded-delimiters.b", "allow");
    let all = setup.start();
    assert_reason(&all.get("/a/x%5cy"), 400, "bad_request");
    assert_eq!(all.get("/b/x%5cy").text(), "GET /x%5cy");
}
