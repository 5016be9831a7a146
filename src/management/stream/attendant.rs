//! The stream's part in the background thread's round: what is due is written once and sent to every viewer.

use super::viewer::{Lost, Viewer, framed};
use super::{EventStream, PING, PING_EVERY};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// All viewers, and when they are to be told something. Dropping it cuts them off.
pub struct Attendant {
    stream: Arc<EventStream>,
    viewers: Vec<Viewer>,
    next_ping: Instant,
    next_events: Instant,
    text: String,
}

impl Attendant {
    pub(super) fn new(stream: Arc<EventStream>, now: Instant) -> Self {
        Self { stream, viewers: Vec::new(), next_ping: now, next_events: now, text: String::new() }
    }

    /// Does what is due; says when to come again, or `None` while nobody listens.
    pub fn look(&mut self, now: Instant, wall: SystemTime) -> Option<Instant> {
        self.welcome(now);
        self.take_leave();
        if self.write(now, wall) {
            self.tell();
        }
        let next = self.next_ping.min(self.next_events);
        (!self.viewers.is_empty()).then_some(next)
    }

    /// The first viewer begins the schedule anew: it has had its ping.
    fn welcome(&mut self, now: Instant) {
        let mut arrivals = self.stream.arrivals.lock();
        if self.viewers.is_empty() && !arrivals.is_empty() {
            (self.next_ping, self.next_events) = (now + PING_EVERY, now + self.stream.config.interval);
        }
        self.viewers.append(&mut arrivals);
    }

    fn take_leave(&mut self) {
        let (leaving, staying) = std::mem::take(&mut self.viewers).into_iter().partition(Viewer::is_draining);
        self.viewers = staying;
        Vec::into_iter(leaving).for_each(Viewer::end);
    }

    /// The text that is due, if any is.
    fn write(&mut self, now: Instant, wall: SystemTime) -> bool {
        self.text.clear();
        if self.viewers.is_empty() {
            return false;
        }
        if now >= self.next_ping {
            self.next_ping = now + PING_EVERY;
            self.text.push_str(PING);
        }
        if now >= self.next_events {
            self.next_events = now + self.stream.config.interval;
            (self.stream.events)(&mut self.text, now, wall);
        }
        !self.text.is_empty()
    }

    fn tell(&mut self) {
        let text = framed(&self.text);
        let cut = &self.stream.cut;
        self.viewers.retain_mut(|viewer| match viewer.tell(&text) {
            Ok(()) => true,
            Err(Lost::Left) => false,
            Err(Lost::TooSlow) => {
                cut.add_one();
                false
            }
        });
    }
}
