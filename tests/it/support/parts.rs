//! Real parts from the system: nginx, wrk, curl, openssl. A test that needs one says so when it is missing, and fails instead where parts
//! are required (`PORTCULLIS_REQUIRE_PARTS=1`), so that a skip is never taken for a pass on the machine that checks.

use super::socket::free_port;
use super::wait;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The full path of a program, or `None` after saying that the test is skipped.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from);
    let found = std::env::split_paths(&path).chain(system).map(|dir| dir.join(program)).find(|file| file.is_file());
    if found.is_none() {
        let required = std::env::var_os("PORTCULLIS_REQUIRE_PARTS").is_some_and(|v| v == "1");
        assert!(!required, "{program} not found, and parts are required");
        // Not a print macro: the harness would swallow the line of a test that passes.
        let _ = writeln!(std::io::stderr(), "skipped: {program} not found");
    }
    found
}

/// Runs a program to its end; fails the test when it fails.
#[track_caller]
pub(crate) fn run(program: &Path, args: &[&str]) -> Output {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {args:?}: {}\n{stderr}", program.display(), output.status);
    output
}

/// A directory of this test's own, removed on drop.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A fresh one.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("portcullis-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).expect("a directory for temporary files");
        Self(dir)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in it and returns the file's path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.0.join(name);
        std::fs::write(&file, content).expect("temporary files can be written");
        file
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program that serves until it is dropped.
#[derive(Debug)]
pub(crate) struct Service {
    child: Child,
    addresses: Vec<SocketAddr>,
    _scratch: Scratch,
}

impl Service {
    /// Where it listens, in the order in which the ports were asked for.
    pub(crate) fn address(&self, index: usize) -> SocketAddr {
        self.addresses[index]
    }

    /// Starts what `command` makes for some free ports, and again with others if a port was taken in between.
    pub(crate) fn start(ports: usize, command: impl Fn(&[u16], &Scratch) -> Command) -> Self {
        for _ in 0..5 {
            let free: Vec<u16> = (0..ports).map(|_| free_port()).collect();
            let scratch = Scratch::new();
            let child = command(&free, &scratch).stdin(Stdio::null()).spawn().expect("the program starts");
            let addresses = free.into_iter().map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect();
            let mut service = Self { child, addresses, _scratch: scratch };
            if service.comes_up() {
                return service;
            }
        }
        panic!("the program does not come up on any port");
    }

    /// nginx with these lines in its `http` block; `$PORT0` and so on stand for ports of its own.
    pub(crate) fn nginx(program: &Path, ports: usize, http: &str) -> Self {
        Self::start(ports, |free, scratch| {
            let mut http = http.to_owned();
            for (i, port) in free.iter().enumerate().rev() {
                http = http.replace(&format!("$PORT{i}"), &port.to_string());
            }
            let dir = scratch.path().display();
            let config = format!(
                "daemon off; master_process off; worker_processes 1; pid {dir}/pid; error_log stderr crit;\n\
                 events {{ worker_connections 2048; }}\n\
                 http {{ access_log off; client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;\n\
                 fastcgi_temp_path {dir}/f; uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s;\n{http}\n}}\n"
            );
            let file = scratch.write("nginx.conf", config);
            let mut nginx = Command::new(program);
            nginx.arg("-p").arg(scratch.path()).arg("-e").arg("stderr").arg("-c").arg(file);
            nginx
        })
    }

    fn comes_up(&mut self) -> bool {
        let up = |address: &SocketAddr| TcpStream::connect(address).is_ok();
        let mut ended = false;
        let listens = wait::holds_within(wait::PATIENCE, || {
            ended = !matches!(self.child.try_wait(), Ok(None));
            ended || self.addresses.iter().all(up)
        });
        listens && !ended
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
