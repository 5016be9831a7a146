//! The atomics of the three small protocols (ownership word, idle-and-queue, housekeeper's sleep): std's, or loom's while they are
//! model-checked. Nothing else may be added here: whoever needs a lock uses `parking_lot`.

#[cfg(loom)]
pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
