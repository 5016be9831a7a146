//! A bell that can be waited for beside sockets: an eventfd.
//!
//! Ringing never blocks; a bell that was rung stays readable until it is silenced, so ringing before the wait is not lost. Used by the
//! two sides of an upload that a pool thread sends.

use crate::deadline::Deadline;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{read, write};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The descriptor.
#[derive(Debug)]
pub(super) struct Bell(OwnedFd);

impl Bell {
    /// A silent one.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes it readable. It cannot fail but by a full counter, and then it is readable already.
    pub(super) fn ring(&self) {
        let _ = write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes it unreadable until it is rung again.
    pub(super) fn silence(&self) {
        let _ = read(&self.0, &mut [0; 8]);
    }

    /// Waits until it is rung (and silences it then), until `other` is readable (or failed), or until `by`; may also return for no
    /// reason, as when the system is short of memory. True: `other` is readable.
    pub(super) fn wait(&self, other: Option<BorrowedFd<'_>>, by: Deadline) -> bool {
        let watched = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut fds = [watched(self.as_fd()), watched(other.unwrap_or(self.as_fd()))];
        let left = by.left().unwrap_or(Some(Duration::ZERO));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let polled = poll(&mut fds, timeout.as_ref()).is_ok();
        let [rung, readable] = fds.map(|fd| polled && !fd.revents().is_empty());
        if rung {
            self.silence();
        }
        readable && other.is_some()
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_tells_itself_from_the_other_and_from_time() {
        let (bell, other) = (Bell::new().unwrap(), Bell::new().unwrap());
        bell.ring();
        bell.ring();
        assert!(!bell.wait(Some(other.as_fd()), Deadline::NEVER));
        other.ring();
        assert!(bell.wait(Some(other.as_fd()), Deadline::NEVER));
        assert!(!bell.wait(None, Deadline::after(Duration::from_millis(1))));
    }
}
