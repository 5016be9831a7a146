//! Each law against a server whose capacity is known, in time that is passed in.

use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const LAWS: [LimitLaw; 3] = [LimitLaw::Vegas, LimitLaw::Gradient2, LimitLaw::Aimd];

fn limit(law: LimitLaw, floor: usize, ceiling: usize) -> MovingLimit {
    MovingLimit::new(AdaptiveLimit { law, floor }, ceiling)
}

/// A server that works on so many requests at once, each for so long; what is more waits its turn, or is lost.
struct Server {
    capacity: f64,
    time: Duration,
    /// With more than so many in flight, requests time out.
    patience: f64,
    now: Instant,
}

impl Server {
    fn new(capacity: usize, millis: u64) -> Self {
        let time = Duration::from_millis(millis);
        Self { capacity: capacity as f64, time, patience: f64::MAX, now: Instant::now() }
    }

    /// Runs for so many tenths of a second, with as much in flight as `demand` and the limit allow.
    fn run(&mut self, limit: &mut MovingLimit, demand: usize, windows: usize) -> usize {
        for _ in 0..windows * 10 {
            self.now += Duration::from_millis(10);
            let in_flight = demand.min(limit.limit());
            let rtt = self.time.mul_f64((in_flight as f64 / self.capacity).max(1.0));
            let dropped = in_flight as f64 > self.patience;
            limit.sample(Sample { rtt, in_flight, dropped }, self.now);
        }
        limit.limit()
    }
}

#[track_caller]
fn within(found: usize, least: usize, most: usize) {
    assert!((least..=most).contains(&found), "{found} is not within {least} and {most}");
}

#[test]
fn vegas_allows_for_a_short_queue() {
    for capacity in [5, 30, 80] {
        let (mut vegas, mut server) = (limit(LimitLaw::Vegas, 1, 500), Server::new(capacity, 10));
        server.run(&mut vegas, 2, 20); // it has seen the server without load
        within(server.run(&mut vegas, 500, 100), capacity, capacity + 7);
    }
}

#[test]
fn vegas_gives_way_when_the_server_becomes_slower_and_comes_back() {
    let (mut vegas, mut server) = (limit(LimitLaw::Vegas, 1, 500), Server::new(50, 10));
    server.run(&mut vegas, 2, 20);
    let before = server.run(&mut vegas, 500, 100);
    server.capacity = 20.0;
    within(server.run(&mut vegas, 500, 60), 20, 27);
    server.capacity = 50.0;
    within(server.run(&mut vegas, 500, 60), before - 7, before + 7);
}

#[test]
fn vegas_forgets_a_shortest_time_that_is_no_longer_true() {
    let (mut vegas, mut server) = (limit(LimitLaw::Vegas, 1, 60), Server::new(30, 10));
    server.run(&mut vegas, 2, 20);
    server.run(&mut vegas, 500, 60);
    server.time = Duration::from_millis(40);
    let slow = server.run(&mut vegas, 500, 20);
    assert!(slow < 20, "four times as long looks like a queue: {slow}");
    server.run(&mut vegas, 500, 30 * 60);
    within(vegas.limit(), 30, 60);
}

#[test]
fn gradient2_follows_growing_times_down() {
    let (mut gradient, mut server) = (limit(LimitLaw::Gradient2, 1, 500), Server::new(40, 10));
    server.run(&mut gradient, 10, 100);
    within(server.run(&mut gradient, 500, 60), 40, 100);
    let before = gradient.limit();
    server.capacity = 10.0;
    let after = server.run(&mut gradient, 500, 30);
    assert!(after < before / 2, "{before} became {after}");
}

/// A server with so many places and a line in front of them, request by request; each takes between 8 and 12 ms.
struct Places {
    free: BinaryHeap<Reverse<Instant>>,
    dice: u64,
    now: Instant,
}

impl Places {
    fn new(count: usize) -> Self {
        let now = Instant::now();
        Self { free: (0..count).map(|_| Reverse(now)).collect(), dice: 7, now }
    }

    fn service_time(&mut self) -> Duration {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        Duration::from_micros(8_000 + self.dice % 4_000)
    }

    /// Runs for a while with as many requests as are wanted and allowed; says what the limit was on average.
    fn run(&mut self, limit: &mut MovingLimit, wanted: usize, seconds: u64) -> f64 {
        let (end, mut under_way) = (self.now + Duration::from_secs(seconds), BinaryHeap::new());
        let (mut sum, mut count) = (0, 0);
        while self.now < end {
            while under_way.len() < wanted.min(limit.limit()) {
                let free = self.free.pop().map_or(self.now, |Reverse(free)| free.max(self.now));
                let done = free + self.service_time();
                self.free.push(Reverse(done));
                under_way.push(Reverse((done, self.now, under_way.len() + 1)));
            }
            let Some(Reverse((done, begun, in_flight))) = under_way.pop() else { break };
            self.now = done;
            sum += limit.sample(Sample { rtt: done - begun, in_flight, dropped: false }, done);
            count += 1;
        }
        sum as f64 / f64::from(count)
    }
}

#[test]
fn limits_by_times_find_the_capacity_although_times_scatter() {
    for (law, most) in [(LimitLaw::Vegas, 1.6), (LimitLaw::Gradient2, 2.5)] {
        for capacity in [12, 30, 70] {
            let (mut moving, mut server) = (limit(law, 1, 1000), Places::new(capacity));
            server.run(&mut moving, 3, 3);
            server.run(&mut moving, 1000, 6);
            let found = server.run(&mut moving, 1000, 4);
            let share = found / capacity as f64;
            assert!((0.9..most).contains(&share), "{law:?} found {found} for {capacity}");
        }
    }
}

#[test]
fn aimd_saws_below_what_is_lost() {
    let (mut aimd, mut server) = (limit(LimitLaw::Aimd, 1, 500), Server::new(1000, 10));
    server.patience = 60.0;
    server.run(&mut aimd, 500, 50);
    let mut seen: Vec<_> = (0..200).map(|_| server.run(&mut aimd, 500, 1)).collect();
    seen.sort_unstable();
    within(seen[0], 50, 61);
    within(seen[199], 55, 61);
}

#[test]
fn every_law_falls_to_the_floor_by_drops_and_rises_again() {
    for law in LAWS {
        let (mut moving, mut server) = (limit(law, 3, 50), Server::new(1000, 10));
        server.run(&mut moving, 1, 20);
        assert_eq!(moving.limit(), 20, "{law:?} was not used enough to move");
        server.patience = 0.0;
        assert_eq!(server.run(&mut moving, 500, 10), 3, "{law:?}");
        server.patience = f64::MAX;
        assert_eq!(server.run(&mut moving, 500, 200), 50, "{law:?}");
    }
}

#[test]
fn a_single_drop_lowers_the_limit() {
    for (law, after) in LAWS.into_iter().zip([19, 18, 18]) {
        let mut moving = limit(law, 1, 100);
        let drop = Sample { rtt: Duration::from_secs(1), in_flight: 1, dropped: true };
        assert_eq!(moving.sample(drop, Instant::now()), after, "{law:?}");
    }
}

#[test]
fn times_at_the_edge_of_the_clock_keep_the_limit_within_its_bounds() {
    for law in LAWS {
        let (mut moving, now) = (limit(law, 2, 9), Instant::now());
        for step in 0..2_000_u32 {
            let rtt = [Duration::ZERO, Duration::MAX / 4_000, Duration::from_nanos(1)][step as usize % 3];
            let sample = Sample { rtt, in_flight: step as usize % 12, dropped: step % 7 == 0 };
            within(moving.sample(sample, now + Duration::from_millis(20) * step), 2, 9);
        }
    }
}

#[test]
fn floor_and_ceiling_bound_the_beginning() {
    assert_eq!(limit(LimitLaw::Vegas, 1, 5).limit(), 5);
    assert_eq!(limit(LimitLaw::Aimd, 40, 90).limit(), 40);
    assert_eq!(limit(LimitLaw::Aimd, 0, 0).limit(), 0, "nothing is admitted where the ceiling says so");
}
