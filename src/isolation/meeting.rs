//! Where a worker and the pool thread that makes its call meet: the request's body one way, interim heads and the end the other way.
//!
//! ```text
//! worker (owns the client)                       pool thread (owns the upstream)
//!   attend: reads the client,  -- one chunk -->  Bridge: sends upstream
//!           writes to it       <-- 1xx, done --
//! ```
//!
//! The worker leaves at the deadline, when the client is gone, or in a panic; from then on everything fails on the other side, whose
//! upstream exchange is shut down. The client's octets are asked for only when the call asks for them, so that an `Expect:
//! 100-continue` is not answered while the call is still queued. Neither side ever waits while it holds the lock.

use super::NoResult;
use super::bell::Bell;
use crate::cancel::{Cancel, ShutDown};
use crate::client::{BodyLength, ClientError, Downstream, Woken};
use crate::deadline::{Deadline, Stopwatch};
use crate::phase::{self, Phase};
use crate::reason::Reason;
use http::{HeaderMap, StatusCode};
use parking_lot::{Condvar, Mutex};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// As much of a body as crosses at once. Three such buffers go round: one is filled, one lies between, one is sent.
const CHUNK: usize = 16 * 1024;

/// One call's meeting place.
pub(super) struct Meeting {
    state: Mutex<State>,
    news: Condvar,
    /// Only for requests with a body: without one, neither side waits for descriptors.
    bells: Option<Bells>,
    cancel: Cancel,
}

struct Bells {
    worker: Bell,
    pool: Bell,
}

#[derive(Default)]
struct State {
    slot: Chunk,
    /// Nothing comes after what is in the slot.
    ended: bool,
    /// The call has asked for the body.
    asked: bool,
    /// The call waits for the client with nothing left to send, since then.
    hungry: Option<Stopwatch>,
    /// For how long it did before; the deadline stood still.
    still: Duration,
    interim: Option<(StatusCode, HeaderMap)>,
    done: bool,
    /// The worker waited until the deadline.
    expired: bool,
    left: bool,
    worker_polls: bool,
    pool_polls: bool,
}

impl State {
    /// The deadline without the time during which it stood still; none while it does.
    fn counted(&self, deadline: Deadline) -> Deadline {
        match self.hungry {
            Some(_) => Deadline::NEVER,
            None => deadline.later_by(self.still),
        }
    }

    fn feed_hunger(&mut self) {
        if let Some(since) = self.hungry.take() {
            self.still += since.elapsed();
        }
    }

    fn has_octets(&self) -> bool {
        self.slot.len > 0 || self.ended
    }
}

/// What the worker is to do next.
enum Next {
    Relay(StatusCode, HeaderMap),
    Feed,
    Done,
}

impl Meeting {
    /// For a request whose body has this length.
    ///
    /// # Errors
    /// When there is a body and the process has no descriptors left.
    pub(super) fn new(length: BodyLength) -> io::Result<Self> {
        let bells = match length {
            BodyLength::None | BodyLength::Exactly(0) => None,
            _ => Some(Bells { worker: Bell::new()?, pool: Bell::new()? }),
        };
        Ok(Self { state: Mutex::default(), news: Condvar::new(), bells, cancel: Cancel::default() })
    }

    /// The switch that the call's upstream exchange is to be armed with.
    pub(super) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    fn wake_worker(&self, state: &State) {
        self.news.notify_all();
        if let (true, Some(bells)) = (state.worker_polls, &self.bells) {
            bells.worker.ring();
        }
    }

    fn wake_pool(&self, state: &State) {
        self.news.notify_all();
        if let (true, Some(bells)) = (state.pool_polls, &self.bells) {
            bells.pool.ring();
        }
    }
}

/// The worker's side.
impl Meeting {
    /// Serves the call with what it needs of the client, until the call is done.
    ///
    /// # Errors
    /// [`Reason::Timeout`] at the deadline, or what failed on the client's side; the caller must then [`Self::leave`].
    pub(super) fn attend(&self, client: &mut dyn Downstream, deadline: Deadline) -> Result<(), NoResult> {
        let _phase = phase::enter(Phase::Pool);
        let mut chunk = Chunk::default();
        loop {
            match self.next(deadline)? {
                Next::Relay(status, fields) => {
                    let _phase = phase::enter(Phase::Client);
                    client.interim(status, &fields)?;
                }
                Next::Feed => match client.read_now(chunk.space())? {
                    Some(octets) => self.put(&mut chunk, octets),
                    None => self.wait_for_client(client, deadline)?,
                },
                Next::Done => return Ok(()),
            }
        }
    }

    /// Nobody attends any longer. True: the call was not done, and is now shut down.
    pub(super) fn leave(&self) -> bool {
        let (unfinished, expired) = {
            let mut state = self.state.lock();
            state.left = true;
            self.wake_pool(&state);
            (!state.done, state.expired)
        };
        match (unfinished, expired) {
            (true, true) => self.cancel.expire(),
            (true, false) => self.cancel.throw(),
            (false, _) => {}
        }
        unfinished
    }

    /// Waits for something to do that needs no descriptor.
    fn next(&self, deadline: Deadline) -> Result<Next, NoResult> {
        let mut state = self.state.lock();
        loop {
            if let Some((status, fields)) = state.interim.take() {
                self.wake_pool(&state);
                return Ok(Next::Relay(status, fields));
            }
            // Before the end of the call: what ended because its client had gone must not look like the upstream's fault.
            if self.cancel.is_thrown() {
                return Err(ClientError::Gone.into());
            }
            if state.done {
                return Ok(Next::Done);
            }
            let by = state.counted(deadline);
            if by.has_passed() {
                state.expired = true;
                return Err(Reason::Timeout.into());
            }
            if state.asked && !state.has_octets() {
                return Ok(Next::Feed);
            }
            match by.moment() {
                Some(moment) => drop(self.news.wait_until(&mut state, moment)),
                None => self.news.wait(&mut state),
            }
        }
    }

    /// Puts what was read into the empty slot.
    fn put(&self, chunk: &mut Chunk, octets: usize) {
        chunk.len = octets;
        let mut state = self.state.lock();
        state.ended = octets == 0;
        std::mem::swap(&mut state.slot, chunk);
        state.feed_hunger();
        self.wake_pool(&state);
    }

    /// Waits for the client's octets, or for news from the call.
    fn wait_for_client(&self, client: &mut dyn Downstream, deadline: Deadline) -> Result<(), ClientError> {
        let by = {
            let mut state = self.state.lock();
            if state.done || state.interim.is_some() || self.cancel.is_thrown() {
                return Ok(());
            }
            state.worker_polls = true;
            state.counted(deadline)
        };
        let bell = self.bells.as_ref().map(|bells| &bells.worker);
        let woken = {
            let _phase = phase::enter(Phase::Client);
            client.wait(bell.map(AsFd::as_fd), by)
        };
        self.state.lock().worker_polls = false;
        if let (Ok(Woken::Other), Some(bell)) = (woken, bell) {
            bell.silence();
        }
        woken.map(drop)
    }
}

/// A client that goes away ends the call and whatever the worker waits for.
impl ShutDown for Meeting {
    fn shut_down(&self) {
        self.cancel.throw();
        self.wake_worker(&self.state.lock());
    }
}

/// The pool thread's side.
impl Meeting {
    /// Whether somebody attends: if not, the call need not be made.
    pub(super) fn is_attended(&self) -> bool {
        !self.state.lock().left
    }

    /// The call is done, its result sent or lost.
    pub(super) fn finish(&self) {
        let mut state = self.state.lock();
        state.done = true;
        self.wake_worker(&state);
    }

    /// Swaps `chunk` for the one in the slot: `None` when the client's next octets are not there yet, an empty one at the end.
    pub(super) fn take(&self, chunk: &mut Chunk) -> Result<Option<()>, ClientError> {
        let mut state = self.attended()?;
        chunk.len = 0;
        if state.has_octets() {
            std::mem::swap(&mut state.slot, chunk);
            self.wake_worker(&state);
            return Ok(Some(()));
        }
        self.ask(&mut state);
        Ok(None)
    }

    /// Waits until [`Self::take`] has something, or `other` is readable, or `by` passed.
    pub(super) fn wait_for_octets(&self, other: Option<BorrowedFd<'_>>, by: Deadline) -> Result<Woken, ClientError> {
        let Some(Bells { pool: bell, .. }) = &self.bells else { return Ok(Woken::Client) };
        while !self.begin_hunger()? {
            let readable = bell.wait(other, by);
            if readable || by.has_passed() {
                self.end_hunger();
                return Ok(if readable { Woken::Other } else { Woken::Expired });
            }
        }
        Ok(Woken::Client)
    }

    /// Hands an interim head to the worker, once it has sent the one before.
    pub(super) fn tell(&self, status: StatusCode, fields: &HeaderMap) -> Result<(), ClientError> {
        let mut state = self.attended()?;
        while state.interim.is_some() && !state.left {
            self.news.wait(&mut state);
        }
        if state.left {
            return Err(ClientError::Gone);
        }
        state.interim = Some((status, fields.clone()));
        self.wake_worker(&state);
        Ok(())
    }

    fn attended(&self) -> Result<parking_lot::MutexGuard<'_, State>, ClientError> {
        let state = self.state.lock();
        if state.left { Err(ClientError::Gone) } else { Ok(state) }
    }

    /// From the first time on, the worker fills the slot whenever it is empty.
    fn ask(&self, state: &mut State) {
        if !std::mem::replace(&mut state.asked, true) {
            self.wake_worker(state);
        }
    }

    /// True: there are octets, no need to wait.
    fn begin_hunger(&self) -> Result<bool, ClientError> {
        let mut state = self.attended()?;
        state.pool_polls = !state.has_octets();
        if state.pool_polls && state.hungry.is_none() {
            state.hungry = Some(Stopwatch::start());
            self.ask(&mut state);
        }
        Ok(!state.pool_polls)
    }

    fn end_hunger(&self) {
        let mut state = self.state.lock();
        state.pool_polls = false;
        state.feed_hunger();
        // The deadline runs again: the worker must wait by it.
        self.wake_worker(&state);
    }
}

/// Octets on their way across.
#[derive(Default)]
pub(super) struct Chunk {
    octets: Box<[u8]>,
    len: usize,
}

impl Chunk {
    /// What is in it.
    pub(super) fn filled(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    fn space(&mut self) -> &mut [u8] {
        if self.octets.is_empty() {
            self.octets = vec![0; CHUNK].into();
        }
        &mut self.octets
    }
}
