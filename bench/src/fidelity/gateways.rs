//! Both gateways, started with the same `application.yml`.

use crate::child::{Output, Running, tied};
use crate::contestant::{Availability, Scratch, free_address, java};
use std::collections::BTreeMap;
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

pub(super) fn availability() -> Availability {
    java::find("zuul1", 17, 25)
}

impl Pair {
    pub(super) fn start(properties: &BTreeMap<String, String>, places: Places, scratch: &Scratch) -> io::Result<Self> {
        let file = scratch.path().join("application.yml");
        fs::write(&file, APPLICATION)?;
        let told = |mut command: Command, address: SocketAddr| {
            command.args(properties.iter().map(|(key, value)| format!("--{key}={value}")));
            command.env("PORT", address.port().to_string()).env("DEAD", places.dead.to_string());
            command.env("FIRST", places.servers[0].to_string()).env("SECOND", places.servers[1].to_string());
            command
        };
        Ok(Self { zuul: zuul(&file, told, scratch)?, portcullis: portcullis(&file, told, scratch)? })
    }
}

fn zuul(
    file: &Path,
    told: impl Fn(Command, SocketAddr) -> Command,
    scratch: &Scratch,
) -> io::Result<(Running, SocketAddr)> {
    let home: PathBuf = java::java(17, 25).ok_or_else(|| io::Error::other("no fitting Java"))?;
    let address = free_address()?;
    let mut command = tied(&home.join("bin/java"));
    // It is asked a few hundred requests: the first compiler does, and starts sooner.
    command.args(["-Xmx512m", "-XX:TieredStopAtLevel=1", "-jar"]).arg(java::jar("zuul1")).arg(java::location(file));
    Ok((Running::at(told(command, address), address, &scratch.path().join("zuul.log"))?, address))
}

fn portcullis(
    file: &Path,
    told: impl Fn(Command, SocketAddr) -> Command,
    scratch: &Scratch,
) -> io::Result<(Running, SocketAddr)> {
    let mut command = tied(&std::env::current_exe()?);
    command.args(["gateway", "-c"]).arg(file).stdout(fs::File::create(scratch.path().join("portcullis.log"))?);
    Running::listening(told(command, ([127, 0, 0, 1], 0).into()), Output::Stderr)
}
