//! The buffers of one exchange: small, grown only by a large head or a fast body, and handed from one exchange of a thread to its next,
//! so that an idle connection owns none.

use super::cell;
use std::cell::RefCell;
use ureq::unversioned::transport::Buffers;

/// What a buffer begins with, and the most that a thread keeps of one.
const SMALL: usize = 16 * 1024;
/// The most that a response head may take.
pub(super) const LARGEST: usize = 64 * 1024;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Octets received and not used yet. Its buffer goes to the thread's next exchange.
#[derive(Debug, Default)]
pub(super) struct Input {
    octets: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether the last use took something: if not, more is needed before the next.
    progress: bool,
}

impl Input {
    pub(super) fn new() -> Self {
        Self { octets: take_spare(SMALL), start: 0, end: 0, progress: false }
    }

    /// What was received and not used.
    pub(super) fn unread(&self) -> &[u8] {
        &self.octets[self.start..self.end]
    }

    /// Where to receive into; empty when what is unread has reached [`LARGEST`].
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.end == self.octets.len() {
            if self.start > 0 {
                self.octets.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else if self.octets.len() < LARGEST {
                self.octets.resize(self.octets.len() * 2, 0);
            }
        }
        &mut self.octets[self.end..]
    }

    /// So many octets were received.
    pub(super) fn received(&mut self, count: usize) {
        self.end += count;
        // A body that fills the buffer comes fast: fewer and larger reads.
        if self.start == 0 && self.end == self.octets.len() && self.octets.len() < LARGEST {
            self.octets.resize(self.octets.len() * 2, 0);
        }
    }

    /// Moves what fits out of it into `into`; how much that was.
    pub(super) fn read(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.unread().len());
        into[..count].copy_from_slice(&self.unread()[..count]);
        self.used(count);
        count
    }

    /// So many octets were used.
    pub(super) fn used(&mut self, count: usize) {
        self.progress = count > 0;
        self.start += count;
    }
}

/// What ureq works with.
#[derive(Debug)]
pub(super) struct ExchangeBuffers {
    pub(super) input: Input,
    pub(super) output: Vec<u8>,
}

impl ExchangeBuffers {
    /// Buffers that hold a line of the request head of this length.
    pub(super) fn new(longest_line: usize) -> Self {
        Self { input: Input::new(), output: take_spare(longest_line.max(SMALL)) }
    }
}

impl Drop for ExchangeBuffers {
    fn drop(&mut self) {
        put_spare(std::mem::take(&mut self.output));
        cell::offer(&mut self.input);
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        put_spare(std::mem::take(&mut self.octets));
    }
}

impl Buffers for ExchangeBuffers {
    fn output(&mut self) -> &mut [u8] {
        &mut self.output
    }

    fn input(&self) -> &[u8] {
        self.input.unread()
    }

    fn input_append_buf(&mut self) -> &mut [u8] {
        self.input.space()
    }

    fn input_appended(&mut self, amount: usize) {
        self.input.received(amount);
    }

    fn input_consume(&mut self, amount: usize) {
        self.input.used(amount);
    }

    fn tmp_and_output(&mut self) -> (&mut [u8], &mut [u8]) {
        (self.input.space(), &mut self.output)
    }

    fn can_use_input(&self) -> bool {
        self.input.progress && !self.input.unread().is_empty()
    }
}

fn take_spare(length: usize) -> Vec<u8> {
    let mut octets = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
    if octets.len() < length {
        octets.resize(length, 0);
    }
    octets
}

fn put_spare(octets: Vec<u8>) {
    SPARE.with_borrow_mut(|spare| {
        if octets.len() == SMALL && spare.len() < 2 {
            spare.push(octets);
        }
    });
}
