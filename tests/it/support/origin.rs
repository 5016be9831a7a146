//! An upstream that does exactly what its script says, one raw octet at a time if need be, and keeps every request octet for octet.
//!
//! A script is a function over one accepted connection. It reads and writes through [`Talk`], which never waits longer than
//! [`wait::PATIENCE`]. The origin ends with its value: sockets are shut down, threads joined, and a script that panicked fails the test.

use super::message::{End, Framing, Kind, Message};
use super::socket::{Input, listen, readable_within, reset_on_close};
use super::wait;
use crossbeam_channel::Receiver;
use parking_lot::Mutex;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A request and the connection on which it came.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    /// Number of the connection, from 0 in the order of their opening.
    pub(crate) connection: usize,
    /// The request, as far as it was read.
    pub(crate) message: Message,
}

/// The upstream.
pub(crate) struct TestOrigin {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Recorded>>,
    sockets: Mutex<Vec<Weak<TcpStream>>>,
    talks: Mutex<Vec<JoinHandle<()>>>,
    open: AtomicUsize,
    stopped: AtomicBool,
}

impl TestOrigin {
    /// Runs `script` once for each connection, on a thread of its own; the connection closes when it returns.
    pub(crate) fn scripted(script: impl Fn(&mut Talk) + Send + Sync + 'static) -> Self {
        let (listener, address) = listen();
        let shared = Arc::new(Shared::default());
        let (accepting, script) = (shared.clone(), Arc::new(script));
        let acceptor = std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if accepting.stopped.load(SeqCst) {
                    return;
                }
                accepting.clone().begin(socket, script.clone());
            }
        });
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// Answers each request with the octets that `answer` makes, and keeps connections open.
    pub(crate) fn answering(answer: impl Fn(&Message) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::scripted(move |talk| {
            while let Some(request) = talk.read_request() {
                talk.send(answer(&request));
            }
        })
    }

    /// Answers each request with 200 and its own `METHOD target` as the body.
    pub(crate) fn echoing() -> Self {
        Self::answering(|request| {
            let body = [&request.method[..], b" ", &request.target[..]].concat();
            let body = if request.method == b"HEAD" { Vec::new() } else { body };
            ok(&body)
        })
    }

    /// Answers each request only when told to: one answer for each unit that comes over `gate`.
    pub(crate) fn gated(gate: Receiver<()>) -> Self {
        Self::scripted(move |talk| {
            while talk.read_request().is_some() {
                talk.wait_for(&gate);
                talk.send(ok(b"released"));
            }
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://address`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, in the order in which their heads came.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().clone()
    }

    /// The only request so far; another number fails the test.
    #[track_caller]
    pub(crate) fn only_request(&self) -> Message {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "requests at the origin: {requests:?}");
        requests[0].message.clone()
    }

    /// Waits until so many requests have come.
    #[track_caller]
    pub(crate) fn wait_for_requests(&self, count: usize) {
        wait::until("the origin has its requests", || self.shared.requests.lock().len() >= count);
    }

    /// How many connections were opened so far.
    pub(crate) fn connections(&self) -> usize {
        self.shared.sockets.lock().len()
    }

    /// How many of them are open now.
    pub(crate) fn open_connections(&self) -> usize {
        self.shared.open.load(SeqCst)
    }

    /// Ends every connection in order, as an idle timeout of the upstream does.
    pub(crate) fn close_connections(&self) {
        self.shared.shut_down();
        wait::until("the origin's connections are closed", || self.open_connections() == 0);
    }
}

impl Drop for TestOrigin {
    fn drop(&mut self) {
        self.shared.stopped.store(true, SeqCst);
        // Wakes the acceptor, which then sees the flag.
        drop(TcpStream::connect(self.address));
        let mut ended = self.acceptor.take().is_none_or(|acceptor| acceptor.join().is_ok());
        self.shared.shut_down();
        for talk in std::mem::take(&mut *self.shared.talks.lock()) {
            ended &= talk.join().is_ok();
        }
        assert!(ended || std::thread::panicking(), "a script of the origin panicked");
    }
}

impl Shared {
    fn begin(self: Arc<Self>, socket: TcpStream, script: Arc<dyn Fn(&mut Talk) + Send + Sync>) {
        let socket = Arc::new(socket);
        let _ = socket.set_nodelay(true);
        let _ = socket.set_write_timeout(Some(wait::PATIENCE));
        let connection = {
            let mut sockets = self.sockets.lock();
            sockets.push(Arc::downgrade(&socket));
            sockets.len() - 1
        };
        self.open.fetch_add(1, SeqCst);
        let shared = self.clone();
        let talk = std::thread::spawn(move || {
            let mut talk = Talk { shared, socket, input: Input::default(), connection, current: None };
            script(&mut talk);
        });
        self.talks.lock().push(talk);
    }

    fn shut_down(&self) {
        for socket in self.sockets.lock().iter().filter_map(Weak::upgrade) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// One connection from the gateway, in the hands of a script.
pub(crate) struct Talk {
    shared: Arc<Shared>,
    socket: Arc<TcpStream>,
    input: Input,
    /// Number of the connection, from 0 in the order of their opening.
    pub(crate) connection: usize,
    current: Option<usize>,
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, SeqCst);
    }
}

impl Talk {
    /// Reads the next request whole; `None` when the gateway closed instead.
    pub(crate) fn read_request(&mut self) -> Option<Message> {
        self.read_head()?;
        self.read_body()
    }

    /// Reads the next request's head; `None` when the gateway closed instead.
    pub(crate) fn read_head(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = Message::head(&self.input.octets, 0, &Kind::Request) {
                assert!(message.problems.is_empty(), "the gateway's request: {:?}", message.problems);
                let mut requests = self.shared.requests.lock();
                self.current = Some(requests.len());
                requests.push(Recorded { connection: self.connection, message: message.clone() });
                return Some(message);
            }
            if !self.receive() {
                return None;
            }
        }
    }

    /// Reads the rest of the request whose head was read; `None` when it was cut off.
    pub(crate) fn read_body(&mut self) -> Option<Message> {
        loop {
            let message = self.read_some()?;
            if message.complete {
                self.input.octets.drain(..message.end);
                return Some(message);
            }
            if !self.receive() {
                return None;
            }
        }
    }

    /// Waits until so many octets of the body have come.
    #[track_caller]
    pub(crate) fn read_body_up_to(&mut self, octets: usize) {
        while self.read_some().is_some_and(|message| message.body.len() < octets) {
            assert!(self.receive(), "the gateway closed before octet {octets} of the body");
        }
    }

    /// Reads and drops so many octets of the body of the request whose head was read; how many came.
    pub(crate) fn discard(&mut self, octets: usize) -> usize {
        let head = self.read_some().map_or(0, |message| message.end - message.body.len());
        self.input.octets.drain(..head);
        let mut got = 0;
        while got < octets {
            got += std::mem::take(&mut self.input.octets).len();
            if got < octets && !self.receive() {
                break;
            }
        }
        got
    }

    /// The first octet that the gateway sends, which stays to be read; `None` when it closes instead.
    pub(crate) fn peek_octet(&mut self) -> Option<u8> {
        if self.input.octets.is_empty() {
            self.receive();
        }
        self.input.octets.first().copied()
    }

    /// Sends octets; false when the gateway no longer takes them.
    pub(crate) fn send(&mut self, octets: impl AsRef<[u8]>) -> bool {
        (&*self.socket).write_all(octets.as_ref()).is_ok()
    }

    /// Sends octets one at a time.
    pub(crate) fn drip(&mut self, octets: impl AsRef<[u8]>, every: Duration) -> bool {
        octets.as_ref().iter().all(|octet| {
            wait::pace(every);
            self.send([*octet])
        })
    }

    /// Waits until a unit comes over `gate`, or its other end, the gateway's or the test is gone: who waits for nobody any more takes
    /// no unit away from others.
    pub(crate) fn wait_for(&mut self, gate: &Receiver<()>) {
        let end = Instant::now() + wait::PATIENCE;
        while Instant::now() < end && !self.shared.stopped.load(SeqCst) && !self.is_closed() {
            match gate.recv_timeout(Duration::from_millis(20)) {
                Err(crossbeam_channel::RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(_) => return,
            }
        }
    }

    /// Reads and drops until the gateway closes, and says how it did.
    #[track_caller]
    pub(crate) fn stall_until_closed(&mut self) -> End {
        while self.receive() {
            self.input.octets.clear();
        }
        self.input.ended.expect("the gateway closes in the end")
    }

    /// Whether the gateway closed so far.
    pub(crate) fn is_closed(&mut self) -> bool {
        if readable_within(&self.socket, Duration::ZERO) {
            self.input.receive(&self.socket);
        }
        self.input.ended.is_some()
    }

    /// Ends the sending half: the gateway sees the end of what was sent.
    pub(crate) fn half_close(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Makes the end of the connection a reset. The script must return afterwards.
    pub(crate) fn reset(&mut self) {
        reset_on_close(&self.socket);
    }

    fn read_some(&mut self) -> Option<Message> {
        let number = self.current?;
        let message = Message::parse(&self.input.octets, 0, &Kind::Request, self.input.ended)?;
        assert!(message.problems.is_empty(), "the gateway's request: {:?}", message.problems);
        self.shared.requests.lock()[number].message = message.clone();
        Some(message)
    }

    /// Waits for more octets; false at the end of what the gateway sends, or of the test's patience.
    fn receive(&mut self) -> bool {
        if self.input.ended.is_none() && readable_within(&self.socket, wait::PATIENCE) {
            self.input.receive(&self.socket);
            return self.input.ended.is_none();
        }
        false
    }
}

/// A 200 with this body and its length.
pub(crate) fn ok(body: impl AsRef<[u8]>) -> Vec<u8> {
    answer("200 OK", "", body)
}

/// A response with this status, these field lines (each ended by CRLF), a body and its length.
pub(crate) fn answer(status: &str, fields: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A 200 with this body in chunks.
pub(crate) fn chunked(chunks: &[&str]) -> Vec<u8> {
    let mut octets = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in chunks {
        octets.extend(format!("{:x}\r\n{chunk}\r\n", chunk.len()).bytes());
    }
    octets.extend(b"0\r\n\r\n");
    octets
}

/// Whether the request said how long its body is.
pub(crate) fn is_framed(message: &Message) -> bool {
    message.framing != Framing::None
}
