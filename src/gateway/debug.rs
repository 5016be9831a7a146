//! `X-Zuul-Debug-Header`: the steps of one request, bracketed as Zuul brackets its own (`[[[step]]][[[step]]]`).
//!
//! Zuul lists filters and what they took; here stand the steps of `Gateway::serve`, as they are known when the head of the answer
//! is written. What was not come to is not told. Made for requests alone that [`crate::exchange::Plan::debug`] marks.

use crate::access_log::Entry;
use http::{HeaderValue, Method};
use std::fmt::Write;
use std::time::Duration;

/// The field's name, as Zuul writes it.
pub const NAME: &str = "X-Zuul-Debug-Header";

/// The first step: what the request became. `mapping` is the route's.
pub fn plan(mapping: &str, method: &Method, target: &[u8]) -> String {
    format!("plan: {mapping}, {method} {}", target.escape_ascii())
}

/// All steps, of which `plan` is the first and `entry` knows the rest.
pub fn steps(plan: &str, entry: &Entry) -> Option<HeaderValue> {
    let times = &entry.times;
    let mut out = String::with_capacity(256);
    if let Some(queue) = times.queue {
        step(&mut out, &format!("queue: {}", millis(queue)));
    }
    step(&mut out, plan);
    if let Some(backend) = &entry.backend {
        let waited = times.isolation.map_or(String::new(), |waited| format!(", started after {}", millis(waited)));
        step(&mut out, &format!("admission: {backend}{waited}"));
    }
    if let Some(server) = &entry.server {
        let connect = times.connect.map_or(String::new(), |connect| format!(", connect {}", millis(connect)));
        step(&mut out, &format!("server: {server}, attempts {}{connect}", entry.attempts));
    }
    if let Some(status) = entry.upstream_status {
        let after = times.first_byte.map_or(String::new(), |after| format!(" after {}", millis(after)));
        step(&mut out, &format!("answer: {status}{after}"));
    }
    if let Some(reason) = entry.reason {
        let answered = if entry.fallback { ", answered by the fallback" } else { "" };
        step(&mut out, &format!("failure: {reason}{answered}"));
    }
    HeaderValue::from_bytes(out.as_bytes()).ok()
}

/// Writing to a `String` cannot fail.
fn step(out: &mut String, text: &str) {
    let _ = write!(out, "[[[{text}]]]");
}

fn millis(time: Duration) -> String {
    format!("{:.3}ms", time.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Reason;
    use std::time::SystemTime;

    #[test]
    fn steps_are_told_as_far_as_they_were_taken() {
        let mut entry = Entry::new(SystemTime::UNIX_EPOCH, ([192, 0, 2, 1], 1).into());
        let plan = plan("/a/** -> up /**", &Method::GET, b"/x?\xe9");
        assert_eq!(steps(&plan, &entry).unwrap(), r"[[[plan: /a/** -> up /**, GET /x?\xe9]]]");
        entry.times.queue = Some(Duration::from_micros(12));
        entry.reason = Some(Reason::SemaphoreFull);
        let refused = r"[[[queue: 0.012ms]]][[[p]]][[[failure: semaphore_full]]]";
        assert_eq!(steps("p", &entry).unwrap(), refused);
        entry.reason = None;
        (entry.backend, entry.server) = (Some("up".into()), Some("h:1".into()));
        (entry.attempts, entry.upstream_status) = (2, Some(503));
        entry.times.isolation = Some(Duration::ZERO);
        entry.times.connect = Some(Duration::from_millis(1));
        entry.times.first_byte = Some(Duration::from_millis(20));
        let whole = "[[[queue: 0.012ms]]][[[p]]][[[admission: up, started after 0.000ms]]]\
                     [[[server: h:1, attempts 2, connect 1.000ms]]][[[answer: 503 after 20.000ms]]]";
        assert_eq!(steps("p", &entry).unwrap(), whole);
    }
}
