//! What portcullis costs besides time: threads and memory with many idle connections, and memory while large bodies pass.

use crate::child::{Output, Running};
use crate::contestant::{self, Scratch, Setup};
use crate::table::say;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

const IDLE: usize = 10_000;
const BODY: u64 = 1 << 30;

/// Measures and prints.
pub(crate) fn run(scratch: &Scratch) -> io::Result<()> {
    let (_example, backend) = example()?;
    let portcullis = contestant::named("portcullis").ok_or_else(|| io::Error::other("no portcullis"))?;
    let gateway = portcullis.start(&Setup::new(backend), scratch)?;
    let Some(process) = &gateway.process else { return Ok(()) };
    idle(process, gateway.address)?;
    let before = process.usage()?.peak_kb;
    let (down, up) = (download(gateway.address)?, upload(gateway.address)?);
    let after = process.usage()?.peak_kb;
    say(&format!(
        "bodies: {} MiB down, {} MiB up; resident at most {:.1} MB before, {:.1} MB after",
        down >> 20,
        up >> 20,
        before as f64 / 1024.0,
        after as f64 / 1024.0
    ));
    Ok(())
}

/// The example service in a process of its own.
fn example() -> io::Result<(Running, SocketAddr)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["gateway", "example-product", "--port", "0"]);
    Running::listening(command, Output::Stderr)
}

/// Opens the connections, has each answered once, and looks at the process while they all stand idle.
fn idle(process: &Running, address: SocketAddr) -> io::Result<()> {
    let mut parked = Vec::with_capacity(IDLE);
    for _ in 0..IDLE {
        let mut stream = TcpStream::connect(address)?;
        write!(stream, "GET /product/list HTTP/1.1\r\nHost: bench\r\n\r\n")?;
        let mut answer = [0; 4096];
        let length = stream.read(&mut answer)?;
        if !answer[..length].starts_with(b"HTTP/1.1 200") {
            return Err(io::Error::other("an idle connection was not answered with 200"));
        }
        parked.push(stream);
    }
    let usage = process.usage()?;
    say(&format!(
        "idle: {} connections, {} threads, {:.1} MB resident",
        parked.len(),
        usage.threads,
        usage.resident_kb as f64 / 1024.0
    ));
    Ok(())
}

fn download(address: SocketAddr) -> io::Result<u64> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /product/bytes?n={BODY} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")?;
    let received = io::copy(&mut stream, &mut io::sink())?;
    if received < BODY {
        return Err(io::Error::other(format!("{received} octets of {BODY} came down")));
    }
    Ok(BODY)
}

fn upload(address: SocketAddr) -> io::Result<u64> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /product/upload HTTP/1.1\r\nHost: bench\r\nContent-Length: {BODY}\r\nConnection: close\r\n\r\n"
    )?;
    let piece = vec![b'x'; 64 * 1024];
    for _ in 0..BODY / piece.len() as u64 {
        stream.write_all(&piece)?;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if !answer.contains(&format!("\"octets\":{BODY}")) {
        return Err(io::Error::other(format!("the upload was answered with: {answer}")));
    }
    Ok(BODY)
}
