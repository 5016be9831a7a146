//! Permits under contention: exact, in turn, and all back at the end.

use super::*;
use crate::client::ClientError;
use crate::config::model::LimitLaw;
use parking_lot::RwLock;
use std::panic::AssertUnwindSafe;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, yield_now};

const LAWS: [LimitLaw; 3] = [LimitLaw::Vegas, LimitLaw::Gradient2, LimitLaw::Aimd];
const BOUND: Duration = Duration::from_secs(20);

fn try_one(semaphore: &Arc<Semaphore>) -> Result<Permit, NoResult> {
    semaphore.acquire(|| unreachable!("nobody waits"))
}

fn full() -> NoResult {
    Reason::SemaphoreFull.into()
}

fn patient(limit: usize, max_wait: Duration) -> Arc<Semaphore> {
    Semaphore::with("svc", limit, Manner { adaptive: None, max_wait })
}

fn adaptive(law: LimitLaw, floor: usize, ceiling: usize, max_wait: Duration) -> Arc<Semaphore> {
    Semaphore::with("svc", ceiling, Manner { adaptive: Some(AdaptiveLimit { law, floor }), max_wait })
}

fn waiting(semaphore: &Semaphore) -> usize {
    semaphore.line.as_ref().map_or(0, Line::len)
}

#[track_caller]
fn until(what: &str, holds: impl Fn() -> bool) {
    let from = Stopwatch::start();
    while !holds() {
        assert!(from.elapsed() < BOUND, "{what}");
        yield_now();
    }
}

/// Nothing is held, nobody waits, and as many permits as the limit can be had at once.
#[track_caller]
fn assert_whole(semaphore: &Arc<Semaphore>) {
    assert_eq!((semaphore.in_use(), waiting(semaphore)), (0, 0));
    let all: Vec<_> = (0..semaphore.limit()).map(|_| try_one(semaphore).unwrap()).collect();
    assert_eq!(semaphore.tally.take(), None);
    drop(all);
    assert_eq!(semaphore.in_use(), 0);
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[test]
fn the_limit_is_exact_under_contention() {
    const THREADS: usize = 8;
    let (semaphore, under_way, most) = (Semaphore::new("svc", 3), AtomicUsize::new(0), AtomicUsize::new(0));
    let barrier = Barrier::new(THREADS);
    let granted = scope(|scope| {
        let one = || {
            barrier.wait();
            let mut granted = 0;
            for _ in 0..5_000 {
                let Ok(_permit) = try_one(&semaphore) else { continue };
                granted += 1;
                most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                under_way.fetch_sub(1, Ordering::SeqCst);
            }
            granted
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum::<u64>()
    });
    assert!(most.load(Ordering::SeqCst) <= 3);
    assert_eq!(granted + semaphore.refused.get(), THREADS as u64 * 5_000);
    assert_eq!(semaphore.in_use(), 0);
}

#[test]
fn as_many_as_the_limit_are_granted_at_the_same_instant() {
    const THREADS: usize = 16;
    let (semaphore, barrier) = (Semaphore::new("svc", 4), Barrier::new(THREADS));
    let outcomes: Vec<_> = scope(|scope| {
        let one = || {
            barrier.wait();
            try_one(&semaphore)
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|o| o.is_ok()).count(), 4);
    assert_eq!(semaphore.in_use(), 4);
    drop(outcomes);
    assert_eq!(semaphore.in_use(), 0);
}

#[test]
fn a_limit_of_one_is_given_back_by_a_panic_and_a_limit_of_none_refuses() {
    let one = Semaphore::new("svc", 1);
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let _permit = try_one(&one);
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    let permit = try_one(&one).unwrap();
    assert_eq!(try_one(&one).unwrap_err(), full());
    drop(permit);
    assert_eq!(one.in_use(), 0);
    assert_eq!(try_one(&Semaphore::new("svc", 0)).unwrap_err(), full());
}

/// Against a model: a permit is granted if and only if fewer are taken than the limit in force.
#[test]
fn a_permit_is_granted_exactly_while_fewer_are_taken_than_the_limit_in_force() {
    for (seed, law) in (1..=60).flat_map(|seed| LAWS.map(|law| (seed, law))) {
        let mut dice = Dice(u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15));
        let (semaphore, start) = (adaptive(law, 1, 30, Duration::ZERO), Instant::now());
        let mut held = Vec::new();
        for step in 0..2_000 {
            match dice.below(8) {
                0..4 => match try_one(&semaphore) {
                    Ok(permit) => {
                        assert!(held.len() < semaphore.limit(), "{law:?} {seed}: granted above the limit");
                        held.push(permit);
                        assert_eq!(held.len(), held.last().map_or(0, |permit| permit.in_flight));
                    }
                    Err(why) => {
                        assert_eq!(why, full());
                        assert!(held.len() >= semaphore.limit(), "{law:?} {seed}: refused below the limit");
                    }
                },
                4..7 if !held.is_empty() => drop(held.swap_remove(dice.below(held.len() as u64) as usize)),
                _ => {
                    let rtt = Duration::from_micros(1 + dice.below(50_000));
                    let in_flight = held.len();
                    let sample = Sample { rtt, in_flight, dropped: dice.below(20) == 0 };
                    let moving = semaphore.moving.as_ref().unwrap();
                    semaphore.sample(moving, sample, start + Duration::from_millis(20 * step));
                    assert!((1..=30).contains(&semaphore.limit()), "{law:?} {seed}");
                }
            }
            assert_eq!(semaphore.in_use(), held.len());
        }
        drop(held);
        assert_whole(&semaphore);
    }
}

/// Many threads, while the limit moves: each grant is judged by the limit that no one can change at that moment.
#[test]
fn no_permit_is_granted_above_the_limit_in_force_whoever_asks() {
    const THREADS: usize = 8;
    for (law, max_wait) in LAWS.into_iter().flat_map(|law| [(law, Duration::ZERO), (law, BOUND)]) {
        let semaphore = adaptive(law, 1, 12, max_wait);
        let (in_force, granted, barrier) = (RwLock::new(()), AtomicUsize::new(0), Barrier::new(THREADS));
        scope(|scope| {
            for thread in 0..THREADS {
                let (semaphore, in_force, granted, barrier) = (&semaphore, &in_force, &granted, &barrier);
                scope.spawn(move || {
                    let (mut dice, start) = (Dice(thread as u64 + 1), Instant::now());
                    barrier.wait();
                    for step in 0..1_500 {
                        if max_wait.is_zero() {
                            let stands_still = in_force.read();
                            let Ok(permit) = try_one(semaphore) else { continue };
                            assert!(permit.in_flight <= semaphore.limit(), "{law:?}");
                            drop(stands_still);
                            granted.fetch_add(1, Ordering::Relaxed);
                            yield_now();
                        } else {
                            let permit = semaphore.acquire(Arc::default).unwrap();
                            assert!(permit.in_flight <= 12, "{law:?}");
                            granted.fetch_add(1, Ordering::Relaxed);
                        }
                        let rtt = Duration::from_micros(1 + dice.below(9_000));
                        let sample = Sample { rtt, in_flight: 12, dropped: dice.below(9) == 0 };
                        let _nobody_takes = max_wait.is_zero().then(|| in_force.write());
                        let now = start + Duration::from_millis(20 * step);
                        semaphore.sample(semaphore.moving.as_ref().unwrap(), sample, now);
                    }
                });
            }
        });
        assert!(granted.load(Ordering::Relaxed) > 0);
        assert_whole(&semaphore);
    }
}

#[test]
fn who_waits_is_served_in_order_of_arrival() {
    let semaphore = patient(1, BOUND);
    let first = semaphore.acquire(Arc::default).unwrap();
    let (tell, served) = std::sync::mpsc::channel();
    scope(|scope| {
        for number in 0..4 {
            let (tell, semaphore) = (tell.clone(), &semaphore);
            scope.spawn(move || {
                let permit = semaphore.acquire(Arc::default).unwrap();
                tell.send(number).unwrap();
                assert!(permit.waited() > Duration::ZERO);
            });
            until("it waits", || waiting(semaphore) == number + 1);
        }
        assert_eq!(semaphore.tally.take(), None, "nobody overtakes");
        drop(first);
        assert_eq!([(); 4].map(|()| served.recv_timeout(BOUND).unwrap()), [0, 1, 2, 3]);
    });
    assert_eq!(semaphore.line.as_ref().unwrap().waits.count(), 4);
    assert_whole(&semaphore);
}

#[test]
fn a_wait_ends_in_time_or_with_its_client() {
    let semaphore = patient(1, Duration::from_millis(5));
    let held = semaphore.acquire(Arc::default).unwrap();
    assert_eq!(semaphore.acquire(Arc::default).unwrap_err(), full());
    assert_eq!((semaphore.refused.get(), waiting(&semaphore)), (1, 0));
    drop(held);
    assert_whole(&semaphore);

    let semaphore = patient(1, BOUND);
    let (held, cancel) = (semaphore.acquire(Arc::default).unwrap(), Arc::new(Cancel::default()));
    scope(|scope| {
        let leaver = scope.spawn(|| semaphore.acquire(|| cancel.clone()).unwrap_err());
        until("it waits", || waiting(&semaphore) == 1);
        cancel.throw();
        assert_eq!(leaver.join().unwrap(), ClientError::Gone.into());
    });
    assert_eq!(semaphore.acquire(|| cancel.clone()).unwrap_err(), ClientError::Gone.into(), "it was gone before");
    assert_eq!(semaphore.refused.get(), 0, "who leaves is not refused");
    drop(held);
    assert_whole(&semaphore);
}

#[test]
fn a_raised_limit_serves_who_waits() {
    let semaphore = adaptive(LimitLaw::Aimd, 1, 2, BOUND);
    let moving = semaphore.moving.as_ref().unwrap();
    let sample = |dropped| Sample { rtt: Duration::from_millis(1), in_flight: 2, dropped };
    semaphore.sample(moving, sample(true), Instant::now());
    assert_eq!(semaphore.limit(), 1);
    let held = semaphore.acquire(Arc::default).unwrap();
    scope(|scope| {
        let waiter = scope.spawn(|| semaphore.acquire(Arc::default).unwrap().in_flight);
        until("it waits", || waiting(&semaphore) == 1);
        semaphore.sample(moving, sample(false), Instant::now());
        assert_eq!(waiter.join().unwrap(), 2);
    });
    drop(held);
    assert_whole(&semaphore);
}

/// Waits that expire, are cancelled and are served at the same instant lose neither a permit nor a turn.
#[test]
fn every_permit_is_back_after_waits_of_all_kinds() {
    const THREADS: usize = 8;
    let semaphore = patient(2, Duration::from_micros(50));
    let (barrier, over) = (Barrier::new(THREADS), AtomicBool::new(false));
    let cancels: Vec<_> = (0..THREADS).map(|_| Arc::new(Cancel::default())).collect();
    scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                cancels.iter().for_each(|cancel| cancel.throw());
                yield_now();
            }
        });
        let ask = |cancel: &Arc<Cancel>| {
            barrier.wait();
            for _ in 0..1_000 {
                cancel.reset();
                if let Ok(permit) = semaphore.acquire(|| cancel.clone()) {
                    assert!(permit.in_flight <= 2);
                    yield_now();
                }
            }
        };
        let threads: Vec<_> = cancels.iter().map(|cancel| scope.spawn(move || ask(cancel))).collect();
        let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        // Before a failure is told: the scope waits for who throws.
        over.store(true, Ordering::Relaxed);
        ends.into_iter().for_each(|end| end.unwrap());
    });
    assert_whole(&semaphore);
}
