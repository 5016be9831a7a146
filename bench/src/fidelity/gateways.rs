//! Both gateways, started with the same `application.yml`.

use crate::child::{Output, Running, tied};
use crate::contestant::{Availability, Scratch, free_address, java};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file that both read; what differs between runs is in environment variables.
const APPLICATION: &str = include_str!("../../fidelity/application.yml");

/// Ports that the file names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub(super) servers: [SocketAddr; 2],
    /// Where nobody listens.
    pub(super) dead: SocketAddr,
}

/// A running pair.
pub(super) struct Pair {
    pub(super) zuul: (Running, SocketAddr),
    pub(super) portcullis: (Running, SocketAddr),
}

/// What is asked of both, and what Zuul is given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told<'a> {
    pub(super) properties: &'a BTreeMap<String, String>,
    pub(super) spring_retry: bool,
}

/// Zuul's jar, and beside it spring-retry.
pub(super) fn availability() -> Availability {
    match java::find("zuul1", "zuul1") {
        Availability::Ready if !spring_retry().is_file() => Availability::Missing {
            why: format!("{} is missing", spring_retry().display()),
            how: "cargo run --release -p bench -- peers build zuul1 (needs Maven)".into(),
        },
        availability => availability,
    }
}

fn spring_retry() -> PathBuf {
    java::jar("zuul1").with_file_name("spring-retry.jar")
}

impl Pair {
    pub(super) fn start(told: Told<'_>, places: Places, scratch: &Scratch) -> io::Result<Self> {
        let file = scratch.path().join("application.yml");
        fs::write(&file, APPLICATION)?;
        let tell = |mut command: Command, address: SocketAddr| {
            command.args(told.properties.iter().map(|(key, value)| format!("--{key}={value}")));
            command.env("PORT", address.port().to_string()).env("DEAD", places.dead.to_string());
            command.env("FIRST", places.servers[0].to_string()).env("SECOND", places.servers[1].to_string());
            command
        };
        let program = if told.spring_retry {
            with_spring_retry()
        } else {
            [OsString::from("-jar"), java::jar("zuul1").into()].into()
        };
        Ok(Self { zuul: zuul(&program, &file, tell, scratch)?, portcullis: portcullis(&file, tell, scratch)? })
    }
}

/// The same jar by the launcher that takes more class path; its other launcher takes none.
fn with_spring_retry() -> Vec<OsString> {
    let mut path = OsString::from("-Dloader.path=");
    path.push(spring_retry());
    let (class_path, launcher) = ("-cp".into(), "org.springframework.boot.loader.PropertiesLauncher".into());
    vec![path, class_path, java::jar("zuul1").into(), launcher]
}

fn zuul(
    program: &[OsString],
    file: &Path,
    tell: impl Fn(Command, SocketAddr) -> Command,
    scratch: &Scratch,
) -> io::Result<(Running, SocketAddr)> {
    let home: PathBuf = java::home("zuul1").ok_or_else(|| io::Error::other("no fitting Java"))?;
    let address = free_address()?;
    let mut command = tied(&home.join("bin/java"));
    // It is asked a few hundred requests: the first compiler does, and starts sooner.
    command.args(["-Xmx512m", "-XX:TieredStopAtLevel=1"]).args(program).arg(java::location(file));
    Ok((Running::at(tell(command, address), address, &scratch.path().join("zuul.log"))?, address))
}

fn portcullis(
    file: &Path,
    tell: impl Fn(Command, SocketAddr) -> Command,
    scratch: &Scratch,
) -> io::Result<(Running, SocketAddr)> {
    let mut command = tied(&std::env::current_exe()?);
    command.args(["gateway", "-c"]).arg(file).stdout(fs::File::create(scratch.path().join("portcullis.log"))?);
    Running::listening(tell(command, ([127, 0, 0, 1], 0).into()), Output::Stderr)
}
