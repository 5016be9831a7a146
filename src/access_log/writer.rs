//! The log's thread, and the bounded queue in front of it.
//!
//! Workers put entries into the queue without ever waiting, and without waking the thread for each: after it has written, it lets lines
//! gather for a moment before it looks again, and only when none came does it wait to be woken. So an idle gateway makes no wake-ups and
//! a busy one a few hundred a second. Lines that find the queue full are counted, and told by a line of their own when there is room.

use super::entry::Entry;
use super::format::Format;
use super::output::Output;
use crate::deadline::Deadline;
use crate::metrics::{Collect, Counter, Sink};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

/// Lines that may wait for the thread: a tenth of a second's worth at the highest rates.
const QUEUE: usize = 8192;

/// How long lines gather before they are written together.
const GATHER: Duration = Duration::from_millis(5);

/// The queue's near end.
pub(super) struct Writer {
    /// None merely wakes the thread.
    lines: Sender<Option<Entry>>,
    ended: Receiver<()>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    written: Counter,
    dropped: Counter,
    /// Lines that the thread holds.
    pending: AtomicU64,
    reopen: AtomicBool,
    closing: AtomicBool,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(format: Format, output: Output) -> io::Result<Self> {
        let (lines, queue) = bounded(QUEUE);
        // Nothing is ever sent: the thread's end of it goes with the thread.
        let (end, ended) = bounded(0);
        let shared = Arc::new(Shared::default());
        let mut log = LogThread { queue, output, format, shared: shared.clone(), told: 0, _end: end };
        thread::Builder::new().name("log".into()).spawn(move || log.run())?;
        Ok(Self { lines, ended, shared })
    }

    /// Queues a line, or drops it.
    pub(super) fn record(&self, entry: Entry) {
        if self.shared.closing.load(Ordering::Relaxed) || self.lines.try_send(Some(entry)).is_err() {
            self.shared.dropped.add_one();
        }
    }

    /// Has the file opened anew.
    pub(super) fn reopen(&self) {
        self.shared.reopen.store(true, Ordering::Release);
        self.wake();
    }

    /// Has the thread write what is queued and end; whether it has by `by`.
    pub(super) fn close(&self, by: Deadline) -> bool {
        self.shared.closing.store(true, Ordering::Release);
        self.wake();
        match by.moment() {
            None => self.ended.recv().is_err(),
            Some(moment) => self.ended.recv_deadline(moment) == Err(crossbeam_channel::RecvTimeoutError::Disconnected),
        }
    }

    /// A full queue needs no wake-up: the thread has yet to come to its end.
    fn wake(&self) {
        let _ = self.lines.try_send(None);
    }
}

impl Collect for Writer {
    fn collect(&self, sink: &mut dyn Sink) {
        let Shared { written, dropped, pending, .. } = &*self.shared;
        sink.counter("portcullis.access.log.written", "Access log lines written", &[], written.get());
        let help = "Access log lines dropped since the disk or pipe was too slow";
        sink.counter("portcullis.access.log.dropped", help, &[], dropped.get());
        let waiting = self.lines.len() as u64 + pending.load(Ordering::Relaxed);
        sink.gauge("portcullis.access.log.waiting", "Access log lines not written yet", &[], waiting as f64);
        let help = "Access log lines that may wait for the log's thread";
        sink.gauge("portcullis.access.log.capacity", help, &[], QUEUE as f64);
    }
}

struct LogThread {
    queue: Receiver<Option<Entry>>,
    output: Output,
    format: Format,
    shared: Arc<Shared>,
    /// How many dropped lines were told.
    told: u64,
    _end: Sender<()>,
}

impl LogThread {
    fn run(&mut self) {
        while let Ok(first) = self.queue.recv() {
            self.take(first);
            self.take_all();
            while !self.is_closing() {
                thread::sleep(GATHER);
                if self.queue.is_empty() {
                    break;
                }
                self.take_all();
            }
            if self.is_closing() {
                break;
            }
        }
        self.end();
    }

    /// The last words; what could not be written counts as dropped.
    fn end(&mut self) {
        self.take_all();
        let written = self.output.flush_now();
        self.account(written);
        self.shared.dropped.add(self.shared.pending.swap(0, Ordering::Relaxed));
    }

    fn is_closing(&self) -> bool {
        self.shared.closing.load(Ordering::Acquire)
    }

    /// Writes what is queued.
    fn take_all(&mut self) {
        if self.shared.reopen.swap(false, Ordering::AcqRel) {
            let reopened = self.output.reopen();
            self.account(reopened);
        }
        while let Ok(line) = self.queue.try_recv() {
            self.take(line);
            if !self.output.has_room() {
                self.flush();
            }
        }
        self.tell_lost();
        self.flush();
    }

    fn take(&mut self, line: Option<Entry>) {
        let Some(entry) = line else { return };
        if self.output.has_room() {
            (self.format.entry)(self.output.line(), &entry);
        } else {
            self.shared.dropped.add_one();
        }
    }

    fn tell_lost(&mut self) {
        let lost = self.shared.dropped.get();
        if lost > self.told && self.output.has_room() {
            (self.format.lost)(self.output.notice(), SystemTime::now(), lost - self.told);
            self.told = lost;
        }
    }

    fn flush(&mut self) {
        let written = self.output.flush();
        self.account(written);
    }

    fn account(&self, written: io::Result<u64>) {
        match written {
            Ok(lines) => self.shared.written.add(lines),
            Err(error) => log::error!("access log: {error}; lines are kept as far as there is room"),
        }
        self.shared.pending.store(self.output.pending_lines(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::format::{COMBINED, JSON};
    use crate::access_log::tests::{entry, eventually};
    use parking_lot::Mutex;
    use std::io::Write;

    const LONG: Duration = Duration::from_secs(20);

    /// A pipe whose reader reads only when it is told to: each write waits for a permit, or for the end of permits.
    #[derive(Clone)]
    struct Pipe {
        permits: Receiver<()>,
        writes: Sender<()>,
        content: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Pipe {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            let _ = self.writes.send(());
            let _ = self.permits.recv();
            self.content.lock().extend_from_slice(octets);
            Ok(octets.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The pipe, what lets it go on when it is dropped, and what tells of writes begun.
    fn pipe() -> (Pipe, Sender<()>, Receiver<()>) {
        let (permit, permits) = bounded(0);
        let (writes, begun) = crossbeam_channel::unbounded();
        (Pipe { permits, writes, content: Arc::default() }, permit, begun)
    }

    #[test]
    fn a_stuck_pipe_holds_nobody_and_what_was_lost_is_told() {
        let (pipe, permit, begun) = pipe();
        let writer = Writer::start(JSON, Output::to(Box::new(pipe.clone()))).unwrap();
        writer.record(entry());
        begun.recv_timeout(LONG).unwrap();
        for _ in 0..QUEUE + 7 {
            writer.record(entry());
        }
        assert_eq!(writer.shared.dropped.get(), 7);
        drop(permit);
        eventually(|| writer.shared.written.get() == QUEUE as u64 + 1);
        assert!(writer.close(Deadline::after(LONG)));
        let content = pipe.content.lock();
        let lines: Vec<_> = content.split(|&octet| octet == b'\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), QUEUE + 2);
        assert!(lines.last().unwrap().ends_with(br#""lost_lines":7}"#));
    }

    #[test]
    fn closing_is_bounded_by_its_deadline_and_writes_all_that_is_queued() {
        let (pipe, permit, begun) = pipe();
        let writer = Writer::start(COMBINED, Output::to(Box::new(pipe.clone()))).unwrap();
        writer.record(entry());
        begun.recv_timeout(LONG).unwrap();
        (0..99).for_each(|_| writer.record(entry()));
        assert!(!writer.close(Deadline::after(Duration::from_millis(1))), "the pipe is stuck");
        writer.record(entry());
        drop(permit);
        assert!(writer.close(Deadline::after(LONG)));
        writer.record(entry());
        assert_eq!((writer.shared.written.get(), writer.shared.dropped.get()), (100, 2));
        let lines = pipe.content.lock().iter().filter(|&&octet| octet == b'\n').count();
        assert_eq!(lines, 101, "and one that tells of the line lost before the end");
    }

    #[test]
    fn a_broken_pipe_is_survived_and_counted() {
        struct Broken;
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let writer = Writer::start(COMBINED, Output::to(Box::new(Broken))).unwrap();
        // More than can be kept, in portions that the queue holds.
        for _ in 0..4 {
            eventually(|| writer.lines.is_empty());
            (0..1000).for_each(|_| writer.record(entry()));
        }
        assert!(writer.close(Deadline::after(LONG)));
        assert_eq!((writer.shared.written.get(), writer.shared.dropped.get()), (0, 4000));
    }
}
