//! A client that sends what it is told, octet for octet, and takes nothing but well-formed answers.
//!
//! Every wait ends after [`wait::PATIENCE`], which fails the test; a complaint about the grammar of an answer fails it at once.

use super::message::{End, Kind, Message, show};
use super::socket::{Input, readable_within, reset_on_close};
use super::wait;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// One connection to the gateway.
pub(crate) struct RawClient {
    socket: TcpStream,
    input: Input,
    interims: Vec<Message>,
}

impl RawClient {
    /// Connects.
    #[track_caller]
    pub(crate) fn connect(to: SocketAddr) -> Self {
        Self::try_connect(to).expect("the gateway accepts")
    }

    /// Connects, if somebody accepts.
    pub(crate) fn try_connect(to: SocketAddr) -> std::io::Result<Self> {
        let socket = TcpStream::connect_timeout(&to, wait::PATIENCE)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(wait::PATIENCE))?;
        Ok(Self { socket, input: Input::default(), interims: Vec::new() })
    }

    /// The socket, for options of its own.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Sends octets.
    #[track_caller]
    pub(crate) fn send(&mut self, octets: impl AsRef<[u8]>) {
        self.try_send(octets).expect("the gateway takes what is sent");
    }

    /// Sends octets, if the gateway still takes them.
    pub(crate) fn try_send(&mut self, octets: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.socket.write_all(octets.as_ref())
    }

    /// Sends octets one at a time.
    #[track_caller]
    pub(crate) fn drip(&mut self, octets: impl AsRef<[u8]>, every: Duration) {
        for octet in octets.as_ref() {
            self.send([*octet]);
            wait::pace(every);
        }
    }

    /// Sends a GET and reads its answer.
    #[track_caller]
    pub(crate) fn get(&mut self, target: &str) -> Message {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\n\r\n"));
        self.response()
    }

    /// Sends a request with a sized body and reads its answer; `fields` are whole lines.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, target: &str, fields: &str, body: &[u8]) -> Message {
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        self.send(format!("{method} {target} HTTP/1.1\r\nHost: gw.test\r\n{fields}{length}\r\n"));
        self.send(body);
        self.response_to(method)
    }

    /// Reads exactly one final answer to a GET, POST or the like.
    #[track_caller]
    pub(crate) fn response(&mut self) -> Message {
        self.response_to("GET")
    }

    /// Reads exactly one final answer to this method; interim ones are kept apart.
    #[track_caller]
    pub(crate) fn response_to(&mut self, method: &str) -> Message {
        match self.answer_or_end(method) {
            Ok(message) => message,
            Err(end) => panic!("no whole answer, {end:?} instead; received: {}", show(&self.input.octets, 400)),
        }
    }

    /// Reads one final answer, or the end of the connection before it was whole. What came of it stays to be read.
    #[track_caller]
    pub(crate) fn answer_or_end(&mut self, method: &str) -> Result<Message, End> {
        let kind = Kind::Response(method.into());
        loop {
            if let Some(message) = Message::parse(&self.input.octets, 0, &kind, self.input.ended) {
                assert!(message.problems.is_empty(), "the gateway's answer: {:?}", message.problems);
                if message.complete {
                    self.input.octets.drain(..message.end);
                    if message.status >= 200 || message.status == 101 {
                        return Ok(message);
                    }
                    self.interims.push(message);
                    continue;
                }
            }
            if let Some(end) = self.input.ended {
                return Err(end);
            }
            self.receive();
        }
    }

    /// Waits until the head of an answer to a GET is there and returns the answer as far as it came, without taking it.
    #[track_caller]
    pub(crate) fn wait_for_head(&mut self) -> Message {
        self.wait_for_body("", |_| true)
    }

    /// Waits until the body of the answer begins to hold `text`.
    #[track_caller]
    pub(crate) fn wait_for_text(&mut self, text: &str) -> Message {
        self.wait_for_body(text, |message| message.text().contains(text))
    }

    /// Waits until an interim answer with this status came; a final one fails the test.
    #[track_caller]
    pub(crate) fn wait_for_interim(&mut self, status: u16) {
        let kind = Kind::Response(b"GET".to_vec());
        let message = loop {
            if let Some(message) = Message::parse(&self.input.octets, 0, &kind, self.input.ended) {
                break message;
            }
            assert!(self.input.ended.is_none(), "closed before an interim answer came");
            self.receive();
        };
        assert_eq!((message.status, &message.problems), (status, &Vec::new()));
        self.input.octets.drain(..message.end);
        self.interims.push(message);
    }

    /// The interim answers so far.
    pub(crate) fn interims(&self) -> &[Message] {
        &self.interims
    }

    /// Reads until the gateway closes; what came and was not taken as an answer, and how it ended.
    #[track_caller]
    pub(crate) fn read_to_end(&mut self) -> (Vec<u8>, End) {
        while self.input.ended.is_none() {
            self.receive();
        }
        (std::mem::take(&mut self.input.octets), self.input.ended.expect("ended"))
    }

    /// Checks that the gateway closes in order, without another octet.
    #[track_caller]
    pub(crate) fn assert_closed(&mut self) {
        let (octets, end) = self.read_to_end();
        assert_eq!((show(&octets, 200).as_str(), end), ("", End::Fin));
    }

    /// Checks that the connection is still good for a request.
    #[track_caller]
    pub(crate) fn assert_open(&mut self) {
        let answer = self.get("/still-open");
        assert!(answer.complete, "{}", show(&answer.head, 200));
    }

    /// Whether the gateway closed so far, or octets came that nobody asked for.
    pub(crate) fn has_news(&mut self) -> bool {
        self.input.ended.is_some() || !self.input.octets.is_empty() || readable_within(&self.socket, Duration::ZERO)
    }

    /// Closes the sending half.
    pub(crate) fn half_close(&self) {
        self.socket.shutdown(Shutdown::Write).expect("the connection is open");
    }

    /// Leaves by force.
    pub(crate) fn reset(self) {
        reset_on_close(&self.socket);
    }

    /// Waits until the answer, as far as it came, is `enough`; `what` says what for.
    #[track_caller]
    pub(crate) fn wait_for_body(&mut self, what: &str, enough: impl Fn(&Message) -> bool) -> Message {
        let kind = Kind::Response(b"GET".to_vec());
        loop {
            let so_far = Message::parse(&self.input.octets, 0, &kind, self.input.ended);
            if let Some(message) = so_far.filter(&enough) {
                assert!(message.problems.is_empty(), "the gateway's answer: {:?}", message.problems);
                return message;
            }
            let received = show(&self.input.octets, 400);
            assert!(self.input.ended.is_none(), "closed before {what:?} came; received: {received}");
            self.receive();
        }
    }

    #[track_caller]
    fn receive(&mut self) {
        let end = Instant::now() + wait::PATIENCE;
        while !readable_within(&self.socket, wait::PATIENCE) {
            assert!(Instant::now() < end, "nothing came; received so far: {}", show(&self.input.octets, 400));
        }
        self.input.receive(&self.socket);
    }
}
