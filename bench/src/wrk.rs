//! wrk as it is: started, and what it prints read back.

use std::io;
use std::process::Command;
use std::time::Duration;

/// What one run of wrk printed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) requests_per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Socket errors of every kind, and answers that were neither 2xx nor 3xx.
    pub(crate) errors: u64,
}

/// Runs wrk with two threads against `url`.
pub(crate) fn run(url: &str, connections: usize, duration: Duration) -> io::Result<Outcome> {
    let output = Command::new("wrk")
        .arg("--latency")
        .args(["--timeout", "10s", "-t2"])
        .arg(format!("-c{connections}"))
        .arg(format!("-d{}s", duration.as_secs().max(1)))
        .arg(url)
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("wrk: {error} (Debian: apt-get install wrk)")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).ok_or_else(|| io::Error::other(format!("wrk printed what it never did before:\n{text}")))
}

fn parse(text: &str) -> Option<Outcome> {
    let after = |label: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(label).map(str::trim));
    Some(Outcome {
        requests_per_second: after("Requests/sec:")?.parse().ok()?,
        p50_ms: milliseconds(after("50%")?)?,
        p99_ms: milliseconds(after("99%")?)?,
        errors: after("Socket errors:").map_or(Some(0), numbers)?
            + after("Non-2xx or 3xx responses:").map_or(Some(0), numbers)?,
    })
}

/// `1.23ms`, `870.00us`, `2.5s` as milliseconds.
fn milliseconds(text: &str) -> Option<f64> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let value: f64 = text[..unit].parse().ok()?;
    match &text[unit..] {
        "us" => Some(value / 1e3),
        "ms" => Some(value),
        "s" => Some(value * 1e3),
        "m" => Some(value * 6e4),
        _ => None,
    }
}

/// The sum of every number in `connect 0, read 3, write 0, timeout 1`.
fn numbers(text: &str) -> Option<u64> {
    text.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty()).map(|word| word.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_wrk_prints() {
        let text = "Running 2s test @ http://127.0.0.1:1/\n  2 threads and 10 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
            Latency   132.97us  123.05us   4.98ms   97.86%\n  Latency Distribution\n     50%  112.00us\n     75%  141.00us\n     90%  177.00us\n     \
            99%    1.52ms\n  155161 requests in 2.10s, 22.64MB read\n  Socket errors: connect 1, read 2, write 0, timeout 4\n  \
            Non-2xx or 3xx responses: 5\nRequests/sec:  73888.55\nTransfer/sec:     10.78MB\n";
        let outcome = parse(text).expect("parsed");
        assert_eq!(outcome, Outcome { requests_per_second: 73888.55, p50_ms: 0.112, p99_ms: 1.52, errors: 12 });
        assert_eq!(parse("unable to connect"), None);
        assert_eq!(milliseconds("1.50s"), Some(1500.0));
    }
}
