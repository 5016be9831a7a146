//! What a thread is doing, as others see it: one slot per worker, written by guards, read by the housekeeper and the live view.
//!
//! **Every call that may block goes through [`enter`]**: a worker that blocks outside of a phase looks busy, and the housekeeper would not
//! put another in its place. The slot is found through the thread, so that upstream and isolation code need not carry it along; on a
//! thread that is no worker (a test, a pool thread without a slot) a phase costs nothing and says nothing.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a worker may be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// No thread has this slot.
    Vacant,
    /// Parked: not needed now.
    Parked,
    /// Waits for a connection to become ready.
    Idle,
    /// Runs, or waits for a processor.
    Running,
    /// Waits for a connect or TLS handshake.
    Connect,
    /// Waits for the upstream.
    Upstream,
    /// Waits for the client.
    Client,
    /// Waits for a permit, a pool thread or an upstream connection.
    Pool,
}

impl Phase {
    /// Every phase, in the order of its number.
    pub const ALL: [Self; 8] = [
        Self::Vacant,
        Self::Parked,
        Self::Idle,
        Self::Running,
        Self::Connect,
        Self::Upstream,
        Self::Client,
        Self::Pool,
    ];

    /// The word for it, in gauges and the live view.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vacant => "vacant",
            Self::Parked => "parked",
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Connect => "connect",
            Self::Upstream => "upstream",
            Self::Client => "client",
            Self::Pool => "pool",
        }
    }

    /// Whether the thread waits for somebody else while it serves a request.
    pub fn waits(self) -> bool {
        matches!(self, Self::Connect | Self::Upstream | Self::Client | Self::Pool)
    }
}

/// One worker's phase and since which tick. Padded: each worker writes its own several times a request.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct PhaseSlot(AtomicU64);

impl PhaseSlot {
    /// What the worker does now, and the tick at which it began.
    pub fn read(&self) -> (Phase, u64) {
        let word = self.0.load(Relaxed);
        (Phase::ALL[(word & 7) as usize], word >> 3)
    }

    fn write(&self, phase: Phase, tick: u64) -> u64 {
        self.0.swap(tick << 3 | phase as u64, Relaxed)
    }
}

/// A thread's claim on a slot: what [`enter`] writes to.
#[derive(Clone, Debug)]
pub struct PhaseHandle {
    /// The slot.
    pub slot: Arc<PhaseSlot>,
    /// The housekeeper's count of milliseconds with work.
    pub tick: Arc<AtomicU64>,
}

thread_local! {
    static MINE: RefCell<Option<PhaseHandle>> = const { RefCell::new(None) };
}

/// Gives the calling thread its slot until the guard is dropped; the slot is then [`Phase::Vacant`].
pub fn adopt(handle: PhaseHandle) -> Adopted {
    handle.slot.write(Phase::Running, handle.tick.load(Relaxed));
    MINE.with(|mine| *mine.borrow_mut() = Some(handle));
    Adopted(())
}

/// Vacates the slot on drop.
#[derive(Debug)]
pub struct Adopted(());

impl Drop for Adopted {
    fn drop(&mut self) {
        if let Some(handle) = MINE.with(|mine| mine.borrow_mut().take()) {
            handle.slot.write(Phase::Vacant, 0);
        }
    }
}

/// Says that the calling thread is in `phase` until the guard is dropped, which restores the former phase and its tick.
pub fn enter(phase: Phase) -> InPhase {
    let former = MINE.with(|mine| {
        let mine = mine.borrow();
        let handle = mine.as_ref()?;
        Some(handle.slot.write(phase, handle.tick.load(Relaxed)))
    });
    InPhase(former)
}

/// Restores the former phase on drop, also in a panic.
#[derive(Debug)]
#[must_use = "the phase ends when this is dropped"]
pub struct InPhase(Option<u64>);

impl Drop for InPhase {
    fn drop(&mut self) {
        if let Some(former) = self.0 {
            MINE.with(|mine| {
                if let Some(handle) = mine.borrow().as_ref() {
                    handle.slot.0.store(former, Relaxed);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_nest_and_come_back() {
        let handle = PhaseHandle { slot: Arc::default(), tick: Arc::new(AtomicU64::new(7)) };
        let adopted = adopt(handle.clone());
        assert_eq!(handle.slot.read(), (Phase::Running, 7));
        let outer = enter(Phase::Upstream);
        handle.tick.store(9, Relaxed);
        let panicked = std::panic::catch_unwind(|| {
            let _inner = enter(Phase::Connect);
            panic!("on purpose");
        });
        assert!(panicked.is_err());
        assert_eq!(handle.slot.read(), (Phase::Upstream, 7));
        drop(outer);
        assert_eq!(handle.slot.read(), (Phase::Running, 7));
        drop(adopted);
        assert_eq!(handle.slot.read().0, Phase::Vacant);
        drop(enter(Phase::Client));
        assert_eq!(handle.slot.read().0, Phase::Vacant);
    }
}
