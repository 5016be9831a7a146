//! Caps and the line of who waits (CONN-13), with real connections.

use super::*;
use crate::upstream::ConnectionLimit;
use crate::upstream::testing::{LONG, server_at};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Instant;

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let bound = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < bound, "{what} did not come true");
        std::thread::yield_now();
    }
}

#[test]
fn with_a_limit_of_one_requests_take_turns_on_one_connection() {
    let origin = Origin::answering(OK);
    let server = server_at(origin.address, 1, &ConnectionLimit::new(5));
    let mut held = get(&server).unwrap();
    let waiting = server.clone();
    let waiter = std::thread::spawn(move || {
        let answer = get(&waiting).unwrap();
        (answer.marks, whole(Ok(answer)).0)
    });
    until("a waiter", || server.pool().pending == 1);
    drain(&mut held).unwrap();
    let (marks, status) = waiter.join().unwrap();
    assert!(marks.reused && !marks.waited.is_zero());
    assert_eq!((status, origin.accepted()), (200, 1));
    is_idle(&server, 1);
}

#[test]
fn a_connection_that_is_closed_makes_room_for_who_waits() {
    let origin = Origin::answering(OK);
    let server = server_at(origin.address, 5, &ConnectionLimit::new(1));
    let held = get(&server).unwrap();
    let waiting = server.clone();
    let waiter = std::thread::spawn(move || get(&waiting).unwrap().marks.reused);
    until("a waiter", || server.pool().pending == 1);
    drop(held);
    assert!(!waiter.join().unwrap());
    is_idle(&server, 0);
}

#[test]
fn an_idle_connection_of_another_server_makes_room() {
    let (one, two) = (Origin::answering(OK), Origin::answering(OK));
    let limit = ConnectionLimit::new(2);
    let (first, second) = (server_at(one.address, 2, &limit), server_at(two.address, 2, &limit));
    let both = (get(&first), get(&first));
    whole(both.0);
    whole(both.1);
    is_idle(&first, 2);
    whole(get(&second));
    is_idle(&first, 1);
    is_idle(&second, 1);
    assert_eq!(limit.open(), 2);
    drop((first, second));
    assert_eq!(limit.open(), 0);
}

#[test]
fn one_servers_pooled_connection_makes_room_for_who_waits_for_another() {
    let (one, two) = (Origin::answering(OK), Origin::answering(OK));
    let limit = ConnectionLimit::new(1);
    let (first, second) = (server_at(one.address, 1, &limit), server_at(two.address, 1, &limit));
    let held = get(&first);
    let waiting = second.clone();
    let waiter = std::thread::spawn(move || whole(get(&waiting)).0);
    until("a waiter", || second.pool().pending == 1);
    whole(held);
    assert_eq!(waiter.join().unwrap(), 200);
    is_idle(&first, 0);
    is_idle(&second, 1);
}

#[test]
fn caps_hold_and_nothing_leaks_under_a_crowd() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, peak) = (now.clone(), most.clone());
    let play = move |number: usize, peer: &mut Peer| {
        peak.fetch_max(counted.fetch_add(1, SeqCst) + 1, SeqCst);
        let mut served = 0;
        while peer.head().is_some() {
            served += 1;
            peer.send(OK);
            // Some connections are closed after a few requests, as a busy upstream does.
            if served == 5 && number.is_multiple_of(2) {
                break;
            }
        }
        counted.fetch_sub(1, SeqCst);
    };
    let play = Arc::new(play);
    let (a, b) = (play.clone(), play);
    let origins = [Origin::start(move |n, p| a(n, p)), Origin::start(move |n, p| b(n, p))];
    let limit = ConnectionLimit::new(5);
    let servers: Vec<_> = origins.iter().map(|origin| server_at(origin.address, 3, &limit)).collect();
    std::thread::scope(|scope| {
        for thread in 0..12 {
            let servers = &servers;
            let limit = &limit;
            scope.spawn(move || {
                for round in 0..30 {
                    let answer = get(&servers[(thread + round) % 2]).unwrap();
                    assert!(limit.open() <= 5);
                    if round % 7 == 3 { drop(answer) } else { drop(whole(Ok(answer))) }
                }
            });
        }
    });
    for server in &servers {
        assert!(server.pool().open <= 3);
        let idle = server.pool().idle;
        is_idle(server, idle);
    }
    assert_eq!(limit.open(), servers.iter().map(|server| server.pool().open).sum::<usize>());
    drop(servers);
    assert_eq!(limit.open(), 0);
}
