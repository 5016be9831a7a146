//! How many requests one backend may have under way, and on whose thread they wait for it.
//!
//! **What a permit covers**: from admission until the response body was sent or dropped, in both modes. Hystrix frees it when the
//! response head is there (a pool) or when the timeout strikes (a semaphore), so that slow bodies and late answers are not counted.
//! **At the deadline** the caller is free in both modes: a semaphore's call runs on the caller's own thread and ends by its deadline; a
//! pool's call is left behind, its exchange shut down, and its place comes back when the pool thread has noticed.
//! Full means refused, unless `gateway.isolation.max-wait` lets requests wait for a permit. The gateway calls [`Isolation::admit`], then
//! [`Admitted::call`] and [`Admitted::heard`], and does not know which mode it is.

mod bell;
mod bridge;
mod limit;
mod line;
mod meeting;
pub mod places;
mod pool;
mod pool_thread;
mod semaphore;
mod tally;

pub use pool::{Place, Pool};
pub use semaphore::{Manner, Permit, Semaphore};

use crate::cancel::Cancel;
use crate::client::{ClientError, Downstream};
use crate::deadline::Deadline;
use crate::reason::Reason;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How the requests of one backend are bounded; `L` is what a call needs of its thread (an upstream caller).
pub enum Isolation<L: 'static> {
    /// By a count; the call runs on the worker.
    Semaphore(Arc<Semaphore>),
    /// By the places of a thread pool; the call runs on one of its threads up to the response head.
    Pool(Arc<Pool<L>>),
    /// Not bounded: url routes under `gateway.compat: zuul1`.
    None,
}

impl<L: 'static> Isolation<L> {
    /// Takes a permit or a place. Only a semaphore with a `max-wait` waits, until then or until the client's switch is thrown.
    ///
    /// # Errors
    /// [`Reason::SemaphoreFull`], [`Reason::PoolFull`], or [`ClientError::Gone`] for who left while waiting.
    pub fn admit(&self, cancel: impl FnOnce() -> Arc<Cancel>) -> Result<Admitted<L>, NoResult> {
        Ok(match self {
            Self::Semaphore(semaphore) => Admitted::Permit(semaphore.acquire(cancel)?),
            Self::Pool(pool) => Admitted::Place(pool.reserve()?),
            Self::None => Admitted::Unbounded,
        })
    }
}

/// An admitted request's share of the limit: to be kept until its response body was sent or dropped.
pub enum Admitted<L: 'static> {
    /// One of a semaphore.
    Permit(Permit),
    /// One of a pool.
    Place(Place<L>),
    /// Nothing to give back.
    Unbounded,
}

/// Who takes part in a call.
pub struct Parties<'a, L> {
    /// The worker's own; a pool's call uses that of its pool thread instead.
    pub local: &'a mut L,
    /// Where the request's body comes from and interim heads go to.
    pub client: &'a mut dyn Downstream,
    /// By when the call must have its response head; runs from admission.
    pub deadline: Deadline,
    /// The client's switch.
    pub cancel: &'a Cancel,
}

impl<L: 'static> Admitted<L> {
    /// Makes the call: on this thread, or on one of the pool's while this thread attends to the client.
    ///
    /// # Errors
    /// [`NoResult`], from a pool only; what goes wrong upstream is for `R` to tell.
    pub fn call<R: Send + 'static>(
        &self,
        parties: Parties<'_, L>,
        job: impl FnOnce(&mut L, &mut dyn Downstream, Deadline, &Cancel) -> R + Send + 'static,
    ) -> Result<R, NoResult> {
        let Parties { local, client, deadline, cancel } = parties;
        match self {
            Self::Place(place) => place.call(client, deadline, cancel, job),
            Self::Permit(_) | Self::Unbounded => Ok(job(local, client, deadline, cancel)),
        }
    }

    /// How long it waited: for a permit, or for a pool thread, the pool's queue included.
    pub fn waited(&self) -> Duration {
        match self {
            Self::Place(place) => place.waited(),
            Self::Permit(permit) => permit.waited(),
            Self::Unbounded => Duration::ZERO,
        }
    }

    /// When it was admitted, having asked at that moment: only a permit is waited for.
    pub fn since(&self, asked: Instant) -> Instant {
        match self {
            Self::Permit(permit) => asked + permit.waited(),
            Self::Place(_) | Self::Unbounded => asked,
        }
    }

    /// What came of the call, for a limit that moves; to be told once a request, after all its attempts.
    pub fn heard(&self, heard: Heard) {
        if let Self::Permit(permit) = self {
            permit.heard(heard);
        }
    }
}

/// What a call tells about how many of its kind can be under way. Refusals, fallbacks and clients that leave tell nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The response head came, whatever its status.
    Head {
        /// For how long the client's upload was waited for: no fault of the server's.
        client: Duration,
    },
    /// It timed out, or there was nobody to connect to.
    Dropped,
}

/// Why there was no permit, or why a pool's call came back without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// [`Reason::SemaphoreFull`], [`Reason::PoolFull`]: not admitted; [`Reason::Timeout`]: the deadline passed; [`Reason::Internal`]: the
    /// job panicked, or the system gave no descriptor.
    Gateway(Reason),
    /// The client's side failed while it waited, while its body was read or an interim head was sent.
    Client(ClientError),
}

impl From<Reason> for NoResult {
    fn from(reason: Reason) -> Self {
        Self::Gateway(reason)
    }
}

impl From<ClientError> for NoResult {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}
