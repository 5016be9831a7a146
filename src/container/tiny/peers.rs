//! The clients with requests in the gateway, and those whose connection is to end.
//!
//! The crate goes on reading a connection that we have given up, and what it finds there may be the middle of a body. Such a connection is
//! *condemned* here before its next request can be served: requests come out of the crate in order, one thread judges them all, and what
//! comes from a condemned connection is thrown away.

use crate::deadline::Deadline;
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long a condemned connection is remembered: its last octets are read within moments, but its requests may have to wait.
const MEMORY: Duration = Duration::from_secs(60);

/// Condemned connections beyond which the old ones are looked for and forgotten.
const MANY: usize = 1024;

/// No connection has this cookie.
const NOBODY: u64 = 0;

/// All of a container's clients.
#[derive(Debug, Default)]
pub(super) struct Peers {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Requests that were taken from the crate and not done with, by client.
    running: HashMap<SocketAddr, usize>,
    condemned: HashMap<SocketAddr, Condemned>,
}

#[derive(Clone, Copy, Debug)]
struct Condemned {
    since: Instant,
    /// The connection, once it has been ended: another one may come from the same address later.
    cookie: Option<u64>,
}

impl Peers {
    /// Counts a request of `peer` until the guard is dropped.
    pub(super) fn run(&self, peer: SocketAddr) {
        *self.state.lock().running.entry(peer).or_default() += 1;
    }

    /// Undoes [`Self::run`].
    pub(super) fn done(&self, peer: SocketAddr) {
        let mut state = self.state.lock();
        if let Some(count) = state.running.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                state.running.remove(&peer);
            }
        }
        if state.running.is_empty() {
            self.changed.notify_all();
        }
    }

    /// Whether a request of `peer` is in the gateway.
    pub(super) fn is_running(&self, peer: SocketAddr) -> bool {
        self.state.lock().running.contains_key(&peer)
    }

    /// Waits until no request is in the gateway; false when `by` comes first.
    pub(super) fn wait_until_none(&self, by: Deadline) -> bool {
        let mut state = self.state.lock();
        while !state.running.is_empty() {
            match by.left() {
                Ok(None) => self.changed.wait(&mut state),
                Ok(Some(left)) => _ = self.changed.wait_for(&mut state, left),
                Err(_) => return false,
            }
        }
        true
    }

    /// Nothing more is served on the connection of `peer`. Before the answer to its last request goes out, so that nobody is faster.
    pub(super) fn condemn(&self, peer: SocketAddr, now: Instant) {
        let mut state = self.state.lock();
        if state.condemned.len() >= MANY {
            state.condemned.retain(|_, c| now.duration_since(c.since) < MEMORY);
        }
        state.condemned.insert(peer, Condemned { since: now, cookie: None });
    }

    /// The condemned connection of `peer` is ended, so that another one may come from there; `None` when it was gone already.
    pub(super) fn shut_down(&self, peer: SocketAddr, cookie: Option<u64>) {
        if let Some(condemned) = self.state.lock().condemned.get_mut(&peer) {
            condemned.cookie = Some(cookie.unwrap_or(NOBODY));
        }
    }

    /// Whether a request that was just read comes from a condemned connection. `cookie` finds that of the connection as it is now.
    pub(super) fn is_condemned(&self, peer: SocketAddr, now: Instant, cookie: impl FnOnce() -> Option<u64>) -> bool {
        let Some(condemned) = self.state.lock().condemned.get(&peer).copied() else { return false };
        // What comes from a connection that can't be found was read before its end.
        let is_another = match (condemned.cookie, cookie()) {
            (Some(bad), Some(here)) => bad != here,
            _ => now.duration_since(condemned.since) >= MEMORY,
        };
        if is_another {
            self.state.lock().condemned.remove(&peer);
        }
        !is_another
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_client() {
        let (peers, a) = (Peers::default(), SocketAddr::from(([127, 0, 0, 1], 9)));
        peers.run(a);
        peers.run(a);
        peers.done(a);
        assert!(peers.is_running(a));
        assert!(!peers.wait_until_none(Deadline::at(Instant::now())));
        peers.done(a);
        assert!(!peers.is_running(a));
        assert!(peers.wait_until_none(Deadline::NEVER));
    }

    #[test]
    fn another_connection_from_the_same_address_is_served() {
        let (peers, a, now) = (Peers::default(), SocketAddr::from(([127, 0, 0, 1], 9)), Instant::now());
        assert!(!peers.is_condemned(a, now, || None));
        peers.condemn(a, now);
        assert!(peers.is_condemned(a, now, || Some(7)), "not ended yet");
        peers.shut_down(a, Some(7));
        assert!(peers.is_condemned(a, now, || Some(7)));
        assert!(peers.is_condemned(a, now, || None), "gone, with requests left over");
        assert!(!peers.is_condemned(a, now, || Some(8)));
        assert!(!peers.is_condemned(a, now, || Some(7)), "forgotten");
        peers.condemn(a, now);
        assert!(!peers.is_condemned(a, now + MEMORY, || None), "not for ever");
        peers.condemn(a, now);
        peers.shut_down(a, None);
        assert!(peers.is_condemned(a, now, || None));
        assert!(!peers.is_condemned(a, now, || Some(7)), "it was gone, this is another");
    }
}
