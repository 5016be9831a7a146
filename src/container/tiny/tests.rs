//! The container over real sockets: what `tiny_http` does to a connection can only be seen there.

use super::*;
use crate::client::{Client, Ending, Refused, Request};
use crate::example::Example;
use crate::metrics::{Sink, Timer};
use crate::reason::Reason;
use crossbeam_channel::Sender;
use std::collections::HashMap;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown as How, TcpStream};
use std::time::Instant;

/// The example service, and paths that do what a handler should not need to.
struct Scripted {
    example: Example,
    seen: Mutex<Vec<String>>,
    refused: Mutex<Vec<Reason>>,
    entered: Sender<()>,
    release: Receiver<()>,
}

impl Handler for Scripted {
    type Local = Vec<u8>;

    fn local(&self) -> Vec<u8> {
        Vec::new()
    }

    fn serve(&self, local: &mut Vec<u8>, request: Request, client: &mut dyn Client) -> Ending {
        let path = String::from_utf8_lossy(request.head.path()).into_owned();
        self.seen.lock().push(path.clone());
        match path.as_str() {
            "/panic" => panic!("on purpose"),
            "/early" => self.example.serve(local, Request { head: list_head(&request), ..request }, client),
            "/cut/sized" => cut(client, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nabc"),
            "/cut/chunked" => cut(client, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
            "/cut/whole" => cut(client, "HTTP/1.1 200 OK\r\n\r\nabc"),
            "/silent" => Ending::Done,
            "/hold" => {
                self.entered.send(()).unwrap();
                let _ = self.release.recv_timeout(BOUND);
                self.example.serve(local, Request { head: list_head(&request), ..request }, client)
            }
            "/pause" => {
                self.entered.send(()).unwrap();
                let target = crate::wire::testing::request("GET /product/slow?ms=60000 HTTP/1.1\r\nHost: a");
                self.example.serve(local, Request { head: target, ..request }, client)
            }
            _ => self.example.serve(local, request, client),
        }
    }

    fn refused(&self, refusal: &Refused) {
        self.refused.lock().push(refusal.reason);
    }
}

/// The same request for the list, its body left alone.
fn list_head(request: &Request) -> crate::wire::head::RequestHead {
    let text = String::from_utf8_lossy(request.head.octets()).into_owned();
    let fields = text.split_once("\r\n").unwrap().1.trim_end();
    crate::wire::testing::request(&format!("{} /product/list HTTP/1.1\r\n{fields}", request.head.method()))
}

fn cut(client: &mut dyn Client, octets: &str) -> Ending {
    client.may_persist();
    client.write(&mut [IoSlice::new(octets.as_bytes())]).unwrap();
    Ending::Abort
}

/// Longer than anything takes, so that a fault fails instead of hanging.
const BOUND: Duration = Duration::from_secs(20);

struct Setup {
    front: TinyFront,
    handler: Arc<Scripted>,
    entered: Receiver<()>,
    release: Sender<()>,
}

fn config() -> TinyConfig {
    TinyConfig { address: ([127, 0, 0, 1], 0).into(), max_threads: 4, ..TinyConfig::main(&Config::default()) }
}

fn start(config: TinyConfig) -> Setup {
    let ((entered, entered_end), (release, release_end)) = (unbounded(), unbounded());
    let handler = Arc::new(Scripted {
        example: Example::new(),
        seen: Mutex::default(),
        refused: Mutex::default(),
        entered,
        release: release_end,
    });
    let front = TinyFront::start(config, handler.clone()).unwrap();
    Setup { front, handler, entered: entered_end, release }
}

impl Setup {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.front.local_addr()).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.set_write_timeout(Some(BOUND)).unwrap();
        stream
    }

    /// Sends `octets` on a connection of their own and reads until it ends.
    fn exchange(&self, octets: &[u8]) -> (String, Option<ErrorKind>) {
        let mut stream = self.connect();
        stream.write_all(octets).unwrap();
        read_to_end(&mut stream)
    }

    fn saw(&self, path: &str) -> usize {
        self.handler.seen.lock().iter().filter(|seen| *seen == path).count()
    }

    /// Ends the container and looks whether all came back.
    fn finish(self) {
        let common = self.front.common.clone();
        assert!(self.front.drain(Deadline::after(BOUND)), "everything was finished");
        assert_eq!((common.meters.busy.get(), common.meters.waiting.get()), (0, 0));
        assert_eq!(*common.threads.alive.lock(), 0);
    }
}

fn read_to_end(stream: &mut TcpStream) -> (String, Option<ErrorKind>) {
    let mut octets = Vec::new();
    let error = stream.read_to_end(&mut octets).err().map(|e| e.kind());
    (String::from_utf8_lossy(&octets).into_owned(), error)
}

/// Reads one answer that has a Content-Length.
fn read_answer(stream: &mut TcpStream) -> String {
    let mut octets = Vec::new();
    while !octets.ends_with(b"\r\n\r\n") {
        let mut one = [0];
        stream.read_exact(&mut one).unwrap();
        octets.push(one[0]);
    }
    let head = String::from_utf8(octets).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).map_or(0, |n| n.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    head + &String::from_utf8_lossy(&body)
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or(answer)
}

fn wait_for(what: &str, done: impl Fn() -> bool) {
    let by = Deadline::after(BOUND);
    while !done() {
        assert!(!by.has_passed(), "{what}");
        std::thread::yield_now();
    }
}

const GET: &str = "GET /product/list HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn connections_persist_and_head_has_no_body() {
    let setup = start(config());
    let mut stream = setup.connect();
    for _ in 0..3 {
        stream.write_all(GET.as_bytes()).unwrap();
        assert!(read_answer(&mut stream).ends_with("4300.0}]"));
    }
    stream.write_all(b"HEAD /product/list HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let (answer, error) = read_to_end(&mut stream);
    assert!(answer.ends_with("Content-Length: 126\r\nConnection: close\r\n\r\n") && error.is_none(), "{answer}");
    let (answer, error) = setup.exchange(b"GET /product/list HTTP/1.0\r\n\r\n");
    assert!(answer.contains("Connection: close\r\n") && error.is_none());
    setup.finish();
}

#[test]
fn pipelined_answers_come_in_order() {
    let setup = start(config());
    let slow = "GET /product/slow?ms=30 HTTP/1.1\r\nHost: a\r\n\r\n";
    let post = "POST /product/upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    let last = "GET /get?last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let (answers, _) = setup.exchange([slow, post, GET, last].concat().as_bytes());
    let places: Vec<_> =
        ["Portcullis", "ba7816bf", "Drawbridge", "last"].map(|part| answers.rfind(part).unwrap()).into();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 4);
    assert!(places[1] < places[2] && places[2] < places[3], "{places:?}");
    setup.finish();
}

#[test]
fn smuggled_requests_are_never_served() {
    let setup = start(config());
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let length = smuggled.len();
    for fields in [
        format!("Host: a\r\nContent-Length: {length}, {length}\r\n"),
        format!("Host: a\r\nContent-Length: +{length}\r\n"),
        format!("Host: a\r\nContent-Length: 0x{length}\r\n"),
        format!("Host: a\r\nContent-Length: 0\r\nContent-Length: {length}\r\n"),
        format!("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        "Host: a\r\nTransfer-Encoding: identity\r\n".into(),
        "Host: a\r\nTransfer-Encoding: xchunked\r\n".into(),
        "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n".into(),
        "Host: a\r\nX: a\nTransfer-Encoding: chunked\r\n".into(),
        "Host: a\r\nX: a\0b\r\n".into(),
        "X: a\r\n".into(),
        "Host: a\r\nHost: b\r\n".into(),
    ] {
        let (answer, _) = setup.exchange(format!("POST /x HTTP/1.1\r\n{fields}\r\n{smuggled}").as_bytes());
        assert_eq!(status(&answer), "400", "{fields:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{fields:?}: {answer}");
    }
    assert_eq!((setup.saw("/x"), setup.saw("/smuggled")), (0, 0));
    wait_for("refused", || setup.handler.refused.lock().len() == 12);
    setup.finish();
}

#[test]
fn the_rest_of_a_body_is_never_taken_for_a_request() {
    let setup = start(TinyConfig { max_swallow_size: Some(8), ..config() });
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let chunk = format!("{:x}\r\n{smuggled}\r\n0\r\n\r\n", smuggled.len());
    let chunked = format!("POST /early HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{smuggled}");
    let (answer, _) = setup.exchange(chunked.as_bytes());
    assert!(answer.contains("Connection: close\r\n") && answer.matches("HTTP/1.1").count() == 1, "{answer}");
    let broken =
        format!("POST /product/upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{smuggled}");
    let (answer, _) = setup.exchange(broken.as_bytes());
    assert_eq!((status(&answer), answer.matches("HTTP/1.1").count()), ("400", 1), "{answer}");
    let folded = format!("POST /early HTTP/1.1\r\nHost: a\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\n{smuggled}");
    let (answer, _) = setup.exchange(folded.as_bytes());
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    assert_eq!((setup.saw("/early"), setup.saw("/product/upload"), setup.saw("/smuggled")), (2, 1, 0));
    setup.finish();
}

#[test]
fn a_small_rest_of_a_body_is_read_and_the_connection_persists() {
    let setup = start(config());
    let mut stream = setup.connect();
    for body in [
        "Content-Length: 2000\r\n\r\n".to_owned() + &"x".repeat(2000),
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".into(),
    ] {
        stream.write_all(format!("POST /early HTTP/1.1\r\nHost: a\r\n{body}{GET}").as_bytes()).unwrap();
        for _ in 0..2 {
            let answer = read_answer(&mut stream);
            assert!(status(&answer) == "200" && !answer.contains("Connection"), "{answer}");
        }
    }
    setup.finish();
}

#[test]
fn a_cut_upload_is_not_answered_as_if_whole() {
    let setup = start(config());
    let big = "x".repeat(2000);
    for rest in [
        format!("Content-Length: 5000\r\n\r\n{big}"),
        format!("Content-Length: 2000\r\nExpect: 100-continue\r\n\r\n{}", &big[1..]),
        format!("Transfer-Encoding: chunked\r\n\r\n1388\r\n{big}"),
        format!("Transfer-Encoding: chunked\r\n\r\n7d0\r\n{big}\r\n"),
    ] {
        let mut stream = setup.connect();
        stream.write_all(format!("POST /product/upload HTTP/1.1\r\nHost: a\r\n{rest}").as_bytes()).unwrap();
        stream.shutdown(How::Write).unwrap();
        let (answer, _) = read_to_end(&mut stream);
        assert!(!answer.contains("HTTP/1.1 200"), "{answer}");
    }
    setup.finish();
}

#[test]
fn uploads_and_downloads_arrive_whole() {
    let setup = start(config());
    let zeros = vec![0; 3_000_000];
    let mut sums = Vec::new();
    let sized = [b"POST /product/upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n", &zeros[..]].concat();
    let mut chunked = b"POST /product/upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for part in zeros.chunks(77_777) {
        chunked.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        chunked.extend_from_slice(part);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let mut stream = setup.connect();
    for request in [sized, chunked] {
        stream.write_all(&request).unwrap();
        let answer = read_answer(&mut stream);
        sums.push(answer.split_once("\r\n\r\n").unwrap().1.to_owned());
    }
    assert!(sums[0].starts_with(r#"{"octets":3000000,"#) && sums[0] == sums[1], "{sums:?}");
    stream.write_all(b"GET /product/bytes?n=5000000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let (answer, error) = read_to_end(&mut stream);
    assert_eq!((answer.split_once("\r\n\r\n").unwrap().1.len(), error), (5_000_000, None));
    setup.finish();
}

#[test]
fn a_100_is_sent_only_when_the_body_is_wanted() {
    let setup = start(config());
    let mut stream = setup.connect();
    stream
        .write_all(b"POST /product/upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        .unwrap();
    assert_eq!(status(&read_answer(&mut stream)), "100");
    stream.write_all(b"abc").unwrap();
    assert!(read_answer(&mut stream).contains("ba7816bf"));
    drop(stream);
    let early = b"POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    let (answer, _) = setup.exchange(early);
    assert!(status(&answer) == "200" && answer.contains("Connection: close\r\n"), "{answer}");
    setup.finish();
}

#[test]
fn a_cut_answer_ends_in_a_reset_and_nothing_follows_it() {
    let setup = start(config());
    for path in ["/cut/sized", "/cut/chunked", "/cut/whole", "/silent"] {
        let mut stream = setup.connect();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n{GET}").as_bytes()).unwrap();
        let (answer, error) = read_to_end(&mut stream);
        assert_eq!(error, Some(ErrorKind::ConnectionReset), "{path}: {answer}");
        assert!(!answer.contains("Portcullis") && !answer.contains("\r\n0\r\n"), "{path}: {answer}");
    }
    setup.finish();
}

#[test]
fn a_panic_costs_its_connection_only() {
    let setup = start(TinyConfig { max_threads: 1, ..config() });
    for _ in 0..2 {
        let (answer, _) = setup.exchange(b"GET /panic HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(status(&answer) == "500" && answer.contains("X-Gateway-Reason: internal\r\n"), "{answer}");
    }
    let mut stream = setup.connect();
    stream.write_all(GET.as_bytes()).unwrap();
    assert_eq!(status(&read_answer(&mut stream)), "200");
    setup.finish();
}

#[test]
fn a_stalled_body_gives_its_worker_back() {
    let patience = Duration::from_millis(50);
    let setup = start(TinyConfig { max_threads: 1, connection_timeout: patience, ..config() });
    for body in ["Content-Length: 2000\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n5\r\nab"] {
        let (answer, _) = setup.exchange(format!("POST /product/upload HTTP/1.1\r\nHost: a\r\n{body}").as_bytes());
        assert_eq!(status(&answer), "408", "{answer}");
    }
    setup.finish();
}

#[test]
fn a_length_that_cannot_be_allocated_does_not_end_the_process() {
    let setup = start(config());
    let (answer, error) =
        setup.exchange(b"POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000000000000000\r\n\r\nabc");
    assert!(answer.is_empty() && error.is_none_or(|e| e == ErrorKind::ConnectionReset), "{answer} {error:?}");
    wait_for("abandoned", || setup.front.common.meters.abandoned.get() == 1);
    let mut stream = setup.connect();
    stream.write_all(GET.as_bytes()).unwrap();
    assert_eq!(status(&read_answer(&mut stream)), "200");
    setup.finish();
}

#[test]
fn beyond_workers_and_queue_connections_are_reset() {
    let setup = start(TinyConfig { max_threads: 1, queue_capacity: 1, ..config() });
    let hold = b"GET /hold HTTP/1.1\r\nHost: a\r\n\r\n";
    let (mut held, mut queued) = (setup.connect(), setup.connect());
    held.write_all(hold).unwrap();
    setup.entered.recv_timeout(BOUND).unwrap();
    queued.write_all(GET.as_bytes()).unwrap();
    wait_for("queued", || setup.front.common.meters.waiting.get() == 1);
    let (answer, error) = setup.exchange(GET.as_bytes());
    assert_eq!((answer.as_str(), error), ("", Some(ErrorKind::ConnectionReset)));
    wait_for("refused", || *setup.handler.refused.lock() == [Reason::QueueFull]);
    setup.release.send(()).unwrap();
    assert_eq!(status(&read_answer(&mut held)), "200");
    assert_eq!(status(&read_answer(&mut queued)), "200");
    setup.finish();
}

#[test]
fn who_waited_too_long_is_refused() {
    let setup = start(TinyConfig { queue_timeout: Duration::ZERO, ..config() });
    let (answer, error) = setup.exchange(GET.as_bytes());
    assert!(status(&answer) == "503" && error.is_none(), "{answer}");
    for part in ["X-Gateway-Reason: queue_timeout\r\n", "Retry-After: ", "Connection: close\r\n"] {
        assert!(answer.contains(part), "{answer}");
    }
    wait_for("refused", || *setup.handler.refused.lock() == [Reason::QueueTimeout]);
    setup.finish();
}

#[test]
fn a_drain_closes_idle_connections_and_finishes_what_runs() {
    let setup = start(config());
    let (mut idle, mut held) = (setup.connect(), setup.connect());
    idle.write_all(GET.as_bytes()).unwrap();
    read_answer(&mut idle);
    held.write_all(b"GET /hold HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    setup.entered.recv_timeout(BOUND).unwrap();
    wait_for("idle", || !setup.front.common.peers.is_running(idle.local_addr().unwrap()));
    setup.front.begin_drain();
    assert_eq!(read_to_end(&mut idle), (String::new(), None));
    assert!(TcpStream::connect(setup.front.local_addr()).is_err());
    setup.release.send(()).unwrap();
    let (answer, error) = read_to_end(&mut held);
    assert!(answer.contains("Connection: close\r\n") && answer.ends_with("]") && error.is_none(), "{answer}");
    setup.finish();
}

#[test]
fn a_drain_cuts_off_what_does_not_end() {
    let setup = start(config());
    let mut stuck = setup.connect();
    stuck.write_all(b"GET /pause HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    setup.entered.recv_timeout(BOUND).unwrap();
    let common = setup.front.common.clone();
    assert!(!setup.front.drain(Deadline::at(Instant::now())));
    let (answer, _) = read_to_end(&mut stuck);
    assert_eq!(answer, "");
    wait_for("threads", || *common.threads.alive.lock() == 0);
}

#[test]
fn a_container_that_is_dropped_leaves_nothing() {
    let setup = start(config());
    let common = setup.front.common.clone();
    let mut idle = setup.connect();
    idle.write_all(GET.as_bytes()).unwrap();
    read_answer(&mut idle);
    let mut stuck = setup.connect();
    stuck.write_all(b"GET /pause HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    setup.entered.recv_timeout(BOUND).unwrap();
    drop(setup.front);
    assert_eq!(read_to_end(&mut idle).0, "");
    assert_eq!(read_to_end(&mut stuck).0, "");
    wait_for("threads", || *common.threads.alive.lock() == 0);
}

/// Values by name and last label.
#[derive(Default)]
struct Told(HashMap<String, f64>);

impl Told {
    fn tell(&mut self, name: &str, labels: &[(&'static str, &str)], value: f64) {
        assert_eq!(labels[0], ("server", "gateway"));
        let label = labels.get(1).map(|(_, value)| format!("{{{value}}}")).unwrap_or_default();
        assert!(self.0.insert(format!("{name}{label}"), value).is_none(), "{name} twice");
    }
}

impl Sink for Told {
    fn gauge(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: f64) {
        self.tell(name, labels, value);
    }

    fn counter(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: u64) {
        self.tell(name, labels, value as f64);
    }

    fn timer(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: &Timer) {
        self.tell(name, labels, value.count() as f64);
    }
}

#[test]
fn everything_is_told() {
    let setup = start(config());
    let told = || {
        let mut told = Told::default();
        setup.front.gauges().collect(&mut told);
        told.0
    };
    let mut held = setup.connect();
    held.write_all(b"GET /hold HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    setup.entered.recv_timeout(BOUND).unwrap();
    wait_for("phases", || told()["portcullis.workers.phase{idle}"] == 3.0);
    assert_eq!(told()["portcullis.workers.phase{running}"], 1.0);
    setup.exchange(b"GET /product/list HTTP/1.1\r\n\r\n");
    setup.release.send(()).unwrap();
    read_answer(&mut held);
    wait_for("all idle", || told()["portcullis.workers.phase{idle}"] == 4.0);
    for (name, value) in [
        ("portcullis.requests.served", 1.0),
        ("portcullis.queue.wait", 2.0),
        ("portcullis.queue.waiting", 0.0),
        ("portcullis.connections.refused{bad_request}", 1.0),
        ("portcullis.connections.refused{queue_full}", 0.0),
        ("portcullis.tiny.accepting", 1.0),
    ] {
        assert_eq!(told()[name], value, "{name}");
    }
    setup.finish();
}

#[test]
fn shortcomings_have_reasons_and_are_told_once() {
    let mut names: Vec<_> = shortcomings().iter().map(|(name, _)| name).collect();
    assert!(shortcomings().iter().all(|(name, reason)| !name.is_empty() && !reason.is_empty()));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), shortcomings().len());
}
