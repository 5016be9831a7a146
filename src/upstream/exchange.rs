//! One request and the head of its answer, whichever client writes the one and reads the other.
//!
//! With the head written, [`Exchange::begin`] takes a connection, sends head and body, and waits until the answer begins. A stale
//! connection is replaced here, once, without the client noticing (see [`Exchange::may_retry`]). Interim heads are relayed here and never
//! reach it. For ureq it is the wire of the call too: ureq writes the head into it and asks for octets, and the first question begins.

use super::buffers::Input;
use super::cell::{Broken, Wire};
use super::error::Fault;
use super::framing::{RequestFraming, announce};
use super::interim::{Beginning, beginning};
use super::lease::{Lease, LeaseLimits};
use super::server::Server;
use super::upload::Outgoing;
use super::{CallLimits, CallMarks};
use crate::cancel::{Armed, Cancel};
use crate::client::{ClientError, Downstream};
use crate::deadline::Deadline;
use crate::phase::{Phase, enter};
use crate::reason::{Cause, Reason};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The most interim heads before an answer.
const INTERIMS: usize = 32;

/// The wire of a call.
pub(super) struct Exchange<'a> {
    pub(super) server: &'a Arc<Server>,
    pub(super) down: &'a mut dyn Downstream,
    pub(super) cancel: &'a Cancel,
    pub(super) limits: &'a CallLimits,
    /// Moves away while the client is waited for.
    pub(super) deadline: Deadline,
    pub(super) framing: RequestFraming,
    pub(super) idempotent: bool,
    /// Of the request head, for ureq's buffer.
    pub(super) longest_line: usize,
    pub(super) outgoing: &'a mut Outgoing,
    pub(super) marks: CallMarks,
    /// By so much the deadline moved away.
    pub(super) client_waited: Duration,
    pub(super) progress: Progress<'a>,
}

/// How far it has come.
#[derive(Default)]
pub(super) struct Progress<'a> {
    // Before the lease, so that no switch is armed for a connection that is back in the pool.
    armed: Option<Armed<'a>>,
    pub(super) lease: Option<Lease>,
    /// Octets of an answer were received.
    seen: bool,
    interims: usize,
    /// So many octets were too few to tell what they begin with.
    looked_at: usize,
    /// The answer came before the request was sent: the rest of it never will be.
    pub(super) early: bool,
    /// What ureq was told of by an error without words.
    pub(super) fault: Option<Fault>,
}

impl Wire for Exchange<'_> {
    fn send(&mut self, octets: &[u8]) -> Result<(), Broken> {
        self.outgoing.octets.extend_from_slice(octets);
        Ok(())
    }

    fn fill(&mut self, input: &mut Input) -> Result<bool, Broken> {
        let outcome = match self.progress.lease {
            Some(_) => self.receive(input),
            None => announce(&mut self.outgoing.octets, self.framing).and_then(|()| self.begin(input)),
        };
        outcome.map(|()| true).map_err(|fault| {
            self.progress.fault = Some(fault);
            Broken
        })
    }

    fn settle(&mut self) -> bool {
        let Some(lease) = &mut self.progress.lease else { return false };
        if !self.progress.early {
            lease.settle();
        }
        !self.progress.early
    }

    fn is_tls(&self) -> bool {
        self.server.is_tls()
    }

    fn longest_line(&self) -> usize {
        self.longest_line
    }
}

impl Exchange<'_> {
    /// The connection, once it has served: nothing can end it from outside any more.
    pub(super) fn take_lease(&mut self) -> Option<Lease> {
        self.progress.armed = None;
        self.progress.lease.take()
    }

    /// Takes a connection, sends the request, whose head is written, and waits until the final head begins.
    pub(super) fn begin(&mut self, input: &mut Input) -> Result<(), Fault> {
        let lease = Lease::take(self.server, self.lease_limits(), &mut self.marks, self.cancel)?;
        self.marks.reused = lease.is_reused();
        self.progress.lease = Some(lease);
        match self.attempt(input) {
            Err(fault) if self.may_retry(&fault) => {
                self.reopen()?;
                self.attempt(input)
            }
            other => other,
        }
    }

    fn attempt(&mut self, input: &mut Input) -> Result<(), Fault> {
        if let Err(fault) = self.arm() {
            // Nothing was sent: the connection is as good as before.
            self.lease()?.settle();
            return Err(fault);
        }
        self.marks.attempts += 1;
        self.server.counts.attempts.add_one();
        if self.marks.reused {
            self.server.counts.reused.add_one();
        }
        self.progress.early = self.send_request(input)?;
        while !self.relay_interims(input)? {
            self.receive(input)?;
        }
        Ok(())
    }

    /// Once, on a new connection, if and only if the connection was reused and failed as a stale one does, no octet of the answer was
    /// seen, and either no octet of the request was written or the method is idempotent and nothing of a body was taken.
    fn may_retry(&self, fault: &Fault) -> bool {
        let harmless = !self.outgoing.written || (self.idempotent && self.outgoing.taken == 0);
        self.marks.reused && fault.is_abort() && !self.progress.seen && harmless
    }

    fn reopen(&mut self) -> Result<(), Fault> {
        self.progress.armed = None;
        let limits = self.lease_limits();
        if let Some(lease) = &mut self.progress.lease {
            lease.reopen(limits, &mut self.marks)?;
        }
        self.marks.reused = false;
        self.progress.looked_at = 0;
        self.outgoing.again();
        Ok(())
    }

    fn lease_limits(&self) -> LeaseLimits {
        LeaseLimits {
            deadline: self.deadline,
            connect: self.limits.connect_timeout,
            wait: self.limits.connection_request_timeout,
        }
    }

    fn arm(&mut self) -> Result<(), Fault> {
        if self.deadline.has_passed() {
            return Err(Fault::deadline("the deadline passed before the request was sent"));
        }
        let link = self.lease()?.link()?;
        let (switch, peer) = (link.begin(), link.peer());
        self.marks.peer = Some(peer);
        let armed = self.cancel.arm(switch).map_err(|_| Fault::client(ClientError::Gone))?;
        self.progress.armed = Some(armed);
        Ok(())
    }

    pub(super) fn lease(&mut self) -> Result<&mut Lease, Fault> {
        self.progress.lease.as_mut().ok_or_else(|| Fault::new(Reason::Internal, "an exchange without a connection"))
    }

    /// Receives at least one octet.
    pub(super) fn receive(&mut self, input: &mut Input) -> Result<(), Fault> {
        let by = self.next_io();
        let space = space(input)?;
        let received = {
            let _phase = enter(Phase::Upstream);
            self.lease()?.link()?.receive(space, by)
        };
        self.received(received, input)
    }

    /// Receives what is there; whether the final head has begun with it.
    pub(super) fn listen(&mut self, input: &mut Input) -> Result<bool, Fault> {
        loop {
            let received = self.lease()?.link()?.receive_now(space(input)?);
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                other => self.received(other, input)?,
            }
            if self.relay_interims(input)? {
                return Ok(true);
            }
        }
    }

    fn received(&mut self, outcome: io::Result<usize>, input: &mut Input) -> Result<(), Fault> {
        match outcome {
            Ok(0) => Err(self.io_fault(&io::ErrorKind::UnexpectedEof.into(), "waiting for the answer")),
            Ok(count) => {
                self.progress.seen = true;
                input.received(count);
                Ok(())
            }
            Err(error) => Err(self.io_fault(&error, "waiting for the answer")),
        }
    }

    /// Relays interim heads at the beginning of the input and takes them out; whether a final head has begun.
    fn relay_interims(&mut self, input: &mut Input) -> Result<bool, Fault> {
        loop {
            match beginning(input.unread(), self.progress.looked_at)? {
                Beginning::Unclear => {
                    self.progress.looked_at = input.unread().len();
                    return Ok(false);
                }
                Beginning::Final => return Ok(true),
                Beginning::Interim(length, head) => {
                    self.progress.interims += 1;
                    if self.progress.interims > INTERIMS {
                        return Err(Fault::bad_response(format!("more than {INTERIMS} interim heads")));
                    }
                    self.progress.looked_at = 0;
                    input.used(length);
                    self.down.interim(head.status, &head.fields).map_err(Fault::client)?;
                }
            }
        }
    }

    /// By when the next octets have to be sent or received.
    pub(super) fn next_io(&self) -> Deadline {
        Deadline::after_some(self.limits.read_timeout).nearer(self.deadline)
    }

    /// What a failed read or write means.
    pub(super) fn io_fault(&mut self, error: &io::Error, doing: &str) -> Fault {
        let cut = self.lease().and_then(Lease::link).is_ok_and(|link| link.was_cut());
        match error.kind() {
            _ if cut => Fault::client(ClientError::Gone),
            io::ErrorKind::TimedOut if self.deadline.has_passed() => {
                Fault::deadline(format!("the deadline passed while {doing}"))
            }
            io::ErrorKind::TimedOut => Fault::read_timeout(format!("the read timeout passed while {doing}")),
            io::ErrorKind::UnexpectedEof if self.progress.seen => Fault::aborted("closed inside the head"),
            io::ErrorKind::UnexpectedEof => Fault::aborted("closed without an answer").by(Cause::NoAnswer),
            _ => Fault::io(error, doing),
        }
    }
}

fn space(input: &mut Input) -> Result<&mut [u8], Fault> {
    let space = input.space();
    if space.is_empty() {
        return Err(Fault::bad_response(format!("the head is larger than {} octets", super::buffers::LARGEST)));
    }
    Ok(space)
}
