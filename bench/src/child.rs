//! Processes that the kit starts: found by what they print, measured through `/proc`, ended with their handle, also after a panic.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

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
        let address = address_in(BufReader::new(stream))?;
        Ok((running, address))
    }

    /// Starts `command`, which listens on `address` as soon as that can be connected to.
    pub(crate) fn at(mut command: Command, address: SocketAddr) -> io::Result<Self> {
        let mut running = Self { child: command.stdin(Stdio::null()).spawn()?, _stdin: None };
        let patience = Instant::now() + Duration::from_secs(10);
        while std::net::TcpStream::connect(address).is_err() {
            if let Some(status) = running.child.try_wait()? {
                return Err(io::Error::other(format!("{command:?} ended at once: {status}")));
            }
            if Instant::now() > patience {
                return Err(io::Error::other(format!("{command:?} does not listen on {address}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    /// Threads and memory now, of the process and its children: nginx's work is done by its workers. Pages that they share count for each.
    pub(crate) fn usage(&self) -> io::Result<Usage> {
        let pid = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        let of_children = children.split_whitespace().map(usage_of);
        of_children.fold(usage_of(&pid.to_string()), |sum, more| Ok(sum?.plus(more?)))
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

/// Of one process.
fn usage_of(pid: &str) -> io::Result<Usage> {
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
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
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
fn address_in(mut lines: impl BufRead + Send + 'static) -> io::Result<SocketAddr> {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Err(io::Error::other(format!("ended before it listened; it said:\n{seen}")));
        }
        if let Some((_, rest)) = line.split_once("listening on ")
            && let Some(address) = rest.split_whitespace().next().and_then(|word| word.parse().ok())
        {
            std::thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
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
        let alone = usage_of(&shell.child.id().to_string()).unwrap();
        let all = shell.usage().unwrap();
        assert_eq!((alone.threads, all.threads), (1, 2));
        assert!(all.resident_kb > alone.resident_kb);
    }
}
