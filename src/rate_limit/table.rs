//! The state of each key's bucket, for a bounded number of keys.
//!
//! A bucket that is full again is as good as one that was never used: such keys make room for new ones. While none can, those who are not
//! remembered share one bucket with the limit of a single client: strangers in masses, which is an attack or a limit that is far too low,
//! neither pass unlimited nor lock out those who are known.

use super::key::Key;
use crate::metrics::Counter;
use governor::clock::Clock;
use governor::nanos::Nanos;
use governor::state::StateStore;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// Keys that one lock is for, before there are more locks.
const KEYS_PER_LOCK: usize = 1024;
const MOST_LOCKS: usize = 16;

/// Buckets by key: each the moment at which it is full again, as `governor` has it.
pub(super) struct Table<C> {
    shards: Box<[Mutex<Shard>]>,
    /// The bucket of those for whom there is no room.
    overflow: Mutex<Option<Nanos>>,
    /// Requests that counted there.
    pub(super) overflowed: Counter,
    hasher: RandomState,
    /// How long after it was full a bucket is forgotten at the earliest.
    rest: Nanos,
    clock: C,
}

struct Shard {
    full_at: HashMap<Key, Nanos>,
    capacity: usize,
    /// When the first of them can be full again: looking earlier is in vain.
    look_again: Nanos,
}

impl<C> Table<C> {
    /// For at most `max_keys`. With more than a few thousand, a lock's share of them can be used up somewhat earlier than all of it.
    pub(super) fn new(max_keys: usize, rest: Duration, clock: C) -> Self {
        let locks = (max_keys / KEYS_PER_LOCK).clamp(1, MOST_LOCKS);
        let capacity = |lock: usize| max_keys / locks + usize::from(lock < max_keys % locks);
        Self {
            shards: (0..locks).map(|lock| Mutex::new(Shard::new(capacity(lock)))).collect(),
            overflow: Mutex::default(),
            overflowed: Counter::default(),
            hasher: RandomState::new(),
            rest: rest.into(),
            clock,
        }
    }

    /// How many keys are remembered.
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().full_at.len()).sum()
    }

    fn shard(&self, key: Key) -> &Mutex<Shard> {
        let count = self.shards.len();
        &self.shards[self.hasher.hash_one(key) as usize % count]
    }
}

/// A table as `governor` calls it; the table itself is asked for its counts.
pub(super) struct Store<C>(pub(super) Arc<Table<C>>);

impl<C: Clock<Instant = Nanos>> StateStore for Store<C> {
    type Key = Key;

    fn measure_and_replace<T, F, E>(&self, key: &Key, take: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let table = &*self.0;
        let mut shard = table.shard(*key).lock();
        if let Some(full_at) = shard.full_at.get_mut(key) {
            let (taken, next) = take(Some(*full_at))?;
            *full_at = next;
            return Ok(taken);
        }
        if shard.has_room(table.clock.now().saturating_sub(table.rest)) {
            let (taken, next) = take(None)?;
            shard.full_at.insert(*key, next);
            return Ok(taken);
        }
        drop(shard);
        table.overflowed.add_one();
        let mut overflow = table.overflow.lock();
        let (taken, next) = take(*overflow)?;
        *overflow = Some(next);
        Ok(taken)
    }
}

impl Shard {
    fn new(capacity: usize) -> Self {
        Self { full_at: HashMap::new(), capacity, look_again: Nanos::new(0) }
    }

    /// Whether another key can be remembered; forgets those that were full at `now`, if it takes that.
    fn has_room(&mut self, now: Nanos) -> bool {
        if self.full_at.len() >= self.capacity && now >= self.look_again {
            self.full_at.retain(|_, full_at| *full_at > now);
            self.look_again = self.full_at.values().min().copied().unwrap_or(now);
        }
        self.full_at.len() < self.capacity
    }
}
