//! Entries as lines: Combined Log Format with ours behind it, or JSON.
//!
//! ```text
//! 192.0.2.7 - - [30/Nov/2026:09:57:59 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/8" route=a backend=a upstream=10.0.0.1:80 ...
//! ```
//!
//! Targets and fields come from strangers. Every octet that is a control, a quote, a backslash or not ASCII is written as `\xHH` (in
//! JSON the backslash is doubled, so that a reader gets the same text), thus no request can forge a line. What is missing is `-`, or
//! null in JSON; `detail` stands only where something failed, `fallback` where one answered. Nothing here does input or output; a `Vec` takes every write.

use super::entry::Entry;
use crate::wire::date::{Civil, iso_8601};
use http::Version;
use std::io::Write;
use std::time::{Duration, SystemTime};

/// A way to write lines.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// A request's line, with its end.
    pub(super) entry: fn(&mut Vec<u8>, &Entry),
    /// Says that so many lines were lost until now.
    pub(super) lost: fn(&mut Vec<u8>, SystemTime, u64),
}

/// Combined Log Format.
pub(super) const COMBINED: Format = Format { entry: combined, lost: combined_lost };

/// JSON, an object a line.
pub(super) const JSON: Format = Format { entry: json, lost: json_lost };

fn combined(out: &mut Vec<u8>, entry: &Entry) {
    let _ = write!(out, "{} - - [", entry.peer.ip());
    clf_time(out, entry.received);
    out.extend_from_slice(b"] \"");
    request_line(out, entry);
    out.extend_from_slice(b"\" ");
    number(out, entry.status);
    out.push(b' ');
    number(out, (entry.sent > 0).then_some(entry.sent));
    for name in ["referer", "user-agent"] {
        out.extend_from_slice(b" \"");
        escaped(out, field(entry, name).unwrap_or(b"-"), Place::Quoted);
        out.push(b'"');
    }
    for (name, value) in ours(entry) {
        let _ = write!(out, " {name}=");
        match value {
            Value::Text(text) => escaped(out, text.unwrap_or("-").as_bytes(), Place::Bare),
            Value::Number(value) => number(out, value),
            Value::Millis(value) => millis(out, value, b"-"),
        }
    }
    if entry.fallback {
        out.extend_from_slice(b" fallback=true");
    }
    if let Some(detail) = &entry.detail {
        out.extend_from_slice(b" detail=\"");
        escaped(out, detail.as_bytes(), Place::Quoted);
        out.push(b'"');
    }
    out.push(b'\n');
}

fn combined_lost(out: &mut Vec<u8>, now: SystemTime, lines: u64) {
    out.extend_from_slice(b"- - - [");
    clf_time(out, now);
    let _ = writeln!(out, "] \"-\" - - \"-\" \"-\" lost_lines={lines}");
}

fn json(out: &mut Vec<u8>, entry: &Entry) {
    let (time, peer) = (iso_8601(entry.received), entry.peer);
    let _ = write!(out, r#"{{"time":"{time}","remote":"{}","remote_port":{}"#, peer.ip(), peer.port());
    let head = entry.head.as_ref();
    json_text(out, "method", head.map(|head| head.method().as_str().as_bytes()));
    json_text(out, "target", head.map(|head| head.target()));
    json_text(out, "protocol", head.map(|head| protocol(head.version()).as_bytes()));
    json_number(out, "status", entry.status.map(u64::from));
    json_number(out, "bytes", Some(entry.sent));
    json_text(out, "referer", field(entry, "referer"));
    json_text(out, "user_agent", field(entry, "user-agent"));
    for (name, value) in ours(entry) {
        match value {
            Value::Text(text) => json_text(out, name, text.map(str::as_bytes)),
            Value::Number(value) => json_number(out, name, value),
            Value::Millis(value) => {
                let _ = write!(out, r#","{name}":"#);
                millis(out, value, b"null");
            }
        }
    }
    if entry.fallback {
        out.extend_from_slice(br#","fallback":true"#);
    }
    if let Some(detail) = &entry.detail {
        json_text(out, "detail", Some(detail.as_bytes()));
    }
    out.extend_from_slice(b"}\n");
}

fn json_lost(out: &mut Vec<u8>, now: SystemTime, lines: u64) {
    let _ = writeln!(out, r#"{{"time":"{}","lost_lines":{lines}}}"#, iso_8601(now));
}

/// What the Combined Log Format has no place for.
enum Value<'a> {
    Text(Option<&'a str>),
    Number(Option<u64>),
    Millis(Option<Duration>),
}

fn ours(entry: &Entry) -> [(&'static str, Value<'_>); 11] {
    let times = &entry.times;
    [
        ("route", Value::Text(entry.route.as_deref())),
        ("backend", Value::Text(entry.backend.as_deref())),
        ("upstream", Value::Text(entry.server.as_deref())),
        ("upstream_status", Value::Number(entry.upstream_status.map(u64::from))),
        ("attempts", Value::Number(Some(entry.attempts.into()))),
        ("queue_ms", Value::Millis(times.queue)),
        ("isolation_ms", Value::Millis(times.isolation)),
        ("connect_ms", Value::Millis(times.connect)),
        ("first_byte_ms", Value::Millis(times.first_byte)),
        ("total_ms", Value::Millis(times.total)),
        ("reason", Value::Text(entry.reason.map(|reason| reason.name()))),
    ]
}

fn field<'a>(entry: &'a Entry, name: &'a str) -> Option<&'a [u8]> {
    entry.head.as_ref()?.values(name).next()
}

fn request_line(out: &mut Vec<u8>, entry: &Entry) {
    let Some(head) = &entry.head else { return out.push(b'-') };
    escaped(out, head.method().as_str().as_bytes(), Place::Quoted);
    out.push(b' ');
    escaped(out, head.target(), Place::Quoted);
    let _ = write!(out, " {}", protocol(head.version()));
}

fn protocol(version: Version) -> &'static str {
    if version == Version::HTTP_10 { "HTTP/1.0" } else { "HTTP/1.1" }
}

fn clf_time(out: &mut Vec<u8>, time: SystemTime) {
    let Civil { year, month, day, hour, minute, second, .. } = Civil::of(time);
    let month = Civil::MONTHS[month as usize - 1];
    let _ = write!(out, "{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000");
}

fn number(out: &mut Vec<u8>, value: Option<impl Into<u64>>) {
    match value {
        Some(value) => drop(write!(out, "{}", value.into())),
        None => out.push(b'-'),
    }
}

/// Milliseconds with three digits behind the point.
fn millis(out: &mut Vec<u8>, value: Option<Duration>, missing: &[u8]) {
    match value {
        Some(value) => drop(write!(out, "{}.{:03}", value.as_millis(), value.as_micros() % 1000)),
        None => out.extend_from_slice(missing),
    }
}

fn json_number(out: &mut Vec<u8>, name: &str, value: Option<u64>) {
    let _ = match value {
        Some(value) => write!(out, r#","{name}":{value}"#),
        None => write!(out, r#","{name}":null"#),
    };
}

fn json_text(out: &mut Vec<u8>, name: &str, text: Option<&[u8]>) {
    let _ = write!(out, r#","{name}":"#);
    let Some(text) = text else { return out.extend_from_slice(b"null") };
    out.push(b'"');
    escaped(out, text, Place::Json);
    out.push(b'"');
}

/// Where a stranger's text is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Quoted,
    Json,
    /// Without quotes: a space would end it.
    Bare,
}

fn escaped(out: &mut Vec<u8>, text: &[u8], place: Place) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for &octet in text {
        match octet {
            b'"' | b'\\' => {}
            b' ' if place == Place::Bare => {}
            b' '..=b'~' => {
                out.push(octet);
                continue;
            }
            _ => {}
        }
        out.extend_from_slice(if place == Place::Json { br"\\x" } else { br"\x" });
        out.extend_from_slice(&[HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::Times;
    use crate::config::model::Relaxed;
    use crate::reason::Reason;
    use crate::wire::head::{HeadLimits, RequestHead};
    use std::time::UNIX_EPOCH;

    fn entry(head: &[u8]) -> Entry {
        let limits = HeadLimits { line: 8192, fields: 8192, count: 100 };
        let head = RequestHead::parse(head, &limits, &Relaxed::default()).unwrap().unwrap().0;
        let received = UNIX_EPOCH + Duration::from_millis(1_796_032_679_126);
        Entry { head: Some(head), ..Entry::new(received, "192.0.2.7:4711".parse().unwrap()) }
    }

    fn whole() -> Entry {
        Entry {
            status: Some(200),
            sent: 5,
            route: Some("pro duct".into()),
            backend: Some("product-service".into()),
            server: Some("[::1]:9001".into()),
            upstream_status: Some(201),
            attempts: 2,
            times: Times {
                queue: Some(Duration::from_micros(12)),
                isolation: None,
                connect: Some(Duration::from_micros(1_999_999)),
                first_byte: Some(Duration::from_millis(50)),
                total: Some(Duration::from_millis(61)),
            },
            ..entry(b"GET /a?b=c HTTP/1.1\r\nHost: h\r\nReferer: http://r/\r\nUser-Agent: curl/8\r\n\r\n")
        }
    }

    fn refused() -> Entry {
        let Entry { received, peer, .. } = whole();
        Entry { status: Some(503), reason: Some(Reason::QueueFull), ..Entry::new(received, peer) }
    }

    #[track_caller]
    fn check(format: Format, entry: &Entry, expected: &str) {
        let mut line = Vec::new();
        (format.entry)(&mut line, entry);
        assert_eq!(String::from_utf8(line).unwrap(), format!("{expected}\n"));
    }

    #[test]
    fn combined_lines_carry_ours_behind_the_format() {
        check(
            COMBINED,
            &whole(),
            "192.0.2.7 - - [30/Nov/2026:09:57:59 +0000] \"GET /a?b=c HTTP/1.1\" 200 5 \"http://r/\" \"curl/8\" \
             route=pro\\x20duct backend=product-service upstream=[::1]:9001 upstream_status=201 attempts=2 queue_ms=0.012 \
             isolation_ms=- connect_ms=1999.999 first_byte_ms=50.000 total_ms=61.000 reason=-",
        );
        check(
            COMBINED,
            &refused(),
            "192.0.2.7 - - [30/Nov/2026:09:57:59 +0000] \"-\" 503 - \"-\" \"-\" route=- backend=- upstream=- \
             upstream_status=- attempts=0 queue_ms=- isolation_ms=- connect_ms=- first_byte_ms=- total_ms=- reason=queue_full",
        );
    }

    #[test]
    fn json_lines_are_objects_with_every_member() {
        check(
            JSON,
            &whole(),
            r#"{"time":"2026-11-30T09:57:59.126+00:00","remote":"192.0.2.7","remote_port":4711,"method":"GET","target":"/a?b=c","protocol":"HTTP/1.1","status":200,"bytes":5,"referer":"http://r/","user_agent":"curl/8","route":"pro duct","backend":"product-service","upstream":"[::1]:9001","upstream_status":201,"attempts":2,"queue_ms":0.012,"isolation_ms":null,"connect_ms":1999.999,"first_byte_ms":50.000,"total_ms":61.000,"reason":null}"#,
        );
        check(
            JSON,
            &refused(),
            r#"{"time":"2026-11-30T09:57:59.126+00:00","remote":"192.0.2.7","remote_port":4711,"method":null,"target":null,"protocol":null,"status":503,"bytes":0,"referer":null,"user_agent":null,"route":null,"backend":null,"upstream":null,"upstream_status":null,"attempts":0,"queue_ms":null,"isolation_ms":null,"connect_ms":null,"first_byte_ms":null,"total_ms":null,"reason":"queue_full"}"#,
        );
    }

    #[test]
    fn what_failed_is_told_in_detail_and_escaped() {
        let failed = Entry { detail: Some("closed: \"x\"\n\\".into()), ..refused() };
        let mut line = Vec::new();
        combined(&mut line, &failed);
        assert!(
            line.ends_with(b" reason=queue_full detail=\"closed: \\x22x\\x22\\x0a\\x5c\"\n"),
            "{}",
            line.escape_ascii()
        );
        let answered = Entry { fallback: true, ..failed };
        line.clear();
        combined(&mut line, &answered);
        assert!(line.windows(50).any(|part| part.starts_with(b" reason=queue_full fallback=true detail=")));
        let mut object = Vec::new();
        json(&mut object, &answered);
        let value: serde_json::Value = serde_json::from_slice(&object).unwrap();
        assert_eq!(value["detail"], r"closed: \x22x\x22\x0a\x5c");
        assert_eq!(value["fallback"], true);
    }

    /// Log forging: the raw target as it came, and every octet that could end a quote or a line escaped.
    #[test]
    fn no_request_can_forge_a_line() {
        let agent = b"GET /%0d%0aFAKE HTTP/1.1\r\nHost: h\r\nUser-Agent: a\"b\\c\td\x80\xff\r\n\r\n";
        let mut line = Vec::new();
        combined(&mut line, &entry(agent));
        let line = String::from_utf8(line).unwrap();
        assert!(line.contains(r#" "GET /%0d%0aFAKE HTTP/1.1" "#), "{line}");
        assert!(line.contains(r#" "a\x22b\x5cc\x09d\x80\xff" "#), "{line}");
        let mut object = Vec::new();
        json(&mut object, &entry(agent));
        let value: serde_json::Value = serde_json::from_slice(&object).unwrap();
        assert_eq!(value["user_agent"], r"a\x22b\x5cc\x09d\x80\xff");
        assert_eq!(value["target"], "/%0d%0aFAKE");
    }

    #[test]
    fn every_octet_keeps_the_line_whole() {
        let all: Vec<u8> = (0..=255).collect();
        for place in [Place::Quoted, Place::Json, Place::Bare] {
            let mut out = Vec::new();
            escaped(&mut out, &all, place);
            assert!(out.iter().all(|octet| (b' '..=b'~').contains(octet) && *octet != b'"'));
            assert!(place != Place::Bare || !out.contains(&b' '));
        }
        let mut out = b"\"".to_vec();
        escaped(&mut out, &all, Place::Json);
        out.push(b'"');
        let text: String = serde_json::from_slice(&out).unwrap();
        assert!(text.starts_with(r"\x00\x01") && text.ends_with(r"\xfe\xff"));
    }

    #[test]
    fn lost_lines_are_told_in_the_shape_of_the_format() {
        let mut out = Vec::new();
        combined_lost(&mut out, UNIX_EPOCH, 7);
        json_lost(&mut out, UNIX_EPOCH, 7);
        let expected = "- - - [01/Jan/1970:00:00:00 +0000] \"-\" - - \"-\" \"-\" lost_lines=7\n\
                        {\"time\":\"1970-01-01T00:00:00.000+00:00\",\"lost_lines\":7}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
