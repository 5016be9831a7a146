//! Each rule as a table, with the moments passed in and the dice seeded; and all of them under many threads.

use super::*;
use crate::config::model::{BalancingRule, BlackoutConfig};
use crate::metrics::Timer;
use crate::upstream::ConnectionLimit;
use crate::upstream::testing::server_at;
use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Servers on ports 1, 2, 3, ..., and a clock that a test moves.
struct Bench {
    balancer: Balancer,
    now: Instant,
}

impl Bench {
    fn new(rule: BalancingRule, count: u16) -> Self {
        Self::with(BalanceConfig { rule, ..BalanceConfig::default() }, count)
    }

    fn with(config: BalanceConfig, count: u16) -> Self {
        let (limit, now) = (ConnectionLimit::new(1), Instant::now());
        let servers = (1..=count).map(|port| server_at(([127, 0, 0, 1], port).into(), 1, &limit)).collect();
        Self { balancer: Balancer::with_dice(&config, servers, Dice::seeded(7), now), now }
    }

    fn member(&self, port: u16) -> &Member {
        &self.balancer.members[usize::from(port) - 1]
    }

    /// What is chosen after these were tried: a port, 0 for none.
    fn next_after(&self, tried: &[u16]) -> u16 {
        let tried: Vec<_> = tried.iter().map(|&port| self.member(port).server.clone()).collect();
        self.balancer.next(&tried, self.now).map_or(0, |server| server.address().port)
    }

    fn next(&self, count: usize) -> Vec<u16> {
        (0..count).map(|_| self.next_after(&[])).collect()
    }

    /// How often each is chosen.
    fn counts(&self, draws: usize) -> BTreeMap<u16, usize> {
        self.next(draws).into_iter().fold(BTreeMap::new(), |mut counts, port| {
            *counts.entry(port).or_default() += 1;
            counts
        })
    }

    fn answers_in(&self, port: u16, millis: u64) {
        let asked = self.balancer.ask(&self.member(port).server, self.now);
        asked.note(Outcome::Answered, self.now + Duration::from_millis(millis));
    }

    fn black_out(&self, port: u16) {
        for _ in 0..3 {
            let asked = self.balancer.ask(&self.member(port).server, self.now);
            asked.note(Outcome::Unreachable, self.now);
        }
    }

    fn is_down(&self, port: u16) {
        self.member(port).stats.found(false);
    }

    fn is_busy(&self, port: u16) -> Asked {
        self.balancer.ask(&self.member(port).server, self.now)
    }
}

#[test]
fn round_robin_begins_with_the_second_and_passes_over_what_is_down() {
    let three = Bench::new(BalancingRule::RoundRobin, 3);
    assert_eq!(three.next(7), [2, 3, 1, 2, 3, 1, 2]);
    assert_eq!(Bench::new(BalancingRule::RoundRobin, 1).next(2), [1, 1]);
    assert_eq!(Bench::new(BalancingRule::RoundRobin, 0).next(1), [0]);
    three.is_down(3);
    assert_eq!(three.next(4), [1, 2, 1, 2]);
    three.black_out(1);
    assert_eq!(three.next(2), [1, 2], "blackouts are no affair of this rule");
}

#[test]
fn round_robin_gives_up_after_ten_looks_and_retry_does_not() {
    for (rule, expected) in [(BalancingRule::RoundRobin, [0, 1, 0]), (BalancingRule::Retry, [1, 1, 1])] {
        let many = Bench::new(rule, 12);
        (2..=12).for_each(|port| many.is_down(port));
        assert_eq!(many.next(3), expected, "{rule:?}");
        many.is_down(1);
        assert_eq!(many.next(2), [0, 0], "{rule:?}");
    }
}

#[test]
fn random_draws_among_those_that_are_up() {
    let four = Bench::new(BalancingRule::Random, 4);
    assert!(four.counts(4000).values().all(|count| (900..1100).contains(count)));
    four.is_down(4);
    let counts = four.counts(3000);
    assert!(counts.len() == 3 && counts.values().all(|count| (900..1100).contains(count)), "{counts:?}");
    (1..=3).for_each(|port| four.is_down(port));
    assert_eq!(four.next(2), [0, 0]);
}

#[test]
fn weights_follow_response_times_after_half_a_minute() {
    let mut three = Bench::new(BalancingRule::WeightedResponseTime, 3);
    for (port, millis) in [(1, 10), (2, 30), (3, 60)] {
        three.answers_in(port, millis);
    }
    assert_eq!(three.next(3), [2, 3, 1], "in turn while there are no weights");
    three.now += 30 * SECOND;
    let counts = three.counts(20_000);
    for (port, share) in [(1, 0.45), (2, 0.35), (3, 0.2)] {
        let expected = 20_000.0 * share;
        assert!((counts[&port] as f64 - expected).abs() < 0.05 * expected, "{counts:?}");
    }
    three.is_down(1);
    let counts = three.counts(11_000);
    assert!((counts[&2] as f64 - 7000.0).abs() < 350.0 && counts.len() == 2, "{counts:?}");
    (2..=3).for_each(|port| three.is_down(port));
    assert_eq!(three.next(1), [0]);
}

#[test]
fn a_server_that_refuses_draws_no_weight() {
    let mut two = Bench::new(BalancingRule::WeightedResponseTime, 3);
    two.answers_in(1, 50);
    two.answers_in(2, 50);
    two.answers_in(3, 50);
    (0..100).for_each(|_| two.is_busy(3).note(Outcome::Unreachable, two.now));
    two.now += 30 * SECOND;
    assert!(two.counts(3000).values().all(|count| (900..1100).contains(count)));
}

#[test]
fn best_available_is_the_least_busy_then_the_first() {
    let mut three = Bench::new(BalancingRule::BestAvailable, 3);
    assert_eq!(three.next(2), [1, 1]);
    let busy = [1, 1, 2].map(|port| three.is_busy(port));
    assert_eq!(three.next(1), [3]);
    drop(busy);
    three.is_down(1);
    assert_eq!(three.next(1), [1], "pings are no affair of this rule");
    (1..=2).for_each(|port| three.black_out(port));
    assert_eq!(three.next(2), [3, 3]);
    three.black_out(3);
    assert_eq!(three.next(3), [2, 3, 2], "in turn those that are up when all are blacked out");
    three.now += 10 * SECOND;
    assert_eq!(three.next(1), [1]);
}

#[test]
fn availability_filtering_passes_over_the_blacked_out_the_busy_and_the_down() {
    let config = BalanceConfig {
        rule: BalancingRule::AvailabilityFiltering,
        active_connections_limit: Some(1),
        ..BalanceConfig::default()
    };
    let four = Bench::with(config, 4);
    assert_eq!(four.next(4), [2, 3, 4, 1]);
    four.is_down(1);
    four.black_out(2);
    let busy = four.is_busy(3);
    assert_eq!(four.next(2), [4, 4]);
    let all_busy = four.is_busy(4);
    assert_eq!(four.next(2), [1, 1], "pings do not count once round robin found nobody");
    let really_all = four.is_busy(1);
    assert_eq!(four.next(4), [1, 2, 3, 4], "all of them when nobody is left");
    drop((busy, all_busy, really_all));
}

#[test]
fn zone_avoidance_takes_turns_from_the_first_among_those_that_are_available() {
    let mut three = Bench::new(BalancingRule::ZoneAvoidance, 3);
    assert_eq!(three.next(7), [1, 2, 3, 1, 2, 3, 1]);
    assert_eq!(Bench::new(BalancingRule::ZoneAvoidance, 0).next(1), [0]);
    three.is_down(3);
    assert_eq!(three.next(3), [2, 3, 1], "pings are no affair of this rule");
    three.black_out(2);
    assert_eq!(three.next(4), [1, 3, 1, 3]);
    [1, 3].iter().for_each(|&port| three.black_out(port));
    assert_eq!(three.counts(30).into_values().collect::<Vec<_>>(), [10; 3], "all of them when all are blacked out");
    three.now += 10 * SECOND;
    assert_eq!(three.counts(30).into_values().collect::<Vec<_>>(), [10; 3]);
}

#[test]
fn limits_and_blackouts_make_unavailable_only_as_configured() {
    let config = BalanceConfig { active_connections_limit: Some(2), ..BalanceConfig::default() };
    let two = Bench::with(config, 2);
    let one = two.is_busy(1);
    assert_eq!(two.next(2), [1, 2]);
    let more = two.is_busy(1);
    assert_eq!(two.next(2), [2, 2]);
    drop(more);
    assert_eq!(two.counts(2).len(), 2);
    drop(one);
    let unfiltered = Bench::with(BalanceConfig { filter_circuit_tripped: false, ..BalanceConfig::default() }, 2);
    unfiltered.black_out(1);
    assert_eq!(unfiltered.next(4), [1, 2, 1, 2]);
}

#[test]
fn of_two_random_servers_the_less_busy_is_asked() {
    let three = Bench::new(BalancingRule::LeastOutstanding, 3);
    assert!(three.counts(3000).values().all(|count| (900..1100).contains(count)));
    let busy = [three.is_busy(2), three.is_busy(3), three.is_busy(3)];
    let counts = three.counts(3000);
    // The busiest of three is never the less busy of two; the least busy is in two of three pairs.
    assert!(!counts.contains_key(&3) && (1900..2100).contains(&counts[&1]), "{counts:?}");
    drop(busy);
    three.is_down(1);
    three.black_out(2);
    assert_eq!(three.next(2), [3, 3]);
    three.is_down(3);
    assert_eq!(three.counts(300).len(), 3, "all of them when nobody is left");
    assert_eq!(Bench::new(BalancingRule::LeastOutstanding, 1).next(1), [1]);
    assert_eq!(Bench::new(BalancingRule::LeastOutstanding, 0).next(1), [0]);
}

#[test]
fn no_rule_asks_a_tried_server_again() {
    for &rule in BalancingRule::ALL {
        let three = Bench::new(rule, 3);
        for _ in 0..20 {
            assert!([2, 3].contains(&three.next_after(&[1])), "{rule:?}");
            assert_eq!(three.next_after(&[1, 3]), 2, "{rule:?}");
            assert_eq!(three.next_after(&[3, 2, 1]), 0, "{rule:?}");
        }
        three.black_out(2);
        assert_eq!(three.next_after(&[1, 3]), 2, "{rule:?}: blacked out is better than nobody");
    }
}

#[test]
fn failures_of_the_server_are_told_from_others() {
    let (asked, connected) =
        (CallMarks { attempts: 1, ..CallMarks::default() }, CallMarks { connect: SECOND, ..CallMarks::default() });
    let deadline = |marks| Outcome::of_failure(Reason::Timeout, Some(Cause::Deadline), marks);
    assert_eq!([asked, connected].map(deadline), [Outcome::TimedOut; 2]);
    assert_eq!(deadline(CallMarks::default()), Outcome::Unknown, "it was not spoken to");
    for (reason, cause, outcome) in [
        (Reason::ConnectFailed, None, Outcome::Unreachable),
        (Reason::ConnectTimeout, None, Outcome::TimedOut),
        (Reason::Timeout, Some(Cause::ReadTimeout), Outcome::TimedOut),
        (Reason::UpstreamAborted, None, Outcome::Unreachable),
        (Reason::UpstreamAborted, Some(Cause::NoAnswer), Outcome::ClosedEarly),
        (Reason::UpstreamBadResponse, None, Outcome::Answered),
        (Reason::UpstreamPoolTimeout, None, Outcome::Unknown),
        (Reason::ClientAborted, None, Outcome::Unknown),
        (Reason::BodyTimeout, None, Outcome::Unknown),
    ] {
        assert_eq!(Outcome::of_failure(reason, cause, CallMarks::default()), outcome, "{reason}");
    }
}

#[derive(Default)]
struct Told(BTreeMap<String, f64>);

impl Sink for Told {
    fn gauge(&mut self, name: &'static str, _: &'static str, labels: &[(&'static str, &str)], value: f64) {
        assert_eq!(labels[0], ("backend", "svc"));
        self.0.insert(format!("{name} {}", labels[1].1), value);
    }
    fn counter(&mut self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)], value: u64) {
        self.gauge(name, help, labels, value as f64);
    }
    fn timer(&mut self, name: &'static str, help: &'static str, labels: &[(&'static str, &str)], value: &Timer) {
        self.gauge(name, help, labels, value.total().as_secs_f64());
    }
}

#[test]
fn the_state_of_each_server_is_told() {
    let two = Bench::new(BalancingRule::ZoneAvoidance, 2);
    two.black_out(1);
    two.is_down(1);
    two.answers_in(2, 500);
    let _busy = two.is_busy(2);
    let mut told = Told::default();
    two.balancer.collect(&mut told, two.now + 4 * SECOND);
    for (name, one, other) in [
        ("portcullis.server.requests.in.flight", 0.0, 1.0),
        ("portcullis.server.up", 0.0, 1.0),
        ("portcullis.server.failures.successive", 3.0, 0.0),
        ("portcullis.server.blackout.left.seconds", 6.0, 0.0),
        ("portcullis.server.requests", 3.0, 1.0),
        ("portcullis.server.response", 0.0, 0.5),
    ] {
        let of = |port: u16| told.0[&format!("{name} 127.0.0.1:{port}")];
        assert_eq!((of(1), of(2)), (one, other), "{name}");
    }
}

/// Whatever the rule and however many ask at once: every attempt has a server, and all come back. No server is preferred by turns.
#[test]
fn many_threads_share_a_balancer() {
    const THREADS: usize = 8;
    const EACH: usize = 3000;
    for &rule in BalancingRule::ALL {
        let blackout = BlackoutConfig { threshold: 1, factor: Duration::ZERO, longest: Duration::ZERO };
        let weight_interval = Duration::from_nanos(1);
        let three = Bench::with(BalanceConfig { rule, blackout, weight_interval, ..BalanceConfig::default() }, 3);
        let barrier = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    barrier.wait();
                    for step in 0..EACH {
                        let now = three.now + Duration::from_micros(step as u64);
                        let server = three.balancer.next(&[], now).unwrap();
                        let asked = three.balancer.ask(server, now);
                        asked.note(if step % 3 == 0 { Outcome::Unreachable } else { Outcome::Answered }, now + SECOND);
                    }
                });
            }
        });
        let each: Vec<_> = three.balancer.members.iter().map(|member| member.stats.requests()).collect();
        assert_eq!(each.iter().sum::<u64>(), (THREADS * EACH) as u64, "{rule:?}");
        assert!(three.balancer.members.iter().all(|member| member.stats.in_flight() == 0), "{rule:?}");
        if matches!(rule, BalancingRule::ZoneAvoidance | BalancingRule::RoundRobin) {
            assert_eq!(each, [(THREADS * EACH / 3) as u64; 3], "{rule:?}");
        }
    }
}
