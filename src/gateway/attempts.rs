//! The attempts of one request: one, or as many as the retries of its service allow. Runs where the call runs, be it on a pool's thread.
//!
//! All of them share the deadline, and the pauses between them count in it. The next attempt begins only after the last one has let go of
//! its connection. The balancer is asked before each attempt on another server and sees each failure at the server that failed.

use super::replay::Replay;
use crate::balance::{self, Asked, Balancer};
use crate::cancel::Cancel;
use crate::client::{ClientError, Downstream};
use crate::deadline::Deadline;
use crate::reason::{Cause, Reason};
use crate::retry::{self, Outcome, Retry, Target, Turns};
use crate::upstream::{Answer, CallError, CallLimits, CallMarks, Caller, OutboundRequest, Server};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most octets of an answer that are read only so that its connection can be kept.
const DRAINED: usize = 64 * 1024;

/// The attempts of one request, to be run once.
pub(super) struct Attempts {
    pub(super) server: Arc<Server>,
    /// The first attempt, as the balancer counts it.
    pub(super) asked: Asked,
    pub(super) request: OutboundRequest,
    /// But for the deadline.
    pub(super) limits: CallLimits,
    /// Whose budget bears it when a stale connection is replaced.
    pub(super) retry: Option<Arc<Retry>>,
    /// `None`: there is one.
    pub(super) again: Option<Again>,
}

/// What further attempts need.
pub(super) struct Again {
    pub(super) balancer: Arc<Balancer>,
    pub(super) trail: Arc<Trail>,
}

/// How far the attempts have come: known even when the one who asked could not wait for their end.
pub(super) struct Trail(Mutex<Trace>);

/// All attempts so far.
#[derive(Clone)]
pub(super) struct Trace {
    /// Who was asked last.
    pub(super) server: Arc<Server>,
    /// How often one was asked, refused connects included.
    pub(super) attempts: u32,
    /// The time that connecting took.
    pub(super) connect: Duration,
}

impl Trail {
    pub(super) fn new(server: &Arc<Server>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Trace { server: server.clone(), attempts: 0, connect: Duration::ZERO })))
    }

    pub(super) fn read(&self) -> Trace {
        self.0.lock().clone()
    }

    fn begin(&self, server: &Arc<Server>) {
        let mut trace = self.0.lock();
        trace.server.clone_from(server);
        trace.attempts += 1;
    }

    fn end(&self, marks: &CallMarks) {
        let mut trace = self.0.lock();
        trace.attempts += marks.attempts.saturating_sub(1);
        trace.connect += marks.connect;
    }
}

impl Attempts {
    /// Makes them.
    ///
    /// # Errors
    /// What the last one failed with, or that the client went away between two.
    pub(super) fn run(
        self,
        caller: &mut Caller,
        client: &mut dyn Downstream,
        deadline: Deadline,
        cancel: &Cancel,
    ) -> Result<Answer, CallError> {
        let Self { server, asked, request, limits, retry, again } = self;
        let (Some(retry), Some(again)) = (&retry, again) else {
            let outcome = caller.call(&server, request, client, &CallLimits { deadline, ..limits }, cancel);
            note(&outcome, asked, retry.as_deref(), cancel);
            return outcome;
        };
        let keeps = retry.policy.keeps(&request.method);
        let calls = Calls { caller, client: Replay::new(client, keeps), deadline, limits, cancel };
        let (asked, tried, turns) = (Some(asked), Vec::new(), Turns::default());
        Several { retry, again, request, server, asked, tried, turns }.run(calls)
    }
}

/// What a call needs beside a server and a request.
struct Calls<'a> {
    caller: &'a mut Caller,
    client: Replay<'a>,
    deadline: Deadline,
    limits: CallLimits,
    cancel: &'a Cancel,
}

impl Calls<'_> {
    /// The deadline of all attempts; it stood still while the client was waited for.
    fn deadline(&self) -> Deadline {
        self.deadline.later_by(self.client.still())
    }

    fn call(&mut self, server: &Arc<Server>, request: OutboundRequest) -> Result<Answer, CallError> {
        let limits = CallLimits { deadline: self.deadline(), ..self.limits };
        self.caller.call(server, request, &mut self.client, &limits, self.cancel)
    }
}

/// Attempts on one server after another.
struct Several<'a> {
    retry: &'a Retry,
    again: Again,
    request: OutboundRequest,
    server: Arc<Server>,
    /// The first attempt, until it is made.
    asked: Option<Asked>,
    tried: Vec<Arc<Server>>,
    turns: Turns,
}

impl Several<'_> {
    fn run(mut self, mut calls: Calls<'_>) -> Result<Answer, CallError> {
        self.retry.began(Instant::now());
        let mut paused = Duration::ZERO;
        loop {
            let outcome = self.attempt(&mut calls);
            let Some(pause) = self.another(&outcome, &mut calls) else {
                // No server is to blame for the time in which none was asked.
                let client_waited = calls.client.still() + paused;
                return outcome.map(|answer| Answer { client_waited, ..answer }).map_err(as_of_a_retryable_route);
            };
            paused += pause;
            if let Ok(answer) = outcome {
                discard(answer);
            }
            self.wait(pause, calls.cancel)?;
        }
    }

    fn attempt(&mut self, calls: &mut Calls<'_>) -> Result<Answer, CallError> {
        let Again { trail, balancer, .. } = &self.again;
        let asked = self.asked.take().unwrap_or_else(|| balancer.ask(&self.server, Instant::now()));
        trail.begin(&self.server);
        let outcome = calls.call(&self.server, self.request.clone());
        note(&outcome, asked, Some(self.retry), calls.cancel);
        trail.end(marks(&outcome));
        outcome
    }

    /// After which pause there is another attempt, its server chosen; `None`: this was the last one.
    fn another(&mut self, outcome: &Result<Answer, CallError>, calls: &mut Calls<'_>) -> Option<Duration> {
        let retry = self.retry;
        let why = retry.policy.why(&self.request.method, summary(outcome))?;
        let target = self.turns.next(&retry.policy)?;
        if !calls.client.rewind() {
            retry.not_repeatable();
            return None;
        }
        let pause = retry.pause_before(self.turns.retries());
        let until = Deadline::after(pause);
        if until.nearer(calls.deadline()) != until {
            retry.lacked_time();
            return None;
        }
        let now = Instant::now();
        // Before the budget is asked: what finds no server is no retry.
        let next = match target {
            Target::SameServer => None,
            Target::NextServer => Some(self.next_server(now)?),
        };
        if !self.retry.grants(why, now) {
            return None;
        }
        log::debug!("{}: {why}: retry {}, {target}, in {pause:?}", self.server.authority(), self.turns.retries());
        self.server = next.unwrap_or_else(|| self.server.clone());
        Some(pause)
    }

    /// One that was not tried; when all were, whoever's turn it is, as Ribbon would do.
    fn next_server(&mut self, now: Instant) -> Option<Arc<Server>> {
        self.tried.push(self.server.clone());
        let balancer = &self.again.balancer;
        balancer.next(&self.tried, now).or_else(|| balancer.next(&[], now)).cloned()
    }

    fn wait(&self, pause: Duration, cancel: &Cancel) -> Result<(), CallError> {
        if pause.is_zero() {
            return Ok(());
        }
        let _pausing = self.retry.pausing();
        retry::pause(Deadline::after(pause), cancel).map_err(|_| gone())
    }
}

/// What an attempt says about its server. Who waits for a pool's thread leaves it at the deadline; to the call that looks as if the client
/// had gone.
fn judged(outcome: &Result<Answer, CallError>, cancel: &Cancel) -> balance::Outcome {
    match outcome {
        Err(error) if cancel.is_expired() => balance::Outcome::at_deadline(error.marks),
        _ => balance::Outcome::of(outcome),
    }
}

/// An attempt is over: its server is told, and the budget if a stale connection was replaced.
fn note(outcome: &Result<Answer, CallError>, asked: Asked, retry: Option<&Retry>, cancel: &Cancel) {
    let now = Instant::now();
    asked.note(judged(outcome, cancel), now);
    if let Some(retry) = retry.filter(|_| marks(outcome).attempts > 1) {
        retry.replaced_stale(now);
    }
}

fn marks(outcome: &Result<Answer, CallError>) -> &CallMarks {
    outcome.as_ref().map_or_else(|error| &error.marks, |answer| &answer.marks)
}

fn summary(outcome: &Result<Answer, CallError>) -> Outcome {
    match outcome {
        Ok(answer) => Outcome::Answered(answer.status),
        Err(error) => Outcome::Failed { reason: error.reason, cause: error.cause, sent: error.marks.attempts > 0 },
    }
}

/// Reads what is there of an answer that nobody is to see, so that its connection is kept if that was all of it.
fn discard(mut answer: Answer) {
    let (mut octets, mut left) = ([0; 4096], DRAINED);
    while left > 0 && answer.body.has_buffered() {
        match answer.body.read(&mut octets) {
            Ok(0) | Err(_) => return,
            Ok(count) => left = left.saturating_sub(count),
        }
    }
}

/// Zuul's words for a failure depend on whether the route is retryable; those for the deadline don't.
fn as_of_a_retryable_route(error: CallError) -> CallError {
    match error.cause {
        Some(Cause::Deadline) => error,
        _ => CallError { cause: Some(Cause::Retryable), ..error },
    }
}

fn gone() -> CallError {
    let client = ClientError::Gone;
    let (reason, detail) = (Reason::ClientAborted, client.message().into());
    CallError { reason, cause: None, detail, client: Some(client), marks: CallMarks::default() }
}
