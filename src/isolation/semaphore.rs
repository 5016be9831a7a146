//! A counting semaphore that refuses instead of waiting (`zuul.semaphore.max-semaphores` and its overrides).
//!
//! Taking a permit is one compare-exchange that never passes the limit, not even for a moment: counting up first and looking afterwards,
//! as Hystrix does, refuses callers while a permit is free. It must never block. Called by [`super::Isolation`].

use crate::metrics::{Collect, Counter, Sink};
use crate::reason::Reason;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bounds how many requests of one backend are under way.
#[derive(Debug)]
pub struct Semaphore {
    backend: String,
    limit: usize,
    in_use: AtomicUsize,
    refused: Counter,
}

impl Semaphore {
    /// For the backend of this id; a limit of 0 refuses everything.
    pub fn new(backend: &str, limit: usize) -> Arc<Self> {
        Arc::new(Self { backend: backend.into(), limit, in_use: AtomicUsize::new(0), refused: Counter::default() })
    }

    /// Takes a permit if one is free.
    ///
    /// # Errors
    /// [`Reason::SemaphoreFull`].
    pub fn try_acquire(self: &Arc<Self>) -> Result<Permit, Reason> {
        let one_more = |in_use| (in_use < self.limit).then_some(in_use + 1);
        match self.in_use.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_more) {
            Ok(_) => Ok(Permit(self.clone())),
            Err(_) => {
                self.refused.add_one();
                Err(Reason::SemaphoreFull)
            }
        }
    }

    /// How many permits are taken.
    pub fn in_use(&self) -> usize {
        self.in_use.load(Ordering::Relaxed)
    }
}

impl Collect for Semaphore {
    fn collect(&self, sink: &mut dyn Sink) {
        let label = ("backend", self.backend.as_str());
        sink.gauge("portcullis.semaphore.capacity", "Permits there are", &[label], self.limit as f64);
        sink.gauge("portcullis.semaphore.in.use", "Permits taken by requests", &[label], self.in_use() as f64);
        let labels = [label, ("reason", Reason::SemaphoreFull.name())];
        let help = "Requests refused since every permit was taken";
        sink.counter("portcullis.semaphore.refused", help, &labels, self.refused.get());
    }
}

/// One permit; its drop gives it back.
#[derive(Debug)]
#[must_use = "the permit is given back when this is dropped"]
pub struct Permit(Arc<Semaphore>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn the_limit_is_exact_under_contention() {
        const THREADS: usize = 8;
        let (semaphore, under_way, most) = (Semaphore::new("svc", 3), AtomicUsize::new(0), AtomicUsize::new(0));
        let barrier = Barrier::new(THREADS);
        let granted = std::thread::scope(|scope| {
            let one = || {
                barrier.wait();
                let mut granted = 0;
                for _ in 0..5_000 {
                    let Ok(_permit) = semaphore.try_acquire() else { continue };
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
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let one = || {
                barrier.wait();
                semaphore.try_acquire()
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
        let panicked = std::panic::catch_unwind(|| {
            let _permit = one.try_acquire();
            panic!("on purpose");
        });
        assert!(panicked.is_err());
        let permit = one.try_acquire().unwrap();
        assert_eq!(one.try_acquire().unwrap_err(), Reason::SemaphoreFull);
        drop(permit);
        assert_eq!(one.in_use(), 0);
        assert_eq!(Semaphore::new("svc", 0).try_acquire().unwrap_err(), Reason::SemaphoreFull);
    }
}
