//! A strict reader of HTTP/1.1 messages: what the gateway sent, in either direction, and every point where it broke the grammar.
//!
//! Written apart from the crate's own parser on purpose: a test that reads with the code under test proves nothing. It never repairs; it
//! takes what can be taken and writes a complaint. Used by the raw client, by the test origin and by the conformance runner.

use std::fmt::Write as _;

/// Which way a message goes, and what a response answers.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A request.
    Request,
    /// A response to a request of this method.
    Response(Vec<u8>),
}

/// How the sender's side of a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// In order: FIN.
    Fin,
    /// By force: RST.
    Reset,
}

/// How a body is delimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is no body.
    #[default]
    None,
    /// Content-Length.
    Length,
    /// Transfer-Encoding: chunked.
    Chunked,
    /// The end of the connection.
    Close,
}

impl Framing {
    /// The word for it in the corpus.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Length => "length",
            Self::Chunked => "chunked",
            Self::Close => "close",
        }
    }
}

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// One message, as far as it came.
#[derive(Clone, Default)]
pub(crate) struct Message {
    /// The start line.
    pub(crate) start: Vec<u8>,
    /// The head without the blank line.
    pub(crate) head: Vec<u8>,
    /// Name and value of every field line.
    pub(crate) fields: Fields,
    /// The same for the trailer section.
    pub(crate) trailers: Fields,
    /// The body, decoded.
    pub(crate) body: Vec<u8>,
    /// Whether the body came to its defined end.
    pub(crate) complete: bool,
    /// How the body is delimited.
    pub(crate) framing: Framing,
    /// Request method; empty for responses.
    pub(crate) method: Vec<u8>,
    /// Request target; empty for responses.
    pub(crate) target: Vec<u8>,
    /// `HTTP/1.0` or `HTTP/1.1`.
    pub(crate) version: Vec<u8>,
    /// Status code; 0 for requests.
    pub(crate) status: u16,
    /// Where the sender broke the grammar.
    pub(crate) problems: Vec<String>,
    /// Position after the last octet that belongs to the message.
    pub(crate) end: usize,
    body_at: usize,
}

impl Message {
    /// The message head at `buf[at..]`, or `None` while its blank line is missing.
    pub(crate) fn head(buf: &[u8], at: usize, kind: &Kind) -> Option<Self> {
        let (head_end, body_at, crlf) = blank_line(buf, at)?;
        let head = &buf[at..head_end];
        let mut msg = Self { head: head.to_vec(), end: body_at, body_at, ..Self::default() };
        if !crlf || has_bare_control(head) {
            msg.problems.push("bare CR, bare LF or NUL in head".into());
        }
        let mut lines = head.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        msg.start = lines.next().unwrap_or_default().to_vec();
        for line in lines {
            msg.take_field(line);
        }
        msg.take_start(kind);
        msg.check_framing_fields();
        Some(msg)
    }

    /// The whole message at `buf[at..]` as far as it came; `ended` says how its sender closed, if it did.
    pub(crate) fn parse(buf: &[u8], at: usize, kind: &Kind, ended: Option<End>) -> Option<Self> {
        let mut msg = Self::head(buf, at, kind)?;
        msg.take_body(buf, kind, ended);
        Some(msg)
    }

    /// Reads the body again from `buf`, as far as it came; the head must be the one that was parsed from it.
    pub(crate) fn take_body(&mut self, buf: &[u8], kind: &Kind, ended: Option<End>) {
        let at = self.body_at;
        self.trailers.clear();
        let coding = self.values("transfer-encoding").last().map(|v| v.to_ascii_lowercase());
        let length = self.values("content-length").first().and_then(|v| decimal(v));
        let chunked = coding.as_ref().is_some_and(|v| last_member(v) == b"chunked");
        if self.is_bodiless(kind) {
            self.complete = true;
        } else if chunked {
            self.framing = Framing::Chunked;
            self.take_chunks(buf, at);
        } else if let Some(want) = length {
            self.framing = Framing::Length;
            self.body = buf[at..buf.len().min(at.saturating_add(want))].to_vec();
            self.complete = self.body.len() == want;
            self.end = at + self.body.len();
        } else if matches!(kind, Kind::Request) {
            self.complete = coding.is_none() && self.values("content-length").is_empty();
        } else {
            self.framing = Framing::Close;
            self.body = buf[at..].to_vec();
            self.end = buf.len();
            self.complete = ended == Some(End::Fin);
        }
    }

    /// The values of every line of a field, in order; `name` in any case.
    pub(crate) fn values(&self, name: &str) -> Vec<&[u8]> {
        named(&self.fields, name)
    }

    /// The values of every line of a trailer field.
    pub(crate) fn trailer_values(&self, name: &str) -> Vec<&[u8]> {
        named(&self.trailers, name)
    }

    /// The one value of a field as text, or `None`; more than one line fails the test.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let values = self.values(name);
        assert!(values.len() <= 1, "{} lines of {name} in {}", values.len(), show(&self.head, 400));
        values.first().map(|v| latin1(v))
    }

    /// The members of a list-valued field over all its lines, in lower case.
    pub(crate) fn members(&self, name: &str) -> Vec<Vec<u8>> {
        let lines = self.values(name);
        let members = lines.iter().flat_map(|v| v.split(|&b| b == b','));
        members.map(|m| trim(m).to_ascii_lowercase()).filter(|m| !m.is_empty()).collect()
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        latin1(&self.body)
    }

    fn is_bodiless(&self, kind: &Kind) -> bool {
        let Kind::Response(method) = kind else { return false };
        self.status < 200 || matches!(self.status, 204 | 304) || method == b"HEAD"
    }

    fn take_field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|&b| b == b':');
        let (name, value) = colon.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        if colon.is_none() || !is_token(name) {
            self.problems.push(format!("bad field line {}", show(line, 60)));
        }
        self.fields.push((trim(name).to_vec(), trim(value).to_vec()));
    }

    fn take_start(&mut self, kind: &Kind) {
        let taken = match kind {
            Kind::Request => self.take_request_line(),
            Kind::Response(_) => self.take_status_line(),
        };
        if taken.is_none() {
            self.problems.push(format!("bad start line {}", show(&self.start, 100)));
        }
    }

    fn take_request_line(&mut self) -> Option<()> {
        let parts: Vec<&[u8]> = self.start.split(|&b| b == b' ').collect();
        let [method, target, version] = parts[..] else { return None };
        let target_ok = !target.is_empty() && target.iter().all(|&b| b > 0x20 && b != 0x7f);
        if !is_token(method) || !target_ok || !is_version(version) {
            return None;
        }
        (self.method, self.target, self.version) = (method.to_vec(), target.to_vec(), version.to_vec());
        Some(())
    }

    fn take_status_line(&mut self) -> Option<()> {
        let line = self.start.clone();
        let (version, rest) = line.split_at_checked(8)?;
        let (code, reason) = rest.strip_prefix(b" ")?.split_at_checked(3)?;
        let code_ok = code.iter().all(u8::is_ascii_digit) && code[0] != b'0';
        if !is_version(version) || !code_ok || !reason.strip_prefix(b" ")?.iter().all(|&b| is_text(b)) {
            return None;
        }
        self.version = version.to_vec();
        self.status = code.iter().fold(0, |n, b| n * 10 + u16::from(b - b'0'));
        Some(())
    }

    fn check_framing_fields(&mut self) {
        let (length, coding) = (self.values("content-length"), self.values("transfer-encoding"));
        let mut found = Vec::new();
        if length.len() > 1 || coding.len() > 1 || (!length.is_empty() && !coding.is_empty()) {
            found.push(format!("{} Content-Length and {} Transfer-Encoding fields", length.len(), coding.len()));
        }
        let is_number = |v: &[u8]| !v.is_empty() && v.iter().all(u8::is_ascii_digit);
        found.extend(length.iter().filter(|v| !is_number(v)).map(|v| format!("Content-Length is {}", show(v, 40))));
        let others = coding.iter().filter(|v| !v.eq_ignore_ascii_case(b"chunked"));
        found.extend(others.map(|v| format!("Transfer-Encoding is {}", show(v, 40))));
        self.problems.extend(found);
    }

    fn take_chunks(&mut self, buf: &[u8], at: usize) {
        let mut body = Vec::new();
        let mut rest = Lines { buf, at };
        let outcome = self.walk_chunks(&mut rest, &mut body);
        self.body = body;
        match outcome {
            Chunks::Ended => (self.end, self.complete) = (rest.at, true),
            Chunks::More => self.end = buf.len(),
            Chunks::Broken(problem) => {
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
                self.end = buf.len();
            }
        }
    }

    fn walk_chunks(&mut self, rest: &mut Lines<'_>, body: &mut Vec<u8>) -> Chunks {
        loop {
            let Some(line) = rest.next_line() else { return Chunks::More };
            let Some(size) = chunk_size(line) else {
                return Chunks::Broken(format!("bad chunk line {}", show(line, 60)));
            };
            if size == 0 {
                return self.walk_trailers(rest);
            }
            let data = &rest.buf[rest.at..rest.buf.len().min(rest.at.saturating_add(size))];
            body.extend_from_slice(data);
            let after = rest.at.saturating_add(size);
            match rest.buf.get(after..after.saturating_add(2)) {
                None => return Chunks::More,
                Some(b"\r\n") => rest.at = after + 2,
                Some(_) => return Chunks::Broken("chunk data not followed by CRLF".into()),
            }
        }
    }

    fn walk_trailers(&mut self, rest: &mut Lines<'_>) -> Chunks {
        loop {
            let Some(line) = rest.next_line() else { return Chunks::More };
            if line == b"\r\n" {
                return Chunks::Ended;
            }
            let colon = line.iter().position(|&b| b == b':').filter(|&at| is_token(&line[..at]));
            let (Some(at), Some(text)) = (colon, line.strip_suffix(b"\r\n")) else {
                return Chunks::Broken(format!("bad trailer line {}", show(line, 60)));
            };
            self.trailers.push((text[..at].to_vec(), trim(&text[at + 1..]).to_vec()));
        }
    }
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whole = if self.complete { "whole" } else { "in part" };
        write!(f, "{} | {} ({whole})", show(&self.head, 600), show(&self.body, 300))
    }
}

enum Chunks {
    Ended,
    More,
    Broken(String),
}

struct Lines<'a> {
    buf: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    /// The next line with its line feed.
    fn next_line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.buf[self.at.min(self.buf.len())..];
        let len = rest.iter().position(|&b| b == b'\n')? + 1;
        self.at += len;
        Some(&rest[..len])
    }
}

/// Octets as text that fits in a message of a failed test.
pub(crate) fn show(data: &[u8], limit: usize) -> String {
    let mut text = data[..data.len().min(limit)].escape_ascii().to_string();
    if data.len() > limit {
        let _ = write!(text, "...({} octets)", data.len());
    }
    text
}

/// Octets as the text of the same code points.
pub(crate) fn latin1(data: &[u8]) -> String {
    data.iter().map(|&b| char::from(b)).collect()
}

/// Without white space (SP, HTAB) around it.
pub(crate) fn trim(mut data: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = data {
        data = rest;
    }
    data
}

/// End of the head, start of what follows, and whether the blank line is a proper one.
fn blank_line(buf: &[u8], at: usize) -> Option<(usize, usize, bool)> {
    let mut from = at;
    loop {
        let first = from + buf.get(from..)?.iter().position(|&b| b == b'\n')?;
        let rest = &buf[first + 1..];
        let second = if rest.starts_with(b"\n") {
            Some(1)
        } else if rest.starts_with(b"\r\n") {
            Some(2)
        } else {
            None
        };
        if let Some(len) = second {
            let start = if first > at && buf[first - 1] == b'\r' { first - 1 } else { first };
            return Some((start, first + 1 + len, len == 2 && start < first));
        }
        from = first + 1;
    }
}

fn has_bare_control(head: &[u8]) -> bool {
    let bare = |(i, &b): (usize, &u8)| match b {
        0 => true,
        b'\r' => head.get(i + 1) != Some(&b'\n'),
        b'\n' => i == 0 || head[i - 1] != b'\r',
        _ => false,
    };
    head.iter().enumerate().any(bare)
}

fn named<'a>(fields: &'a Fields, name: &str) -> Vec<&'a [u8]> {
    fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes())).map(|(_, v)| v.as_slice()).collect()
}

fn last_member(value: &[u8]) -> &[u8] {
    trim(value.rsplit(|&b| b == b',').next().unwrap_or_default())
}

fn decimal(value: &[u8]) -> Option<usize> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    digits.then(|| latin1(value).parse().unwrap_or(usize::MAX))
}

fn is_version(text: &[u8]) -> bool {
    matches!(text, b"HTTP/1.0" | b"HTTP/1.1")
}

fn is_text(b: u8) -> bool {
    b == b'\t' || (b >= 0x20 && b != 0x7f)
}

fn is_token(text: &[u8]) -> bool {
    let tchar = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    !text.is_empty() && text.iter().all(tchar)
}

/// The size in a chunk's first line, which may carry an extension.
fn chunk_size(line: &[u8]) -> Option<usize> {
    let line = line.strip_suffix(b"\r\n")?;
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let blank = line[digits..].iter().take_while(|&&b| b == b' ' || b == b'\t').count();
    let rest = &line[digits + blank..];
    let rest_ok = rest.is_empty() || (rest[0] == b';' && rest.iter().all(|&b| is_text(b)));
    let size = std::str::from_utf8(&line[..digits]).ok()?;
    (rest_ok && digits <= 16).then(|| usize::from_str_radix(size, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(octets: &[u8], ended: Option<End>) -> Message {
        Message::parse(octets, 0, &Kind::Response(b"GET".to_vec()), ended).expect("a head")
    }

    #[test]
    fn complains_about_every_kind_of_bad_grammar() {
        #[track_caller]
        fn check(octets: &str, complaint: &str) {
            let msg = response(octets.as_bytes(), None);
            assert!(msg.problems.iter().any(|p| p.contains(complaint)), "{octets:?}: {:?}", msg.problems);
        }
        check("HTTP/1.1 200 OK\nA: 1\r\n\r\n", "bare CR, bare LF or NUL");
        check("HTTP/1.1 200 OK\r\nA: 1\rB: 2\r\n\r\n", "bare CR, bare LF or NUL");
        check("HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", "bare CR, bare LF or NUL");
        check("HTTP/1.1 200\r\n\r\n", "bad start line");
        check("HTTP/1.1 2x0 OK\r\n\r\n", "bad start line");
        check("HTTP/2.0 200 OK\r\n\r\n", "bad start line");
        check("HTTP/1.1 200 OK\r\nA : 1\r\n\r\n", "bad field line");
        check("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", "bad field line");
        check("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "2 Content-Length");
        check("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "1 Content-Length and 1");
        check("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", "Content-Length is +1");
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "Transfer-Encoding is gzip");
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "bad chunk line");
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "not followed by CRLF");
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nbad\r\n\r\n", "bad trailer line");
    }

    #[test]
    fn bodies_end_where_their_framing_says() {
        let fixed = response(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokNEXT", None);
        assert_eq!((fixed.text().as_str(), fixed.complete, fixed.end), ("ok", true, 40));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nT: 1\r\n\r\n";
        for cut in 47..chunked.len() {
            let msg = response(&chunked[..cut], None);
            assert!(!msg.complete && msg.problems.is_empty(), "cut at {cut}: {:?}", msg.problems);
        }
        let msg = response(chunked, None);
        assert_eq!((msg.text().as_str(), msg.complete), ("ok", true));
        assert_eq!(msg.trailer_values("t"), [b"1"]);
        assert!(response(b"HTTP/1.1 200 OK\r\n\r\nabc", Some(End::Fin)).complete);
        assert!(!response(b"HTTP/1.1 200 OK\r\n\r\nabc", Some(End::Reset)).complete);
        assert!(!response(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", Some(End::Fin)).complete);
    }

    #[test]
    fn requests_need_a_method_a_target_and_a_version() {
        let parse = |octets: &[u8]| Message::parse(octets, 0, &Kind::Request, None).expect("a head");
        let good = parse(b"PUT /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(good.problems.is_empty() && good.complete, "{:?}", good.problems);
        assert_eq!((latin1(&good.method), latin1(&good.target)), ("PUT".into(), "/a?b".into()));
        for bad in ["GET  /a HTTP/1.1\r\n\r\n", "GET /a\r\n\r\n", "GET /a HTTP/1.2\r\n\r\n", "G(T /a HTTP/1.1\r\n\r\n"]
        {
            assert!(!parse(bad.as_bytes()).problems.is_empty(), "{bad:?}");
        }
    }
}
