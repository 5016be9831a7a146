//! One request over a connection of its own, octet for octet as the probe says, and the answer as it came.

use super::probe::{Body, Probe};
use super::recorder::Recorder;
use http::Method;
use portcullis::wire::response::has_body;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longer than every timeout of the configuration.
const PATIENCE: Duration = Duration::from_secs(10);

/// More than any answer has.
const LARGEST: usize = 64 * 1024;

/// An answer, as far as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Statuses of interim answers before it.
    pub(super) interim: Vec<u16>,
    /// `None`: the connection was closed instead.
    pub(super) status: Option<u16>,
    /// In order, names in lower case.
    pub(super) fields: Vec<(String, String)>,
    /// Decoded.
    pub(super) body: Vec<u8>,
    /// Whether the body came to its end.
    pub(super) whole: bool,
}

/// A request that is being answered.
pub(super) struct Held(TcpStream);

/// Sends the probe and reads its answer.
pub(super) async fn ask(to: SocketAddr, probe: &Probe) -> io::Result<Answer> {
    timeout(PATIENCE, play(to, probe)).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Sends a GET that the backend holds, and waits until it is there.
pub(super) async fn hold(to: SocketAddr, target: &str, recorder: &Recorder) -> io::Result<Held> {
    let mut stream = TcpStream::connect(to).await?;
    stream
        .write_all(format!("GET {target} HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n\r\n").as_bytes())
        .await?;
    timeout(PATIENCE, recorder.has_come()).await?;
    Ok(Held(stream))
}

impl Held {
    /// Waits for its end.
    pub(super) async fn ended(mut self) -> io::Result<()> {
        let mut octets = Vec::new();
        timeout(PATIENCE, self.0.read_to_end(&mut octets)).await??;
        match octets.starts_with(b"HTTP/1.1 200 ") {
            true => Ok(()),
            false => Err(io::Error::other("the held request was not answered as it should be")),
        }
    }
}

async fn play(to: SocketAddr, probe: &Probe) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(to).await?;
    // A gateway that has answered and closed may not take the rest.
    let sent = stream.write_all(&request(probe)).await;
    let method = Method::from_bytes(probe.method.as_bytes()).unwrap_or_default();
    let (mut octets, mut answer, mut ended) = (Vec::new(), Answer::default(), false);
    loop {
        if let Some(read) = read(&octets, &method, ended)? {
            answer.interim.extend(read.interim.iter());
            octets.drain(..read.used);
            if let (Body::Awaited(body), Some(100)) = (probe.body, read.interim) {
                stream.write_all(body).await?;
            }
            if let Some(found) = read.answer {
                return Ok(Answer { interim: answer.interim, ..found });
            }
            continue;
        }
        if ended || octets.len() > LARGEST {
            return sent.map(|()| answer);
        }
        ended = stream.read_buf(&mut octets).await.unwrap_or(0) == 0;
    }
}

fn request(probe: &Probe) -> Vec<u8> {
    let mut octets = format!("{} {} HTTP/1.1\r\nHost: gateway.test\r\n", probe.method, probe.target).into_bytes();
    for (name, value) in probe.fields {
        octets.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    match probe.body {
        Body::None => octets.extend_from_slice(b"\r\n"),
        Body::Sized(body) => {
            octets.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            octets.extend_from_slice(body);
        }
        Body::Awaited(body) => octets.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes()),
        Body::Stalled(part) => {
            octets.extend_from_slice(format!("Content-Length: {}\r\n\r\n", part.len() + 1).as_bytes());
            octets.extend_from_slice(part);
        }
        Body::Chunked(chunks) => {
            octets.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in chunks {
                octets.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                octets.extend_from_slice(&[chunk, &b"\r\n"[..]].concat());
            }
            octets.extend_from_slice(b"0\r\n\r\n");
        }
    }
    octets
}

/// One head that was read, and what it came to.
struct Read {
    used: usize,
    interim: Option<u16>,
    answer: Option<Answer>,
}

/// An interim head, or a whole answer; what there is of it once the connection has `ended`.
fn read(octets: &[u8], method: &Method, ended: bool) -> io::Result<Option<Read>> {
    let mut lines = [httparse::EMPTY_HEADER; 200];
    let mut head = httparse::Response::new(&mut lines);
    let parsed = head.parse(octets).map_err(|error| io::Error::other(format!("no answer: {error}")))?;
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let status = head.code.unwrap_or_default();
    if (100..200).contains(&status) {
        return Ok(Some(Read { used: length, interim: Some(status), answer: None }));
    }
    let text = |value: &[u8]| value.escape_ascii().to_string();
    let fields: Vec<(String, String)> =
        head.headers.iter().map(|field| (field.name.to_ascii_lowercase(), text(field.value))).collect();
    let status = http::StatusCode::from_u16(status).map_err(io::Error::other)?;
    let bodiless = !has_body(method, status);
    let (body, whole) = if bodiless { (Vec::new(), true) } else { body(&octets[length..], &fields) };
    let answer = Answer { interim: Vec::new(), status: Some(status.as_u16()), fields, body, whole };
    Ok((whole || ended).then_some(Read { used: octets.len(), interim: None, answer: Some(answer) }))
}

/// The decoded body, and whether it is whole.
fn body(octets: &[u8], fields: &[(String, String)]) -> (Vec<u8>, bool) {
    let field = |name: &str| fields.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    if field("transfer-encoding").is_some() {
        return chunks(octets);
    }
    match field("content-length").and_then(|length| length.parse::<usize>().ok()) {
        Some(length) => (octets[..length.min(octets.len())].to_vec(), octets.len() >= length),
        None => (octets.to_vec(), false),
    }
}

fn chunks(mut octets: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Ok(httparse::Status::Complete((line, size))) = httparse::parse_chunk_size(octets) {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let rest = &octets[line..];
        if size == 0 {
            return (body, rest.ends_with(b"\r\n"));
        }
        if rest.len() < size.saturating_add(2) {
            break;
        }
        body.extend_from_slice(&rest[..size]);
        octets = &rest[size + 2..];
    }
    (body, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(octets: &str, ended: bool, expected: Option<(u16, &str, bool)>) {
        let found = read(octets.as_bytes(), &Method::GET, ended).unwrap().and_then(|read| read.answer);
        let found = found.map(|a| (a.status.unwrap(), String::from_utf8(a.body).unwrap(), a.whole));
        assert_eq!(found, expected.map(|(status, body, whole)| (status, body.to_owned(), whole)), "{octets:?}");
    }

    #[test]
    fn answers_are_read_whole_or_as_far_as_they_came() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, Some((200, "hi", true)));
        check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", false, None);
        check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", true, Some((200, "hi", false)));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n";
        check(chunked, false, None);
        check(chunked, true, Some((200, "hi", false)));
        check(&format!("{chunked}0\r\n\r\n"), false, Some((200, "hi", true)));
        check("HTTP/1.1 204 No Content\r\n\r\n", false, Some((204, "", true)));
        check("HTTP/1.1 200 O", false, None);
        let interim = read(b"HTTP/1.1 100 Continue\r\n\r\n", &Method::GET, false).unwrap().unwrap();
        assert_eq!((interim.interim, interim.used), (Some(100), 25));
    }
}
