//! The access log: exactly one line for each request that was answered, refused or abandoned.
//!
//! A worker moves what it knows into an [`Entry`] and goes on; a thread of its own formats and writes. A slow disk or pipe never holds a
//! worker: lines that find no room are dropped, counted, and told by a line later. Called by the gateway at the end of each request.

mod entry;
mod format;
mod output;
mod writer;

pub use entry::{Entry, Times};

use crate::config::model::{AccessLogConfig, AccessLogFormat};
use crate::deadline::Deadline;
use crate::metrics::{Collect, Sink};
use output::Output;
use std::io;
use std::time::Duration;
use writer::Writer;

/// How long a log that is dropped without [`AccessLog::close`] may take to write what is left.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Takes entries; shared by all workers.
pub struct AccessLog(Option<Writer>);

impl AccessLog {
    /// Opens the file, which is appended to, and starts the thread `log`; neither when the format is off.
    ///
    /// # Errors
    /// The file cannot be opened (the message names it), or the thread not started.
    pub fn start(config: &AccessLogConfig) -> io::Result<Self> {
        let line = match config.format {
            AccessLogFormat::Off => return Ok(Self(None)),
            AccessLogFormat::Combined => format::COMBINED,
            AccessLogFormat::Json => format::JSON,
        };
        Ok(Self(Some(Writer::start(line, Output::open(config.file.clone())?)?)))
    }

    /// Whether lines are written at all: without, entries need not be made.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Hands a line to the log's thread; never waits.
    pub fn record(&self, entry: Entry) {
        if let Some(writer) = &self.0 {
            writer.record(entry);
        }
    }

    /// Opens the file anew, after it was moved away (SIGUSR1). The old one is kept if that fails.
    pub fn reopen(&self) {
        if let Some(writer) = &self.0 {
            writer.reopen();
        }
    }

    /// Writes what is queued and ends the thread; waits for it until `by` at the longest. True: it has ended. Later lines, and those
    /// that it could not write, are dropped and counted.
    pub fn close(&self, by: Deadline) -> bool {
        self.0.as_ref().is_none_or(|writer| writer.close(by))
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.close(Deadline::after(LAST_WORDS));
    }
}

impl Collect for AccessLog {
    fn collect(&self, sink: &mut dyn Sink) {
        if let Some(writer) = &self.0 {
            writer.collect(sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::UNIX_EPOCH;

    /// A folder of its own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("portcullis-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn config(&self) -> AccessLogConfig {
            AccessLogConfig { format: AccessLogFormat::Combined, file: Some(self.0.join("access.log")) }
        }

        fn lines(&self, file: &str) -> usize {
            std::fs::read_to_string(self.0.join(file)).map_or(0, |text| text.lines().count())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    pub(super) fn entry() -> Entry {
        Entry::new(UNIX_EPOCH, "192.0.2.7:1".parse().unwrap())
    }

    #[track_caller]
    pub(super) fn eventually(holds: impl Fn() -> bool) {
        let bound = Deadline::after(Duration::from_secs(20));
        while !holds() {
            assert!(!bound.has_passed());
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_file_is_appended_to_and_opened_anew_after_it_was_moved() {
        let folder = Folder::new("rotated");
        AccessLog::start(&folder.config()).unwrap().record(entry());
        eventually(|| folder.lines("access.log") == 1);
        let log = AccessLog::start(&folder.config()).unwrap();
        log.record(entry());
        eventually(|| folder.lines("access.log") == 2);
        std::fs::rename(folder.0.join("access.log"), folder.0.join("access.log.1")).unwrap();
        log.record(entry());
        eventually(|| folder.lines("access.log.1") == 3);
        log.reopen();
        eventually(|| folder.0.join("access.log").exists());
        log.record(entry());
        drop(log);
        assert_eq!((folder.lines("access.log.1"), folder.lines("access.log")), (3, 1));
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let folder = Folder::new("missing");
        let mut config = folder.config();
        config.file = Some(folder.0.join("no/such/folder.log"));
        let error = AccessLog::start(&config).err().unwrap().to_string();
        assert!(error.contains("no/such/folder.log"), "{error}");
    }

    #[test]
    fn a_log_that_is_off_takes_nothing() {
        let log = AccessLog::start(&AccessLogConfig { format: AccessLogFormat::Off, file: None }).unwrap();
        assert!(!log.is_on());
        log.record(entry());
        log.reopen();
        assert!(log.close(Deadline::NEVER));
    }
}
