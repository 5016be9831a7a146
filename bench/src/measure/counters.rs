//! What the other two sides counted: the backend, and gateways that tell.

use crate::backend::Counted;
use crate::raw::Tally;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Requests that a gateway counted, and those that it refused or failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gateway {
    pub(crate) requests: u64,
    pub(crate) refused: Tally,
}

impl Gateway {
    /// What it counted since `before`, the requests for these figures left out: one of them lies between.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests).saturating_sub(1),
            refused: self.refused.since(&before.refused),
        }
    }

    /// From the text that Prometheus reads; `None` when it is not from one of ours.
    fn read(text: &str) -> Option<Self> {
        let mut requests = None;
        let mut refused = Tally::default();
        for (series, value) in text.lines().filter_map(|line| line.rsplit_once(' ')) {
            let Ok(value) = value.parse::<f64>() else { continue };
            if series == "portcullis_requests_total" {
                requests = Some(value as u64);
            } else if let Some(labels) = series.strip_prefix("portcullis_requests_failed_total{reason=\"")
                && let Some((reason, _)) = labels.split_once('"')
            {
                refused.add(reason, value as u64);
            }
        }
        Some(Self { requests: requests?, refused })
    }
}

/// The backend's counters.
pub(crate) fn backend(address: SocketAddr) -> io::Result<Counted> {
    let text = get(address, "/counters")?;
    Counted::read(&text).ok_or_else(|| io::Error::other(format!("the backend's counters are: {text}")))
}

/// Has the backend begin its heavy-tailed delays anew, from this seed.
pub(crate) fn restart(address: SocketAddr, seed: u64) -> io::Result<()> {
    let path = format!("/restart?seed={seed}");
    let text = get(address, &path)?;
    Counted::read(&text).map(drop).ok_or_else(|| io::Error::other(format!("the backend answered {path} with {text}")))
}

/// The gateway's, if it has any: others answer 404 or pass the request on.
pub(crate) fn gateway(address: SocketAddr) -> Option<Gateway> {
    Gateway::read(&get(address, "/actuator/prometheus").ok()?)
}

/// The body of the answer, of whatever status.
fn get(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let length = stream.read(&mut piece)?;
        answer.extend_from_slice(&piece[..length]);
        if let Some(body) = body(&answer, length == 0) {
            return Ok(String::from_utf8_lossy(body).into_owned());
        }
        if length == 0 {
            return Err(io::Error::other("the answer was cut off"));
        }
    }
}

/// The body, once it is whole: by its length, or because the connection ended.
fn body(answer: &[u8], ended: bool) -> Option<&[u8]> {
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(end)) = response.parse(answer) else { return None };
    let body = &answer[end..];
    match crate::body::field(response.headers, "content-length") {
        Some(length) => (body.len() >= length.parse().ok()?).then_some(body),
        None => ended.then_some(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::serving::Serving;

    #[test]
    fn the_gateways_figures_are_found_among_all_others() {
        let text = "# TYPE portcullis_requests_total counter\nportcullis_requests_total 12\nportcullis_requests_in_flight 1\n\
            portcullis_requests_failed_total{reason=\"queue_full\",} 3.0\nportcullis_requests_failed_total{reason=\"timeout\"} 0\n";
        let now = Gateway::read(text).expect("figures");
        assert_eq!(now, Gateway { requests: 12, refused: Tally::from_iter([("queue_full", 3)]) });
        let before = Gateway { requests: 5, refused: Tally::from_iter([("queue_full", 1)]) };
        assert_eq!(now.since(&before), Gateway { requests: 6, refused: Tally::from_iter([("queue_full", 2)]) });
        assert_eq!(Gateway::read("jvm_threads 5\n"), None);
    }

    #[test]
    fn the_backend_tells_what_it_counted() {
        let serving = Serving::start();
        let counted = backend(serving.address).expect("counters");
        assert_eq!((counted.requests, counted.connections), (0, 1));
        assert_eq!(gateway(serving.address), None);
    }
}
