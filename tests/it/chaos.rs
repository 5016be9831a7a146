//! Everything at once: every feature on, limits of one, servers that misbehave in every way, and clients that leave in every way. What is
//! asked at the end is simple: nothing is held, nobody waits, and the one permit, place and connection can be had again.

use crate::support::client::RawClient;
use crate::support::gateway::{Setup, TestGateway};
use crate::support::origin::{Talk, TestOrigin, answer, ok};
use crate::support::wait;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

const CLIENTS: u64 = 12;
const ROUNDS: u64 = 10;

/// Something of everything, by counter and label.
const HAPPENINGS: [(&str, &str); 13] = [
    ("hystrix_execution_total", "event=\"SUCCESS\""),
    ("hystrix_execution_total", "backend=\"sem\",event=\"FAILURE\""),
    ("hystrix_execution_total", "backend=\"pool\",event=\"FAILURE\""),
    ("hystrix_execution_total", "event=\"TIMEOUT\""),
    ("hystrix_execution_total", "event=\"CANCELLED\""),
    ("hystrix_execution_total", "event=\"SHORT_CIRCUITED\""),
    ("hystrix_execution_total", "event=\"SEMAPHORE_REJECTED\""),
    ("hystrix_execution_total", "event=\"THREAD_POOL_REJECTED\""),
    ("hystrix_execution_total", "event=\"FALLBACK_SUCCESS\""),
    ("hystrix_execution_total", "event=\"FALLBACK_REJECTION\""),
    ("portcullis_retries_total", "reason=\"status\""),
    ("portcullis_retries_total", "reason=\"upstream_aborted\""),
    ("portcullis_semaphore_wait_seconds_count", "sem"),
];

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Misbehaves until it is told to be well.
fn wild(well: &Arc<AtomicBool>, seed: u64) -> TestOrigin {
    let (well, count) = (well.clone(), AtomicU64::new(seed * 1000));
    TestOrigin::scripted(move |talk| {
        while talk.peek_octet().is_some() {
            let mood = if well.load(SeqCst) { 9 } else { Dice::new(count.fetch_add(1, SeqCst)).below(12) };
            if !behave(talk, mood) {
                return;
            }
        }
    })
}

/// Whether the connection goes on.
fn behave(talk: &mut Talk, mood: u64) -> bool {
    if mood == 0 {
        talk.reset();
        return false;
    }
    if talk.read_request().is_none() {
        return false;
    }
    match mood {
        1 => return false,
        2 => drop(talk.stall_until_closed()),
        3 => drop(talk.send("garbage\r\n\r\n")),
        4 => drop(talk.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten octets")),
        5 => drop((
            talk.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nstill\r\n"),
            talk.stall_until_closed(),
        )),
        6 => return talk.send(["HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".as_bytes(), &ok("hinted")].concat()),
        7 => return talk.send(answer("503 Service Unavailable", "", "busy")),
        8 => return talk.send(ok(vec![b'x'; 300_000])),
        _ => return talk.send(ok("well")),
    }
    false
}

/// A service under each strategy, each with one of everything and all that there is to switch on.
fn everything(origins: [&TestOrigin; 2], plain: &TestOrigin) -> Setup {
    let mut setup = Setup::new().url_route("plain", "/plain/**", &plain.url());
    for id in ["sem", "pool"] {
        let hystrix = |rest: &str| format!("hystrix.command.{id}.{rest}");
        setup = setup
            .service_route(id, &format!("/{id}/**"), &origins)
            .set(hystrix("circuitBreaker.requestVolumeThreshold"), "8")
            .set(hystrix("circuitBreaker.errorThresholdPercentage"), "60")
            .set(hystrix("metrics.rollingStats.timeInMilliseconds"), "500")
            .set(hystrix("circuitBreaker.sleepWindowInMilliseconds"), "20")
            .set(hystrix("metrics.healthSnapshot.intervalInMilliseconds"), "20")
            .set(hystrix("execution.isolation.thread.timeoutInMilliseconds"), "150")
            .set(hystrix("fallback.isolation.semaphore.maxConcurrentRequests"), "1")
            .set(format!("{id}.ribbon.MaxAutoRetries"), "1")
            .set(format!("{id}.ribbon.retryableStatusCodes"), "503")
            .set(format!("{id}.ribbon.MaxTotalConnections"), "1")
            .set(format!("{id}.ribbon.ReadTimeout"), "60")
            .set(format!("{id}.ribbon.OkToRetryOnAllOperations"), "true")
            .set(format!("gateway.rate-limit.routes.{id}.requests"), "1000000");
    }
    let keys = [
        ("hystrix.command.pool.execution.isolation.strategy", "THREAD"),
        ("hystrix.threadpool.default.coreSize", "1"),
        ("hystrix.threadpool.default.maxQueueSize", "1"),
        ("zuul.retryable", "true"),
        ("zuul.semaphore.maxSemaphores", "1"),
        ("gateway.limit", "vegas"),
        ("gateway.isolation.max-wait", "10ms"),
        ("gateway.queue.order", "adaptive-lifo"),
        ("gateway.queue.codel", "true"),
        ("gateway.circuit-breaker.mode", "half-open"),
        ("gateway.circuit-breaker.count-5xx", "true"),
        ("gateway.retry.backoff.base-interval", "1ms"),
        ("gateway.fallback.sem.forward", "/plain/**"),
        ("gateway.fallback.pool.body", "sorry"),
        ("gateway.balancer", "least-outstanding-p2c"),
        ("server.tomcat.max-threads", "8"),
    ];
    keys.into_iter().fold(setup, |setup, (key, value)| setup.set(key, value))
}

/// One request, which its client gives up in one of many ways, or sees to its end.
fn ask(gateway: &TestGateway, dice: &mut Dice) {
    let target = ["/sem/x", "/pool/x", "/plain/x"][dice.below(3) as usize];
    let get = format!("GET {target} HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    let post = format!("POST {target} HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 20\r\n\r\n0123456789");
    let Ok(mut client) = RawClient::try_connect(gateway.address()) else { return };
    let way = dice.below(8);
    let _ = client.try_send(if way < 4 { get } else { post });
    match way {
        0 | 4 => client.reset(),
        1 | 5 => {
            wait::pace(Duration::from_millis(dice.below(40)));
            client.reset();
        }
        2 => {
            client.half_close();
            let _ = client.answer_or_end("GET");
        }
        3 => drop(client.answer_or_end("GET")),
        6 => drop(client),
        _ => {
            wait::pace(Duration::from_millis(dice.below(20)));
            let _ = client.try_send("0123456789");
            let _ = client.answer_or_end("POST");
        }
    }
}

#[test]
fn everything_is_back_after_all_that_can_happen() {
    let well = Arc::new(AtomicBool::new(false));
    let (one, other, plain) = (wild(&well, 1), wild(&well, 2), TestOrigin::echoing());
    let mut gateway = everything([&one, &other], &plain).start();
    let mut viewer = RawClient::connect(gateway.management());
    viewer.send("GET /actuator/hystrix.stream HTTP/1.1\r\nHost: gw.test\r\n\r\n");
    let over = AtomicBool::new(false);
    let unseen = || -> Vec<_> {
        let metrics = gateway.metrics();
        let is_seen = |(name, label): (&str, &str)| {
            metrics.iter().any(|(key, value)| key.starts_with(name) && key.contains(label) && *value > 0.0)
        };
        HAPPENINGS.into_iter().filter(|what| !is_seen(*what)).collect()
    };
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (gateway, over) = (&gateway, &over);
            scope.spawn(move || {
                let mut dice = Dice::new(client);
                while !over.load(SeqCst) {
                    (0..ROUNDS).for_each(|_| ask(gateway, &mut dice));
                }
            });
        }
        let all = wait::holds_within(3 * wait::PATIENCE, || unseen().is_empty());
        over.store(true, SeqCst);
        assert!(all, "never happened: {:?}", unseen());
    });
    viewer.reset();
    gateway.assert_quiet();
    well.store(true, SeqCst);
    for target in ["/sem/x", "/pool/x"] {
        wait::until("its one permit, place and connection serve again", || gateway.get(target).text() == "well");
    }
    gateway.assert_quiet();
    assert_eq!(gateway.stop(), Some(0));
}
