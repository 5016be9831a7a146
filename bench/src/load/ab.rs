//! ab as it is: HTTP/1.0 and a new connection for each request, unless asked otherwise. One of the reproduced comparisons used it.

use super::{Counts, Outcome};
use crate::child::installed;
use crate::stop::Stop;
use std::io;
use std::time::Duration;

/// What a request may add to the whole, whatever runs at once: nobody who is measured is that slow.
const SLOWEST: Duration = Duration::from_millis(100);

/// Runs `ab -c concurrency -n requests url`.
pub(crate) fn run(url: &str, concurrency: u64, requests: u64, stop: &Stop) -> io::Result<Outcome> {
    let mut command = installed("ab", "apache2-utils")?;
    // -l: answers may differ in length, which is no failure; -r: a reset connection does not end the run.
    command.args(["-q", "-l", "-r", "-s", "30", "-c", &concurrency.to_string(), "-n", &requests.to_string(), url]);
    let most = SLOWEST.mul_f64(requests as f64) + super::GRACE;
    let output = super::output(&mut command, most, stop)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint =
        || format!("ab printed what it never did before:\n{text}{}", String::from_utf8_lossy(&output.stderr));
    parse(&text).ok_or_else(|| io::Error::other(complaint()))
}

fn parse(text: &str) -> Option<Outcome> {
    let after = |label: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(label).map(str::trim));
    let number = |label: &str| after(label)?.split_whitespace().next()?.parse::<f64>().ok();
    let complete = number("Complete requests:")? as u64;
    let failed = number("Failed requests:")? as u64;
    let non_2xx = number("Non-2xx responses:").unwrap_or(0.0) as u64;
    let counts =
        Counts { ok: complete.saturating_sub(failed + non_2xx), non_2xx, socket_errors: failed, ..Counts::default() };
    let mut latencies = Vec::new();
    for percentile in [50, 66, 75, 80, 90, 95, 98, 99, 100] {
        latencies.push((f64::from(percentile), number(&format!("{percentile}%"))?));
    }
    let seconds = number("Time taken for tests:")?;
    Some(Outcome { seconds, scheduled: None, sent: Some(complete), counts, latencies, ..Outcome::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Concurrency Level:      10\nTime taken for tests:   0.512 seconds\nComplete requests:      1000\nFailed requests:        2\n   \
        (Connect: 0, Receive: 1, Length: 0, Exceptions: 1)\nNon-2xx responses:      3\nRequests per second:    1953.13 [#/sec] (mean)\n\n\
        Percentage of the requests served within a certain time (ms)\n  50%      4\n  66%      5\n  75%      5\n  80%      6\n  90%      7\n  \
        95%      8\n  98%     11\n  99%     12\n 100%     19 (longest request)\n";

    #[test]
    fn reads_what_ab_prints() {
        let outcome = parse(TEXT).expect("parsed");
        assert_eq!(outcome.seconds, 0.512);
        assert_eq!((outcome.counts.ok, outcome.counts.non_2xx, outcome.counts.socket_errors), (995, 3, 2));
        assert_eq!(outcome.latency(50.0), Some(4.0));
        assert_eq!(outcome.latency(100.0), Some(19.0));
        assert_eq!(parse("ab: invalid URL"), None);
    }
}
