//! The body of an answer, read by whichever thread sends it on. It holds its connection until its end, or until it is dropped.

use super::buffers::Input;
use super::cell::{Broken, Wire};
use super::error::{CallError, Fault};
use super::framing::AnswerFraming;
use super::lease::Lease;
use super::{CallMarks, Rest, agent};
use crate::cancel::ShutDown;
use crate::client::ClientError;
use crate::deadline::Deadline;
use crate::phase::{Phase, enter};
use crate::reason::Reason;
use crate::wire::chunked::ChunkDecoder;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How much is decoded ahead when somebody asks whether there is more.
const AHEAD: usize = 8 * 1024;

/// The body of an answer.
///
/// Dropped before its end, it closes the connection; read to its end, it has given the connection back.
pub struct AnswerBody {
    length: Option<u64>,
    source: Option<Box<Source>>,
    ahead: Vec<u8>,
}

struct Source {
    octets: Octets,
    flow: Flow,
    delivered: u64,
    counted: bool,
}

/// Who finds the octets of the body.
enum Octets {
    /// They are the next ones of the connection, after these, up to its length or to the end of the connection.
    Next(Input),
    /// They come in chunks, of which these are the first octets.
    Chunked(Input, ChunkDecoder),
    /// ureq decodes them, or reads them up to the end of the connection.
    Decoded(ureq::BodyReader<'static>),
}

/// The wire of a body.
pub(super) struct Flow {
    pub(super) lease: Lease,
    pub(super) framing: AnswerFraming,
    pub(super) may_reuse: bool,
    pub(super) read_timeout: Option<Duration>,
    pub(super) marks: CallMarks,
    /// Nothing may be waited for.
    pub(super) at_once: bool,
    pub(super) fault: Option<Fault>,
}

impl AnswerBody {
    /// None.
    pub(super) fn empty() -> Self {
        Self { length: Some(0), source: None, ahead: Vec::new() }
    }

    pub(super) fn new(rest: Rest, flow: Flow) -> Self {
        let length = match flow.framing {
            AnswerFraming::Exactly(length) => Some(length),
            _ => None,
        };
        let octets = match (rest, flow.framing) {
            (Rest::Ureq(body), AnswerFraming::Exactly(_)) => Octets::Next(agent::dismiss(body)),
            (Rest::Ureq(body), _) => Octets::Decoded(body.into_reader()),
            (Rest::Here(input), AnswerFraming::Chunked) => Octets::Chunked(input, ChunkDecoder::of_answer()),
            (Rest::Here(input), _) => Octets::Next(input),
        };
        let source = Source { octets, flow, delivered: 0, counted: false };
        Self { length, source: Some(Box::new(source)), ahead: Vec::new() }
    }

    /// The length of the whole body, when it was announced.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Whether the next [`Self::read`] will not wait: octets are here, or the end, or a failure.
    pub fn has_buffered(&mut self) -> bool {
        let Some(source) = &mut self.source else { return true };
        if !self.ahead.is_empty() || source.flow.fault.is_some() {
            return true;
        }
        match &source.octets {
            Octets::Next(input) => !input.unread().is_empty(),
            Octets::Chunked(..) | Octets::Decoded(_) => self.decode_ahead(),
        }
    }

    /// Reads some octets, waiting for them up to the read timeout; 0 means that the body is complete. `into` must not be empty.
    ///
    /// # Errors
    /// [`Reason::UpstreamAborted`] when the body was cut, [`Reason::Timeout`], [`Reason::UpstreamBadResponse`] for broken framing, or
    /// a client error when the switch of [`Self::shut_down_handle`] was thrown. Nothing can be read afterwards.
    pub fn read(&mut self, into: &mut [u8]) -> Result<usize, CallError> {
        if !self.ahead.is_empty() {
            let count = into.len().min(self.ahead.len());
            into[..count].copy_from_slice(&self.ahead[..count]);
            self.ahead.drain(..count);
            return Ok(count);
        }
        let Some(source) = &mut self.source else { return Ok(0) };
        match source.read(into) {
            Ok(count) => {
                if source.is_delivered() || count == 0 {
                    self.source = None;
                }
                Ok(count)
            }
            Err(fault) => {
                if !std::mem::replace(&mut source.counted, true) {
                    source.flow.lease.server().failed(fault.reason);
                }
                source.flow.fault = Some(fault.clone());
                Err(fault.with(source.flow.marks))
            }
        }
    }

    /// What ends the exchange from another thread, to be armed while the body is sent on; `None` when the connection is given back. It
    /// replaces one that was given out before, and does nothing when it is thrown after the end.
    pub fn shut_down_handle(&mut self) -> Option<Arc<dyn ShutDown>> {
        let link = self.source.as_mut()?.flow.lease.link().ok()?;
        Some(link.begin())
    }

    /// Decodes what is here, which for a chunked body is the only way to know whether it holds anything.
    fn decode_ahead(&mut self) -> bool {
        let Some(source) = &mut self.source else { return true };
        self.ahead.resize(AHEAD, 0);
        source.flow.at_once = true;
        let decoded = source.read(&mut self.ahead);
        source.flow.at_once = false;
        self.ahead.truncate(*decoded.as_ref().unwrap_or(&0));
        match decoded {
            Ok(count) if source.is_delivered() || count == 0 => self.source = None,
            Ok(_) => {}
            Err(fault) if fault == would_wait() => return false,
            Err(fault) => source.flow.fault = Some(fault),
        }
        true
    }
}

impl std::fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerBody").field("length", &self.length).field("at_end", &self.source.is_none()).finish()
    }
}

impl Source {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, Fault> {
        if let Some(fault) = self.flow.fault.take() {
            return Err(fault);
        }
        let count = match &mut self.octets {
            Octets::Next(input) => self.flow.next(input, self.delivered, into)?,
            Octets::Chunked(input, decoder) => self.flow.chunked(input, decoder, into)?,
            Octets::Decoded(reader) => agent::decode(reader, &mut self.flow, into)?,
        };
        self.delivered += count as u64;
        Ok(count)
    }

    /// Whether the whole body was delivered; then the connection is settled without anybody asking for the end.
    fn is_delivered(&mut self) -> bool {
        let (input, whole) = match &self.octets {
            Octets::Next(input) => (input, self.flow.framing == AnswerFraming::Exactly(self.delivered)),
            Octets::Chunked(input, decoder) => (input, decoder.ended()),
            Octets::Decoded(_) => return false,
        };
        // What is left over is no part of this answer, and nobody asked for another.
        if whole && self.flow.may_reuse && input.unread().is_empty() {
            self.flow.lease.settle();
        }
        whole
    }
}

impl Flow {
    /// The next octets of a body that is not chunked, of which `delivered` were read.
    fn next(&mut self, input: &mut Input, delivered: u64, into: &mut [u8]) -> Result<usize, Fault> {
        let most = match self.framing {
            AnswerFraming::Exactly(length) => usize::try_from(length - delivered).unwrap_or(usize::MAX).min(into.len()),
            _ => into.len(),
        };
        match input.read(&mut into[..most]) {
            0 => self.receive(&mut into[..most]),
            count => Ok(count),
        }
    }

    /// The next octets of a chunked body; 0 at its end.
    fn chunked(&mut self, input: &mut Input, decoder: &mut ChunkDecoder, into: &mut [u8]) -> Result<usize, Fault> {
        loop {
            let decoded =
                decoder.decode(input.unread(), into).map_err(|error| Fault::bad_response(error.to_string()))?;
            input.used(decoded.used);
            if decoded.written > 0 || decoded.ended {
                return Ok(decoded.written);
            }
            self.receive_more(input)?;
        }
    }

    /// Receives at least one octet; 0 is the end of a body that has no other.
    fn receive(&mut self, into: &mut [u8]) -> Result<usize, Fault> {
        let link = self.lease.link()?;
        let received = if self.at_once {
            link.receive_now(into)
        } else {
            let _phase = enter(Phase::Upstream);
            link.receive(into, Deadline::after_some(self.read_timeout))
        };
        let cut = !matches!(received, Ok(1..)) && link.was_cut();
        match received {
            _ if cut => Err(Fault::client(ClientError::Gone)),
            Ok(0) if self.framing != AnswerFraming::UntilClose => Err(Fault::aborted("closed inside the body")),
            Ok(count) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(would_wait()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(Fault::read_timeout("the read timeout passed inside the body"))
            }
            Err(error) => Err(Fault::io(&error, "inside the body")),
        }
    }

    fn receive_more(&mut self, input: &mut Input) -> Result<bool, Fault> {
        let space = input.space();
        if space.is_empty() {
            return Err(Fault::bad_response("the chunked body holds too long a line"));
        }
        let count = self.receive(space)?;
        input.received(count);
        Ok(count > 0)
    }
}

impl Wire for Flow {
    fn send(&mut self, _: &[u8]) -> Result<(), Broken> {
        self.fault = Some(Fault::new(Reason::Internal, "octets to send after the answer"));
        Err(Broken)
    }

    fn fill(&mut self, input: &mut Input) -> Result<bool, Broken> {
        self.receive_more(input).map_err(|fault| {
            self.fault = Some(fault);
            Broken
        })
    }

    fn settle(&mut self) -> bool {
        if self.may_reuse {
            self.lease.settle();
        }
        self.may_reuse
    }

    fn is_tls(&self) -> bool {
        self.lease.server().is_tls()
    }

    fn longest_line(&self) -> usize {
        0
    }
}

/// Not a failure: what [`AnswerBody::has_buffered`] wants to know.
fn would_wait() -> Fault {
    Fault::new(Reason::Timeout, "nothing is here")
}
