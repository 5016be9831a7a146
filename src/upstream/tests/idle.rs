//! Idle connections: how long they are kept, and what ends them.

use super::*;
use crate::config::model::{Scheme, ServerAddress};
use crate::upstream::testing::{LONG, backend, no_tls};
use crate::upstream::{ConnectionLimit, Pace, ResolverTable};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

#[test]
fn idle_connections_are_evicted_when_old_or_closed() {
    let origin = Origin::answering(OK);
    let server = server(&origin);
    let now = Instant::now();
    whole(get(&server));
    server.evict(now + Duration::from_secs(2));
    is_idle(&server, 1);
    server.evict(now + Duration::from_secs(60));
    is_idle(&server, 0);
}

/// CONN-14: nothing is left half-closed after a burst.
#[test]
fn idle_connections_that_the_upstream_closed_are_evicted() {
    let origin = Origin::start(|_, peer| {
        peer.head();
        peer.send(OK);
    });
    let server = server(&origin);
    let burst: Vec<_> = (0..5).map(|_| get(&server)).collect();
    burst.into_iter().for_each(|answer| drop(whole(answer)));
    let bound = Instant::now() + LONG;
    while server.pool().open > 0 && Instant::now() < bound {
        server.evict(Instant::now() + Duration::from_secs(2));
        std::thread::yield_now();
    }
    is_idle(&server, 0);
}

/// CONN-16: a connection to an address that its name has no longer is not kept, be it idle or in use.
#[test]
fn connections_to_vanished_addresses_are_drained() {
    let origin = Origin::answering(OK);
    let vanished = Arc::new(AtomicBool::new(false));
    let gone = vanished.clone();
    let look_up = move |_: &str| {
        let last = if gone.load(SeqCst) { 9 } else { 1 };
        Ok(vec![[127, 0, 0, last].into()])
    };
    let pace = Pace { refresh: Duration::from_millis(1), floor: Duration::from_millis(1) };
    let table = ResolverTable::with_look_up(Box::new(look_up), pace).unwrap();
    let address = ServerAddress { scheme: Scheme::Http, host: "up.test".into(), port: origin.address.port() };
    let server = Server::new(&backend(5), &address, ConnectionLimit::new(9), &table, &no_tls());
    let (idle, busy) = (get(&server), get(&server));
    whole(idle);
    server.evict(Instant::now() + Duration::from_secs(2));
    are_idle_and_busy(&server, 1, 1);
    vanished.store(true, SeqCst);
    let bound = Instant::now() + LONG;
    while server.pool().idle > 0 && Instant::now() < bound {
        server.evict(Instant::now() + Duration::from_secs(2));
        std::thread::yield_now();
    }
    are_idle_and_busy(&server, 0, 1);
    whole(busy);
    is_idle(&server, 0);
}

/// Whoever evicts sleeps while nothing is pooled, and learns nothing of names meanwhile.
#[test]
fn connections_to_addresses_that_nobody_noticed_are_kept() {
    let origin = Origin::answering(OK);
    let moved = Arc::new(AtomicBool::new(false));
    let has_moved = moved.clone();
    let look_up = move |_: &str| Ok(vec![[127, 0, 0, if has_moved.load(SeqCst) { 1 } else { 9 }].into()]);
    let pace = Pace { refresh: Duration::from_millis(1), floor: Duration::from_millis(1) };
    let table = ResolverTable::with_look_up(Box::new(look_up), pace).unwrap();
    let address = ServerAddress { scheme: Scheme::Http, host: "up.test".into(), port: origin.address.port() };
    let server = Server::new(&backend(5), &address, ConnectionLimit::new(9), &table, &no_tls());
    let bound = Instant::now() + LONG;
    while table.known("up.test").is_none() && Instant::now() < bound {
        std::thread::yield_now();
    }
    server.evict(Instant::now());
    moved.store(true, SeqCst);
    while get(&server).is_err() && Instant::now() < bound {}
    whole(get(&server));
    is_idle(&server, 1);
}

#[test]
fn a_connection_that_has_lived_long_enough_is_not_kept() {
    let origin = Origin::answering(OK);
    let mut backend = backend(5);
    backend.time_to_live = Some(Duration::from_secs(3));
    let address = ServerAddress { scheme: Scheme::Http, host: "127.0.0.1".into(), port: origin.address.port() };
    let server = Server::new(&backend, &address, ConnectionLimit::new(9), &ResolverTable::new().unwrap(), &no_tls());
    let before = Instant::now();
    whole(get(&server));
    server.evict(before + Duration::from_secs(2));
    is_idle(&server, 1);
    server.evict(Instant::now() + Duration::from_secs(3));
    is_idle(&server, 0);
}
