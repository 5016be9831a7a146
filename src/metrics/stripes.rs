//! One of a thing for each few threads, so that workers seldom write to the same cache line.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The most that there are.
const MOST: usize = 16;

/// As many as there are processors, each on cache lines of its own.
#[derive(Debug)]
pub struct Stripes<T>(Box<[Padded<T>]>);

/// Two lines: processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Padded<T>(T);

impl<T> Stripes<T> {
    /// Makes each.
    pub fn new(mut one: impl FnMut() -> T) -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(MOST);
        Self((0..count).map(|_| Padded(one())).collect())
    }

    /// The calling thread's: always the same one.
    pub fn mine(&self) -> &T {
        self.nth(self.number())
    }

    /// Which is the calling thread's.
    pub fn number(&self) -> usize {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static NUMBER: usize = THREADS.fetch_add(1, Relaxed);
        }
        NUMBER.with(|number| *number) % self.0.len()
    }

    /// The one of this number.
    pub fn nth(&self, number: usize) -> &T {
        &self.0[number].0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|padded| &padded.0)
    }
}
