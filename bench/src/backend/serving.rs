//! A backend within a test.

use super::{Counted, listen, run};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A running backend; dropping it closes the parent's end, and the thread is waited for.
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    parent: Option<UnixStream>,
    thread: Option<std::thread::JoinHandle<io::Result<()>>>,
}

impl Serving {
    pub(crate) fn start() -> Self {
        let listener = listen().expect("a port");
        let address = listener.local_addr().expect("an address");
        let (parent, other) = UnixStream::pair().expect("a pair");
        let thread = std::thread::spawn(move || run(listener, other, Duration::from_millis(1), 1));
        Self { address, parent: Some(parent), thread: Some(thread) }
    }

    /// The body of the answer to `request`, which is written in pieces of `size`.
    pub(crate) fn ask(&self, request: &[u8], size: usize) -> String {
        let mut stream = TcpStream::connect(self.address).expect("connected");
        stream.set_nodelay(true).expect("set");
        request.chunks(size).for_each(|piece| stream.write_all(piece).expect("written"));
        body(&mut stream)
    }

    /// What it counted, the connection that asks included.
    pub(crate) fn counted(&self) -> Counted {
        let text = self.ask(b"GET /counters HTTP/1.1\r\n\r\n", 100);
        Counted::read(&text).expect("counters")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.parent.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic").expect("no error");
        }
    }
}

pub(crate) fn body(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let length = stream.read(&mut piece).expect("read");
        assert!(length > 0, "ended early");
        text.extend_from_slice(&piece[..length]);
        let whole = String::from_utf8_lossy(&text);
        if let Some((head, body)) = whole.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).expect("a length");
            if body.len() == length.parse::<usize>().expect("a number") {
                return body.to_owned();
            }
        }
    }
}
