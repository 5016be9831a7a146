//! The ownership word: who may touch a connection, and what was announced about it meanwhile.
//!
//! ```text
//! generation (32 bits) | ... | CLOSED | HUP | RDHUP | READY | OWNED
//! ```
//!
//! One atomic per slot. An event turns OWNED on and owns the connection only if it was off; otherwise it leaves READY, so that the owner
//! reads again instead of releasing. The generation makes events, tokens and handles of a connection that is gone worthless. Pure
//! atomics: no socket and no clock come in here, so that `loom` can walk through every order. Called by `slots` only.

use super::sync::{AtomicU64, Ordering};

const OWNED: u64 = 1;
const READY: u64 = 2;
const RDHUP: u64 = 4;
const HUP: u64 = 8;
const CLOSED: u64 = 16;
const FLAGS: u64 = 0xffff_ffff;
const NEXT: u64 = 1 << 32;

/// Which of the connections that stood in a slot one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generation(pub(super) u32);

/// What an event says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// The peer sends nothing more.
    pub(super) read_hangup: bool,
    /// The connection is gone in both directions.
    pub(super) hangup: bool,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announced {
    /// The caller owns the connection now.
    Claimed,
    /// Somebody else owns it and will read again.
    Left {
        /// It is gone, and nobody knew so far.
        first_hangup: bool,
    },
    /// The connection is gone already.
    Stale,
}

#[derive(Debug)]
pub(super) struct Word(AtomicU64);

impl Word {
    /// Of a slot that no connection has.
    pub(super) fn vacant() -> Self {
        Self(AtomicU64::new(CLOSED))
    }

    /// A new connection stands in the slot, idle. Only for the holder of the slot's vacancy.
    pub(super) fn open(&self) -> Generation {
        let seen = self.0.fetch_and(!FLAGS, Ordering::AcqRel);
        Generation((seen >> 32) as u32)
    }

    /// Leaves an event; see [`Announced`].
    pub(super) fn announce(&self, generation: Generation, news: News) -> Announced {
        let hangups = if news.read_hangup { RDHUP } else { 0 } | if news.hangup { HUP } else { 0 };
        let mut seen = self.0.load(Ordering::Acquire);
        loop {
            if !is_open(seen, generation) {
                return Announced::Stale;
            }
            let owned = seen & OWNED != 0;
            // A hang-up is announced once only: the first also leaves READY, so that the owner reads to the end.
            let ready = if owned || hangups & !seen != 0 { READY } else { 0 };
            match self.0.compare_exchange_weak(
                seen,
                seen | OWNED | hangups | ready,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) if owned => return Announced::Left { first_hangup: news.hangup && seen & HUP == 0 },
                Ok(_) => return Announced::Claimed,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes an idle connection without an event: for its deadline, or a drain.
    pub(super) fn claim(&self) -> Option<Generation> {
        let seen = self.0.load(Ordering::Acquire);
        if seen & (OWNED | CLOSED) != 0 {
            return None;
        }
        let taken = self.0.compare_exchange(seen, seen | OWNED, Ordering::AcqRel, Ordering::Acquire);
        taken.ok().map(|seen| Generation((seen >> 32) as u32))
    }

    /// The owner gives the connection back. False: something was announced meanwhile, it still owns and must read again.
    pub(super) fn release(&self) -> bool {
        let seen = self.0.load(Ordering::Acquire);
        if seen & READY == 0
            && self.0.compare_exchange(seen, seen & !OWNED, Ordering::AcqRel, Ordering::Acquire).is_ok()
        {
            return true;
        }
        self.0.fetch_and(!READY, Ordering::AcqRel);
        false
    }

    /// Whether something was announced since the last time; for an owner that means to read now.
    pub(super) fn take_ready(&self) -> bool {
        self.0.load(Ordering::Acquire) & READY != 0 && self.0.fetch_and(!READY, Ordering::AcqRel) & READY != 0
    }

    /// Whether either hang-up was announced: a short receive then proves nothing, and one more is due.
    pub(super) fn hung_up(&self) -> bool {
        self.0.load(Ordering::Acquire) & (RDHUP | HUP) != 0
    }

    /// The owner's last act on a connection whose descriptor is closed: every handle to it is worthless from here on.
    pub(super) fn close(&self) {
        let mut seen = self.0.load(Ordering::Acquire);
        let next = |seen: u64| (seen & !FLAGS).wrapping_add(NEXT) | CLOSED;
        while let Err(now) = self.0.compare_exchange_weak(seen, next(seen), Ordering::AcqRel, Ordering::Acquire) {
            seen = now; // an event of this generation came at the last moment
        }
    }

    /// Whether the connection of that generation still stands in the slot.
    pub(super) fn is(&self, generation: Generation) -> bool {
        is_open(self.0.load(Ordering::Acquire), generation)
    }

    /// The generation of the connection that stands in the slot.
    pub(super) fn generation(&self) -> Option<Generation> {
        let seen = self.0.load(Ordering::Acquire);
        (seen & CLOSED == 0).then_some(Generation((seen >> 32) as u32))
    }
}

fn is_open(word: u64, generation: Generation) -> bool {
    word >> 32 == u64::from(generation.0) && word & CLOSED == 0
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    const DATA: News = News { read_hangup: false, hangup: false };
    const FIN: News = News { read_hangup: true, hangup: false };
    const GONE: News = News { read_hangup: true, hangup: true };

    #[test]
    fn the_first_event_owns_and_the_second_makes_the_owner_read_again() {
        let word = Word::vacant();
        let first = word.open();
        assert_eq!(word.announce(first, DATA), Announced::Claimed);
        assert_eq!(word.announce(first, DATA), Announced::Left { first_hangup: false });
        assert!(!word.release(), "something came");
        assert!(word.release());
        assert_eq!(word.claim(), Some(first));
        assert_eq!(word.claim(), None, "owned");
    }

    #[test]
    fn a_hang_up_that_comes_with_the_claim_is_read_to_the_end() {
        let word = Word::vacant();
        let first = word.open();
        assert_eq!(word.announce(first, FIN), Announced::Claimed);
        assert!(word.hung_up());
        assert!(!word.release(), "the FIN is announced once only");
        assert!(word.release());
    }

    #[test]
    fn only_the_first_hang_up_is_news() {
        let word = Word::vacant();
        let first = word.open();
        assert_eq!(word.announce(first, DATA), Announced::Claimed);
        assert_eq!(word.announce(first, FIN), Announced::Left { first_hangup: false });
        assert_eq!(word.announce(first, GONE), Announced::Left { first_hangup: true });
        assert_eq!(word.announce(first, GONE), Announced::Left { first_hangup: false });
    }

    #[test]
    fn events_of_a_connection_that_is_gone_touch_nothing() {
        let word = Word::vacant();
        assert_eq!(word.announce(Generation(0), DATA), Announced::Stale, "vacant");
        assert_eq!(word.claim(), None, "vacant");
        let first = word.open();
        assert_eq!(word.claim(), Some(first));
        word.close();
        assert_eq!(word.announce(first, GONE), Announced::Stale);
        let second = word.open();
        assert_ne!(first, second);
        assert!(word.is(second) && !word.is(first));
        assert_eq!(word.announce(first, GONE), Announced::Stale);
        assert!(!word.hung_up());
        assert_eq!(word.announce(second, DATA), Announced::Claimed);
    }

    #[test]
    fn generations_wrap_without_touching_the_flags() {
        let word = Word(AtomicU64::new(u64::from(u32::MAX) << 32 | OWNED | READY));
        word.close();
        assert_eq!(word.open(), Generation(0));
    }
}

#[cfg(test)]
#[cfg(loom)]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;
    use loom::thread;

    const DATA: News = News { read_hangup: false, hangup: false };

    /// A socket in miniature: octets that came, and the owner's way of reading them all before it releases.
    struct Connection {
        word: Word,
        octets: AtomicUsize,
        owners: AtomicUsize,
        read: AtomicUsize,
    }

    impl Connection {
        fn new() -> Arc<Self> {
            let zero = || AtomicUsize::new(0);
            Arc::new(Self { word: Word::vacant(), octets: zero(), owners: zero(), read: zero() })
        }

        /// The kernel adds an octet, then reports it to one waiting thread, which is the caller.
        fn arrive(&self, generation: Generation) {
            self.octets.fetch_add(1, Ordering::SeqCst);
            // loom's partial-order reduction remembers only the last access to an atomic. Without a write here it would not try the
            // orders in which this event falls between the owner's look at the word and its release.
            self.word.0.fetch_or(0, Ordering::AcqRel);
            if self.word.announce(generation, DATA) == Announced::Claimed {
                self.own();
            }
        }

        fn own(&self) {
            loop {
                assert_eq!(self.owners.fetch_add(1, Ordering::SeqCst), 0, "two owners");
                self.read.fetch_add(self.octets.swap(0, Ordering::SeqCst), Ordering::SeqCst);
                self.owners.fetch_sub(1, Ordering::SeqCst);
                if self.word.release() {
                    return;
                }
            }
        }
    }

    #[test]
    fn loom_no_event_is_lost_and_nobody_owns_twice() {
        loom::model(|| {
            let connection = Connection::new();
            let generation = connection.word.open();
            let other = connection.clone();
            let thread = thread::spawn(move || other.arrive(generation));
            connection.arrive(generation);
            thread.join().unwrap();
            assert_eq!(connection.read.load(Ordering::SeqCst), 2);
            assert_eq!(connection.word.claim(), Some(generation), "released at the end");
        });
    }

    #[test]
    fn loom_an_overdue_claim_and_an_event_have_one_owner() {
        loom::model(|| {
            let connection = Connection::new();
            let generation = connection.word.open();
            let other = connection.clone();
            let thread = thread::spawn(move || other.arrive(generation));
            if connection.word.claim().is_some() {
                connection.own();
            }
            thread.join().unwrap();
            assert_eq!(connection.read.load(Ordering::SeqCst), 1);
        });
    }

    #[test]
    fn loom_an_event_of_the_last_connection_never_claims_the_next() {
        loom::model(|| {
            let word = Arc::new(Word::vacant());
            let first = word.open();
            assert_eq!(word.claim(), Some(first));
            let other = word.clone();
            let late = thread::spawn(move || other.announce(first, News { read_hangup: true, hangup: true }));
            word.close();
            let second = word.open();
            assert_ne!(late.join().unwrap(), Announced::Claimed);
            assert!(!word.hung_up());
            assert_eq!(word.announce(second, DATA), Announced::Claimed);
        });
    }
}
