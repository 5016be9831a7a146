//! Pools as their callers see them: places, deadlines, uploads, and that everything comes back.

use super::{Census, Place, Pool};
use crate::cancel::{Cancel, ShutDown};
use crate::client::{BodyLength, ClientError, Downstream, Woken};
use crate::config::model::ThreadPoolConfig;
use crate::deadline::Deadline;
use crate::isolation::{Admitted, Isolation, NoResult, Parties, Semaphore};
use crate::reason::Reason;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use http::{HeaderMap, StatusCode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// Long enough for anything that is to happen; only a broken test waits it out.
const LONG: Duration = Duration::from_secs(20);

/// A client whose body comes through a socket pair; its end is the end of the stream.
struct TestClient {
    length: BodyLength,
    body: UnixStream,
    interims: Vec<u16>,
    /// Says how many octets each read gave, or that it would wait.
    reads: Sender<Option<usize>>,
}

impl TestClient {
    fn without_body() -> Self {
        Self::uploading(BodyLength::None).0
    }

    fn uploading(length: BodyLength) -> (Self, UnixStream, Receiver<Option<usize>>) {
        let (body, far_end) = UnixStream::pair().unwrap();
        body.set_nonblocking(true).unwrap();
        let (reads, seen) = unbounded();
        (Self { length, body, interims: Vec::new(), reads }, far_end, seen)
    }
}

impl Downstream for TestClient {
    fn length(&self) -> BodyLength {
        self.length
    }

    fn read_now(&mut self, into: &mut [u8]) -> Result<Option<usize>, ClientError> {
        let octets = match self.body.read(into) {
            Ok(octets) => Some(octets),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(_) => return Err(ClientError::Gone),
        };
        let _ = self.reads.send(octets);
        Ok(octets)
    }

    fn wait(&mut self, other: Option<BorrowedFd<'_>>, by: Deadline) -> Result<Woken, ClientError> {
        let own = self.body.as_fd();
        let mut fds = [own, other.unwrap_or(own)].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let Ok(left) = by.left() else { return Ok(Woken::Expired) };
        let timeout = left.map(|left| Timespec::try_from(left).unwrap());
        Ok(match poll(&mut fds, timeout.as_ref()).unwrap() {
            0 => Woken::Expired,
            _ if fds[0].revents().is_empty() => Woken::Other,
            _ => Woken::Client,
        })
    }

    fn interim(&mut self, status: StatusCode, _: &HeaderMap) -> Result<(), ClientError> {
        self.interims.push(status.as_u16());
        Ok(())
    }
}

fn pool_of(core: usize, queue: Option<usize>) -> Arc<Pool<u32>> {
    let config = ThreadPoolConfig {
        core_size: core,
        maximum_size: core,
        max_queue_size: queue,
        queue_size_rejection_threshold: queue.unwrap_or(0),
        ..ThreadPoolConfig::default()
    };
    Pool::start("test", config, || {}, || 0)
}

/// Makes a call without a body and without a bound that is ever reached.
fn call<R: Send + 'static>(
    place: &Place<u32>,
    job: impl FnOnce(&mut u32) -> R + Send + 'static,
) -> Result<R, NoResult> {
    let job = |local: &mut u32, _: &mut dyn Downstream, _: Deadline, _: &Cancel| job(local);
    place.call(&mut TestClient::without_body(), Deadline::after(LONG), &Cancel::default(), job)
}

/// Waits until the pool's numbers are as wanted.
#[track_caller]
fn eventually(pool: &Arc<Pool<u32>>, wanted: impl Fn(Census) -> bool) {
    let bound = Deadline::after(LONG);
    while !wanted(pool.census()) {
        assert!(!bound.has_passed(), "still {:?}", pool.census());
        std::thread::yield_now();
    }
}

fn is_empty(census: Census) -> bool {
    census.running == 0 && census.queued == 0
}

#[test]
fn a_call_runs_on_a_named_thread_and_its_place_comes_back_with_the_place() {
    let pool = pool_of(1, None);
    let place = pool.reserve().unwrap();
    let name = call(&place, |_| std::thread::current().name().map(String::from)).unwrap();
    assert_eq!(name.as_deref(), Some("hystrix-test-1"));
    assert_eq!(pool.reserve().err(), Some(Reason::PoolFull), "the body is not sent yet");
    drop(place);
    assert!(is_empty(pool.census()), "{:?}", pool.census());
    drop(pool.reserve().unwrap());
    assert_eq!((pool.completed.get(), pool.refused.get(), pool.wait.count()), (1, 1, 1));
}

#[test]
fn the_eleventh_call_of_the_default_pool_is_refused() {
    let pool = Pool::start("RibbonCommand", ThreadPoolConfig::default(), || {}, || 0);
    let places: Vec<_> = (0..11).map(|_| pool.reserve()).collect();
    assert_eq!(places.iter().filter(|place| place.is_ok()).count(), 10);
    assert_eq!(places[10].as_ref().err(), Some(&Reason::PoolFull));
    drop(places);
    assert!(is_empty(pool.census()));
}

#[test]
fn a_free_place_is_never_refused_by_a_hand_off() {
    let pool = pool_of(1, None);
    for round in 0..2_000 {
        let place = pool.reserve().unwrap_or_else(|reason| panic!("{reason} in round {round}"));
        call(&place, |_| ()).unwrap();
    }
}

#[test]
fn a_queued_call_starts_when_a_place_comes_back_not_when_a_thread_is_free() {
    let pool = pool_of(1, Some(1));
    let first = pool.reserve().unwrap();
    call(&first, |_| ()).unwrap();
    let second = pool.reserve().unwrap();
    let (begun, begins) = bounded(1);
    std::thread::scope(|scope| {
        let caller = scope.spawn(|| call(&second, move |_| begun.send(()).unwrap()));
        let bound = Deadline::after(LONG);
        while pool.books.lock().queue.iter().all(|queued| queued.job.is_none()) {
            assert!(!bound.has_passed());
            std::thread::yield_now();
        }
        assert!(begins.try_recv().is_err(), "the thread is idle, the place is not free");
        drop(first);
        begins.recv_timeout(LONG).unwrap();
        caller.join().unwrap().unwrap();
    });
    drop(second);
    assert!(is_empty(pool.census()));
}

#[test]
fn the_queue_is_served_in_order() {
    let pool = pool_of(1, Some(3));
    let (first, queued) = (pool.reserve().unwrap(), [(); 3].map(|()| pool.reserve().unwrap()));
    assert_eq!(pool.reserve().err(), Some(Reason::PoolFull));
    let (served, order) = unbounded();
    std::thread::scope(|scope| {
        for (number, place) in queued.into_iter().enumerate() {
            let served = served.clone();
            scope.spawn(move || call(&place, move |_| served.send(number).unwrap()).unwrap());
        }
        drop(first);
        assert_eq!([(); 3].map(|()| order.recv_timeout(LONG).unwrap()), [0, 1, 2]);
    });
    assert!(is_empty(pool.census()));
}

/// Tries with ever longer deadlines until one was long enough for the test's own steps: on a busy machine the first may not be.
#[track_caller]
fn with_time_enough(attempt: impl Fn(Duration) -> Option<()>) {
    let budgets = [20, 100, 500, 2_500, 12_500].map(Duration::from_millis);
    assert!(budgets.into_iter().any(|budget| attempt(budget).is_some()));
}

#[test]
fn a_caller_that_leaves_at_the_deadline_frees_nothing_until_its_call_has_ended() {
    with_time_enough(|budget| {
        let pool = pool_of(1, None);
        let (go, gone) = bounded::<()>(0);
        let (late, lateness) = bounded(1);
        let (place, deadline, begun) = (pool.reserve().unwrap(), Deadline::after(budget), bounded(1));
        let outcome =
            place.call(&mut TestClient::without_body(), deadline, &Cancel::default(), move |_, _, _, cancel| {
                begun.0.send(()).unwrap();
                let _ = gone.recv();
                late.send(cancel.is_thrown()).unwrap();
                Dropped(late)
            });
        assert_eq!(outcome.err(), Some(NoResult::Gateway(Reason::Timeout)));
        begun.1.try_recv().ok()?;
        drop(place);
        assert_eq!(pool.reserve().err(), Some(Reason::PoolFull), "the pool thread is still at it");
        drop(go);
        assert!(lateness.recv_timeout(LONG).unwrap(), "its exchange is shut down");
        assert!(!lateness.recv_timeout(LONG).unwrap(), "the late answer has an owner that drops it");
        eventually(&pool, is_empty);
        call(&pool.reserve().unwrap(), |_| ()).unwrap();
        Some(())
    });
}

/// A late answer; says false when it is dropped.
struct Dropped(Sender<bool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(false);
    }
}

#[test]
fn a_call_whose_caller_left_while_it_was_queued_never_runs() {
    let pool = pool_of(1, Some(1));
    let (first, second) = (pool.reserve().unwrap(), pool.reserve().unwrap());
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = ran.clone();
    let (mut client, mut far_end, reads) = TestClient::uploading(BodyLength::Exactly(1));
    far_end.write_all(b"x").unwrap();
    let deadline = Deadline::after(Duration::from_millis(20));
    let outcome =
        second.call(&mut client, deadline, &Cancel::default(), move |_, _, _, _| counted.fetch_add(1, SeqCst));
    assert_eq!(outcome.err(), Some(NoResult::Gateway(Reason::Timeout)));
    assert!(second.waited() >= Duration::from_millis(20));
    assert_eq!(reads.try_iter().count(), 0, "its body was not asked for");
    drop(second);
    assert_eq!(pool.census().queued, 0);
    let third = pool.reserve().unwrap();
    drop(first);
    call(&third, |_| ()).unwrap();
    drop(third);
    assert_eq!(ran.load(SeqCst), 0);
    assert!(is_empty(pool.census()));
}

#[test]
fn a_panic_costs_the_answer_and_the_threads_state_only() {
    let pool = pool_of(1, None);
    let place = pool.reserve().unwrap();
    call(&place, |local| *local += 7).unwrap();
    assert_eq!(call(&place, |local| *local), Ok(7), "the thread keeps its state");
    assert_eq!(call(&place, |_| -> u32 { panic!("on purpose") }), Err(NoResult::Gateway(Reason::Internal)));
    assert_eq!(call(&place, |local| *local), Ok(0), "it was made anew");
    drop(place);
    assert!(is_empty(pool.census()));
    assert_eq!(pool.census().threads, 1);
}

#[test]
fn a_client_that_goes_away_ends_the_call_running_or_queued() {
    let pool = pool_of(1, Some(1));
    let (cancel, own, running) = (Cancel::default(), Cancel::default(), bounded(1));
    let (place, queued) = (pool.reserve().unwrap(), pool.reserve().unwrap());
    std::thread::scope(|scope| {
        let begun = running.0.clone();
        let caller = scope.spawn(|| {
            place.call(&mut TestClient::without_body(), Deadline::NEVER, &cancel, move |_, _, _, cancel| {
                let (ended, end) = bounded(1);
                let _armed = cancel.arm(Arc::new(Socket(ended))).unwrap();
                begun.send(()).unwrap();
                end.recv_timeout(LONG).unwrap();
            })
        });
        running.1.recv_timeout(LONG).unwrap();
        let waiter =
            scope.spawn(|| queued.call(&mut TestClient::without_body(), Deadline::NEVER, &own, |_, _, _, _| ()));
        own.throw();
        assert_eq!(waiter.join().unwrap(), Err(NoResult::Client(ClientError::Gone)));
        cancel.throw();
        assert_eq!(caller.join().unwrap(), Err(NoResult::Client(ClientError::Gone)));
    });
    drop((place, queued));
    eventually(&pool, is_empty);
    let gone = pool.reserve().unwrap().call(&mut TestClient::without_body(), Deadline::NEVER, &cancel, |_, _, _, _| ());
    assert_eq!(gone, Err(NoResult::Client(ClientError::Gone)), "a switch thrown before");
}

/// Stands for an upstream socket.
struct Socket(Sender<()>);

impl ShutDown for Socket {
    fn shut_down(&self) {
        let _ = self.0.try_send(());
    }
}

/// Reads a body to its end, as an upstream call would.
fn read_all(client: &mut dyn Downstream, step: usize) -> Result<Vec<u8>, ClientError> {
    let (mut body, mut buffer) = (Vec::new(), vec![0; step]);
    loop {
        match client.read_now(&mut buffer)? {
            Some(0) => return Ok(body),
            Some(octets) => body.extend_from_slice(&buffer[..octets]),
            None => assert_ne!(client.wait(None, Deadline::after(LONG))?, Woken::Expired),
        }
    }
}

#[track_caller]
fn upload(pieces: &[usize], step: usize) {
    let pool = pool_of(1, None);
    let body: Vec<u8> = (0..pieces.iter().sum()).map(|i: usize| (i * 7 + i / 251) as u8).collect();
    let (mut client, mut far_end, _reads) = TestClient::uploading(BodyLength::Chunked);
    let received = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rest = &body[..];
            for &piece in pieces {
                far_end.write_all(&rest[..piece]).unwrap();
                rest = &rest[piece..];
            }
            drop(far_end);
        });
        let job = move |_: &mut u32, client: &mut dyn Downstream, _: Deadline, _: &Cancel| read_all(client, step);
        pool.reserve().unwrap().call(&mut client, Deadline::after(LONG), &Cancel::default(), job)
    });
    assert!(received.unwrap().unwrap() == body, "octets were lost, doubled or changed");
    eventually(&pool, is_empty);
}

#[test]
fn an_upload_arrives_octet_for_octet() {
    upload(&[], 10);
    upload(&[1], 10);
    upload(&[1; 300], 7);
    upload(&[16 * 1024; 4], 16 * 1024);
    upload(&[16 * 1024 + 1, 1, 100_000, 3], 5_000);
    upload(&[3_000_000], 64 * 1024);
}

#[test]
fn an_early_answer_reaches_a_worker_that_waits_for_the_client() {
    let pool = pool_of(1, None);
    let (mut client, _far_end, reads) = TestClient::uploading(BodyLength::Exactly(9));
    let job = move |_: &mut u32, client: &mut dyn Downstream, _: Deadline, _: &Cancel| {
        assert_eq!(client.read_now(&mut [0; 4]), Ok(None));
        assert_eq!(reads.recv_timeout(LONG), Ok(None), "the worker has nothing and will wait");
        413
    };
    let place = pool.reserve().unwrap();
    assert_eq!(place.call(&mut client, Deadline::after(LONG), &Cancel::default(), job), Ok(413));
}

#[test]
fn the_call_sees_its_upstream_while_it_waits_for_the_client() {
    let pool = pool_of(1, None);
    let (mut client, _far_end, _reads) = TestClient::uploading(BodyLength::Exactly(9));
    let (upstream, mut origin) = UnixStream::pair().unwrap();
    let job = move |_: &mut u32, client: &mut dyn Downstream, _: Deadline, _: &Cancel| {
        let soon = client.wait(Some(upstream.as_fd()), Deadline::after(Duration::from_millis(5))).unwrap();
        origin.write_all(b"HTTP/1.1 413 \r\n\r\n").unwrap();
        (soon, client.wait(Some(upstream.as_fd()), Deadline::after(LONG)).unwrap())
    };
    let place = pool.reserve().unwrap();
    let woken = place.call(&mut client, Deadline::after(LONG), &Cancel::default(), job);
    assert_eq!(woken, Ok((Woken::Expired, Woken::Other)));
}

#[test]
fn the_deadline_stands_still_while_the_call_waits_for_the_client() {
    with_time_enough(|budget| {
        let pool = pool_of(1, None);
        let (mut client, mut far_end, reads) = TestClient::uploading(BodyLength::Exactly(1));
        let deadline = Deadline::after(budget);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let _ = reads.recv_timeout(budget);
                while !deadline.has_passed() {
                    std::thread::yield_now();
                }
                let _ = far_end.write_all(b"x");
            });
            let place = pool.reserve().unwrap();
            let job = |_: &mut u32, client: &mut dyn Downstream, _: Deadline, _: &Cancel| read_all(client, 10);
            let outcome = place.call(&mut client, deadline, &Cancel::default(), job).ok()?;
            assert_eq!(outcome, Ok(b"x".to_vec()));
            assert!(deadline.has_passed());
            Some(())
        })
    });
}

#[test]
fn the_deadline_runs_while_the_upstream_takes_nothing() {
    with_time_enough(|budget| {
        let pool = pool_of(1, None);
        let (mut client, mut far_end, _reads) = TestClient::uploading(BodyLength::Exactly(1_000_000));
        far_end.write_all(&[b'x'; 40_000]).unwrap();
        let (stuck, end) = bounded::<()>(0);
        let (fed, feeds) = bounded(1);
        let place = pool.reserve().unwrap();
        let outcome = place.call(&mut client, Deadline::after(budget), &Cancel::default(), move |_, client, _, _| {
            let _ = fed.send(client.wait(None, Deadline::after(LONG)));
            let _ = end.recv();
            let mut buffer = vec![0; 64 * 1024];
            assert_eq!(client.read_now(&mut buffer), Err(ClientError::Gone), "nobody feeds it any longer");
            assert_eq!(client.interim(StatusCode::CONTINUE, &HeaderMap::new()), Err(ClientError::Gone));
        });
        assert_eq!(outcome, Err(NoResult::Gateway(Reason::Timeout)));
        let fed = feeds.try_recv().ok()?;
        drop((stuck, place));
        eventually(&pool, |census| is_empty(census) && pool.completed.get() == 1);
        (fed == Ok(Woken::Client)).then_some(())
    });
}

#[test]
fn interim_heads_arrive_in_order_before_the_answer() {
    let pool = pool_of(1, None);
    let mut client = TestClient::without_body();
    let job = |_: &mut u32, client: &mut dyn Downstream, _: Deadline, _: &Cancel| {
        for status in [102, 103, 103, 104] {
            client.interim(StatusCode::from_u16(status).unwrap(), &HeaderMap::new()).unwrap();
        }
        client.read_now(&mut [0; 1])
    };
    let place = pool.reserve().unwrap();
    let end = place.call(&mut client, Deadline::after(LONG), &Cancel::default(), job);
    assert_eq!(end, Ok(Ok(Some(0))), "no body is an ended body");
    assert_eq!(client.interims, [102, 103, 103, 104]);
}

#[test]
fn a_client_whose_body_fails_ends_the_call() {
    struct Stalled(TestClient);
    impl Downstream for Stalled {
        fn length(&self) -> BodyLength {
            BodyLength::Exactly(9)
        }
        fn read_now(&mut self, _: &mut [u8]) -> Result<Option<usize>, ClientError> {
            Ok(None)
        }
        fn wait(&mut self, _: Option<BorrowedFd<'_>>, _: Deadline) -> Result<Woken, ClientError> {
            Err(ClientError::BodyTimeout)
        }
        fn interim(&mut self, status: StatusCode, fields: &HeaderMap) -> Result<(), ClientError> {
            self.0.interim(status, fields)
        }
    }
    let pool = pool_of(1, None);
    let (seen, sees) = bounded(1);
    let mut client = Stalled(TestClient::without_body());
    let place = pool.reserve().unwrap();
    let outcome = place.call(&mut client, Deadline::NEVER, &Cancel::default(), move |_, client, _, _| {
        seen.send(read_all(client, 9)).unwrap();
    });
    assert_eq!(outcome, Err(NoResult::Client(ClientError::BodyTimeout)));
    assert_eq!(sees.recv_timeout(LONG).unwrap(), Err(ClientError::Gone));
    drop(place);
    eventually(&pool, is_empty);
}

#[test]
fn a_worker_that_panics_takes_its_call_along() {
    struct Faulty;
    impl Downstream for Faulty {
        fn length(&self) -> BodyLength {
            BodyLength::Chunked
        }
        fn read_now(&mut self, _: &mut [u8]) -> Result<Option<usize>, ClientError> {
            std::panic::resume_unwind(Box::new(()))
        }
        fn wait(&mut self, _: Option<BorrowedFd<'_>>, _: Deadline) -> Result<Woken, ClientError> {
            Ok(Woken::Expired)
        }
        fn interim(&mut self, _: StatusCode, _: &HeaderMap) -> Result<(), ClientError> {
            Ok(())
        }
    }
    let pool = pool_of(1, None);
    let (seen, sees) = bounded(1);
    let place = pool.reserve().unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        place.call(&mut Faulty, Deadline::NEVER, &Cancel::default(), move |_, client, _, _| {
            seen.send(read_all(client, 9)).unwrap();
        })
    }));
    assert!(outcome.is_err());
    assert_eq!(sees.recv_timeout(LONG).unwrap(), Err(ClientError::Gone));
    drop(place);
    eventually(&pool, is_empty);
}

#[test]
fn callers_at_the_same_instant_never_pass_the_limits() {
    const CALLERS: usize = 20;
    let pool = pool_of(2, Some(3));
    for _ in 0..50 {
        let (barrier, answered) = (Barrier::new(CALLERS), Barrier::new(CALLERS));
        let outcomes: Vec<bool> = std::thread::scope(|scope| {
            let one = || {
                barrier.wait();
                let place = pool.reserve();
                answered.wait();
                place.map(|place| call(&place, |_| ()).unwrap()).is_ok()
            };
            let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(one)).collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        assert_eq!(outcomes.iter().filter(|granted| **granted).count(), 5);
        assert!(is_empty(pool.census()), "{:?}", pool.census());
    }
    assert_eq!(pool.census().largest, 2);
}

#[test]
fn places_come_back_from_every_kind_of_end_under_contention() {
    const LIMIT: usize = 3;
    let pool = pool_of(LIMIT, Some(2));
    let (under_way, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let (pool, under_way, most) = (&pool, under_way.clone(), most.clone());
            scope.spawn(move || {
                for round in 0..200 {
                    let Ok(place) = pool.reserve() else { continue };
                    let (under_way, most, kind) = (under_way.clone(), most.clone(), (caller + round) % 4);
                    let budget = if kind == 1 { Duration::from_micros(50) } else { LONG };
                    let (client, cancel) = (&mut TestClient::without_body(), Cancel::default());
                    let _ = place.call(client, Deadline::after(budget), &cancel, move |_, _, deadline, _| {
                        most.fetch_max(under_way.fetch_add(1, SeqCst) + 1, SeqCst);
                        while kind == 1 && !deadline.has_passed() {
                            std::thread::yield_now();
                        }
                        under_way.fetch_sub(1, SeqCst);
                        // Unwinds without the panic hook's noise.
                        assert_or_unwind(kind != 2);
                    });
                }
            });
        }
    });
    eventually(&pool, |census| is_empty(census) && under_way.load(SeqCst) == 0);
    assert!((1..=LIMIT).contains(&most.load(SeqCst)));
    let all: Vec<_> = (0..LIMIT).map(|_| pool.reserve().unwrap()).collect();
    drop(all);
}

fn assert_or_unwind(holds: bool) {
    if !holds {
        std::panic::resume_unwind(Box::new(()));
    }
}

/// Uploads that end in every way, many at once: read whole, answered early, given up by the call, or left at the deadline.
#[test]
fn uploads_end_in_every_way_under_contention() {
    let pool = pool_of(3, Some(2));
    std::thread::scope(|scope| {
        for caller in 0..6 {
            let pool = &pool;
            scope.spawn(move || {
                for round in 0..100 {
                    let (mut client, mut far_end, _reads) = TestClient::uploading(BodyLength::Chunked);
                    let Ok(place) = pool.reserve() else { continue };
                    let kind = (caller + round) % 4;
                    far_end.write_all(&vec![7; 10_000 + 500 * round]).unwrap();
                    let far_end = (kind != 0).then_some(far_end);
                    let budget = if kind == 3 { Duration::from_micros(300) } else { LONG };
                    let job = move |_: &mut u32, client: &mut dyn Downstream, _: Deadline, cancel: &Cancel| match kind {
                        0 => read_all(client, 4096).map(|body| body.len()),
                        1 => read_some(client, Deadline::after(Duration::from_micros(200))),
                        2 => read_some(client, Deadline::NEVER),
                        // It sends nothing and asks for nothing, so the deadline runs.
                        _ => {
                            while !cancel.is_thrown() {
                                std::thread::yield_now();
                            }
                            read_some(client, Deadline::NEVER)
                        }
                    };
                    let outcome = place.call(&mut client, Deadline::after(budget), &Cancel::default(), job);
                    match kind {
                        0 => assert_eq!(outcome, Ok(Ok(10_000 + 500 * round))),
                        1 => assert!(matches!(outcome, Ok(Ok(_)))),
                        2 => assert!(matches!(outcome, Ok(Ok(octets)) if octets > 0)),
                        _ => assert_eq!(outcome.err(), Some(NoResult::Gateway(Reason::Timeout))),
                    }
                    drop(far_end);
                }
            });
        }
    });
    eventually(&pool, is_empty);
}

/// Waits once, then reads what is there.
fn read_some(client: &mut dyn Downstream, by: Deadline) -> Result<usize, ClientError> {
    let woken = client.wait(None, by)?;
    let octets = client.read_now(&mut [0; 100])?;
    assert!(woken != Woken::Client || octets.is_some());
    Ok(octets.unwrap_or(0))
}

#[test]
fn idle_threads_above_the_core_end() {
    let config = ThreadPoolConfig { core_size: 1, maximum_size: 4, keep_alive: Duration::ZERO, ..Default::default() };
    let pool = Pool::start("grown", config, || {}, || 0);
    let places: Vec<_> = (0..4).map(|_| pool.reserve().unwrap()).collect();
    assert_eq!(pool.census().threads, 4);
    drop(places);
    eventually(&pool, |census| census.threads == 1);
    assert_eq!(pool.census().largest, 4);
    call(&pool.reserve().unwrap(), |_| ()).unwrap();
}

#[test]
fn a_dropped_pool_ends_its_threads_after_its_last_place() {
    let (ended, ends) = bounded(1);
    let pool = Pool::start("short", ThreadPoolConfig::default(), || {}, move || Dropped(ended.clone()));
    let place = pool.reserve().unwrap();
    let run = |_: &mut Dropped, _: &mut dyn Downstream, _: Deadline, _: &Cancel| ();
    place.call(&mut TestClient::without_body(), Deadline::after(LONG), &Cancel::default(), run).unwrap();
    drop(pool);
    place.call(&mut TestClient::without_body(), Deadline::after(LONG), &Cancel::default(), run).unwrap();
    assert!(ends.try_recv().is_err(), "a place keeps the pool alive");
    drop(place);
    assert_eq!(ends.recv_timeout(LONG), Ok(false));
}

#[test]
fn every_mode_admits_and_calls_alike() {
    let modes = [Isolation::Semaphore(Semaphore::new("svc", 1)), Isolation::Pool(pool_of(1, None)), Isolation::None];
    for (mode, refused) in modes.iter().zip([Some(Reason::SemaphoreFull), Some(Reason::PoolFull), None]) {
        let admitted = mode.admit(Arc::default).unwrap();
        assert_eq!(mode.admit(Arc::default).err(), refused.map(NoResult::Gateway));
        let (mut local, mut client, cancel) = (5, TestClient::without_body(), Cancel::default());
        let parties =
            Parties { local: &mut local, client: &mut client, deadline: Deadline::after(LONG), cancel: &cancel };
        let in_pool = matches!(admitted, Admitted::Place(_));
        assert_eq!(admitted.call(parties, |local, _, _, _| *local), Ok(if in_pool { 0 } else { 5 }));
        assert_eq!(admitted.waited() > Duration::ZERO, in_pool);
        drop(admitted);
        assert!(mode.admit(Arc::default).is_ok());
    }
}
