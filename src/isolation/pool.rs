//! A thread pool with Hystrix's rules (`hystrix.threadpool.<key>.*`), whose places outlive its threads' part of the work.
//!
//! A place is granted by counting ([`super::places`]), never by whether a channel happens to take a job. It is shared by the worker, who
//! keeps it until the response body ended, and the pool thread's job; when both are done with it, it comes back and the oldest queued
//! one takes over. So a caller that left at the deadline frees nothing while its call still runs. Threads start as places need them, are
//! named `hystrix-<key>-<n>`, and end with the pool.

use super::NoResult;
use super::bridge::Bridge;
use super::meeting::Meeting;
use super::places::{Admission, Census, Places};
use super::pool_thread::{Job, MakeLocal, PoolThread};
use crate::cancel::{Cancel, Cancelled};
use crate::client::{ClientError, Downstream};
use crate::command::PoolState;
use crate::config::model::ThreadPoolConfig;
use crate::deadline::{Deadline, Stopwatch};
use crate::metrics::{Collect, Counter, Sink, Timer};
use crate::reason::Reason;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The shortest keep-alive time: a thread that has nothing to do but whose place is still in use looks again after it.
const LEAST_PATIENCE: Duration = Duration::from_millis(100);

/// The thread pool of one key; `L` is the state of each of its threads (an upstream caller).
pub struct Pool<L: 'static> {
    key: String,
    config: ThreadPoolConfig,
    keep_alive: Duration,
    on_start: fn(),
    make_local: MakeLocal<L>,
    books: Mutex<Books<L>>,
    /// Holds the jobs of running places only, so it never holds more than the pool's capacity.
    jobs: (Sender<Job<L>>, Receiver<Job<L>>),
    completed: Counter,
    refused: Counter,
    wait: Timer,
}

struct Books<L> {
    places: Places,
    /// Queued places, oldest first, hence in the order of their numbers.
    queue: VecDeque<Queued<L>>,
    last_seat: u64,
    threads_named: u64,
    start_failed: bool,
}

struct Queued<L> {
    seat: u64,
    /// None until the call is made, and again when its caller left.
    job: Option<Job<L>>,
}

impl<L> Books<L> {
    fn position(&self, seat: u64) -> Option<usize> {
        self.queue.binary_search_by_key(&seat, |queued| queued.seat).ok()
    }
}

impl<L: 'static> Pool<L> {
    /// A pool without threads yet. Each thread calls `on_start` first (its scheduling policy), and makes its state before its first job
    /// and after one that panicked.
    pub fn start(
        key: &str,
        config: ThreadPoolConfig,
        on_start: fn(),
        make_local: impl Fn() -> L + Send + Sync + 'static,
    ) -> Arc<Self> {
        let books = Books {
            places: Places::new(&config),
            queue: VecDeque::new(),
            last_seat: 0,
            threads_named: 0,
            start_failed: false,
        };
        Arc::new(Self {
            key: key.into(),
            config,
            keep_alive: config.keep_alive.max(LEAST_PATIENCE),
            on_start,
            make_local: Arc::new(make_local),
            books: Mutex::new(books),
            jobs: unbounded(),
            completed: Counter::default(),
            refused: Counter::default(),
            wait: Timer::default(),
        })
    }

    /// Takes a place, running or queued, without waiting.
    ///
    /// # Errors
    /// [`Reason::PoolFull`]; also when a new thread was needed and the system gave none.
    pub fn reserve(self: &Arc<Self>) -> Result<Place<L>, Reason> {
        let mut books = self.books.lock();
        let Books { places, threads_named, start_failed, .. } = &mut *books;
        let admission = places.admit(|| self.start_thread(threads_named, start_failed));
        if admission == Admission::Refused {
            self.refused.add_one();
            return Err(Reason::PoolFull);
        }
        books.last_seat += 1;
        let number = books.last_seat;
        if admission == Admission::Queued {
            books.queue.push_back(Queued { seat: number, job: None });
        }
        drop(books);
        let (since, waited) = (Stopwatch::start(), AtomicU64::new(u64::MAX));
        Ok(Place(Arc::new(Seat { pool: self.clone(), number, since, waited })))
    }

    /// Under the lock of the books, so that a thread that could not be started was never counted on.
    fn start_thread(self: &Arc<Self>, named: &mut u64, failed: &mut bool) -> bool {
        let (pool, jobs, make_local) = (Arc::downgrade(self), self.jobs.1.clone(), self.make_local.clone());
        let on_start = self.on_start;
        // A thread's name cannot hold NUL.
        let name = format!("hystrix-{}-{}", self.key, *named + 1).replace('\0', "");
        let started = std::thread::Builder::new().name(name).spawn(move || {
            PoolThread { pool, jobs, make_local }.run(on_start);
        });
        match &started {
            Ok(_) => *named += 1,
            Err(error) if !*failed => log::error!("pool {}: no thread could be started: {error}", self.key),
            Err(_) => {}
        }
        // Said once for each time that it begins to fail: it is tried again for every request.
        *failed = started.is_err();
        started.is_ok()
    }

    /// How long an idle thread waits for a job; None is for ever.
    pub(super) fn patience(&self) -> Option<Duration> {
        self.books.lock().places.has_surplus().then_some(self.keep_alive)
    }

    /// Whether the thread that asks, idle for the keep-alive time, is to end.
    pub(super) fn retire(&self) -> bool {
        self.books.lock().places.retire()
    }

    fn submit(&self, seat: u64, job: Job<L>) {
        let mut books = self.books.lock();
        if let Some(position) = books.position(seat) {
            books.queue[position].job = Some(job);
        } else {
            drop(books);
            self.run(job);
        }
    }

    /// Takes the job of a place that is still queued out of the queue. To be dropped without the lock: it holds its place.
    fn withdraw(&self, seat: u64) -> Option<Job<L>> {
        let mut books = self.books.lock();
        let position = books.position(seat)?;
        books.queue[position].job.take()
    }

    /// A place came back; who waited longest has it now.
    fn give_back(&self, seat: u64) {
        let promoted = {
            let mut books = self.books.lock();
            if let Some(position) = books.position(seat) {
                books.queue.remove(position);
                books.places.leave_queue();
                None
            } else if books.places.leave_running() {
                books.queue.pop_front()
            } else {
                None
            }
        };
        if let Some(job) = promoted.and_then(|queued| queued.job) {
            self.run(job);
        }
    }

    fn run(&self, job: Job<L>) {
        // It can't fail: the pool holds a receiver itself. If it did, the job would be dropped and its caller told.
        let _ = self.jobs.0.send(job);
    }

    /// Its key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How it is now, for the stream.
    pub fn state(&self) -> PoolState {
        let Census { running, queued, threads, largest, .. } = self.census();
        PoolState { config: self.config, active: running, completed: self.completed.get(), queued, threads, largest }
    }

    fn census(&self) -> Census {
        self.books.lock().places.census()
    }
}

impl<L: 'static> Collect for Pool<L> {
    fn collect(&self, sink: &mut dyn Sink) {
        let label = ("key", self.key.as_str());
        let census = self.census();
        let gauges = [
            ("portcullis.pool.capacity", "Places that can run at once", census.capacity),
            ("portcullis.pool.in.use", "Places whose requests are under way", census.running),
            ("portcullis.pool.queue.capacity", "Places that can be queued", census.queue_capacity),
            ("portcullis.pool.queued", "Places that wait for one to come back", census.queued),
            ("portcullis.pool.threads", "Threads now", census.threads),
            ("portcullis.pool.threads.largest", "The most threads there have been", census.largest),
        ];
        for (name, help, value) in gauges {
            sink.gauge(name, help, &[label], value as f64);
        }
        let help = "Calls that a pool thread brought to their end";
        sink.counter("portcullis.pool.completed", help, &[label], self.completed.get());
        let labels = [label, ("reason", Reason::PoolFull.name())];
        let help = "Requests refused since pool and queue were full";
        sink.counter("portcullis.pool.refused", help, &labels, self.refused.get());
        sink.timer("portcullis.pool.wait", "From the place to the start of the call", &[label], &self.wait);
    }
}

/// One place of a pool, running or queued; to be kept until the response body was sent or dropped.
#[must_use = "the place is given back when this is dropped"]
pub struct Place<L: 'static>(Arc<Seat<L>>);

impl<L: 'static> Place<L> {
    /// Runs `job` on a pool thread and waits for its result, attending to the client meanwhile. To be called once. A queued place waits
    /// for its turn first; the deadline counts from the reservation. A job whose caller leaves before its turn is dropped unrun; one
    /// that runs finds its switch thrown and its client gone.
    ///
    /// # Errors
    /// [`Reason::Timeout`] at the deadline, [`Reason::Internal`] when the job panicked or no descriptor could be had, or what failed on
    /// the client's side.
    pub fn call<R: Send + 'static>(
        &self,
        client: &mut dyn Downstream,
        deadline: Deadline,
        cancel: &Cancel,
        job: impl FnOnce(&mut L, &mut dyn Downstream, Deadline, &Cancel) -> R + Send + 'static,
    ) -> Result<R, NoResult> {
        let length = client.length();
        let meeting = Arc::new(Meeting::new(length).map_err(|_| Reason::Internal)?);
        let _armed = cancel.arm(meeting.clone()).map_err(|Cancelled| ClientError::Gone)?;
        let (answer, result) = bounded(1);
        let (seat, done) = (self.0.clone(), Done(meeting.clone()));
        let task = move |local: &mut L| {
            // The place's other half goes before the caller is told, so that it holds the last one.
            let (done, seat) = (done, seat);
            if done.0.is_attended() {
                seat.begin();
                let mut bridge = Bridge::new(&done.0, length);
                let _ = answer.send(job(local, &mut bridge, deadline, done.0.cancel()));
                seat.pool.completed.add_one();
            }
        };
        self.0.pool.submit(self.0.number, Box::new(task));
        let attendance = Attendance { meeting: &meeting, seat: &self.0 };
        attendance.meeting.attend(client, deadline)?;
        result.try_recv().map_err(|_| Reason::Internal.into())
    }

    /// How long the call waited for a pool thread; if it has not begun, until now.
    pub fn waited(&self) -> Duration {
        match self.0.waited.load(Relaxed) {
            u64::MAX => self.0.since.elapsed(),
            nanos => Duration::from_nanos(nanos),
        }
    }
}

/// The place itself, held by the worker's [`Place`] and by the job.
struct Seat<L: 'static> {
    pool: Arc<Pool<L>>,
    number: u64,
    since: Stopwatch,
    /// Nanoseconds from the reservation to the start of the call; the largest number before.
    waited: AtomicU64,
}

impl<L> Seat<L> {
    fn begin(&self) {
        let waited = self.since.elapsed();
        self.pool.wait.record(waited);
        self.waited.store(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }
}

impl<L> Drop for Seat<L> {
    fn drop(&mut self) {
        self.pool.give_back(self.number);
    }
}

/// Tells the worker on drop that the job is over: run, panicked, or dropped.
struct Done(Arc<Meeting>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// The worker's presence; leaves on drop, also in a panic, and takes an unfinished job with it.
struct Attendance<'a, L: 'static> {
    meeting: &'a Meeting,
    seat: &'a Seat<L>,
}

impl<L> Drop for Attendance<'_, L> {
    fn drop(&mut self) {
        if self.meeting.leave() {
            drop(self.seat.pool.withdraw(self.seat.number));
        }
    }
}

#[cfg(test)]
mod tests;
