//! Which server of a service is asked: round robin, as Ribbon's `RoundRobinRule` does it, and never one twice in one request.
//!
//! The gateway asks for a server before each attempt and tells which ones it has tried.

use crate::upstream::Server;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The servers of one service.
#[derive(Debug)]
pub struct Balancer {
    servers: Vec<Arc<Server>>,
    turn: AtomicUsize,
}

impl Balancer {
    /// Begins with the first of `servers`.
    pub fn new(servers: Vec<Arc<Server>>) -> Self {
        Self { servers, turn: AtomicUsize::new(0) }
    }

    /// The servers, in the order in which they were given.
    pub fn servers(&self) -> &[Arc<Server>] {
        &self.servers
    }

    /// The server whose turn it is, or the next one that is not in `tried`; `None` when all are.
    pub fn next(&self, tried: &[Arc<Server>]) -> Option<&Arc<Server>> {
        let turn = self.turn.fetch_add(1, Relaxed);
        let untried = |server: &&Arc<Server>| !tried.iter().any(|tried| Arc::ptr_eq(tried, server));
        (0..self.servers.len()).map(|step| &self.servers[turn.wrapping_add(step) % self.servers.len()]).find(untried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::ConnectionLimit;
    use crate::upstream::testing::server_at;

    fn balancer(count: u16) -> Balancer {
        let limit = ConnectionLimit::new(1);
        Balancer::new((1..=count).map(|port| server_at(([127, 0, 0, 1], port).into(), 1, &limit)).collect())
    }

    #[track_caller]
    fn check(next: Option<&Arc<Server>>, expected: Option<u16>) {
        assert_eq!(next.map(|server| server.address().port), expected);
    }

    #[test]
    fn servers_take_turns_from_the_first() {
        let three = balancer(3);
        for expected in [1, 2, 3, 1, 2, 3, 1] {
            check(three.next(&[]), Some(expected));
        }
        check(balancer(0).next(&[]), None);
    }

    #[test]
    fn a_tried_server_is_passed_over_whoever_else_asked_meanwhile() {
        let three = balancer(3);
        let first = three.next(&[]).unwrap().clone();
        check(three.next(&[]), Some(2));
        check(three.next(&[]), Some(3));
        check(three.next(std::slice::from_ref(&first)), Some(2));
        let all = three.servers().to_vec();
        check(three.next(&all), None);
        check(three.next(&all[1..]), Some(1));
    }
}
