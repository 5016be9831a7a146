//! The stream without a socket and without a clock: schedule, places, slow and leaving clients.

use super::fake::{Connection, EVENT, FakeConnection, stream};
use super::{Attendant, EventStream, Listener};
use crate::client::Subscription;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

struct Watched {
    stream: Arc<EventStream>,
    attendant: Attendant,
    origin: Instant,
}

impl Watched {
    fn new(interval: u64, max_clients: usize) -> Self {
        let (stream, origin) = (stream(interval, max_clients), Instant::now());
        Self { attendant: stream.attend(origin), stream, origin }
    }

    /// A client that takes so many octets.
    fn listen(&self, room: usize, is_chunked: bool) -> Arc<Mutex<Connection>> {
        let place = self.stream.reserve().expect("a place");
        let connection = Arc::new(Mutex::new(Connection { room, ..Connection::default() }));
        let listener = Listener { place, is_chunked };
        Box::new(listener).begin(Box::new(FakeConnection(connection.clone())));
        connection
    }

    /// Looks at this millisecond; when it wants to look again.
    fn look(&mut self, millis: u64) -> Option<u64> {
        let next = self.attendant.look(self.origin + Duration::from_millis(millis), UNIX_EPOCH)?;
        Some(u64::try_from((next - self.origin).as_millis()).unwrap())
    }

    fn listening(&self) -> i64 {
        self.stream.listening.get()
    }
}

fn take(connection: &Mutex<Connection>) -> String {
    std::mem::take(&mut connection.lock().sent)
}

const PLENTY: usize = 1 << 20;

#[test]
fn pings_and_events_keep_their_own_times() {
    let mut watched = Watched::new(700, 5);
    assert_eq!(watched.look(0), None, "nobody listens");
    let connection = watched.listen(PLENTY, false);
    assert_eq!(watched.look(10_000), Some(10_500));
    assert_eq!(take(&connection), "");
    assert_eq!(watched.look(10_499), Some(10_500));
    assert_eq!((watched.look(10_500), take(&connection).as_str()), (Some(10_700), "ping: \n\n"));
    assert_eq!((watched.look(10_700), take(&connection).as_str()), (Some(11_000), EVENT));
    assert_eq!(watched.look(11_400), Some(11_900));
    assert_eq!(take(&connection), format!("ping: \n\n{EVENT}"), "both at once when both are due");
    connection.lock().is_gone = true;
    assert_eq!((watched.look(11_900), watched.listening()), (None, 0));
}

#[test]
fn a_chunk_holds_what_is_told_at_once() {
    let mut watched = Watched::new(500, 5);
    let connection = watched.listen(PLENTY, true);
    watched.look(0);
    watched.look(500);
    assert_eq!(take(&connection), format!("12\r\nping: \n\n{EVENT}\r\n"));
}

/// A limit of one.
#[test]
fn a_place_is_free_again_when_its_client_has_left() {
    let mut watched = Watched::new(500, 1);
    let first = watched.listen(PLENTY, true);
    assert!(watched.stream.reserve().is_none());
    assert_eq!((watched.listening(), watched.stream.refused.get()), (1, 1));
    assert_eq!(watched.stream.full(), "MaxConcurrentConnections reached: 1");
    watched.look(0);
    first.lock().is_gone = true;
    watched.look(500);
    assert!(first.lock().is_dropped);
    assert_eq!((watched.listening(), watched.stream.cut.get()), (0, 0));
    drop(watched.stream.reserve().expect("it is free"));
    assert_eq!(watched.listening(), 0, "a place that is not used comes back");
}

#[test]
fn who_does_not_read_for_two_periods_is_cut_off() {
    let mut watched = Watched::new(500, 5);
    let (slow, quick) = (watched.listen(3, false), watched.listen(PLENTY, false));
    let told = format!("ping: \n\n{EVENT}");
    watched.look(0);
    watched.look(500);
    assert_eq!((take(&slow).as_str(), take(&quick)), (&told[..3], told.clone()));
    watched.look(1000);
    assert!(!slow.lock().is_dropped, "one period");
    watched.look(1500);
    assert!(slow.lock().is_dropped && !slow.lock().is_finished, "cut, not ended as if whole");
    assert_eq!((watched.listening(), watched.stream.cut.get()), (1, 1));
    assert_eq!(take(&quick), told.repeat(2), "the others do not notice");
}

/// What was begun is sent to its end before anything else, and what came meanwhile is left out.
#[test]
fn who_reads_again_in_time_is_up_to_date_at_once() {
    let mut watched = Watched::new(500, 5);
    let slow = watched.listen(3, false);
    watched.look(0);
    watched.look(500);
    watched.look(1000);
    slow.lock().room = PLENTY;
    watched.look(1500);
    assert_eq!(take(&slow), format!("ping: \n\n{EVENT}").repeat(2));
    slow.lock().room = 3;
    watched.look(2000);
    watched.look(2500);
    assert_eq!(watched.listening(), 1, "the periods are counted anew");
}

#[test]
fn a_drain_ends_the_answer_as_a_whole_one() {
    let mut watched = Watched::new(500, 5);
    let (chunked, plain, stuck) =
        (watched.listen(PLENTY, true), watched.listen(PLENTY, false), watched.listen(3, true));
    watched.look(0);
    watched.look(500);
    for connection in [&chunked, &plain, &stuck] {
        connection.lock().is_draining = true;
    }
    assert_eq!(watched.look(501), None);
    assert!(chunked.lock().sent.ends_with("\r\n0\r\n\r\n") && chunked.lock().is_finished);
    assert!(plain.lock().sent.ends_with(EVENT) && plain.lock().is_finished);
    assert!(stuck.lock().is_dropped && !stuck.lock().is_finished, "in the middle of an event");
    assert_eq!((watched.listening(), watched.stream.cut.get()), (0, 0));
}

#[test]
fn the_end_of_the_thread_cuts_everybody_off() {
    let mut watched = Watched::new(500, 5);
    let early = watched.listen(PLENTY, true);
    watched.look(0);
    drop(watched.attendant);
    assert!(early.lock().is_dropped);
    assert_eq!(watched.stream.listening.get(), 0);
}
