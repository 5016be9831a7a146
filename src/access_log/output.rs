//! Where lines go: standard output or a file, with what could not be written yet.
//!
//! A write that fails (full disk, broken pipe) loses nothing that was taken: the rest is kept, from the octet where it broke, and tried
//! again when the next lines come, at most once a second. What finds no room meanwhile is refused. Used by the log's thread alone.

use crate::deadline::Deadline;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

/// As much as is written at once; no line is taken when more is pending.
const BATCH: usize = 64 * 1024;

/// Between two attempts to write when the last one failed.
const BACK_OFF: Duration = Duration::from_secs(1);

/// An open output.
pub(super) struct Output {
    path: Option<PathBuf>,
    sink: Box<dyn Write + Send>,
    pending: Vec<u8>,
    lines: u64,
    /// No attempt before, since the last one failed.
    failed: Option<Deadline>,
}

impl Output {
    /// The file, which is created or appended to, or standard output.
    ///
    /// # Errors
    /// The message names the file.
    pub(super) fn open(path: Option<PathBuf>) -> io::Result<Self> {
        let file = match &path {
            Some(path) => open(path)?,
            // Not `std::io::stdout`, whose lock and line buffer are shared.
            None => File::from(io::stdout().as_fd().try_clone_to_owned()?),
        };
        Ok(Self { path, ..Self::to(Box::new(file)) })
    }

    /// Something else.
    pub(super) fn to(sink: Box<dyn Write + Send>) -> Self {
        Self { path: None, sink, pending: Vec::new(), lines: 0, failed: None }
    }

    /// Whether another line can be taken.
    pub(super) fn has_room(&self) -> bool {
        self.pending.len() < BATCH
    }

    /// Where to append a line.
    pub(super) fn line(&mut self) -> &mut Vec<u8> {
        self.lines += 1;
        &mut self.pending
    }

    /// Where to append a line that is not counted.
    pub(super) fn notice(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// Lines that were taken and are not written yet.
    pub(super) fn pending_lines(&self) -> u64 {
        self.lines
    }

    /// Writes what is pending, unless it was tried a moment ago: how many lines are now written. An error is returned when it first
    /// occurs, not again until a write succeeds.
    pub(super) fn flush(&mut self) -> io::Result<u64> {
        if self.failed.is_some_and(|until| !until.has_passed()) {
            return Ok(0);
        }
        self.flush_now()
    }

    /// As [`Self::flush`], without looking at when it was tried last.
    pub(super) fn flush_now(&mut self) -> io::Result<u64> {
        let (written, outcome) = self.write_pending();
        self.pending.drain(..written);
        match outcome {
            Ok(()) => {
                self.failed = None;
                Ok(std::mem::take(&mut self.lines))
            }
            Err(error) => {
                let known = self.failed.replace(Deadline::after(BACK_OFF)).is_some();
                if known { Ok(0) } else { Err(error) }
            }
        }
    }

    /// Opens the file anew; what is pending goes to the old one if that takes it.
    ///
    /// # Errors
    /// The old file is kept; the message names it.
    pub(super) fn reopen(&mut self) -> io::Result<u64> {
        let Some(path) = &self.path else { return Ok(0) };
        let fresh = open(path)?;
        let written = self.flush_now().unwrap_or(0);
        self.sink = Box::new(fresh);
        self.failed = None;
        Ok(written)
    }

    fn write_pending(&mut self) -> (usize, io::Result<()>) {
        let mut written = 0;
        while written < self.pending.len() {
            match self.sink.write(&self.pending[written..]) {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(octets) => written += octets,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }
}

fn open(path: &PathBuf) -> io::Result<File> {
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| io::Error::new(error.kind(), format!("{} cannot be opened: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Takes so many octets, then fails until it is given room again.
    #[derive(Clone, Default)]
    struct Disk(Arc<parking_lot::Mutex<(usize, Vec<u8>)>>);

    impl Write for Disk {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            let (room, content) = &mut *self.0.lock();
            let taken = octets.len().min(*room);
            if taken == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            *room -= taken;
            content.extend_from_slice(&octets[..taken]);
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_costs_no_octet_that_was_taken() {
        let disk = Disk::default();
        let mut output = Output::to(Box::new(disk.clone()));
        disk.0.lock().0 = 5;
        for line in ["one\n", "two\n", "three\n"] {
            output.line().extend_from_slice(line.as_bytes());
        }
        assert_eq!(output.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(output.flush().unwrap(), 0, "not tried again at once");
        assert_eq!(output.flush_now().unwrap(), 0, "known already");
        assert_eq!(output.pending_lines(), 3);
        disk.0.lock().0 = 100;
        assert_eq!(output.flush_now().unwrap(), 3);
        assert_eq!(disk.0.lock().1, b"one\ntwo\nthree\n");
        disk.0.lock().0 = 0;
        output.line().extend_from_slice(&[b'x'; BATCH]);
        assert!(output.flush().is_err(), "said again, since it worked in between");
        assert!(!output.has_room());
    }
}
