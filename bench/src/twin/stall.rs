//! Gaps that are too long: a timer that is armed only while nothing moves, and a client's socket that breaks when its writes stall.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// How long nothing may move. It costs a timer only where something is waited for.
pub(super) struct Gap {
    longest: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    armed: bool,
}

impl Gap {
    pub(super) fn of(longest: Option<Duration>) -> Self {
        Self { longest, timer: None, armed: false }
    }

    /// Something moved.
    pub(super) fn moved(&mut self) {
        self.armed = false;
    }

    /// Ready when nothing moved for too long; to be polled where nothing moves.
    pub(super) fn poll_passed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(longest) = self.longest else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(longest)));
        if !self.armed {
            timer.as_mut().reset(Instant::now() + longest);
            self.armed = true;
        }
        timer.as_mut().poll(cx)
    }
}

/// A client's connection: who does not read for too long loses it.
pub(super) struct Stalling {
    stream: TcpStream,
    gap: Gap,
}

impl Stalling {
    pub(super) fn new(stream: TcpStream, longest: Duration) -> Self {
        Self { stream, gap: Gap::of(Some(longest)) }
    }

    fn bounded<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.gap.moved();
            return outcome;
        }
        ready!(self.gap.poll_passed(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl AsyncRead for Stalling {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Stalling {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, octets);
        self.bounded(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.bounded(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
