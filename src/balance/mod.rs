//! Which server of a service is asked: Ribbon's rules, the statistics that they look at, and pings.
//!
//! ```text
//! next (a rule chooses) -> ask (the server counts as busy) -> the attempt -> note (how it went) -> drop (no longer busy)
//!                                                                            pings -> found (up or down)
//! ```
//!
//! The gateway asks for a server before each attempt and tells which ones it has tried. Three successive connection failures black a
//! server out, for ten seconds, then twenty, then thirty; any answer pardons it, whatever its status. Who is passed over when, and what
//! happens when nobody is left, is each rule's own: [`BalancingRule`](crate::config::model::BalancingRule). Nothing here takes a lock.
//!
//! Where this differs from Ribbon: a timeout while connecting is a connection failure; a connection that is refused has no response
//! time, so that it draws no weight; a server counts as busy by a guard, so nothing has to be forgotten after ten minutes; an attempt that
//! ended by the client's fault says nothing about the server; `RandomRule` draws among those that are up, where Ribbon may draw beyond
//! the end of its list; `RetryRule` looks at all servers at once instead of spinning for half a second.

mod dice;
mod ping;
mod pinger;
mod rule;
mod stats;
#[cfg(test)]
mod tests;
mod weights;

pub use pinger::Pinger;

use crate::config::model::BalanceConfig;
use crate::metrics::Sink;
use crate::reason::{Cause, Reason};
use crate::upstream::{Answer, CallError, CallMarks, Server};
use dice::Dice;
use rule::Rule;
use stats::ServerStats;
use std::sync::Arc;
use std::time::Instant;

/// The servers of one service.
#[derive(Debug)]
pub struct Balancer {
    members: Vec<Member>,
    rule: Rule,
    limits: Limits,
}

/// A server and what is known of it.
#[derive(Debug)]
struct Member {
    server: Arc<Server>,
    stats: Arc<ServerStats>,
}

/// What makes a server unavailable.
#[derive(Clone, Copy, Debug)]
struct Limits {
    in_flight: Option<i64>,
    blackout: bool,
}

/// What a rule chooses from.
struct Candidates<'a, 't> {
    members: &'a [Member],
    tried: &'t [Arc<Server>],
    limits: Limits,
    now: Instant,
}

/// How an attempt went, as far as it says something about the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It answered, whatever the status.
    Answered,
    /// It closed the connection instead of answering: a failure, but none of the connection's, as in Ribbon.
    ClosedEarly,
    /// Nothing came in time.
    TimedOut,
    /// It refused or broke the connection.
    Unreachable,
    /// It was not asked, or the client ended the attempt.
    Unknown,
}

impl Outcome {
    /// What the end of a call says about its server.
    pub fn of(call: &Result<Answer, CallError>) -> Self {
        match call {
            Ok(_) => Self::Answered,
            Err(error) => Self::of_failure(error.reason, error.cause, error.marks),
        }
    }

    /// What it says that the deadline passed during a call.
    pub fn at_deadline(marks: CallMarks) -> Self {
        Self::of_failure(Reason::Timeout, Some(Cause::Deadline), marks)
    }

    /// A deadline can pass before the server is spoken to, while a connection is waited for.
    fn of_failure(reason: Reason, cause: Option<Cause>, marks: CallMarks) -> Self {
        let spoken_to = marks.attempts > 0 || !marks.connect.is_zero();
        match (reason, cause) {
            (Reason::Timeout, Some(Cause::Deadline)) if !spoken_to => Self::Unknown,
            (Reason::ConnectTimeout | Reason::Timeout, _) => Self::TimedOut,
            (Reason::UpstreamAborted, Some(Cause::NoAnswer)) => Self::ClosedEarly,
            (Reason::ConnectFailed | Reason::UpstreamAborted, _) => Self::Unreachable,
            (Reason::UpstreamBadResponse, _) => Self::Answered,
            _ => Self::Unknown,
        }
    }
}

/// One attempt at a server, which counts as busy until this is dropped. It goes where the call is made, to a pool's thread too: who waits
/// there may be gone before the call has ended.
#[derive(Debug)]
#[must_use = "the server counts as busy until this is dropped"]
pub struct Asked {
    stats: Option<Arc<ServerStats>>,
    since: Instant,
}

impl Asked {
    /// It begins only now: what it waited for a thread is no fault of the server's. The server counts as busy from the choice on.
    pub fn begins(&mut self, now: Instant) {
        self.since = now;
    }

    /// How it went; to be told once. An attempt that nothing is told of says nothing.
    pub fn note(&self, outcome: Outcome, now: Instant) {
        if let Some(stats) = &self.stats {
            stats.note(outcome, now.saturating_duration_since(self.since), now);
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(stats) = &self.stats {
            stats.ended();
        }
    }
}

impl Balancer {
    /// Of servers that count as up.
    pub fn new(config: &BalanceConfig, servers: Vec<Arc<Server>>, now: Instant) -> Self {
        Self::with_dice(config, servers, Dice::new(), now)
    }

    fn with_dice(config: &BalanceConfig, servers: Vec<Arc<Server>>, dice: Dice, now: Instant) -> Self {
        let member = |server| Member { server, stats: Arc::new(ServerStats::new(config.blackout, now)) };
        Self {
            rule: Rule::new(config, servers.len(), dice, now),
            members: servers.into_iter().map(member).collect(),
            limits: Limits {
                in_flight: config.active_connections_limit.map(i64::from),
                blackout: config.filter_circuit_tripped,
            },
        }
    }

    /// The servers, in the order in which they were given.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = &Arc<Server>> {
        self.members.iter().map(|member| &member.server)
    }

    /// The server that is to be asked, never one that is in `tried`; `None` when the rule finds none.
    pub fn next(&self, tried: &[Arc<Server>], now: Instant) -> Option<&Arc<Server>> {
        let among = Candidates { members: &self.members, tried, limits: self.limits, now };
        self.rule.choose(&among).map(|member| &member.server)
    }

    /// Why [`Self::next`] found none, for the log.
    pub fn why_none(&self) -> &'static str {
        if self.members.is_empty() { "no server" } else { "the rule finds no server that is up" }
    }

    /// An attempt at this server begins: take one for each.
    pub fn ask(&self, server: &Arc<Server>, now: Instant) -> Asked {
        let member = self.members.iter().find(|member| Arc::ptr_eq(&member.server, server));
        let stats = member.map(|member| member.stats.clone());
        if let Some(stats) = &stats {
            stats.began();
        }
        Asked { stats, since: now }
    }

    /// Tells what is known of each server.
    pub fn collect(&self, sink: &mut dyn Sink, now: Instant) {
        for Member { server, stats } in &self.members {
            let labels = [("backend", server.backend()), ("server", server.authority())];
            for (name, help, value) in [
                (
                    "portcullis.server.requests.in.flight",
                    "Attempts whose answer has not begun",
                    stats.in_flight() as f64,
                ),
                ("portcullis.server.up", "1 unless the last ping found it down", f64::from(u8::from(stats.is_up()))),
                (
                    "portcullis.server.failures.successive",
                    "Connection failures since the last answer",
                    f64::from(stats.successive_failures()),
                ),
                (
                    "portcullis.server.blackout.left.seconds",
                    "How long it is still passed over for them",
                    stats.blackout_left(now).as_secs_f64(),
                ),
            ] {
                sink.gauge(name, help, &labels, value);
            }
            sink.counter("portcullis.server.requests", "Attempts that ended by the server", &labels, stats.requests());
            sink.timer(
                "portcullis.server.response",
                "Up to the answer's head, timeouts too",
                &labels,
                stats.response(),
            );
        }
    }
}

impl<'a> Candidates<'a, '_> {
    fn is_untried(&self, member: &Member) -> bool {
        !self.tried.iter().any(|tried| Arc::ptr_eq(tried, &member.server))
    }

    /// Up by ping.
    fn is_up(&self, member: &Member) -> bool {
        member.stats.is_up() && self.is_untried(member)
    }

    /// Neither blacked out nor at its limit, whatever pings say.
    fn is_available(&self, member: &Member) -> bool {
        let Limits { in_flight, blackout } = self.limits;
        !(blackout && member.stats.is_blacked_out(self.now))
            && in_flight.is_none_or(|limit| member.stats.in_flight() < limit)
            && self.is_untried(member)
    }

    fn find_up(&self) -> Option<&'a Member> {
        self.members.iter().find(|member| self.is_up(member))
    }
}
