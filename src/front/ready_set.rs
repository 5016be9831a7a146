//! Connections that may have something to read: one epoll instance, edge-triggered, on which workers wait side by side.
//!
//! A connection is registered once for its life. Two more descriptors stand in the set, level-triggered: one that wakes as many workers as
//! were called (a semaphore; an edge-triggered one would wake one of many), one that wakes all of them for good. The set knows numbers, not
//! connections: whose they are is `slots`' affair.

use super::slots::Token;
use super::word::News;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::OwnedFd;

const CALL: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// What woke a worker.
pub(super) enum Wake {
    /// Something happened on a connection.
    Connection(Token, News),
    /// Look into the queue, and whether to go on.
    Called,
}

pub(super) struct ReadySet {
    epoll: OwnedFd,
    call: OwnedFd,
    stop: OwnedFd,
}

impl ReadySet {
    pub(super) fn new() -> io::Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let set = Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            call: eventfd(0, flags | EventfdFlags::SEMAPHORE)?,
            stop: eventfd(0, flags)?,
        };
        epoll::add(&set.epoll, &set.call, EventData::new_u64(CALL), EventFlags::IN)?;
        epoll::add(&set.epoll, &set.stop, EventData::new_u64(STOP), EventFlags::IN)?;
        Ok(set)
    }

    /// Registers a connection for its life.
    pub(super) fn add(&self, socket: &TcpStream, token: Token) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(token.number()), flags)?)
    }

    /// From now on only hang-ups are reported: its owner reads a body, and no segment of it shall wake anybody.
    pub(super) fn mute(&self, socket: &TcpStream, token: Token) -> io::Result<()> {
        let flags = EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(token.number()), flags)?)
    }

    /// Takes [`Self::mute`] back; what is there to read meanwhile is reported again.
    pub(super) fn unmute(&self, socket: &TcpStream, token: Token) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(token.number()), flags)?)
    }

    /// Waits for one event.
    pub(super) fn wait(&self) -> Wake {
        let mut place = [const { MaybeUninit::<Event>::uninit() }; 1];
        let Ok(([event], _)) = epoll::wait(&self.epoll, &mut place, None).map(|(events, rest)| (&*events, rest)) else {
            return Wake::Called; // interrupted: to look around does no harm
        };
        match { event.data }.u64() {
            CALL => {
                // One read takes one call. Another worker may have been quicker.
                let _ = rustix::io::read(&self.call, &mut [0; 8]);
                Wake::Called
            }
            STOP => Wake::Called,
            number => Wake::Connection(Token::from_number(number), news(event.flags)),
        }
    }

    /// Takes every event of connections without waiting, at most `bound` of them.
    pub(super) fn take_all(&self, bound: usize, mut each: impl FnMut(Token, News)) {
        let mut place = [const { MaybeUninit::<Event>::uninit() }; 128];
        let mut taken = 0;
        while let Ok((events, _)) = epoll::wait(&self.epoll, &mut place, Some(&AT_ONCE)) {
            let mut connections = 0;
            for event in events.iter() {
                let number = { event.data }.u64();
                if number < STOP {
                    each(Token::from_number(number), news(event.flags));
                    connections += 1;
                }
            }
            taken += connections;
            if connections == 0 || events.len() < 128 || taken >= bound {
                return;
            }
        }
    }

    /// Wakes up to `count` workers that wait here.
    pub(super) fn call(&self, count: usize) {
        if count > 0 {
            let _ = rustix::io::write(&self.call, &(count as u64).to_ne_bytes());
        }
    }

    /// Wakes all who wait here, and whoever waits later.
    pub(super) fn stop(&self) {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }
}

fn news(flags: EventFlags) -> News {
    News {
        read_hangup: flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR),
        hangup: flags.intersects(EventFlags::HUP | EventFlags::ERR),
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, theirs)
    }

    fn events(set: &ReadySet) -> Vec<(Token, News)> {
        let mut events = Vec::new();
        set.take_all(100, |token, news| events.push((token, news)));
        events
    }

    #[test]
    fn while_a_body_is_read_only_hang_ups_are_reported() {
        let (set, (mut ours, mut theirs)) = (ReadySet::new().unwrap(), pair());
        let token = Token::from_number(7 << 32 | 3);
        let data = News { read_hangup: false, hangup: false };
        set.add(&ours, token).unwrap();
        theirs.write_all(b"a").unwrap();
        assert_eq!(ours.peek(&mut [0]).unwrap(), 1, "it has arrived");
        assert_eq!(events(&set), [(token, data)]);
        set.mute(&ours, token).unwrap();
        theirs.write_all(b"b").unwrap();
        assert_eq!(ours.peek(&mut [0; 2]).unwrap(), 2);
        assert_eq!(events(&set), []);
        set.unmute(&ours, token).unwrap();
        assert_eq!(events(&set), [(token, data)], "what is there already is reported again");
        set.mute(&ours, token).unwrap();
        theirs.shutdown(Shutdown::Write).unwrap();
        ours.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(events(&set), [(token, News { read_hangup: true, hangup: false })]);
    }

    #[test]
    fn calls_wake_as_many_as_were_called_and_a_stop_wakes_everybody() {
        let set = ReadySet::new().unwrap();
        set.call(2);
        assert!(matches!(set.wait(), Wake::Called));
        assert!(matches!(set.wait(), Wake::Called));
        let mut left = [0; 8];
        assert!(rustix::io::read(&set.call, &mut left).is_err(), "both calls are taken");
        set.stop();
        for _ in 0..3 {
            assert!(matches!(set.wait(), Wake::Called));
        }
    }
}
