//! How many workers there are and how many of them are active; the rest are parked, last in, first out.
//!
//! What costs is not the number of threads but how many of them are runnable at once, so the housekeeper keeps only as many active as it
//! needs. A worker's number and its place among the active are a guard, [`Place`]: they come back however the thread ends or fails to
//! start. Each number has a seat on cache lines of its own: the phase, and how many requests it answered.

use super::shared::Shared;
use crate::phase::{Phase, PhaseHandle, PhaseSlot};
use crate::scheduling;
use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

const STACK: usize = 256 * 1024;
/// Ticks after which a worker in a phase that waits counts as blocked.
const LONG: u64 = 2;

#[derive(Default)]
struct Seat {
    phase: Arc<PhaseSlot>,
    answered: Answered,
}

/// Padded: its worker writes it once a request.
#[derive(Default)]
#[repr(align(128))]
struct Answered(AtomicU64);

struct Parked {
    thread: Thread,
    go: Arc<AtomicBool>,
}

/// What the housekeeper sees of the workers at a tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Survey {
    /// Active workers that are not blocked for long.
    pub(super) live: usize,
    /// Workers that are.
    pub(super) blocked: usize,
    /// Requests answered since the start.
    pub(super) answered: u64,
}

pub(super) struct Workers {
    seats: Box<[Seat]>,
    /// Seats that ever had a worker; numbers are given out from the lowest.
    seated: AtomicUsize,
    /// The housekeeper's count of its rounds, by which phases are dated.
    tick: Arc<AtomicU64>,
    numbers: Mutex<Vec<usize>>,
    parked: Mutex<Vec<Parked>>,
    active: AtomicUsize,
    /// Activated, and have not looked into the queue yet.
    starting: AtomicUsize,
    /// How many of the active shall park.
    surplus: AtomicUsize,
    /// The system gave no thread at the last try: said once, not at every tick.
    starved: AtomicBool,
    threads: Mutex<usize>,
    ended: Condvar,
}

impl Workers {
    pub(super) fn new(max: usize) -> Self {
        Self {
            seats: (0..max).map(|_| Seat::default()).collect(),
            seated: AtomicUsize::new(0),
            tick: Arc::new(AtomicU64::new(1)),
            numbers: Mutex::new((0..max).rev().collect()),
            parked: Mutex::default(),
            active: AtomicUsize::new(0),
            starting: AtomicUsize::new(0),
            surplus: AtomicUsize::new(0),
            starved: AtomicBool::new(false),
            threads: Mutex::new(0),
            ended: Condvar::new(),
        }
    }

    pub(super) fn active(&self) -> usize {
        self.active.load(Ordering::Acquire)
    }

    pub(super) fn starting(&self) -> usize {
        self.starting.load(Ordering::Acquire)
    }

    pub(super) fn parked(&self) -> usize {
        self.parked.lock().len()
    }

    pub(super) fn are_all_active(&self) -> bool {
        self.active() >= self.seats.len()
    }

    /// Requests answered since the start.
    pub(super) fn answered(&self) -> u64 {
        self.seats.iter().map(|seat| seat.answered.0.load(Ordering::Relaxed)).sum()
    }

    /// How many workers are in each phase, in the order of [`Phase::ALL`].
    pub(super) fn by_phase(&self) -> [usize; Phase::ALL.len()] {
        let mut counts = [0; Phase::ALL.len()];
        for seat in &self.seats {
            counts[seat.phase.read().0 as usize] += 1;
        }
        counts
    }

    /// The next round of the housekeeper.
    pub(super) fn next_tick(&self) -> u64 {
        self.tick.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Looks at every worker once.
    pub(super) fn survey(&self, tick: u64) -> Survey {
        let (mut blocked, mut answered) = (0, 0);
        for seat in &self.seats[..self.seated.load(Ordering::Acquire)] {
            let (phase, since) = seat.phase.read();
            blocked += usize::from(phase.waits() && since + LONG < tick);
            answered += seat.answered.0.load(Ordering::Relaxed);
        }
        Survey { live: self.active().saturating_sub(blocked), blocked, answered }
    }

    /// So many of the active shall park when they find nothing to do.
    pub(super) fn set_surplus(&self, count: usize) {
        self.surplus.store(count, Ordering::Release);
    }

    /// Whether the caller is one of the surplus.
    pub(super) fn take_surplus(&self) -> bool {
        let less = |n: usize| n.checked_sub(1);
        self.surplus.load(Ordering::Relaxed) > 0
            && self.surplus.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }

    /// Wakes every parked worker for good.
    pub(super) fn unpark_all(&self) {
        for parked in self.parked.lock().drain(..) {
            self.resume(&parked);
        }
    }

    /// Waits until every thread has ended, or `by` has passed; says how many have not.
    pub(super) fn wait_until_ended(&self, by: Instant) -> usize {
        let mut threads = self.threads.lock();
        while *threads > 0 {
            if self.ended.wait_until(&mut threads, by).timed_out() {
                break;
            }
        }
        *threads
    }

    fn resume(&self, parked: &Parked) {
        self.active.fetch_add(1, Ordering::AcqRel);
        self.starting.fetch_add(1, Ordering::AcqRel);
        parked.go.store(true, Ordering::Release);
        parked.thread.unpark();
    }
}

/// Makes up to `count` more workers active, parked ones first; says how many. A system that gives no thread is asked again later.
pub(super) fn activate(shared: &Arc<Shared>, count: usize) -> usize {
    let workers = &shared.workers;
    (0..count)
        .take_while(|_| {
            let parked = workers.parked.lock().pop();
            match parked {
                Some(parked) => {
                    workers.resume(&parked);
                    true
                }
                None => start(shared),
            }
        })
        .count()
}

fn start(shared: &Arc<Shared>) -> bool {
    let Some(place) = Place::take(shared) else { return false };
    let name = format!("{}-{}", shared.config.name, place.number);
    let started = thread::Builder::new().name(name).stack_size(STACK).spawn(move || {
        let shared = &place.counted.0;
        scheduling::apply(shared.config.scheduling);
        let slot = shared.workers.seats[place.number].phase.clone();
        let _phase = crate::phase::adopt(PhaseHandle { slot, tick: shared.workers.tick.clone() });
        shared.service.work(shared, &place);
    });
    let was_starved = shared.workers.starved.swap(started.is_err(), Ordering::Relaxed);
    if let Err(error) = &started
        && !was_starved
    {
        log::warn!("{}: no thread for another worker: {error}", shared.config.name);
    }
    started.is_ok()
}

/// A worker's number and its place among the active.
pub(super) struct Place {
    counted: Counted,
    number: usize,
    starting: Cell<bool>,
}

impl Place {
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        let number = shared.workers.numbers.lock().pop()?;
        shared.workers.seated.fetch_max(number + 1, Ordering::AcqRel);
        shared.workers.active.fetch_add(1, Ordering::AcqRel);
        shared.workers.starting.fetch_add(1, Ordering::AcqRel);
        Some(Self { counted: Counted::new(shared), number, starting: Cell::new(true) })
    }

    /// The worker has looked into the queue after it was activated.
    pub(super) fn has_looked(&self) {
        if self.starting.replace(false) {
            self.counted.0.workers.starting.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// One more request answered.
    pub(super) fn answered(&self) {
        // Nobody else writes it, so a plain store will do.
        let answered = &self.counted.0.workers.seats[self.number].answered.0;
        answered.store(answered.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Parks until the worker is activated again.
    pub(super) fn park(&self) {
        let _phase = crate::phase::enter(Phase::Parked);
        let go = Arc::new(AtomicBool::new(false));
        {
            let mut parked = self.counted.0.workers.parked.lock();
            if self.counted.0.is_stopped() {
                return;
            }
            self.counted.0.workers.active.fetch_sub(1, Ordering::AcqRel);
            parked.push(Parked { thread: thread::current(), go: go.clone() });
        }
        while !go.load(Ordering::Acquire) {
            thread::park();
        }
        self.starting.set(true);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let workers = &self.counted.0.workers;
        self.has_looked();
        workers.active.fetch_sub(1, Ordering::AcqRel);
        workers.numbers.lock().push(self.number);
    }
}

/// One of the front's threads, for as long as it lives: [`Workers::wait_until_ended`] waits for it.
pub(super) struct Counted(Arc<Shared>);

impl Counted {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        *shared.workers.threads.lock() += 1;
        Self(shared.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *self.0.workers.threads.lock() -= 1;
        self.0.workers.ended.notify_all();
    }
}

/// For how long a stop waits for threads whose sockets were shut already.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
