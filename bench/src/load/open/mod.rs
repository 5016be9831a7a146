//! The open loop: requests go out when they are due, whatever became of the earlier ones.
//!
//! One thread, one epoll, no lock. A request that is due takes an idle connection, or a new one while there may be more; else it waits, and
//! its latency counts from when it was due. What cannot be written before its time is up is `unsent`, what gets no answer `timeouts`;
//! both enter the distribution at the timeout. When the schedule is through, what is under way still has its time.
//!
//! ```text
//! schedule -> due -> (waiting) -> connection -> answer -> record
//! ```

mod alarm;
mod connection;
mod record;

use super::Outcome;
use super::answer::Answer;
use super::schedule::{Arrivals, Phase, due_times};
use crate::stop::Stop;
use alarm::Alarm;
use connection::{Connection, Progress};
use record::{End, Record, Terms};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a stop is looked for while nothing happens.
const LOOK: Duration = Duration::from_millis(200);

/// No connection's number: the alarm's.
const ALARM: u64 = u64::MAX;

/// What to send, where, and when.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) address: SocketAddr,
    /// The whole request, body included.
    pub(crate) request: Arc<[u8]>,
    /// Octets of the right answer's body.
    pub(crate) expected: Option<u64>,
    pub(crate) arrivals: Arrivals,
    pub(crate) phases: Vec<Phase>,
    /// Connections at once, at most.
    pub(crate) connections: usize,
    /// From when a request is due.
    pub(crate) timeout: Duration,
    /// What the backend waits, or its mean: no answer can come sooner.
    pub(crate) delay: Duration,
    /// A right answer is in time when it takes no longer than this and the delay, and has ended a delay after the schedule's end at the
    /// latest. What is served later does not show how much can be served: else a backlog of some seconds would count as throughput.
    pub(crate) objective: Duration,
    /// How finely time is looked at.
    pub(crate) window: Duration,
}

/// How much the load generator comes before others, where it may: a client that has to wait for a processor measures that.
const NICE: i32 = -10;

/// Runs the plan to its end, on a thread of its own.
pub(crate) fn run(plan: &Plan, stop: &Stop) -> io::Result<Outcome> {
    ahead_of_others(|_| drive(plan, stop))
}

/// Whether load generators may come before others here.
pub(crate) fn may_come_first() -> io::Result<bool> {
    ahead_of_others(Ok)
}

/// Runs `work` on a thread with a better priority, and tells it whether that was allowed; it takes root or a limit that is raised.
fn ahead_of_others<T: Send>(work: impl FnOnce(bool) -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        // On Linux this is of the calling thread alone.
        let thread = scope.spawn(|| work(rustix::process::setpriority_process(None, NICE).is_ok()));
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the load generator ended early")))
    })
}

fn drive(plan: &Plan, stop: &Stop) -> io::Result<Outcome> {
    let due = due_times(plan.arrivals, &plan.phases);
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut driver = Driver {
        plan,
        alarm: Alarm::on(&epoll, ALARM)?,
        epoll,
        start: Instant::now(),
        connections: Vec::new(),
        free: Vec::new(),
        idle: Vec::new(),
        waiting: VecDeque::new(),
        deadlines: VecDeque::new(),
        record: Record::new(Terms::of(plan), due.len() as u64)?,
    };
    driver.run(&due, stop)?;
    Ok(driver.record.into_outcome())
}

struct Driver<'a> {
    plan: &'a Plan,
    epoll: OwnedFd,
    alarm: Alarm,
    start: Instant,
    connections: Vec<Option<Connection>>,
    /// Places in `connections` that are empty.
    free: Vec<usize>,
    /// Connections without a request; the last one used is used next.
    idle: Vec<usize>,
    /// When those requests were due that no connection is free for.
    waiting: VecDeque<Duration>,
    /// When requests under way were due, in that order, and where they are.
    deadlines: VecDeque<(Duration, usize)>,
    record: Record,
}

impl Driver<'_> {
    fn run(&mut self, due: &[Duration], stop: &Stop) -> io::Result<()> {
        let mut events = Vec::with_capacity(512);
        let mut next = 0;
        loop {
            stop.check()?;
            let now = self.start.elapsed();
            while let Some(&at) = due.get(next).filter(|at| **at <= now) {
                self.record.late(now.saturating_sub(at));
                self.waiting.push_back(at);
                next += 1;
            }
            self.expire(now);
            self.dispatch();
            if next == due.len() && self.waiting.is_empty() && self.deadlines.is_empty() {
                return Ok(());
            }
            self.wait(due.get(next).copied(), &mut events)?;
        }
    }

    /// Until something happens, a request is due or a time is up.
    fn wait(&mut self, due: Option<Duration>, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        let up = |due: &Duration| *due + self.plan.timeout;
        let times = [due, self.deadlines.front().map(|(due, _)| up(due)), self.waiting.front().map(up)];
        let until = times.into_iter().flatten().min().unwrap_or(Duration::MAX);
        let patience = until.saturating_sub(self.start.elapsed()).min(LOOK);
        self.alarm.set(patience)?;
        events.clear();
        match epoll::wait(&self.epoll, spare_capacity(events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events.iter().map(|event| { event.data }.u64()).filter(|id| *id != ALARM) {
            self.go_on(event as usize);
        }
        Ok(())
    }

    /// Gives waiting requests to connections, as long as there are any.
    fn dispatch(&mut self) {
        while !self.waiting.is_empty() {
            let Some(id) = self.connection() else { return };
            let Some(due) = self.waiting.pop_front() else { return };
            let Some(connection) = self.connections[id].as_mut() else { continue };
            connection.begin(due);
            self.deadlines.push_back((due, id));
            self.go_on(id);
        }
    }

    /// An idle connection or a new one; `None` when all are busy, or when the new one failed, which uses up a request.
    fn connection(&mut self) -> Option<usize> {
        if let Some(id) = self.idle.pop() {
            return Some(id);
        }
        let open = self.connections.len() - self.free.len();
        if open >= self.plan.connections {
            return None;
        }
        let id = self.free.last().copied().unwrap_or(self.connections.len());
        match Connection::open(self.plan.address, &self.epoll, id as u64) {
            Ok(connection) if id == self.connections.len() => self.connections.push(Some(connection)),
            Ok(connection) => {
                self.free.pop();
                self.connections[id] = Some(connection);
            }
            Err(_) => {
                let due = self.waiting.pop_front()?;
                self.record.end(due, None, self.start.elapsed(), End::ConnectError);
                return None;
            }
        }
        Some(id)
    }

    /// Writes and reads as far as that goes.
    fn go_on(&mut self, id: usize) {
        let Some(connection) = self.connections.get_mut(id).and_then(Option::as_mut) else { return };
        let progress = connection.go_on(&self.plan.request, self.plan.expected, &self.epoll, id as u64);
        match progress {
            Progress::More => {}
            Progress::Answered(answer) => self.answered(id, answer),
            Progress::Failed(end) => {
                self.finish(id, end);
                self.close(id);
            }
        }
    }

    fn answered(&mut self, id: usize, answer: Answer) {
        self.finish(id, End::Answered(answer.verdict));
        if answer.keeps { self.idle.push(id) } else { self.close(id) }
    }

    /// Notes what became of the connection's request, if it has one.
    fn finish(&mut self, id: usize, end: End) {
        let Some(connection) = self.connections[id].as_mut() else { return };
        let Some((due, sent)) = connection.end() else { return };
        let now = self.start.elapsed();
        self.record.end(due, sent.map(|sent| sent.saturating_duration_since(self.start)), now, end);
        // Mostly among the first.
        if let Some(at) = self.deadlines.iter().position(|(_, other)| *other == id) {
            self.deadlines.remove(at);
        }
    }

    fn close(&mut self, id: usize) {
        if self.connections[id].take().is_some() {
            self.idle.retain(|other| *other != id);
            self.free.push(id);
        }
    }

    /// Ends what had its time.
    fn expire(&mut self, now: Duration) {
        let is_up = |due: Duration| due + self.plan.timeout <= now;
        while let Some(&(due, id)) = self.deadlines.front().filter(|(due, _)| is_up(*due)) {
            let written = self.connections[id].as_ref().is_some_and(Connection::is_written);
            self.finish(id, if written { End::Timeout } else { End::Unsent });
            self.close(id);
            // Its own entry is gone with `finish`; one without a connection must not stop the loop.
            if self.deadlines.front() == Some(&(due, id)) {
                self.deadlines.pop_front();
            }
        }
        while let Some(due) = self.waiting.front().copied().filter(|due| is_up(*due)) {
            self.waiting.pop_front();
            self.record.end(due, None, now, End::Unsent);
        }
    }
}

#[cfg(test)]
mod tests;
