//! A connection while somebody uses it: a guard that gives it back to its pool, or closes it.
//!
//! It is pooled if and only if [`Lease::settle`] was the last thing that was done with it; whoever drops a lease halfway closes the
//! connection, so that no rest of an answer can become the next one's beginning. Dropping does no blocking work.

use super::CallMarks;
use super::error::Fault;
use super::link::Link;
use super::pool::{Grant, Idle, NotGranted};
use super::server::Server;
use crate::cancel::Cancel;
use crate::client::ClientError;
use crate::deadline::{Deadline, Stopwatch};
use crate::phase::{Phase, enter};
use crate::reason::Reason;
use std::sync::Arc;
use std::time::Duration;

/// A connection in use, or the right to open one.
pub(super) struct Lease {
    link: Option<Link>,
    server: Arc<Server>,
    settled: bool,
    /// Whether it was used before.
    reused: bool,
}

/// What bounds the way to a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeaseLimits {
    pub(super) deadline: Deadline,
    pub(super) connect: Duration,
    pub(super) wait: Option<Duration>,
}

impl Lease {
    /// A connection to `server`: a living idle one, or a new one.
    pub(super) fn take(
        server: &Arc<Server>,
        limits: LeaseLimits,
        marks: &mut CallMarks,
        cancel: &Cancel,
    ) -> Result<Self, Fault> {
        let mut watch = None;
        let grant = server.limit().check_out(server.shelf(), |switch| {
            watch = Some(Stopwatch::start());
            let by = Deadline::after_some(limits.wait).nearer(limits.deadline);
            Ok((by, (enter(Phase::Pool), cancel.arm(switch)?)))
        });
        if let Some(watch) = watch {
            marks.waited = watch.elapsed();
            server.counts.wait.record(marks.waited);
        }
        let grant = grant.map_err(|why| match why {
            NotGranted::Expired => none_free(server, limits.deadline),
            NotGranted::Cancelled => Fault::client(ClientError::Gone),
        })?;
        let mut lease = Self { link: None, server: server.clone(), settled: false, reused: false };
        if let Grant::Reuse(idle) = grant {
            lease.link = living(server, idle);
        }
        match lease.link {
            Some(_) => lease.reused = true,
            None => lease.open(limits, marks)?,
        }
        Ok(lease)
    }

    /// Closes the connection and opens another in its place.
    pub(super) fn reopen(&mut self, limits: LeaseLimits, marks: &mut CallMarks) -> Result<(), Fault> {
        self.link = None;
        self.settled = false;
        self.reused = false;
        self.open(limits, marks)
    }

    /// The connection. Whatever is done with it, it has to be settled anew.
    pub(super) fn link(&mut self) -> Result<&mut Link, Fault> {
        self.settled = false;
        self.link.as_mut().ok_or_else(|| Fault::new(Reason::Internal, "a lease without a connection"))
    }

    /// The exchange is over and nothing of it is left: the connection can be used again, if nothing else is done with it.
    pub(super) fn settle(&mut self) {
        self.settled = true;
    }

    /// The end of an exchange whose answer has no body: the connection goes back if it was settled and `may_reuse`.
    pub(super) fn finish(mut self, may_reuse: bool) {
        self.settled &= may_reuse;
    }

    /// The upstream closes idle connections after `timeout`.
    pub(super) fn closes_after(&mut self, timeout: Duration) {
        if let Some(link) = &mut self.link {
            link.closes_after(timeout);
        }
    }

    /// Whether the connection was used before.
    pub(super) fn is_reused(&self) -> bool {
        self.reused
    }

    /// Whose connection it is.
    pub(super) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    fn open(&mut self, limits: LeaseLimits, marks: &mut CallMarks) -> Result<(), Fault> {
        if limits.deadline.has_passed() {
            return Err(Fault::deadline("the deadline passed before connecting"));
        }
        let watch = Stopwatch::start();
        let _phase = enter(Phase::Connect);
        let opened = self.server.connect(Deadline::after(limits.connect).nearer(limits.deadline));
        marks.connect += watch.elapsed();
        self.link = Some(opened.map_err(|fault| match fault.reason {
            // The connect timeout had not passed: it is the whole call that took too long.
            Reason::ConnectTimeout if limits.deadline.has_passed() => {
                Fault::deadline(format!("the deadline passed while connecting: {}", fault.detail))
            }
            _ => fault,
        })?);
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (limit, shelf) = (self.server.limit(), self.server.shelf());
        let mut link = self.link.take();
        match link.take_if(|link| self.settled && link.end() && self.server.keeps(link)) {
            Some(link) => limit.park(shelf, link, Stopwatch::start().started()),
            None => {
                // Closed before it stops to count.
                drop(link);
                limit.release(shelf);
            }
        }
    }
}

/// The first idle connection that lives; the dead ones are closed.
fn living(server: &Server, first: Idle) -> Option<Link> {
    let now = Stopwatch::start().started();
    let mut idle = first;
    loop {
        if server.is_usable(&mut idle, now) {
            return Some(idle.link);
        }
        drop(idle);
        idle = server.limit().exchange(server.shelf())?;
    }
}

fn none_free(server: &Server, deadline: Deadline) -> Fault {
    let counts = server.limit().counts(server.shelf());
    let (open, limit) = (server.limit().open(), server.limit().max_total());
    let taken = format!("{} of {} connections of the server and {open} of {limit} in all", counts.open, counts.max);
    if deadline.has_passed() {
        return Fault::deadline(format!("the deadline passed while {taken} were taken"));
    }
    Fault::new(Reason::UpstreamPoolTimeout, format!("the connection request timeout passed while {taken} were taken"))
}
