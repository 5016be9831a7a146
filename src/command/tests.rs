//! A command from the first request to the last, with the time passed in.

use super::*;
use crate::config::load_str;
use crate::config::model::{CircuitConfig, CircuitMode, CommandConfig, WindowConfig};
use std::sync::Barrier;

fn config(circuit: CircuitConfig) -> Arc<BackendConfig> {
    let loaded = load_str("zuul.routes.up: /up/**\n").unwrap();
    let backend = BackendConfig::clone(&loaded.config.backends["up"]);
    Arc::new(BackendConfig { command: CommandConfig { circuit, ..CommandConfig::default() }, ..backend })
}

/// A command and its clock, in milliseconds.
struct Bench {
    command: Command,
    origin: Instant,
    now: u64,
}

impl Bench {
    fn new(circuit: CircuitConfig) -> Self {
        let origin = Instant::now();
        Self { command: Command::new(&config(circuit), None, origin), origin, now: 0 }
    }

    fn at(&self) -> Instant {
        self.origin + Duration::from_millis(self.now)
    }

    /// One request, which ends so if it passes. Whether it passed.
    fn request(&self, event: Event) -> bool {
        let Some(mut run) = self.command.begin(self.at()) else { return false };
        if !matches!(event, Event::SemaphoreRejected | Event::ThreadPoolRejected) {
            run.admitted();
        }
        run.end(event, Duration::ZERO, self.at());
        true
    }
}

/// `zuul-observed.md` A7: with a threshold of 3, three failures open it, and the fourth is short-circuited; after the sleep window one
/// test, then closed.
#[test]
fn three_failures_open_it_and_one_test_closes_it() {
    for mode in [CircuitMode::SingleTest, CircuitMode::HalfOpen] {
        let mut bench = Bench::new(CircuitConfig { mode, request_volume_threshold: 3, ..CircuitConfig::default() });
        for event in [Event::Failure, Event::Timeout, Event::SemaphoreRejected] {
            assert!(bench.request(event));
        }
        assert!(bench.request(Event::Success), "the view is half a second old at most, and still empty");
        bench.now = 500;
        assert!(!bench.request(Event::Success));
        assert_eq!(bench.command.circuit(), CircuitState::Open);
        bench.now = 5501;
        assert!(bench.request(Event::Failure), "the test");
        assert!(!bench.request(Event::Success), "{mode:?}");
        bench.now = 11_002;
        assert!(bench.request(Event::Success), "the next test");
        assert_eq!(bench.command.circuit(), CircuitState::Closed);
        assert!(bench.request(Event::Success));
        bench.now = 12_000;
        assert_eq!(bench.command.metrics().health(bench.at()), HealthCounts { total: 2, errors: 0 }, "begun anew");
        assert_eq!(bench.command.metrics().totals().get(Event::ShortCircuited), 2, "the others go on");
    }
}

/// Neither clients' faults nor short circuits speak for or against a service.
#[test]
fn what_is_no_fault_of_the_service_does_not_open_it() {
    let mut bench = Bench::new(CircuitConfig { request_volume_threshold: 1, ..CircuitConfig::default() });
    for event in [Event::BadRequest, Event::Cancelled] {
        (0..10).for_each(|_| assert!(bench.request(event)));
    }
    bench.now = 500;
    assert!(bench.request(Event::Failure));
    assert_eq!(bench.command.metrics().health(bench.at()), HealthCounts::default());
    bench.now = 1000;
    assert!(!bench.request(Event::Failure));
}

/// CB-05: a test that is refused, that its client gives up or that panics leaves the circuit open, and able to test again.
#[test]
fn a_test_that_says_nothing_is_no_success() {
    for mode in [CircuitMode::SingleTest, CircuitMode::HalfOpen] {
        let mut bench = Bench::new(CircuitConfig { mode, request_volume_threshold: 1, ..CircuitConfig::default() });
        assert!(bench.request(Event::Failure));
        bench.now = 500;
        assert!(!bench.request(Event::Failure));
        for event in [Event::SemaphoreRejected, Event::Cancelled, Event::BadRequest] {
            bench.now += 5001;
            assert!(bench.request(event), "{mode:?}: a test that ends as {event:?}");
            assert_eq!(bench.command.circuit(), CircuitState::Open);
        }
        bench.now += 5001;
        let run = bench.command.begin(bench.at());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _run = run;
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(bench.command.circuit(), CircuitState::Open);
        bench.now += 5001;
        assert!(bench.request(Event::Success));
        assert_eq!(bench.command.circuit(), CircuitState::Closed);
    }
}

#[test]
fn a_5xx_is_a_failure_where_it_is_said_to_be() {
    for (counts_5xx, expected) in [(false, Event::Success), (true, Event::Failure)] {
        let bench = Bench::new(CircuitConfig { counts_5xx, ..CircuitConfig::default() });
        assert_eq!(bench.command.event_of(StatusCode::BAD_GATEWAY), expected);
        assert_eq!(bench.command.event_of(StatusCode::NOT_FOUND), Event::Success);
    }
}

#[test]
fn latencies_are_those_of_calls() {
    let bench = Bench::new(CircuitConfig::default());
    let after = |millis| bench.origin + Duration::from_millis(millis);
    let mut run = bench.command.begin(after(0)).unwrap();
    run.admitted();
    assert_eq!(bench.command.metrics().under_way(), 1);
    run.end(Event::Success, Duration::from_millis(30), after(100));
    bench.command.begin(after(0)).unwrap().end(Event::SemaphoreRejected, Duration::ZERO, after(500));
    let [execute, total] = bench.command.metrics().latencies(after(501));
    assert_eq!((execute.count(), total.count()), (1, 1), "a refusal took no time that says anything");
    let tens = |latencies: Latencies| (latencies.percentile(50.0).as_secs_f64() * 100.0).round();
    assert_eq!((tens(execute), tens(total)), (7.0, 10.0), "without and with what was waited for");
    assert_eq!(bench.command.metrics().under_way(), 0);
}

#[test]
fn a_pool_counts_what_its_commands_do() {
    let origin = Instant::now();
    let pool = Arc::new(PoolMetrics::new("RibbonCommand", WindowConfig::of_seconds(10, 1), 10, origin));
    let config = config(CircuitConfig::default());
    for command in [0, 1].map(|_| Command::new(&config, Some(pool.clone()), origin)) {
        let mut run = command.begin(origin).unwrap();
        run.admitted();
        run.end(Event::Success, Duration::ZERO, origin);
        command.begin(origin).unwrap().end(Event::ThreadPoolRejected, Duration::ZERO, origin);
    }
    let expected = PoolRolling { threads_executed: 2, rejections: 2, most_active: 1 };
    assert_eq!(pool.rolling(origin + Duration::from_secs(1)), expected);
}

/// Many threads, many failures: each request is counted once, as passed or as short-circuited, and nothing stays under way.
#[test]
fn every_request_of_every_thread_is_counted_once() {
    const THREADS: u64 = 8;
    const EACH: u64 = 2_000;
    for mode in [CircuitMode::SingleTest, CircuitMode::HalfOpen] {
        let sleep_window = Duration::from_millis(100);
        let bench = Bench::new(CircuitConfig { mode, sleep_window, ..CircuitConfig::default() });
        let barrier = Barrier::new(THREADS as usize);
        let passed: u64 = std::thread::scope(|scope| {
            let one = |thread: u64| {
                barrier.wait();
                let mut passed = 0;
                for round in 0..EACH {
                    let now = bench.origin + Duration::from_millis(2 * round);
                    let Some(mut run) = bench.command.begin(now) else { continue };
                    passed += 1;
                    run.admitted();
                    let failed = !(round + thread).is_multiple_of(3);
                    run.end(if failed { Event::Failure } else { Event::Success }, Duration::ZERO, now);
                }
                passed
            };
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || one(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let totals = bench.command.metrics().totals();
        let (ended, refused) = (totals.health().total, totals.get(Event::ShortCircuited));
        assert_eq!((ended, ended + refused), (passed, THREADS * EACH), "{mode:?}");
        assert!(refused > 0, "{mode:?}: two of three fail, so it opens");
        assert_eq!(bench.command.metrics().under_way(), 0);
    }
}
