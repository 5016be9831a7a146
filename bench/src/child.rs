//! Processes that the kit starts: found by what they print, measured through `/proc`, ended with their handle, also after a panic.

use rustix::process::Signal;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take until it listens: a JVM on a busy machine takes its time.
const START: Duration = Duration::from_secs(90);

/// How long one attempt to connect to it may take: a full backlog would keep it for minutes.
const CONNECT: Duration = Duration::from_secs(1);

/// A started process; dropping it ends the process.
pub(crate) struct Running {
    child: Child,
    /// Held open: our own backend ends when it closes.
    _stdin: Option<ChildStdin>,
}

/// What `/proc` tells of a process and its children.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) threads: u64,
    pub(crate) resident_kb: u64,
    pub(crate) peak_kb: u64,
}

impl Running {
    /// Starts `command` and reads its `from` (standard output or error) until a line names the address on which it listens.
    pub(crate) fn listening(mut command: Command, from: Output) -> io::Result<(Self, SocketAddr)> {
        command.stdin(Stdio::piped());
        match from {
            Output::Stdout => command.stdout(Stdio::piped()),
            Output::Stderr => command.stderr(Stdio::piped()),
        };
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let stream: Option<Box<dyn io::Read + Send>> = match from {
            Output::Stdout => child.stdout.take().map(|s| Box::new(s) as _),
            Output::Stderr => child.stderr.take().map(|s| Box::new(s) as _),
        };
        let running = Self { child, _stdin: stdin };
        let stream = stream.ok_or_else(|| io::Error::other("no pipe to the child"))?;
        let address = address_in(BufReader::new(stream), START)?;
        Ok((running, address))
    }

    /// Starts `command`, which listens on `address` as soon as that can be connected to; what it says goes to `log`.
    pub(crate) fn at(mut command: Command, address: SocketAddr, log: &Path) -> io::Result<Self> {
        let output = File::create(log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let mut running = Self { child: command.spawn()?, _stdin: None };
        let failed = |why: String| {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            io::Error::other(format!("{why}; the end of what it said:\n{}", tail(&said, 20)))
        };
        let patience = Instant::now() + START;
        while std::net::TcpStream::connect_timeout(&address, CONNECT).is_err() {
            if let Some(status) = running.child.try_wait()? {
                return Err(failed(format!("{command:?} ended at once: {status}")));
            }
            if Instant::now() > patience {
                return Err(failed(format!("{command:?} does not listen on {address}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    /// The process, its children and theirs.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let mut pids = vec![self.child.id()];
        let mut next = 0;
        while let Some(&pid) = pids.get(next) {
            pids.extend(children(pid));
            next += 1;
        }
        pids
    }

    /// Threads and memory now, of the process and its children: nginx's work is done by its workers. Pages that they share count for each.
    pub(crate) fn usage(&self) -> io::Result<Usage> {
        let none = Usage { threads: 0, resident_kb: 0, peak_kb: 0 };
        self.pids().into_iter().try_fold(none, |sum, pid| Ok(sum.plus(usage_of(pid)?)))
    }
}

impl Usage {
    fn plus(self, other: Self) -> Self {
        Self {
            threads: self.threads + other.threads,
            resident_kb: self.resident_kb + other.resident_kb,
            peak_kb: self.peak_kb + other.peak_kb,
        }
    }
}

/// A command for `program` that ends when the thread that starts it does, so also when this process is killed.
///
/// This program stands between: it asks the kernel for the signal and becomes `program` ([`become_tied`]).
pub(crate) fn tied(program: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into()));
    command.args(["tied", &std::process::id().to_string()]).arg(program);
    command
}

/// Where a program of this name is.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian keeps servers in /usr/sbin, which is on the path of root alone.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// A command that starts the program, tied to this process; where it is missing, the error says how to get it.
pub(crate) fn installed(name: &str, package: &str) -> io::Result<Command> {
    let missing =
        || io::Error::new(io::ErrorKind::NotFound, format!("{name} was not found (Debian: apt-get install {package})"));
    Ok(tied(&program(name).ok_or_else(missing)?))
}

/// Becomes `program`, to be sent SIGTERM when `parent` ends; returns only if that fails.
pub(crate) fn become_tied(parent: u32, program: &OsStr, arguments: &[OsString]) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have ended before the kernel was asked.
    if std::os::unix::process::parent_id() != parent {
        return Err(io::Error::other("the process that wanted it is gone"));
    }
    Err(Command::new(program).args(arguments).exec())
}

/// Those that any thread of the process started; none when it is gone.
fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Of one process.
fn usage_of(pid: u32) -> io::Result<Usage> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    Ok(Usage { threads: field("Threads:"), resident_kb: field("VmRSS:"), peak_kb: field("VmHWM:") })
}

impl Drop for Running {
    fn drop(&mut self) {
        // SIGTERM first: nginx's master must get the chance to end its workers.
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        let patience = Instant::now() + Duration::from_secs(5);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > patience {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Where a process says on what it listens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    Stdout,
    Stderr,
}

/// The address after the first `listening on `; a thread keeps reading, so that the child never blocks on a full pipe.
///
/// # Errors
/// The stream ends before, or nothing is said in time.
fn address_in(lines: impl BufRead + Send + 'static, patience: Duration) -> io::Result<SocketAddr> {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut lines = lines;
        let _ = tell.send(find_address(&mut lines));
        io::copy(&mut lines, &mut io::sink())
    });
    let late =
        || io::Error::new(io::ErrorKind::TimedOut, format!("it does not say within {patience:?} where it listens"));
    told.recv_timeout(patience).map_err(|_| late())?
}

fn find_address(lines: &mut impl BufRead) -> io::Result<SocketAddr> {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Err(io::Error::other(format!("ended before it listened; it said:\n{seen}")));
        }
        if let Some((_, rest)) = line.split_once("listening on ")
            && let Some(address) = rest.split_whitespace().next().and_then(|word| word.parse().ok())
        {
            return Ok(address);
        }
        seen.push_str(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_counted_with_their_parent() {
        let script = "sleep 60 & echo listening on 127.0.0.1:1; wait";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        let (shell, _) = Running::listening(shell, Output::Stdout).unwrap();
        let alone = usage_of(shell.child.id()).unwrap();
        let all = shell.usage().unwrap();
        assert_eq!((alone.threads, all.threads), (1, 2));
        assert!(all.resident_kb > alone.resident_kb);
    }

    #[test]
    fn who_says_nothing_is_not_waited_for_for_ever() {
        let (said, open) = io::pipe().unwrap();
        let error = address_in(BufReader::new(said), Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(open);
        let address = |text: &'static str| address_in(text.as_bytes(), START).map_err(|error| error.to_string());
        assert_eq!(address("one\nlistening on 127.0.0.1:7 now\n").unwrap().port(), 7);
        assert!(address("one\ntwo\n").unwrap_err().ends_with("one\ntwo\n"));
    }
}
