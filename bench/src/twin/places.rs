//! A thread pool counted as places (`zuul.ribbon-isolation-strategy: THREAD`): Hystrix's rules of who runs, waits and is refused, without
//! threads. The counting is the library's; who is queued waits for its turn here, as a task.

use parking_lot::Mutex;
use portcullis::config::model::ThreadPoolConfig;
use portcullis::isolation::places::{Admission, Places};
use portcullis::metrics::{Collect, Counter, Sink};
use portcullis::reason::Reason;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::oneshot::{Receiver, Sender, channel};

/// The places of one pool.
pub(super) struct PlacePool {
    key: String,
    books: Mutex<Books>,
    refused: Counter,
}

struct Books {
    places: Places,
    /// Oldest first.
    queue: VecDeque<(u64, Sender<()>)>,
    last: u64,
}

impl PlacePool {
    pub(super) fn new(key: &str, config: &ThreadPoolConfig) -> Arc<Self> {
        let books = Books { places: Places::new(config), queue: VecDeque::new(), last: 0 };
        Arc::new(Self { key: key.into(), books: Mutex::new(books), refused: Counter::default() })
    }

    /// A place, running or queued, without waiting.
    pub(super) fn reserve(self: &Arc<Self>) -> Result<Place, Reason> {
        let mut books = self.books.lock();
        let admission = books.places.admit(|| true);
        if admission == Admission::Refused {
            self.refused.add_one();
            return Err(Reason::PoolFull);
        }
        books.last += 1;
        let number = books.last;
        let turn = (admission == Admission::Queued).then(|| {
            let (sender, turn) = channel();
            books.queue.push_back((number, sender));
            turn
        });
        Ok(Place { pool: self.clone(), number, turn })
    }
}

/// A place; its drop gives it back, and who waited longest has it then.
pub(super) struct Place {
    pool: Arc<PlacePool>,
    number: u64,
    turn: Option<Receiver<()>>,
}

impl Place {
    /// Waits in the queue, if it is there.
    pub(super) async fn turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            // The sender stays in the queue until it is this place's turn, so it is never dropped unused.
            let _ = turn.await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut books = self.pool.books.lock();
        match books.queue.iter().position(|(number, _)| *number == self.number) {
            Some(at) => {
                books.queue.remove(at);
                books.places.leave_queue();
            }
            None if books.places.leave_running() => {
                if let Some((_, turn)) = books.queue.pop_front() {
                    // Whoever left meanwhile gives the place back itself, since it is no longer in the queue.
                    let _ = turn.send(());
                }
            }
            None => {}
        }
    }
}

impl Collect for PlacePool {
    fn collect(&self, sink: &mut dyn Sink) {
        let label = ("key", self.key.as_str());
        let census = self.books.lock().places.census();
        for (name, help, value) in [
            ("portcullis.pool.capacity", "Places that can run at once; they have no threads", census.capacity),
            ("portcullis.pool.in.use", "Places whose requests are under way", census.running),
            ("portcullis.pool.queue.capacity", "Places that can be queued", census.queue_capacity),
            ("portcullis.pool.queued", "Places that wait for one to come back", census.queued),
        ] {
            sink.gauge(name, help, &[label], value as f64);
        }
        let labels = [label, ("reason", Reason::PoolFull.name())];
        sink.counter(
            "portcullis.pool.refused",
            "Requests refused since no place was free",
            &labels,
            self.refused.get(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn has_turn(place: &mut Place) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let turn = place.turn.as_mut().map(|turn| pin!(turn).poll(&mut context));
        !matches!(turn, Some(Poll::Pending))
    }

    #[test]
    fn one_runs_one_waits_and_all_come_back() {
        let config = ThreadPoolConfig {
            core_size: 1,
            maximum_size: 1,
            max_queue_size: Some(2),
            queue_size_rejection_threshold: 2,
            ..ThreadPoolConfig::default()
        };
        let pool = PlacePool::new("p", &config);
        let census = || pool.books.lock().places.census();
        let (mut first, mut second) = (pool.reserve().unwrap(), pool.reserve().unwrap());
        let mut third = pool.reserve().unwrap();
        assert_eq!(pool.reserve().err(), Some(Reason::PoolFull));
        assert!(has_turn(&mut first) && !has_turn(&mut second) && !has_turn(&mut third));
        drop(second);
        drop(first);
        assert!(has_turn(&mut third), "who left the queue is passed over");
        assert_eq!((census().running, census().queued), (1, 0));
        drop(third);
        assert_eq!((census().running, census().queued, pool.refused.get()), (0, 0, 1));
    }
}
