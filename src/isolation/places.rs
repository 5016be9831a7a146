//! The counting of a thread pool's places: Hystrix's growth and queue rules, without threads.
//!
//! ```text
//! queue length >= queueSizeRejectionThreshold     refused    (Hystrix looks first; only with a queue)
//! threads < coreSize                              runs on a new thread
//! running < threads                               runs
//! queue length < maxQueueSize                     queued
//! threads < maximumSize                           runs on a new thread, before those that are queued
//! otherwise                                       refused
//! ```
//!
//! So a pool grows beyond its core only when the queue is full, which it never is as long as the threshold is not above `maxQueueSize`.
//! Many expect "up to the maximum, then the queue"; the order is Hystrix's all the same, since files must mean what they meant. A place
//! counts as running until its response body ended, and its thread is idle by then: there is always a thread for who runs.

use crate::config::model::ThreadPoolConfig;

/// What becomes of who asks for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It runs now.
    Running,
    /// It runs when a place comes back.
    Queued,
    /// No place.
    Refused,
}

/// The places of one pool.
#[derive(Debug)]
pub struct Places {
    core: usize,
    maximum: usize,
    queue: Option<Queue>,
    threads: usize,
    running: usize,
    queued: usize,
    largest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    size: usize,
    threshold: usize,
}

impl Places {
    /// Nobody there yet. A pool has one thread at least, as in Java.
    pub fn new(config: &ThreadPoolConfig) -> Self {
        let core = config.core_size.max(1);
        let threshold = config.queue_size_rejection_threshold;
        let queue = config.max_queue_size.filter(|&size| size > 0).map(|size| Queue { size, threshold });
        Self { core, maximum: config.maximum_size.max(core), queue, threads: 0, running: 0, queued: 0, largest: 0 }
    }

    /// Decides, and counts what it grants. `start_thread` is called when the pool is to grow; if it cannot, what there is must do.
    pub fn admit(&mut self, mut start_thread: impl FnMut() -> bool) -> Admission {
        if self.queue.is_some_and(|queue| self.queued >= queue.threshold) {
            return Admission::Refused;
        }
        let below_core = self.threads < self.core;
        if (below_core && self.grow(&mut start_thread)) || self.running < self.threads {
            return self.run();
        }
        if self.threads > 0 && self.queue.is_some_and(|queue| self.queued < queue.size) {
            self.queued += 1;
            return Admission::Queued;
        }
        if !below_core && self.threads < self.maximum && self.grow(&mut start_thread) {
            return self.run();
        }
        Admission::Refused
    }

    /// A running place came back. True: the oldest in the queue runs now, and is counted so.
    #[must_use]
    pub fn leave_running(&mut self) -> bool {
        self.running -= 1;
        let promoted = self.queued > 0;
        if promoted {
            self.queued -= 1;
            self.running += 1;
        }
        promoted
    }

    /// A queued place was given up.
    pub fn leave_queue(&mut self) {
        self.queued -= 1;
    }

    /// Whether an idle thread should look again after the keep-alive time.
    pub fn has_surplus(&self) -> bool {
        self.threads > self.core
    }

    /// Whether the calling thread, idle for the keep-alive time, shall end; it is then no longer counted.
    pub fn retire(&mut self) -> bool {
        let surplus = self.has_surplus() && self.running < self.threads;
        if surplus {
            self.threads -= 1;
        }
        surplus
    }

    /// The numbers now.
    pub fn census(&self) -> Census {
        Census {
            capacity: self.maximum,
            queue_capacity: self.queue.map_or(0, |queue| queue.size.min(queue.threshold)),
            running: self.running,
            queued: self.queued,
            threads: self.threads,
            largest: self.largest,
        }
    }

    fn grow(&mut self, start_thread: &mut impl FnMut() -> bool) -> bool {
        let started = start_thread();
        if started {
            self.threads += 1;
            self.largest = self.largest.max(self.threads);
        }
        started
    }

    fn run(&mut self) -> Admission {
        self.running += 1;
        Admission::Running
    }
}

/// What the gauges tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Places that can run at once.
    pub capacity: usize,
    /// Places in the queue that can be had: the smaller of its size and its threshold.
    pub queue_capacity: usize,
    /// Places whose requests are under way.
    pub running: usize,
    /// Places that wait for one to come back.
    pub queued: usize,
    /// Threads now.
    pub threads: usize,
    /// The most threads there have been.
    pub largest: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use Admission::{Queued, Refused, Running};

    fn places(core: usize, maximum: usize, queue: Option<usize>, threshold: usize) -> Places {
        Places::new(&ThreadPoolConfig {
            core_size: core,
            maximum_size: maximum,
            max_queue_size: queue,
            queue_size_rejection_threshold: threshold,
            ..ThreadPoolConfig::default()
        })
    }

    /// Asks `running + queued + 1` times and expects exactly the last to be refused.
    #[track_caller]
    fn check(mut places: Places, running: usize, queued: usize) {
        let outcomes: Vec<_> = (0..=running + queued).map(|_| places.admit(|| true)).collect();
        let count = |wanted| outcomes.iter().filter(|&&o| o == wanted).count();
        assert_eq!((count(Running), count(Queued), count(Refused)), (running, queued, 1), "{outcomes:?}");
        assert_eq!(outcomes.last(), Some(&Refused));
        let census = places.census();
        assert_eq!((census.running, census.queued, census.threads), (running, queued, running));
    }

    #[test]
    fn hystrix_decides_who_runs_waits_and_is_refused() {
        check(Places::new(&ThreadPoolConfig::default()), 10, 0);
        check(places(1, 1, None, 5), 1, 0);
        check(places(1, 1, Some(0), 5), 1, 0);
        check(places(3, 7, None, 5), 7, 0);
        check(places(2, 2, Some(100), 5), 2, 5);
        check(places(2, 2, Some(4), 5), 2, 4);
        check(places(2, 6, Some(4), 5), 6, 4);
        // Java's pool has a thread even with a core of 0.
        check(places(0, 0, None, 5), 1, 0);
        // A threshold of 0 refuses everything, also in Hystrix.
        check(places(2, 2, Some(4), 0), 0, 0);
    }

    #[test]
    fn the_maximum_is_not_used_while_the_threshold_refuses_before_the_queue_is_full() {
        check(places(1, 40, Some(25), 5), 1, 5);
        check(places(1, 40, Some(25), 25), 1, 25);
        check(places(1, 40, Some(25), 26), 40, 25);
    }

    #[test]
    fn a_place_that_comes_back_goes_to_the_queue_first() {
        let mut places = places(1, 1, Some(2), 2);
        assert_eq!([(); 3].map(|()| places.admit(|| true)), [Running, Queued, Queued]);
        assert!(places.leave_running());
        assert_eq!(places.admit(|| true), Queued);
        places.leave_queue();
        assert!(places.leave_running());
        assert!(!places.leave_running());
        let census = places.census();
        assert_eq!((census.running, census.queued, census.threads), (0, 0, 1));
    }

    #[test]
    fn threads_above_core_retire_but_never_one_that_a_place_needs() {
        let mut places = places(1, 3, None, 0);
        assert_eq!([(); 3].map(|()| places.admit(|| true)), [Running; 3]);
        assert!(!places.retire(), "every thread has its place");
        assert!(!places.leave_running());
        assert!(places.retire());
        assert!(!places.retire());
        assert!(!places.leave_running() && !places.leave_running());
        assert!(places.retire());
        assert!(!places.retire(), "the core stays");
        assert_eq!((places.census().threads, places.census().largest), (1, 3));
    }

    #[test]
    fn idle_threads_above_core_are_used_before_the_queue() {
        let mut places = places(1, 2, Some(1), 2);
        assert_eq!([(); 3].map(|()| places.admit(|| true)), [Running, Queued, Running]);
        assert!(places.leave_running(), "the queued one runs");
        assert!(!places.leave_running());
        assert_eq!(places.admit(|| unreachable!("two threads are there")), Running);
    }

    #[test]
    fn without_new_threads_what_there_is_must_do() {
        let mut fresh = places(2, 4, Some(1), 2);
        assert_eq!(fresh.admit(|| false), Refused, "a queue that no thread will serve is no place");
        assert_eq!(fresh.admit(|| true), Running);
        assert_eq!(fresh.admit(|| false), Queued);
        assert_eq!(fresh.admit(|| false), Refused);
        assert!(fresh.leave_running());
        assert!(!fresh.leave_running());
        assert_eq!(fresh.admit(|| false), Running, "on the thread that is idle");
    }
}
