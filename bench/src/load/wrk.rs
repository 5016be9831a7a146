//! wrk as it is: started, and what it prints read back.

use super::{Counts, Outcome};
use crate::child::installed;
use crate::stop::Stop;
use std::io;
use std::time::Duration;

/// How long wrk runs when it is told this: whole seconds, one at least.
pub(crate) fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().max(1)
}

/// Runs wrk with `threads` against `url`, for [`whole_seconds`].
pub(crate) fn run(
    url: &str,
    (threads, connections): (u64, u64),
    duration: Duration,
    stop: &Stop,
) -> io::Result<Outcome> {
    let mut command = installed("wrk", "wrk")?;
    command.args(["--latency", "--timeout", "10s"]).arg(format!("-t{threads}")).arg(format!("-c{connections}"));
    let seconds = whole_seconds(duration);
    command.arg(format!("-d{seconds}s")).arg(url);
    let output = super::output(&mut command, Duration::from_secs(seconds) + super::GRACE, stop)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint =
        || format!("wrk printed what it never did before:\n{text}{}", String::from_utf8_lossy(&output.stderr));
    parse(&text).ok_or_else(|| io::Error::other(complaint()))
}

/// wrk counts an answer with another status among its requests, and a timeout besides.
fn parse(text: &str) -> Option<Outcome> {
    let after = |label: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(label).map(str::trim));
    let (requests, seconds) = text.lines().find_map(|line| line.split_once(" requests in "))?;
    let requests: u64 = requests.trim().parse().ok()?;
    let [connect, read, write, timeout] = after("Socket errors:").map_or(Some([0; 4]), socket_errors)?;
    let non_2xx = after("Non-2xx or 3xx responses:").map_or(Some(0), |count| count.parse().ok())?;
    let counts = Counts {
        ok: requests.saturating_sub(non_2xx),
        non_2xx,
        connect_errors: connect,
        socket_errors: read + write,
        timeouts: timeout,
        ..Counts::default()
    };
    let mut latencies = Vec::new();
    for percentile in [50.0, 75.0, 90.0, 99.0] {
        latencies.push((percentile, milliseconds(after(&format!("{percentile}%"))?)?));
    }
    let max = after("Latency").and_then(|_| {
        let line = text.lines().find(|line| line.trim_start().starts_with("Latency  "))?;
        milliseconds(line.split_whitespace().nth(3)?)
    });
    latencies.extend(max.map(|max| (100.0, max)));
    // Of no answers wrk tells zeros.
    if requests == 0 {
        latencies.clear();
    }
    let seconds = milliseconds(seconds.split(',').next()?)? / 1000.0;
    Some(Outcome { seconds, counts, latencies, ..Outcome::default() })
}

/// `1.23ms`, `870.00us`, `2.5s`, `5.00m` as milliseconds.
fn milliseconds(text: &str) -> Option<f64> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let value: f64 = text[..unit].parse().ok()?;
    match &text[unit..] {
        "us" => Some(value / 1e3),
        "ms" => Some(value),
        "s" => Some(value * 1e3),
        "m" => Some(value * 6e4),
        "h" => Some(value * 3.6e6),
        _ => None,
    }
}

/// The numbers in `connect 0, read 3, write 0, timeout 1`.
fn socket_errors(text: &str) -> Option<[u64; 4]> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty()).map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some([next()?, next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Running 2s test @ http://127.0.0.1:1/\n  2 threads and 10 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
        Latency   132.97us  123.05us   4.98ms   97.86%\n    Req/Sec    40.93k     3.03k   44.62k    90.00%\n  Latency Distribution\n     \
        50%  112.00us\n     75%  141.00us\n     90%  177.00us\n     99%    1.52ms\n  155161 requests in 2.10s, 22.64MB read\n";
    const RATE: &str = "Requests/sec:  73888.55\nTransfer/sec:     10.78MB\n";

    #[test]
    fn reads_what_wrk_prints() {
        let errors = "  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 5\n";
        let outcome = parse(&format!("{HEAD}{errors}{RATE}")).expect("parsed");
        let counts =
            Counts { ok: 155_156, non_2xx: 5, connect_errors: 1, socket_errors: 5, timeouts: 4, ..Counts::default() };
        assert_eq!((outcome.seconds, outcome.counts.clone()), (2.1, counts));
        assert_eq!(outcome.latencies, [(50.0, 0.112), (75.0, 0.141), (90.0, 0.177), (99.0, 1.52), (100.0, 4.98)]);
        assert!((outcome.requests_per_second() - 73_886.19).abs() < 0.01);
    }

    #[test]
    fn errors_that_are_not_told_are_none() {
        let counts = parse(&format!("{HEAD}{RATE}")).expect("parsed").counts;
        assert_eq!((counts.ok, counts.failed()), (155_161, 0));
        assert_eq!(parse("unable to connect"), None);
    }

    #[test]
    fn no_answers_have_no_latency() {
        let none = HEAD.replace("155161 requests", "0 requests");
        let outcome = parse(&format!("{none}{RATE}")).expect("parsed");
        assert_eq!((outcome.counts.ok, outcome.latencies), (0, vec![]));
    }

    #[test]
    fn times_have_units() {
        let table = [("1.50s", Some(1500.0)), ("870.00us", Some(0.87)), ("5.00m", Some(300_000.0)), ("12", None)];
        for (text, expected) in table {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
