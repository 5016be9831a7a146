//! Names of upstream servers: looked up by one thread of their own, never by a request.
//!
//! A [`ResolverTable`] looks each name up when it is first mentioned and every half minute after that, sooner after a failure. The last
//! good answer stays in use while look-ups fail. A name that does not exist yet is no fault of the start: requests to it fail until it does.

use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::deadline::Deadline;

/// How often names are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between two look-ups of a name that answers, and the longest pause after failures.
    pub refresh: Duration,
    /// The shortest time between two look-ups of a name; it doubles with each failure.
    pub floor: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { refresh: Duration::from_secs(30), floor: Duration::from_secs(1) }
    }
}

/// How names are looked up.
pub type LookUp = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// Names and their addresses, kept fresh by a thread that ends after the table is dropped.
pub struct ResolverTable(Arc<Shared>);

struct Shared {
    look_up: Box<LookUp>,
    pace: Pace,
    state: Mutex<State>,
    /// Tells the thread that there is something to do, and requests that a name got its first answer.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    names: BTreeMap<String, Entry>,
    stopped: bool,
}

#[derive(Default)]
struct Entry {
    addresses: Option<Arc<[IpAddr]>>,
    /// Why the latest look-up failed.
    failure: Option<String>,
    /// When the latest look-up ended; `None` before the first.
    looked_up: Option<Instant>,
    failed_in_a_row: u32,
    /// Somebody could not connect to the addresses that are known.
    doubted: bool,
}

impl ResolverTable {
    /// Asks the system.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn new() -> io::Result<Arc<Self>> {
        let system = |name: &str| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect());
        Self::with_look_up(Box::new(system), Pace::default())
    }

    /// Asks `look_up`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn with_look_up(look_up: Box<LookUp>, pace: Pace) -> io::Result<Arc<Self>> {
        let shared = Arc::new(Shared { look_up, pace, state: Mutex::default(), changed: Condvar::new() });
        let table = Arc::new(Self(shared.clone()));
        std::thread::Builder::new().name("resolver".into()).spawn(move || shared.run())?;
        Ok(table)
    }

    /// Begins to keep `name`; an address needs no keeping.
    pub(super) fn mention(&self, name: &str) {
        if name.parse::<IpAddr>().is_err() {
            self.0.state.lock().names.entry(name.to_owned()).or_default();
            self.0.changed.notify_all();
        }
    }

    /// The addresses of `name`. Waits only when it has never been looked up, and at most until `by`.
    pub(super) fn addresses(&self, name: &str, by: Deadline) -> Result<Arc<[IpAddr]>, String> {
        if let Ok(address) = name.parse::<IpAddr>() {
            return Ok(Arc::new([address]));
        }
        let mut state = self.0.state.lock();
        loop {
            let entry = state.names.entry(name.to_owned()).or_default();
            if let Some(addresses) = &entry.addresses {
                return Ok(addresses.clone());
            }
            if let Some(failure) = &entry.failure {
                return Err(format!("{name}: {failure}"));
            }
            if !self.wait(&mut state, by) {
                return Err(format!("{name}: not looked up yet"));
            }
        }
    }

    /// The addresses if they are known, without waiting.
    pub(super) fn known(&self, name: &str) -> Option<Arc<[IpAddr]>> {
        self.0.state.lock().names.get(name)?.addresses.clone()
    }

    /// None of the addresses can be connected to: look again soon.
    pub(super) fn doubt(&self, name: &str) {
        if let Some(entry) = self.0.state.lock().names.get_mut(name) {
            entry.doubted = true;
            self.0.changed.notify_all();
        }
    }

    fn wait(&self, state: &mut parking_lot::MutexGuard<'_, State>, by: Deadline) -> bool {
        match by.moment() {
            None => {
                self.0.changed.wait(state);
                true
            }
            Some(moment) => !self.0.changed.wait_until(state, moment).timed_out(),
        }
    }
}

impl Drop for ResolverTable {
    fn drop(&mut self) {
        // Not joined: a look-up may take as long as the system likes.
        self.0.state.lock().stopped = true;
        self.0.changed.notify_all();
    }
}

impl std::fmt::Debug for ResolverTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResolverTable").field("names", &self.0.state.lock().names.len()).finish()
    }
}

impl Shared {
    fn run(&self) {
        let mut state = self.state.lock();
        while !state.stopped {
            let now = Instant::now();
            match state.next_due(self.pace) {
                None => self.changed.wait(&mut state),
                Some((_, Some(due))) if due > now => drop(self.changed.wait_until(&mut state, due)),
                Some((name, _)) => {
                    drop(state);
                    let found = (self.look_up)(&name);
                    state = self.state.lock();
                    state.learn(&name, found, Instant::now());
                    self.changed.notify_all();
                }
            }
        }
    }
}

impl State {
    /// The name to look up next, and when; `None` for at once.
    fn next_due(&self, pace: Pace) -> Option<(String, Option<Instant>)> {
        let due = |entry: &Entry| entry.looked_up.map(|at| at + entry.pause(pace));
        let (name, entry) = self.names.iter().min_by_key(|(_, entry)| due(entry))?;
        Some((name.clone(), due(entry)))
    }

    fn learn(&mut self, name: &str, found: io::Result<Vec<IpAddr>>, now: Instant) {
        let Some(entry) = self.names.get_mut(name) else { return };
        entry.looked_up = Some(now);
        entry.doubted = false;
        match found {
            Ok(mut addresses) if !addresses.is_empty() => {
                let mut seen = std::collections::HashSet::new();
                addresses.retain(|address| seen.insert(*address));
                entry.addresses = Some(addresses.into());
                entry.failed_in_a_row = 0;
                entry.failure = None;
            }
            Ok(_) => entry.fail(name, "the name has no address"),
            Err(error) => entry.fail(name, &error.to_string()),
        }
    }
}

impl Entry {
    /// How long until the next look-up.
    fn pause(&self, pace: Pace) -> Duration {
        match (self.doubted, self.failed_in_a_row) {
            (true, _) => pace.floor,
            (false, 0) => pace.refresh,
            (false, failed) => pace.floor.saturating_mul(2_u32.saturating_pow(failed - 1)).min(pace.refresh),
        }
    }

    fn fail(&mut self, name: &str, why: &str) {
        if self.failed_in_a_row == 0 {
            log::warn!("look-up of {name}: {why}");
        }
        self.failed_in_a_row = self.failed_in_a_row.saturating_add(1);
        self.failure = Some(why.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    const LONG: Duration = Duration::from_secs(20);
    const FAST: Pace = Pace { refresh: Duration::from_millis(1), floor: Duration::from_millis(1) };

    /// A system whose answers are given one by one.
    fn system(pace: Pace) -> (Arc<ResolverTable>, Sender<io::Result<Vec<IpAddr>>>, Receiver<String>) {
        let (give, given) = channel();
        let (ask, asked) = channel();
        let ends = Mutex::new((given, ask));
        let look_up = move |name: &str| {
            let ends = ends.lock();
            let _ = ends.1.send(name.to_owned());
            ends.0.recv().unwrap_or_else(|_| Err(io::Error::other("the test is over")))
        };
        (ResolverTable::with_look_up(Box::new(look_up), pace).unwrap(), give, asked)
    }

    fn ip(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }

    #[track_caller]
    fn becomes(table: &ResolverTable, expected: Result<IpAddr, &str>) {
        let bound = Deadline::after(LONG);
        loop {
            let found = table.addresses("up.test", bound);
            let found = found.as_ref().map(|addresses| addresses[0]).map_err(String::as_str);
            if found == expected {
                return;
            }
            assert!(!bound.has_passed(), "still {found:?}");
            std::thread::yield_now();
        }
    }

    /// CONN-16: absent at the start, found, moved, lost, found again.
    #[test]
    fn a_name_is_looked_up_again_and_its_last_good_answer_kept() {
        let (table, give, _asked) = system(FAST);
        table.mention("up.test");
        give.send(Err(io::Error::other("no such name"))).unwrap();
        becomes(&table, Err("up.test: no such name"));
        give.send(Ok(vec![ip(2), ip(2)])).unwrap();
        becomes(&table, Ok(ip(2)));
        assert_eq!(table.known("up.test").unwrap().len(), 1);
        give.send(Ok(vec![ip(3)])).unwrap();
        becomes(&table, Ok(ip(3)));
        give.send(Err(io::Error::other("down"))).unwrap();
        give.send(Ok(Vec::new())).unwrap();
        give.send(Err(io::Error::other("down"))).unwrap();
        becomes(&table, Ok(ip(3)));
        give.send(Ok(vec![ip(4)])).unwrap();
        becomes(&table, Ok(ip(4)));
    }

    #[test]
    fn a_request_waits_for_the_first_look_up_only_and_within_its_bound() {
        let (table, give, asked) = system(Pace::default());
        table.mention("up.test");
        assert_eq!(asked.recv().unwrap(), "up.test");
        let early = table.addresses("up.test", Deadline::after(Duration::from_millis(20)));
        assert_eq!(early, Err("up.test: not looked up yet".into()));
        give.send(Ok(vec![ip(2)])).unwrap();
        becomes(&table, Ok(ip(2)));
        for _ in 0..100 {
            table.addresses("up.test", Deadline::NEVER).unwrap();
        }
        assert!(asked.try_recv().is_err(), "a request looked the name up");
    }

    #[test]
    fn addresses_that_nobody_answers_at_are_looked_up_soon() {
        let (table, give, asked) = system(Pace { refresh: 1000 * LONG, floor: Duration::from_millis(1) });
        table.mention("up.test");
        give.send(Ok(vec![ip(2)])).unwrap();
        becomes(&table, Ok(ip(2)));
        asked.recv().unwrap();
        table.doubt("up.test");
        give.send(Ok(vec![ip(3)])).unwrap();
        assert_eq!(asked.recv_timeout(LONG).unwrap(), "up.test");
        becomes(&table, Ok(ip(3)));
    }

    #[test]
    fn an_address_is_no_name() {
        let (table, _give, asked) = system(FAST);
        for address in ["127.0.0.7", "::1"] {
            table.mention(address);
            assert_eq!(table.addresses(address, Deadline::NEVER).unwrap()[..], [address.parse::<IpAddr>().unwrap()]);
        }
        assert!(asked.try_recv().is_err());
    }

    #[test]
    fn pauses_grow_with_failures_up_to_the_refresh() {
        let pace = Pace::default();
        let pause =
            |failed_in_a_row, doubted| Entry { failed_in_a_row, doubted, ..Entry::default() }.pause(pace).as_secs();
        assert_eq!([0, 1, 2, 3, 5, 6, u32::MAX].map(|failed| pause(failed, false)), [30, 1, 2, 4, 16, 30, 30]);
        assert_eq!(pause(0, true), 1);
    }
}
