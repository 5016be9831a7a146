//! The status table: each way in which a request can fail, with its status, its reason in header and body, and what it must not be.
//!
//! ISO-15: one row, one test. Nothing here is 500, which is for the gateway's own faults.

use crate::support::gateway::{Container, Setup, TestGateway, assert_reason, for_both_containers};
use crate::support::message::{End, Message};
use crate::support::origin::{TestOrigin, answer};
use crate::support::socket::DEAD;
use crate::support::wait;

for_both_containers!(
    an_unknown_path_is_404,
    a_refused_connect_is_502,
    an_unknown_name_is_502,
    a_failed_handshake_is_502,
    a_reset_instead_of_an_answer_is_502,
    a_close_instead_of_an_answer_is_502,
    an_answer_that_is_no_http_is_502,
    an_answer_in_no_time_is_504,
    a_service_without_servers_is_503,
    an_answer_of_the_upstream_is_passed_on_whatever_it_says,
    an_upload_is_never_repeated,
    a_cut_answer_is_an_abort_and_never_whole,
    own_answers_to_head_have_no_body,
    errors_look_like_springs,
    compat_mode_answers_as_zuul_did,
    compat_mode_has_zuuls_word_for_what_upstreams_do,
    compat_mode_has_zuuls_word_for_what_is_full,
    compat_mode_has_the_forms_of_spring,
    compat_mode_waits_for_a_connection_to_a_service,
    compat_mode_passes_no_cut_body_off_as_whole,
    compat_mode_holds_back_what_may_still_break_off,
    interim_answers_are_no_answers,
);

fn an_unknown_path_is_404(container: Container) {
    let origin = TestOrigin::echoing();
    let gateway = Setup::new().container(container).url_route("svc", "/svc/**", &origin.url()).start();
    for target in ["/", "/svcx", "/SVC/1", "/other"] {
        assert_reason(&gateway.get(target), 404, "no_route");
    }
    gateway.assert_quiet();
}

fn a_refused_connect_is_502(container: Container) {
    let gateway = Setup::new().container(container).url_route("up", "/**", &format!("http://{DEAD}")).start();
    assert_reason(&gateway.get("/"), 502, "connect_failed");
    gateway.assert_quiet();
}

fn an_unknown_name_is_502(container: Container) {
    let gateway = Setup::new().container(container).url_route("up", "/**", "http://no-such-host.invalid:9").start();
    assert_reason(&gateway.get("/"), 502, "connect_failed");
    gateway.assert_quiet();
}

fn a_failed_handshake_is_502(container: Container) {
    let origin = TestOrigin::scripted(|talk| {
        talk.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    });
    let url = format!("https://{}", origin.address());
    let gateway = Setup::new().container(container).url_route("up", "/**", &url).start();
    assert_reason(&gateway.get("/"), 502, "connect_failed");
    gateway.assert_quiet();
}

fn a_reset_instead_of_an_answer_is_502(container: Container) {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.reset();
    });
    let gateway = Setup::to(&origin).container(container).start();
    assert_reason(&gateway.get("/"), 502, "upstream_aborted");
    gateway.assert_quiet();
}

fn a_close_instead_of_an_answer_is_502(container: Container) {
    let origin = TestOrigin::scripted(|talk| drop(talk.read_request()));
    let gateway = Setup::to(&origin).container(container).start();
    assert_reason(&gateway.get("/"), 502, "upstream_aborted");
    assert_eq!(origin.requests().len(), 1, "a fresh connection is not tried twice");
    gateway.assert_quiet();
}

fn an_answer_that_is_no_http_is_502(container: Container) {
    let answers: [&[u8]; 6] = [
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: nine\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ];
    for octets in answers {
        let origin = TestOrigin::scripted(move |talk| {
            talk.read_request();
            talk.send(octets);
        });
        let gateway = Setup::to(&origin).container(container).start();
        let answer = gateway.get("/");
        assert_eq!(answer.status, 502, "{}", octets.escape_ascii());
        assert_reason(&answer, 502, "upstream_bad_response");
        gateway.assert_quiet();
    }
}

fn an_answer_in_no_time_is_504(container: Container) {
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.stall_until_closed();
    });
    let gateway = Setup::to(&origin).container(container).set("zuul.host.socketTimeoutMillis", "150").start();
    assert_reason(&gateway.get("/"), 504, "timeout");
    gateway.assert_quiet();
}

fn a_service_without_servers_is_503(container: Container) {
    let setup =
        Setup::new().container(container).set("zuul.routes.svc.path", "/**").set("zuul.routes.svc.serviceId", "svc");
    let gateway = setup.set("svc.ribbon.listOfServers", "").start();
    assert_reason(&gateway.get("/"), 503, "no_server");
    gateway.assert_quiet();
}

/// CONN-08, CB-02: a status is an answer.
fn an_answer_of_the_upstream_is_passed_on_whatever_it_says(container: Container) {
    let origin = TestOrigin::answering(|request| {
        let status = crate::support::message::latin1(&request.target[1..]);
        answer(&format!("{status} Whatever"), "Retry-After: 3\r\nX-Own: 1\r\n", b"mine")
    });
    let gateway = Setup::to_service(&origin).container(container).start();
    let mut client = gateway.client();
    for status in [201, 299, 400, 401, 404, 418, 429, 500, 502, 503, 504, 599] {
        let answer = client.get(&format!("/{status}"));
        assert_eq!((answer.status, answer.text().as_str()), (status, "mine"));
        assert_eq!((answer.field("Retry-After").as_deref(), answer.field("X-Gateway-Reason")), (Some("3"), None));
    }
    drop(client);
    gateway.assert_quiet();
}

/// CONN-01, CONN-04: on a kept connection that died, a POST that was read is answered with 502, once.
fn an_upload_is_never_repeated(container: Container) {
    let origin = TestOrigin::scripted(|talk| {
        if talk.read_request().is_some() {
            talk.send(crate::support::origin::ok(b"first"));
        }
        drop(talk.read_request());
    });
    let gateway = Setup::to(&origin).container(container).set("server.tomcat.max-threads", "1").start();
    let mut client = gateway.client();
    assert_eq!(client.get("/").status, 200);
    assert_reason(&client.request("POST", "/once", "", b"hello"), 502, "upstream_aborted");
    let posts = origin.requests().into_iter().filter(|recorded| recorded.message.method == b"POST");
    assert_eq!(posts.count(), 1);
    drop(client);
    gateway.assert_quiet();
}

/// BODY-18, CONN-11: sized, chunked and close-delimited; cut by a close and by a reset.
fn a_cut_answer_is_an_abort_and_never_whole(container: Container) {
    let cuts: [(&str, bool); 6] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npartial", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npartial", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\npartial\r\n", false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n70\r\npartial", false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\npartial\r\n0\r\n", false),
        ("HTTP/1.1 200 OK\r\n\r\npartial", true),
    ];
    for (octets, by_force) in cuts {
        let (cut, gate) = crossbeam_channel::bounded(1);
        let origin = TestOrigin::scripted(move |talk| {
            talk.read_request();
            talk.send(octets);
            talk.wait_for(&gate);
            if by_force {
                talk.reset();
            }
        });
        let gateway = Setup::to(&origin).container(container).start();
        let mut client = gateway.client();
        client.send("GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        client.wait_for_text("partial");
        cut.send(()).expect("the origin waits");
        let end = client.answer_or_end("GET");
        assert!(end.is_err(), "{octets:?} by force {by_force} looks whole: {end:?}");
        let (rest, _) = client.read_to_end();
        assert!(!rest.ends_with(b"0\r\n\r\n"), "a terminator was made up for {octets:?}");
        gateway.assert_quiet();
    }
}

/// BODY-14.
fn own_answers_to_head_have_no_body(container: Container) {
    let gateway = Setup::new().container(container).start();
    let mut client = gateway.client();
    let answer = client.request("HEAD", "/nowhere", "", b"");
    assert_eq!((answer.status, answer.field("X-Gateway-Reason").as_deref()), (404, Some("no_route")));
    let (rest, end) = {
        client.half_close();
        client.read_to_end()
    };
    assert_eq!((rest.len(), end), (0, End::Fin));
}

fn errors_look_like_springs(container: Container) {
    let gateway = Setup::new().container(container).start();
    let answer = gateway.get("/a%22b?q=1");
    assert!(answer.field("Content-Type").is_some_and(|kind| kind.starts_with("application/json")));
    let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    let keys: Vec<_> = body.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["timestamp", "status", "error", "message", "path", "reason"]);
    assert_eq!((&body["status"], &body["error"], &body["path"]), (&404.into(), &"Not Found".into(), &"/a%22b".into()));
}

/// Statuses and messages of a running Zuul 1, told to those who are meant to see them.
fn compat_mode_answers_as_zuul_did(container: Container) {
    const MILLIS: &str = "execution.isolation.thread.timeoutInMilliseconds";
    let origin = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.stall_until_closed();
    });
    let setup = Setup::new().container(container).set("gateway.compat", "zuul1");
    let setup = setup.service_route("slow", "/slow/**", &[&origin]).set("slow.ribbon.ReadTimeout", "150");
    let setup = setup.service_route("late", "/late/**", &[&origin]).set("late.ribbon.ReadTimeout", "60000");
    let setup = setup.set(format!("hystrix.command.late.{MILLIS}"), "150");
    let threads = setup.service_route("pooled", "/pooled/**", &[&origin]).set("pooled.ribbon.ReadTimeout", "60000");
    let threads = threads.set("hystrix.command.pooled.execution.isolation.strategy", "THREAD");
    let setup = threads.set(format!("hystrix.command.pooled.{MILLIS}"), "150");
    let (release, gate) = crossbeam_channel::unbounded();
    let gated = TestOrigin::gated(gate);
    let setup = setup.service_route("full", "/full/**", &[&gated]).set("full.ribbon.ReadTimeout", "60000");
    let setup = setup.set("hystrix.command.full.execution.isolation.semaphore.maxConcurrentRequests", "1");
    let setup = setup.set("zuul.routes.dead.path", "/dead/**").set("zuul.routes.dead.serviceId", "dead");
    let setup = setup.set("dead.ribbon.listOfServers", DEAD).url_route("url", "/url/**", &format!("http://{DEAD}"));
    let gateway = setup.clone().set("server.error.include-message", "always").start();
    let check = |gateway: &TestGateway, target: &str, status: u16, message: &str| {
        let answer = gateway.get(target);
        let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!(
            (answer.status, &body["message"], &body["path"]),
            (status, &message.into(), &().into()),
            "{target}: {body}"
        );
    };
    check(&gateway, "/dead/1", 500, "GENERAL");
    check(&gateway, "/slow/1", 504, "com.netflix.zuul.exception.ZuulException: Hystrix Readed time out");
    check(&gateway, "/late/1", 500, "TIMEOUT");
    check(&gateway, "/pooled/1", 500, "TIMEOUT");
    let mut busy = gateway.client();
    busy.send("GET /full/1 HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    gated.wait_for_requests(1);
    check(&gateway, "/full/2", 500, "REJECTED_SEMAPHORE_EXECUTION");
    release.send(()).expect("the origin waits");
    assert_eq!(busy.response().text(), "released");
    check(&gateway, "/url/1", 500, &format!("Connect to {DEAD} [/127.0.0.1] failed: Connection refused"));
    gateway.assert_quiet();
    check(&setup.clone().start(), "/dead/1?message=true", 500, "");
    let on_param = setup.set("server.error.include-message", "on-param").start();
    check(&on_param, "/dead/1", 500, "");
    check(&on_param, "/dead/1?message=true", 500, "GENERAL");
}

/// Status and message of Zuul's error body.
#[track_caller]
fn told(answer: &Message) -> (u16, String) {
    let body: serde_json::Value = serde_json::from_slice(&answer.body).expect("the error body is JSON");
    (answer.status, body["message"].as_str().expect("a message").to_owned())
}

/// A7, rows "no server in list", "upstream closes without answer", "upstream answers garbage", "read timeout". What differs: HttpClient
/// sends a GET of a url route four times, here it is sent once, as a POST is there.
fn compat_mode_has_zuuls_word_for_what_upstreams_do(container: Container) {
    let mute = TestOrigin::scripted(|talk| drop(talk.read_request()));
    let garbling = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.send("garbage\r\n\r\n");
    });
    let silent = TestOrigin::scripted(|talk| {
        talk.read_request();
        talk.stall_until_closed();
    });
    let setup = Setup::new().container(container).set("gateway.compat", "zuul1");
    let setup = setup.set("server.error.include-message", "always").set("zuul.host.socketTimeoutMillis", "150");
    let setup = setup.url_route("mute", "/mute/**", &mute.url()).url_route("garbling", "/garbling/**", &garbling.url());
    let setup = setup.url_route("silent", "/silent/**", &silent.url());
    let setup = setup.service_route("svc-mute", "/svc/mute/**", &[&mute]);
    let setup = setup.service_route("svc-garbling", "/svc/garbling/**", &[&garbling]);
    let setup = setup.service_route("nobody", "/svc/nobody/**", &[]).set("nobody.ribbon.listOfServers", "");
    let gateway = setup.start();
    let no_answer = format!("{} failed to respond", mute.address());
    for (method, target, message) in [
        ("GET", "/mute/1", no_answer.as_str()),
        ("POST", "/mute/1", no_answer.as_str()),
        ("GET", "/garbling/1", "Forwarding error"),
        ("GET", "/silent/1", "Read timed out"),
        ("GET", "/svc/mute/1", "GENERAL"),
        ("GET", "/svc/garbling/1", "GENERAL"),
        ("GET", "/svc/nobody/1", "GENERAL"),
    ] {
        let answer = gateway.client().request(method, target, "", b"");
        assert_eq!(told(&answer), (500, message.to_owned()), "{method} {target}");
    }
    assert_eq!(mute.requests().len(), 3, "each is sent once");
    gateway.assert_quiet();
}

/// A7, rows "THREAD pool full" and "pool wait exceeded".
fn compat_mode_has_zuuls_word_for_what_is_full(container: Container) {
    let (release, gate) = crossbeam_channel::unbounded();
    let origin = TestOrigin::gated(gate);
    let setup = Setup::new().container(container).set("gateway.compat", "zuul1");
    let setup = setup.set("server.error.include-message", "always").set("zuul.host.maxPerRouteConnections", "1");
    let setup = setup.set("zuul.host.connectionRequestTimeoutMillis", "100").url_route("url", "/url/**", &origin.url());
    let setup = setup.service_route("pooled", "/pooled/**", &[&origin]).set("pooled.ribbon.ReadTimeout", "60000");
    let setup = setup.set("zuul.ribbonIsolationStrategy", "THREAD").set("hystrix.threadpool.default.coreSize", "1");
    let gateway = setup.set("hystrix.command.default.execution.timeout.enabled", "false").start();
    for (target, message) in
        [("/pooled/1", "REJECTED_THREAD_EXECUTION"), ("/url/1", "Timeout waiting for connection from pool")]
    {
        let before = origin.requests().len();
        let mut busy = gateway.client();
        busy.send(format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\n\r\n"));
        origin.wait_for_requests(before + 1);
        assert_eq!(told(&gateway.get(target)), (500, message.to_owned()), "{target}");
        assert_eq!(origin.requests().len(), before + 1, "{target}: it was not sent");
        release.send(()).expect("the origin waits");
        assert_eq!(busy.response().text(), "released");
        drop(busy);
        gateway.assert_quiet();
    }
}

/// A7: a page for browsers, nothing for who wants neither, to HEAD the fields of a GET; and a path where there is no route. What differs:
/// no `Vary` (nothing here varies by Origin), and the connection goes on.
fn compat_mode_has_the_forms_of_spring(container: Container) {
    let setup = Setup::new().container(container).set("gateway.compat", "zuul1");
    let gateway = setup.url_route("dead", "/dead/**", &format!("http://{DEAD}")).start();
    let mut client = gateway.client();
    let mut ask = |method: &str, target: &str, fields: &str| client.request(method, target, fields, b"");
    let plain = ask("GET", "/dead/1", "");
    assert_eq!(told(&plain), (500, String::new()));
    assert_eq!(plain.field("Content-Type").as_deref(), Some("application/json"));
    let head = ask("HEAD", "/dead/1", "");
    assert_eq!((head.status, head.body.len()), (500, 0));
    for name in ["Content-Type", "Content-Length", "X-Gateway-Reason"] {
        assert_eq!(head.field(name), plain.field(name), "{name}");
    }
    let page = ask("GET", "/dead/1", "Accept: text/html\r\n");
    assert_eq!((page.status, page.field("Content-Type").as_deref()), (500, Some("text/html;charset=UTF-8")));
    assert!(page.text().contains("500 Internal Server Error"), "{}", page.text());
    let empty = ask("GET", "/dead/1", "Accept: application/xml\r\n");
    assert_eq!((empty.status, empty.field("Content-Length").as_deref()), (500, Some("0")));
    let missing = ask("GET", "/other", "");
    let body: serde_json::Value = serde_json::from_slice(&missing.body).expect("JSON");
    let keys: Vec<_> = body.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["timestamp", "status", "error", "message", "path"]);
    let values = (missing.status, &body["error"], &body["message"], &body["path"], missing.field("Vary"));
    assert_eq!(values, (404, &"Not Found".into(), &"".into(), &"/other".into(), None));
    let asked_for = ask("GET", "/error", "");
    let body: serde_json::Value = serde_json::from_slice(&asked_for.body).expect("JSON");
    let values = (asked_for.status, &body["status"], &body["error"], body.get("path"));
    assert_eq!(values, (500, &999.into(), &"None".into(), None));
    let page = ask("GET", "/error", "Accept: text/html\r\n");
    assert_eq!((page.status, page.text().contains("999 None")), (500, true), "{}", page.text());
    drop(client);
    gateway.assert_quiet();
}

/// A7, row "pool wait exceeded": a service's connection is waited for, whatever the key of the url routes says.
fn compat_mode_waits_for_a_connection_to_a_service(container: Container) {
    let (release, gate) = crossbeam_channel::unbounded();
    let origin = TestOrigin::gated(gate);
    let setup = Setup::to_service(&origin).container(container).set("gateway.compat", "zuul1");
    let setup = setup.set("zuul.host.connectionRequestTimeoutMillis", "1").set("up.ribbon.MaxConnectionsPerHost", "1");
    let gateway = setup.set("up.ribbon.ReadTimeout", "60000").start();
    let mut both = [gateway.client(), gateway.client()];
    both[0].send("GET /1 HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    origin.wait_for_requests(1);
    both[1].send("GET /2 HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    wait::until("the second waits", || gateway.metric("portcullis_upstream_connections_pending", "up") == 1.0);
    for client in &mut both {
        release.send(()).expect("the origin waits");
        assert_eq!(client.response().text(), "released");
    }
    drop(both);
    gateway.assert_quiet();
}

/// A7, rows "body cut" and "body stalled". The one place where `zuul1` does not do as Zuul: 200 with a proper end would pass a part off
/// as the whole.
fn compat_mode_passes_no_cut_body_off_as_whole(container: Container) {
    let origin = TestOrigin::scripted(|talk| {
        let request = talk.read_request().expect("a request");
        talk.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789");
        if request.target == b"/stalled" {
            talk.stall_until_closed();
        }
    });
    let setup =
        Setup::new().container(container).set("gateway.compat", "zuul1").url_route("url", "/url/**", &origin.url());
    let setup = setup.set("zuul.host.socketTimeoutMillis", "150").set("svc.ribbon.ReadTimeout", "150");
    let gateway = setup.service_route("svc", "/svc/**", &[&origin]).start();
    for target in ["/url/cut", "/url/stalled", "/svc/stalled"] {
        let mut client = gateway.client();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\n\r\n"));
        let end = client.answer_or_end("GET");
        assert!(end.is_err(), "{target} looks whole: {end:?}");
        gateway.assert_quiet();
    }
}

/// A7, row "body cut" of a service: what breaks off in its first 8 KiB becomes Zuul's 500. What comes slowly, is longer or has no length
/// is passed on as ever.
fn compat_mode_holds_back_what_may_still_break_off(container: Container) {
    let (release, gate) = crossbeam_channel::unbounded();
    let origin = TestOrigin::scripted(move |talk| {
        let request = talk.read_request().expect("a request");
        let cut_after = |octets| format!("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n{}", "x".repeat(octets));
        match &request.target[..] {
            b"/early" => drop(talk.send(cut_after(8191))),
            b"/late" => drop(talk.send(cut_after(8192))),
            b"/slow" => {
                talk.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\none");
                talk.wait_for(&gate);
                talk.send("two");
            }
            _ => {
                talk.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
                talk.wait_for(&gate);
                talk.send("0\r\n\r\n");
            }
        }
    });
    let setup = Setup::to_service(&origin).container(container).set("gateway.compat", "zuul1");
    let gateway = setup.set("up.ribbon.ReadTimeout", "60000").start();
    let early = gateway.get("/early");
    assert_eq!(told(&early), (500, String::new()));
    assert_eq!(early.field("X-Gateway-Reason").as_deref(), Some("upstream_aborted"));
    let mut client = gateway.client();
    client.send("GET /late HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    let end = client.answer_or_end("GET");
    assert!(end.is_err(), "a part looks whole: {end:?}");
    let mut client = gateway.client();
    client.send("GET /stream HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    client.wait_for_text("one");
    release.send(()).expect("the origin waits");
    assert_eq!(client.response().text(), "one");
    client.send("GET /slow HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    release.send(()).expect("the origin waits");
    let answer = client.response();
    assert_eq!((answer.status, answer.text().as_str()), (200, "onetwo"));
    if container == Container::Native {
        client.send("GET /slow HTTP/1.1\r\nHost: gw.test\r\n\r\n");
        origin.wait_for_requests(5);
        client.reset();
        // Who left while the head was held back holds nothing, upstream neither.
        gateway.assert_quiet();
        wait::until("the origin is let go", || origin.open_connections() == 0);
    } else {
        drop(client);
        gateway.assert_quiet();
    }
}

/// SMUG-08: any number of them, and an end after them is no answer.
fn interim_answers_are_no_answers(container: Container) {
    let interims = "HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 30\r\n\r\n";
    let origin = TestOrigin::scripted(move |talk| {
        while let Some(request) = talk.read_request() {
            talk.send(interims);
            if request.target == b"/dies" {
                return;
            }
            talk.send(crate::support::origin::ok(b"final"));
        }
    });
    let gateway = Setup::to(&origin).container(container).start();
    let mut client = gateway.client();
    for _ in 0..2 {
        let answer = client.get("/");
        assert_eq!((answer.status, answer.text().as_str()), (200, "final"));
    }
    assert_eq!(gateway.get("/dies").status, 502);
    drop(client);
    gateway.assert_quiet();
}
