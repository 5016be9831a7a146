//! A scripted origin over raw sockets, and a scripted client, for the tests of this folder.

use super::{Answer, CallError, CallLimits, ConnectionLimit, OutboundRequest, ResolverTable, Server, TlsContext};
use crate::client::{BodyLength, ClientError, Downstream, Woken};
use crate::config::model::{BackendConfig, BackendKind, BalanceConfig, IsolationConfig, Scheme, ServerAddress};
use crate::deadline::Deadline;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::RootCertStore;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Longer than anything here takes, shorter than anybody waits.
pub(super) const LONG: Duration = Duration::from_secs(20);

/// Plays a script on each connection that it accepts.
pub(super) struct Origin {
    pub(super) address: SocketAddr,
    pub(super) accepted: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Origin {
    /// `script` is given the number of the connection, from 0, and its other end.
    pub(super) fn start(script: impl Fn(usize, &mut Peer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, stopped, script) = (accepted.clone(), stop.clone(), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(SeqCst) {
                    return;
                }
                let number = count.fetch_add(1, SeqCst);
                let script = script.clone();
                std::thread::spawn(move || script(number, &mut Peer::new(stream.unwrap())));
            }
        });
        Self { address, accepted, stop }
    }

    /// Answers each request on each connection with the same octets.
    pub(super) fn answering(answer: &'static str) -> Self {
        Self::start(move |_, peer| {
            while peer.head().is_some() {
                peer.send(answer)
            }
        })
    }

    pub(super) fn accepted(&self) -> usize {
        self.accepted.load(SeqCst)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

/// The origin's end of a connection.
pub(super) struct Peer {
    pub(super) stream: TcpStream,
    buffer: Vec<u8>,
}

impl Peer {
    fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    /// The next request head; `None` when the connection was closed.
    pub(super) fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                let rest = self.buffer.split_off(end + 4);
                let head = std::mem::replace(&mut self.buffer, rest);
                return Some(String::from_utf8_lossy(&head).into_owned());
            }
            if !self.more() {
                return None;
            }
        }
    }

    /// So many octets more; fewer when the connection was closed.
    pub(super) fn body(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length && self.more() {}
        let rest = self.buffer.split_off(length.min(self.buffer.len()));
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Whether the gateway closed the connection without sending any more.
    pub(super) fn is_closed(&mut self) -> bool {
        !self.more()
    }

    pub(super) fn send(&mut self, octets: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(octets.as_ref());
    }

    /// Closes with a reset.
    pub(super) fn reset(&mut self) {
        socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }

    fn more(&mut self) -> bool {
        let mut octets = [0; 4096];
        match self.stream.read(&mut octets) {
            Ok(0) | Err(_) => false,
            Ok(count) => {
                self.buffer.extend_from_slice(&octets[..count]);
                true
            }
        }
    }
}

/// What a client does next.
#[derive(Debug)]
pub(super) enum Step {
    /// Delivers octets.
    Data(&'static [u8]),
    /// Delivers so many octets of filling.
    Fill(usize),
    /// Delivers nothing until it is waited for.
    Pause,
    /// Delivers nothing until then, while the upstream says nothing either.
    Until(Deadline),
    /// Delivers nothing until the upstream can be read.
    UntilReadable,
    /// The same for ever.
    UntilAnswer,
    /// Fails.
    Fail(ClientError),
}

/// A client with a script.
pub(super) struct TestClient {
    pub(super) length: BodyLength,
    pub(super) steps: VecDeque<Step>,
    pub(super) interims: Vec<(u16, String)>,
    pub(super) on_interim: Option<Box<dyn FnMut()>>,
    pub(super) deaf: bool,
}

impl TestClient {
    pub(super) fn new(length: BodyLength, steps: impl IntoIterator<Item = Step>) -> Self {
        Self { length, steps: steps.into_iter().collect(), interims: Vec::new(), on_interim: None, deaf: false }
    }

    pub(super) fn silent() -> Self {
        Self::new(BodyLength::None, [])
    }
}

impl Downstream for TestClient {
    fn length(&self) -> BodyLength {
        self.length
    }

    fn read_now(&mut self, into: &mut [u8]) -> Result<Option<usize>, ClientError> {
        match self.steps.pop_front() {
            None => Ok(Some(0)),
            Some(Step::Data(octets)) => {
                let count = octets.len().min(into.len());
                into[..count].copy_from_slice(&octets[..count]);
                if count < octets.len() {
                    self.steps.push_front(Step::Data(&octets[count..]));
                }
                Ok(Some(count))
            }
            Some(Step::Fill(left)) => {
                let count = left.min(into.len());
                into[..count].fill(b'x');
                if count < left {
                    self.steps.push_front(Step::Fill(left - count));
                }
                Ok(Some(count))
            }
            Some(Step::Fail(error)) => Err(error),
            Some(step) => {
                self.steps.push_front(step);
                Ok(None)
            }
        }
    }

    fn wait(&mut self, other: Option<BorrowedFd<'_>>, _: Deadline) -> Result<Woken, ClientError> {
        match self.steps.pop_front() {
            Some(Step::Pause) => return Ok(Woken::Client),
            Some(Step::Until(moment)) => {
                while let Ok(left) = moment.left() {
                    assert_eq!(readable(other.unwrap(), left.unwrap()), 0, "the upstream said something");
                }
                return Ok(Woken::Client);
            }
            Some(Step::UntilReadable) => {}
            Some(Step::UntilAnswer) => self.steps.push_front(Step::UntilAnswer),
            other => panic!("waited for a client that has {other:?}"),
        }
        assert_eq!(readable(other.unwrap(), LONG), 1, "the upstream said nothing");
        Ok(Woken::Other)
    }

    fn interim(&mut self, status: StatusCode, fields: &HeaderMap) -> Result<(), ClientError> {
        if self.deaf {
            return Err(ClientError::Gone);
        }
        let fields = fields.iter().map(|(n, v)| format!("{n}: {}", v.to_str().unwrap())).collect::<Vec<_>>().join("\n");
        self.interims.push((status.as_u16(), fields));
        if let Some(told) = &mut self.on_interim {
            told();
        }
        Ok(())
    }
}

/// 1 when there is something to read within this time, else 0.
fn readable(socket: BorrowedFd<'_>, within: Duration) -> usize {
    let mut fds = [PollFd::from_borrowed_fd(socket, PollFlags::IN)];
    let within = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: within.subsec_nanos().into() };
    poll(&mut fds, Some(&within)).unwrap()
}

/// A backend with the limits of the tests.
pub(super) fn backend(max_per_host: usize) -> BackendConfig {
    BackendConfig {
        id: "svc".into(),
        kind: BackendKind::Service,
        servers: Vec::new(),
        connect_timeout: LONG,
        read_timeout: Some(LONG),
        max_total_connections: 200,
        max_connections_per_host: max_per_host,
        connection_request_timeout: Some(LONG),
        time_to_live: None,
        isolation: IsolationConfig::None,
        thread_pool_key_override: None,
        adaptive: None,
        deadline: None,
        command: Default::default(),
        retry: None,
        verify_tls: true,
        balance: BalanceConfig::default(),
        held_back: 0,
    }
}

pub(super) fn limits() -> CallLimits {
    CallLimits {
        deadline: Deadline::NEVER,
        connect_timeout: LONG,
        read_timeout: Some(LONG),
        connection_request_timeout: Some(LONG),
    }
}

pub(super) fn no_tls() -> TlsContext {
    TlsContext::with_roots(RootCertStore::empty()).unwrap()
}

pub(crate) fn server_at(address: SocketAddr, max: usize, limit: &Arc<ConnectionLimit>) -> Arc<Server> {
    let address = ServerAddress { scheme: Scheme::Http, host: address.ip().to_string(), port: address.port() };
    Server::new(&backend(max), &address, limit.clone(), &ResolverTable::new().unwrap(), &no_tls())
}

pub(super) fn server(origin: &Origin) -> Arc<Server> {
    server_at(origin.address, 50, &ConnectionLimit::new(200))
}

pub(super) fn request(method: &str, target: &'static str, fields: &[(&str, &str)]) -> OutboundRequest {
    let mut map = HeaderMap::new();
    if !fields.iter().any(|(name, _)| *name == "host") {
        map.append(http::header::HOST, HeaderValue::from_static(""));
    }
    for (name, value) in fields {
        map.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    OutboundRequest {
        method: Method::from_bytes(method.as_bytes()).unwrap(),
        target: Bytes::from_static(target.as_bytes()),
        fields: map,
    }
}

/// The whole body.
pub(super) fn drain(answer: &mut Answer) -> Result<String, CallError> {
    let (mut whole, mut octets) = (Vec::new(), [0; 1000]);
    loop {
        match answer.body.read(&mut octets)? {
            0 => return Ok(String::from_utf8_lossy(&whole).into_owned()),
            count => whole.extend_from_slice(&octets[..count]),
        }
    }
}
