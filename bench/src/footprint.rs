//! What portcullis costs besides time: threads and memory with many idle connections, and memory while large bodies pass.

use crate::child::{Output, Running, tied};
use crate::contestant::{self, Scratch, Setup};
use crate::stop::Stop;
use crate::table::say;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const IDLE: usize = 10_000;
const BODY: u64 = 1 << 30;

/// Between two octets, in either direction.
const PATIENCE: Duration = Duration::from_secs(30);

/// Measures and prints, unless it is to stop.
pub(crate) fn run(scratch: &Scratch, stop: &Stop) -> io::Result<()> {
    let (_example, backend) = example()?;
    let portcullis = contestant::named("portcullis").ok_or_else(|| io::Error::other("no portcullis"))?;
    let gateway = portcullis.start(&Setup::new(backend), scratch)?;
    let Some(process) = &gateway.process else { return Ok(()) };
    idle(process, gateway.address, stop)?;
    let before = process.usage()?.peak_kb;
    let (down, up) = (download(gateway.address, BODY, stop)?, upload(gateway.address, BODY, stop)?);
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
    let mut command = tied(&std::env::current_exe()?);
    command.args(["gateway", "example-product", "--port", "0"]);
    Running::listening(command, Output::Stderr)
}

/// A connection that waits for nobody for ever.
fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Opens the connections, has each answered once, and looks at the process while they all stand idle.
fn idle(process: &Running, address: SocketAddr, stop: &Stop) -> io::Result<()> {
    let mut parked = Vec::with_capacity(IDLE);
    for _ in 0..IDLE {
        stop.check()?;
        let mut stream = connect(address)?;
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

fn download(address: SocketAddr, body: u64, stop: &Stop) -> io::Result<u64> {
    let mut stream = connect(address)?;
    write!(stream, "GET /product/bytes?n={body} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")?;
    let (mut received, mut piece) = (0, vec![0; 64 * 1024]);
    loop {
        stop.check()?;
        match stream.read(&mut piece)? {
            0 if received < body => return Err(io::Error::other(format!("{received} octets of {body} came down"))),
            0 => return Ok(body),
            octets => received += octets as u64,
        }
        // A head is shorter than this.
        if received > body + piece.len() as u64 {
            return Err(io::Error::other(format!("more than the {body} octets of the body came down")));
        }
    }
}

fn upload(address: SocketAddr, body: u64, stop: &Stop) -> io::Result<u64> {
    let mut stream = connect(address)?;
    write!(
        stream,
        "POST /product/upload HTTP/1.1\r\nHost: bench\r\nContent-Length: {body}\r\nConnection: close\r\n\r\n"
    )?;
    let piece = vec![b'x'; 64 * 1024];
    for _ in 0..body / piece.len() as u64 {
        stop.check()?;
        stream.write_all(&piece)?;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if !answer.contains(&format!("\"octets\":{body}")) {
        return Err(io::Error::other(format!("the upload was answered with: {answer}")));
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Takes what comes and gives what it is told to, until its other side closes.
    fn peer(gives: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || -> io::Result<()> {
            let (mut stream, _) = listener.accept()?;
            stream.write_all(gives)?;
            stream.shutdown(std::net::Shutdown::Write)?;
            io::copy(&mut stream, &mut io::sink()).map(drop)
        });
        address
    }

    #[test]
    fn what_is_too_short_is_told_and_a_stop_ends_both_directions() {
        let go = Stop::default();
        let error = download(peer(b"abc"), 100, &go).unwrap_err().to_string();
        assert_eq!(error, "3 octets of 100 came down");
        assert_eq!(download(peer(&[b'x'; 200]), 100, &go).unwrap(), 100);
        let full = 64 * 1024;
        assert_eq!(upload(peer(b"{\"octets\":65536}"), full, &go).unwrap(), full);
        assert!(upload(peer(b"{\"octets\":1}"), full, &go).is_err());
        go.now();
        for stopped in [download(peer(b"abc"), 100, &go), upload(peer(b""), full, &go)] {
            assert_eq!(stopped.unwrap_err().to_string(), "stopped by a signal");
        }
    }
}
