//! Sending a request: the head and the first octets of the body together, then the body as the client delivers it.
//!
//! All the while the upstream is listened to: an answer that comes early ends the upload, and what it says is not lost when the upstream
//! closes right behind it. What the client does not deliver is waited for together with the upstream, and that time does not count.

use super::buffers::Input;
use super::error::Fault;
use super::exchange::Exchange;
use super::framing::RequestFraming;
use super::lease::Lease;
use crate::client::{ClientError, Woken};
use crate::deadline::{Deadline, Stopwatch};
use crate::phase::{Phase, enter};
use rustix::event::PollFlags;
use std::io::{self, Write};

/// How much of a body is taken at a time.
const SEGMENT: usize = 16 * 1024;

/// Octets on their way up; a thread keeps the buffers between its calls.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// The head, then octets of the body: kept until more of the body is taken, so that they can be sent again.
    pub(super) octets: Vec<u8>,
    sent: usize,
    /// Some octet was written to the connection.
    pub(super) written: bool,
    /// Octets of the body that were taken from the client.
    pub(super) taken: u64,
    /// The whole request is in, or has gone through, `octets`.
    complete: bool,
    segment: Vec<u8>,
}

/// What the client had to give.
enum Taken {
    Something,
    Nothing,
    Last,
}

impl Outgoing {
    /// Ready for the next request.
    pub(super) fn clear(&mut self) {
        self.octets.clear();
        (self.sent, self.written, self.taken, self.complete) = (0, false, 0, false);
    }

    /// Ready to be sent once more, on another connection.
    pub(super) fn again(&mut self) {
        (self.sent, self.written) = (0, false);
    }

    fn append(&mut self, count: usize, framing: RequestFraming) {
        if self.sent == self.octets.len() {
            self.octets.clear();
            self.sent = 0;
        }
        let data = &self.segment[..count];
        if framing == RequestFraming::Chunked {
            // Writing to a vector cannot fail.
            let _ = write!(self.octets, "{count:x}\r\n");
            self.octets.extend_from_slice(data);
            self.octets.extend_from_slice(b"\r\n");
        } else {
            self.octets.extend_from_slice(data);
        }
        self.taken += count as u64;
    }

    fn append_last_chunk(&mut self) {
        self.octets.extend_from_slice(b"0\r\n\r\n");
        self.complete = true;
    }

    fn send_now(&mut self, lease: &mut Lease) -> Result<io::Result<()>, Fault> {
        let link = lease.link()?;
        while self.sent < self.octets.len() {
            match link.send_now(&self.octets[self.sent..]) {
                Ok(count) => {
                    self.sent += count;
                    self.written = true;
                }
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(link.flush_now())
    }
}

impl Exchange<'_> {
    /// Sends head and body. True when the answer began before everything was sent.
    pub(super) fn send_request(&mut self, input: &mut Input) -> Result<bool, Fault> {
        loop {
            let mut taken = self.take_body()?;
            // Small pieces that are here already leave together.
            while matches!(taken, Taken::Something) && self.outgoing.octets.len() < SEGMENT {
                taken = self.take_body()?;
            }
            if self.push(input)? {
                return Ok(true);
            }
            let answered = match taken {
                Taken::Last => return Ok(false),
                Taken::Nothing => self.wait_for_client(input)?,
                Taken::Something => self.has_answered(input)?,
            };
            if answered {
                return Ok(true);
            }
        }
    }

    /// Adds what the client has to what is to be sent.
    fn take_body(&mut self) -> Result<Taken, Fault> {
        let outgoing = &mut *self.outgoing;
        if outgoing.complete || !self.framing.has_body() {
            return Ok(Taken::Last);
        }
        let room = match self.framing {
            RequestFraming::Exactly(length) => usize::try_from(length - outgoing.taken).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        outgoing.segment.resize(SEGMENT, 0);
        match self.down.read_now(&mut outgoing.segment[..room.min(SEGMENT)]).map_err(Fault::client)? {
            None => return Ok(Taken::Nothing),
            // The announced length is not reached: only a container that failed to say so can end like that.
            Some(0) if self.framing != RequestFraming::Chunked => return Err(Fault::client(ClientError::Gone)),
            Some(0) => outgoing.append_last_chunk(),
            Some(count) => {
                outgoing.append(count, self.framing);
                outgoing.complete = count == room;
            }
        }
        Ok(if outgoing.complete { Taken::Last } else { Taken::Something })
    }

    /// Sends what is to be sent. True when the answer began meanwhile.
    fn push(&mut self, input: &mut Input) -> Result<bool, Fault> {
        loop {
            let lease = self.progress.lease.as_mut();
            let lease = lease.ok_or_else(|| Fault::new(crate::reason::Reason::Internal, "nothing to send on"))?;
            match self.outgoing.send_now(lease)? {
                Ok(()) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.wait_for_room(input)? {
                        return Ok(true);
                    }
                }
                Err(error) => return self.last_words(input, &error),
            }
        }
    }

    /// Waits until more can be sent. True when the answer began instead.
    fn wait_for_room(&mut self, input: &mut Input) -> Result<bool, Fault> {
        let by = self.next_io();
        let ready = {
            let _phase = enter(Phase::Upstream);
            self.lease()?.link()?.wait(PollFlags::IN | PollFlags::OUT, by)
        };
        match ready {
            Ok(ready) if ready == PollFlags::OUT => Ok(false),
            Ok(_) => self.listen(input),
            Err(error) => Err(self.io_fault(&error, "sending the request")),
        }
    }

    /// The upstream takes no more: it may have said why before.
    fn last_words(&mut self, input: &mut Input, error: &io::Error) -> Result<bool, Fault> {
        let fault = self.io_fault(error, "sending the request");
        if fault.client.is_none() && self.listen(input).unwrap_or(false) {
            return Ok(true);
        }
        Err(fault)
    }

    /// Waits for the client with nothing left to send, which stops the clock. True when the answer began instead.
    fn wait_for_client(&mut self, input: &mut Input) -> Result<bool, Fault> {
        let watch = Stopwatch::start();
        let lease = self.progress.lease.as_mut();
        let lease = lease.ok_or_else(|| Fault::new(crate::reason::Reason::Internal, "nothing to wait on"))?;
        let woken = {
            let _phase = enter(Phase::Client);
            self.down.wait(Some(lease.link()?.fd()), Deadline::NEVER)
        };
        let waited = watch.elapsed();
        self.deadline = self.deadline.later_by(waited);
        self.client_waited += waited;
        match woken.map_err(Fault::client)? {
            Woken::Other => self.listen(input),
            Woken::Client | Woken::Expired => Ok(false),
        }
    }

    /// Whether the answer has begun while there was always something to send.
    fn has_answered(&mut self, input: &mut Input) -> Result<bool, Fault> {
        if !self.lease()?.link()?.is_readable() {
            return Ok(false);
        }
        self.listen(input)
    }
}
