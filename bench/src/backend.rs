//! A backend that is never the bottleneck: one thread, one epoll, answers prepared beforehand.
//!
//! It knows two paths: `/product/slow` is answered after a delay, every other one at once. It reads no bodies and checks nothing: it is the
//! other end of a measurement, not a server. It prints the port that the system picked, and ends with its parent (end of standard input).

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const LISTENER: u64 = u64::MAX;
const PARENT: u64 = u64::MAX - 1;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 48\r\n\r\n\
    [{\"id\":1,\"name\":\"anvil\"},{\"id\":2,\"name\":\"rope\"}]";

struct Backend {
    epoll: std::os::fd::OwnedFd,
    listener: TcpListener,
    connections: HashMap<u64, TcpStream>,
    next: u64,
    delay: Duration,
    /// Answers that are due later; the delay is the same for all, so the order is that of arrival.
    due: VecDeque<(Instant, u64)>,
}

/// Serves until standard input ends.
pub(crate) fn serve(delay: Duration) -> io::Result<()> {
    let listener = listen()?;
    writeln!(io::stdout(), "listening on {}", listener.local_addr()?)?;
    listener.set_nonblocking(true)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
    epoll::add(&epoll, io::stdin(), epoll::EventData::new_u64(PARENT), epoll::EventFlags::IN)?;
    Backend { epoll, listener, connections: HashMap::new(), next: 0, delay, due: VecDeque::new() }.run()
}

/// A listener with a long backlog on a port that the system picks.
fn listen() -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(10_000)?;
    Ok(socket.into())
}

impl Backend {
    fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(512);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), self.patience().as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match { event.data }.u64() {
                    PARENT => return Ok(()),
                    LISTENER => self.accept(),
                    id => self.read(id),
                }
            }
            self.answer_due();
        }
    }

    /// Until the first answer is due; no bound when none is.
    fn patience(&self) -> Option<Timespec> {
        let (due, _) = self.due.front()?;
        let left = due.saturating_duration_since(Instant::now());
        // Rounded up to the millisecond: epoll would otherwise spin through the last fraction of it.
        let left = Duration::from_millis(left.as_millis() as u64 + 1);
        Timespec::try_from(left).ok()
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let id = self.next;
            self.next += 1;
            let ready = stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true));
            let added = epoll::add(&self.epoll, &stream, epoll::EventData::new_u64(id), epoll::EventFlags::IN);
            if ready.is_ok() && added.is_ok() {
                self.connections.insert(id, stream);
            }
        }
    }

    /// A load generator's request arrives whole, one at a time: what a read returns is a request.
    fn read(&mut self, id: u64) {
        let Some(stream) = self.connections.get_mut(&id) else { return };
        let mut head = [0; 4096];
        match stream.read(&mut head) {
            Ok(n) if n > 0 && head[..n].starts_with(b"GET /product/slow") => {
                self.due.push_back((Instant::now() + self.delay, id));
            }
            Ok(n) if n > 0 => self.answer(id),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => drop(self.connections.remove(&id)),
        }
    }

    fn answer_due(&mut self) {
        let now = Instant::now();
        while let Some(&(due, id)) = self.due.front()
            && due <= now
        {
            self.due.pop_front();
            self.answer(id);
        }
    }

    fn answer(&mut self, id: u64) {
        let sent = self.connections.get_mut(&id).map(|stream| stream.write(ANSWER));
        if !matches!(sent, Some(Ok(n)) if n == ANSWER.len()) {
            self.connections.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_tells_its_true_length() {
        let text = std::str::from_utf8(ANSWER).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a body");
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
    }
}
