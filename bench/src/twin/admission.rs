//! How many requests one backend may have under way: the library's semaphore, or places. Nobody waits for a permit; only who has a place
//! in a pool's queue waits for its turn.

use super::places::{Place, PlacePool};
use portcullis::isolation::{NoResult, Permit, Semaphore};
use portcullis::reason::Reason;
use std::sync::Arc;

/// What bounds a backend.
pub(super) enum Bound {
    Semaphore(Arc<Semaphore>),
    Places(Arc<PlacePool>),
    None,
}

/// A request's share of it: to be kept until the last octet of the answer was handed over.
pub(super) enum Admission {
    Permit(#[expect(dead_code, reason = "held for its drop")] Permit),
    Place(Place),
    Unbounded,
}

impl Bound {
    /// Tries for a share; never waits.
    pub(super) fn admit(&self) -> Result<Admission, Reason> {
        Ok(match self {
            Self::Semaphore(semaphore) => Admission::Permit(permit(semaphore)?),
            Self::Places(pool) => Admission::Place(pool.reserve()?),
            Self::None => Admission::Unbounded,
        })
    }
}

/// The semaphore is one that nobody waits at, so that no client is ever asked whether it is still there.
fn permit(semaphore: &Arc<Semaphore>) -> Result<Permit, Reason> {
    semaphore.acquire(Arc::default).map_err(|refused| match refused {
        NoResult::Gateway(reason) => reason,
        NoResult::Client(error) => error.reason(),
    })
}

impl Admission {
    /// Waits in the pool's queue, if that is where the place is.
    pub(super) async fn turn(&mut self) {
        if let Self::Place(place) = self {
            place.turn().await;
        }
    }
}
