//! The backend of the probes: keeps what it was asked and answers as the path says.
//!
//! | path ends in | it |
//! |---|---|
//! | `/echo` | answers a short text, with its length |
//! | `/chunked` | answers the same in chunks |
//! | `/status/NNN` | answers with that status |
//! | `/hop`, `/cookies` | answers with fields of one hop, with cookies |
//! | `/hold` | answers when it is told to |
//! | `/never` | does not answer |
//! | `/close`, `/cut` | closes before an answer, inside its body |

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

/// A request as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) method: String,
    pub(super) target: String,
    /// Names in lower case.
    pub(super) fields: HeaderMap,
    pub(super) body: Bytes,
    /// Whether the body came to its end.
    pub(super) whole: bool,
}

/// What was asked so far.
#[derive(Default)]
pub(super) struct Recorder {
    seen: Mutex<Vec<Seen>>,
    came: Notify,
    released: Notify,
}

impl Recorder {
    /// Forgets everything.
    pub(super) fn begin(&self) {
        self.seen.lock().clear();
    }

    /// What came since.
    pub(super) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock())
    }

    /// Waits until a request has come.
    pub(super) async fn has_come(&self) {
        loop {
            let came = self.came.notified();
            if !self.seen.lock().is_empty() {
                return;
            }
            came.await;
        }
    }

    /// Lets the request that is held go.
    pub(super) fn release(&self) {
        self.released.notify_one();
    }

    async fn record(&self, request: Request<Incoming>) -> Seen {
        let (parts, mut incoming) = request.into_parts();
        let target = parts.uri.path_and_query().map_or("", |target| target.as_str()).to_owned();
        let mut seen = Seen { method: parts.method.to_string(), target, fields: parts.headers, ..Seen::default() };
        let mut body = Vec::new();
        seen.whole = loop {
            match incoming.frame().await {
                Some(Ok(frame)) => body.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
                Some(Err(_)) => break false,
                None => break true,
            }
        };
        seen.body = body.into();
        self.seen.lock().push(seen.clone());
        self.came.notify_waiters();
        seen
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Parts>, io::Error> {
        let seen = self.record(request).await;
        if !seen.whole {
            return Err(io::Error::other("the request broke off"));
        }
        let path = seen.target.split('?').next().unwrap_or_default();
        let (above, last) = path.rsplit_once('/').unwrap_or_default();
        let hello = || Parts::sized(b"hello, world");
        Ok(match last {
            "chunked" => with(Parts::pieces(&[b"hello, ", b"world"]), &[("x-answer", "chunked")]),
            "hop" => with(hello(), &[("connection", "x-link"), ("x-link", "ours"), ("keep-alive", "timeout=9")]),
            "cookies" => with(hello(), &[("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x-two", "1"), ("x-two", "2")]),
            "hold" => {
                self.released.notified().await;
                with(hello(), &[])
            }
            "never" => std::future::pending().await,
            "close" => return Err(io::Error::other("as asked")),
            "cut" => with(Parts::cut(b"hello, "), &[]),
            code if above.ends_with("/status") => {
                let status = StatusCode::from_bytes(code.as_bytes()).unwrap_or(StatusCode::NOT_IMPLEMENTED);
                let bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
                let body = if bodiless { Parts::default() } else { Parts::sized(b"as asked") };
                let mut answer = with(body, &[("location", "http://elsewhere.test/x?y"), ("etag", "\"1\"")]);
                *answer.status_mut() = status;
                answer
            }
            _ => {
                with(hello(), &[("content-type", "text/plain"), ("server", "recorder"), ("cache-control", "no-cache")])
            }
        })
    }
}

/// Serves on `runtime` for as long as that lives.
pub(super) fn serve(runtime: &Runtime, listener: TcpListener, recorder: Arc<Recorder>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, recorder.clone()));
        }
    });
    Ok(())
}

async fn connection(stream: TcpStream, recorder: Arc<Recorder>) {
    let answer = service_fn(move |request| {
        let recorder = recorder.clone();
        async move { recorder.answer(request).await }
    });
    // A connection that ends early is part of some probes.
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await);
}

fn with(body: Parts, fields: &[(&'static str, &'static str)]) -> Response<Parts> {
    let mut answer = Response::new(body);
    for (name, value) in fields {
        answer.headers_mut().append(*name, HeaderValue::from_static(value));
    }
    answer
}

/// A body in pieces, which may break off.
#[derive(Default)]
struct Parts {
    pieces: VecDeque<&'static [u8]>,
    length: Option<u64>,
    breaks_off: bool,
}

impl Parts {
    fn sized(octets: &'static [u8]) -> Self {
        Self { pieces: [octets].into(), length: Some(octets.len() as u64), breaks_off: false }
    }

    fn pieces(pieces: &[&'static [u8]]) -> Self {
        Self { pieces: pieces.iter().copied().collect(), length: None, breaks_off: false }
    }

    fn cut(octets: &'static [u8]) -> Self {
        Self { breaks_off: true, ..Self::pieces(&[octets]) }
    }
}

impl Body for Parts {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Poll::Ready(match self.pieces.pop_front() {
            Some(piece) => Some(Ok(Frame::data(Bytes::from_static(piece)))),
            None if self.breaks_off => Some(Err(io::Error::other("as asked"))),
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty() && !self.breaks_off
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.length.map_or_else(Default::default, http_body::SizeHint::with_exact)
    }
}
