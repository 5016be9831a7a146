//! Wakes a loop at a moment. What `epoll_wait` takes is whole milliseconds, rounded up: more than a quick answer needs.

use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A timer among the descriptors of an epoll; dropped, it leaves it.
pub(super) struct Alarm(OwnedFd);

impl Alarm {
    /// One that is not set yet, and whose event will carry `id`.
    pub(super) fn on(epoll: &OwnedFd, id: u64) -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        epoll::add(epoll, &timer, epoll::EventData::new_u64(id), epoll::EventFlags::IN)?;
        Ok(Self(timer))
    }

    /// Goes off once, after this span, to the nanosecond; a former setting is gone, with its event.
    pub(super) fn set(&self, span: Duration) -> io::Result<()> {
        // Nothing would turn it off.
        let span = span.max(Duration::from_nanos(1));
        let it_value = Timespec::try_from(span).map_err(io::Error::other)?;
        let once = Itimerspec { it_interval: Timespec::default(), it_value };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::buffer::spare_capacity;
    use std::time::Instant;

    #[test]
    fn it_goes_off_once_and_no_sooner_than_it_was_set_for() {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let alarm = Alarm::on(&epoll, 7).unwrap();
        for span in [Duration::ZERO, Duration::from_micros(300)] {
            let (began, mut events) = (Instant::now(), Vec::with_capacity(4));
            alarm.set(span).unwrap();
            epoll::wait(&epoll, spare_capacity(&mut events), None).unwrap();
            assert!(began.elapsed() >= span);
            assert_eq!(events.iter().map(|event| { event.data }.u64()).collect::<Vec<_>>(), [7]);
        }
        alarm.set(Duration::from_secs(3600)).unwrap();
        let mut events = Vec::with_capacity(4);
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&Timespec::default())).unwrap();
        assert!(events.is_empty(), "the former setting is gone");
    }
}
