//! Request heads: octets in, a checked [`RequestHead`] out.
//!
//! What [`RequestHead::parse`] lets through is RFC 9112 without the leniencies: lines end in CRLF, names are tokens, there is one valid
//! Host, the target has one of the forms that go with the method. How the body is framed is asked of [`crate::wire::framing`]. Containers
//! parse; everybody else reads.

use crate::config::model::Relaxed;
use crate::wire::error::HeadError;
use crate::wire::fields::{self, FieldSpan};
use crate::wire::scan::Scan;
use crate::wire::target::{self, TargetParts};
use bytes::Bytes;
use http::{Method, Version};
use std::ops::Range;

/// How large a head may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Octets of the request line, CRLF not counted (`server.max-http-header-size`): beyond it 414.
    pub line: usize,
    /// Octets of all field lines together (`server.max-http-header-size` again): beyond it 431.
    pub fields: usize,
    /// Number of field lines, at most 128: beyond it 431.
    pub count: usize,
}

impl HeadLimits {
    /// `server.max-http-header-size` octets for the request line, as many for the fields, and 100 field lines.
    pub fn of_size(max_http_header_size: usize) -> Self {
        Self { line: max_http_header_size, fields: max_http_header_size, count: 100 }
    }

    /// For a service behind a gateway whose limits are [`Self::of_size`]: with room for what that adds to a head.
    pub fn behind(max_http_header_size: usize) -> Self {
        let size = max_http_header_size + 8 * 1024;
        Self { line: size, fields: size, count: fields::MOST }
    }
}

/// A request head as it was received; what it lends are slices of the received octets.
#[derive(Clone, Debug)]
pub struct RequestHead {
    octets: Bytes,
    method: Method,
    target: Range<u32>,
    parts: TargetParts,
    version: Version,
    fields: Vec<FieldSpan>,
}

impl RequestHead {
    /// The head at the start of `octets` and how many of them it took (empty lines before it included), or `None` when it is not whole
    /// yet. To look through a dripped head only once, keep a [`Scan`] and call [`Self::parse_on`].
    ///
    /// # Errors
    /// What is wrong, as soon as it is certain: a head over its limits need not end. The connection is out of step then.
    pub fn parse(octets: &[u8], limits: &HeadLimits, relaxed: &Relaxed) -> Result<Option<(Self, usize)>, HeadError> {
        Self::parse_on(&mut Scan::default(), octets, limits, relaxed)
    }

    /// As [`Self::parse`], but goes on where `scan` stopped at an earlier call with fewer octets of the same head.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn parse_on(
        scan: &mut Scan,
        octets: &[u8],
        limits: &HeadLimits,
        relaxed: &Relaxed,
    ) -> Result<Option<(Self, usize)>, HeadError> {
        let limits = HeadLimits { count: limits.count.min(fields::MOST), ..*limits };
        let was_known = scan.knows_request_line();
        let Some(span) = scan.request_line(octets, &limits)? else { return Ok(None) };
        // Parsed as soon as it is there, since an HTTP/0.9 client sends nothing more; once more only when the rest came later.
        let fresh = if was_known { None } else { Some(RequestLine::parse(&octets[span.clone()], relaxed)?) };
        let Some(lines) = scan.field_lines(octets, span.end + 2, &limits)? else { return Ok(None) };
        let line = match fresh {
            Some(line) => line,
            None => RequestLine::parse(&octets[span.clone()], relaxed)?,
        };
        let whole = &octets[span.start..lines.end];
        let fields = fields::parse(whole, lines.start - span.start, scan.fields())?;
        let RequestLine { method, target, parts, version } = line;
        let head = Self { octets: Bytes::copy_from_slice(whole), method, target, parts, version, fields };
        head.check_host()?;
        head.check_expectation()?;
        Ok(Some((head, lines.end)))
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The request target, octet for octet, in the form in which it came (RFC 9112 3.2).
    pub fn target(&self) -> &[u8] {
        &self.octets[self.target.start as usize..self.target.end as usize]
    }

    /// The same, sharing the received octets.
    pub fn target_bytes(&self) -> Bytes {
        self.octets.slice(self.target.start as usize..self.target.end as usize)
    }

    /// HTTP/1.0 or HTTP/1.1; a higher minor version counts as 1.1.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Every field line in order: name in the case received, value without the white space around it.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|f| (self.slice(f.name), self.slice(f.value)))
    }

    /// The value of the field line at `index`, sharing the received octets.
    pub fn value_bytes(&self, index: usize) -> Bytes {
        let (start, end) = self.fields[index].value;
        self.octets.slice(start as usize..end as usize)
    }

    /// The values of every line of the field `name`, in order; `name` in any case.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.fields().filter(move |(n, _)| n.eq_ignore_ascii_case(name.as_bytes())).map(|(_, v)| v)
    }

    /// The whole head, octet for octet.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    pub(super) fn parts(&self) -> &TargetParts {
        &self.parts
    }

    fn slice(&self, (start, end): (u32, u32)) -> &[u8] {
        &self.octets[start as usize..end as usize]
    }

    /// One Host in HTTP/1.1, at most one in HTTP/1.0, and valid, whatever form the target has (RFC 9112 3.2).
    fn check_host(&self) -> Result<(), HeadError> {
        let mut hosts = self.values("host");
        match (hosts.next(), hosts.next()) {
            (Some(_), Some(_)) => Err(HeadError::HostRepeated),
            (Some(host), None) if !target::is_host_and_port(host) => Err(HeadError::HostInvalid),
            (None, _) if self.version == Version::HTTP_11 => Err(HeadError::HostMissing),
            _ => Ok(()),
        }
    }

    /// The only expectation there is, and only from HTTP/1.1 (RFC 9110 10.1.1).
    fn check_expectation(&self) -> Result<(), HeadError> {
        let is_known = |value: &[u8]| value.eq_ignore_ascii_case(b"100-continue");
        if self.version == Version::HTTP_11 && !self.values("expect").all(is_known) {
            return Err(HeadError::Expectation);
        }
        Ok(())
    }
}

struct RequestLine {
    method: Method,
    target: Range<u32>,
    parts: TargetParts,
    version: Version,
}

impl RequestLine {
    /// Splits at the first and the last space: a space between them is in the target and refused there.
    fn parse(line: &[u8], relaxed: &Relaxed) -> Result<Self, HeadError> {
        let (Some(first), Some(last)) = (memchr::memchr(b' ', line), memchr::memrchr(b' ', line)) else {
            return Err(HeadError::BadRequestLine);
        };
        let method = Method::from_bytes(&line[..first]).map_err(|_| HeadError::BadMethod)?;
        if first == last {
            return Err(HeadError::BadRequestLine);
        }
        let version = parse_version(&line[last + 1..])?;
        let parts = target::parse(&method, &line[first + 1..last], relaxed)?;
        Ok(Self { method, target: first as u32 + 1..last as u32, parts, version })
    }
}

fn parse_version(text: &[u8]) -> Result<Version, HeadError> {
    match text {
        b"HTTP/1.0" => Ok(Version::HTTP_10),
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1'..=b'9'] => Ok(Version::HTTP_11),
        [b'H', b'T', b'T', b'P', b'/', b'2'..=b'9', b'.', b'0'..=b'9'] => Err(HeadError::VersionUnsupported),
        _ => Err(HeadError::BadVersion),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::{FieldFault, HeadError::*};
    use crate::wire::testing::Random;

    const LIMITS: HeadLimits = HeadLimits { line: 64, fields: 128, count: 5 };

    fn parse(octets: &[u8]) -> Result<Option<(RequestHead, usize)>, HeadError> {
        RequestHead::parse(octets, &LIMITS, &Relaxed::default())
    }

    /// Feeds one octet more at each call: what comes out, and after how many octets.
    fn drip(octets: &[u8]) -> (Result<Option<RequestHead>, HeadError>, usize) {
        let mut scan = Scan::default();
        for end in 0..=octets.len() {
            match RequestHead::parse_on(&mut scan, &octets[..end], &LIMITS, &Relaxed::default()) {
                Ok(None) => {}
                Ok(Some((head, used))) => return (Ok(Some(head)), used),
                Err(error) => return (Err(error), end),
            }
        }
        (Ok(None), octets.len())
    }

    #[track_caller]
    fn accepts(octets: &[u8]) -> RequestHead {
        let (head, used) = parse(octets).expect("accepted").expect("whole");
        let (dripped, at) = drip(octets);
        assert_eq!(dripped.expect("accepted").expect("whole").octets(), head.octets());
        assert_eq!(at, used, "nothing is taken before the head is whole");
        for end in 0..used {
            assert!(matches!(parse(&octets[..end]), Ok(None)), "{end} octets");
        }
        head
    }

    #[track_caller]
    fn refuses(octets: &[u8], expected: HeadError) {
        assert_eq!(parse(octets).err(), Some(expected));
        assert_eq!(drip(octets).0.err(), Some(expected), "dripped");
    }

    #[track_caller]
    fn refuses_line(line: &[u8], expected: HeadError) {
        refuses(&[line, b"\r\nHost: gw.test\r\n\r\n"].concat(), expected);
    }

    #[track_caller]
    fn refuses_fields(fields: &[u8], expected: HeadError) {
        refuses(&[b"GET / HTTP/1.1\r\n", fields, b"\r\n"].concat(), expected);
    }

    #[track_caller]
    fn refuses_field(line: &[u8], fault: FieldFault) {
        refuses_fields(&[b"Host: gw.test\r\n", line, b"\r\n"].concat(), Field { line: 2, fault });
    }

    #[test]
    fn a_head_is_read_whole_and_in_any_pieces() {
        let octets = b"POST /p?q HTTP/1.1\r\nHost: gw.test\r\nX-A:  1, 2 \t\r\nx-a:\r\nX-B:\t3\r\n\r\nbody";
        let head = accepts(octets);
        assert_eq!((head.method(), head.version()), (&Method::POST, Version::HTTP_11));
        assert_eq!(head.target(), b"/p?q");
        assert_eq!(head.target_bytes(), "/p?q");
        assert_eq!(head.octets(), &octets[..octets.len() - 4]);
        let fields: Vec<_> = head.fields().collect();
        let expected: [(&[u8], &[u8]); 4] = [(b"Host", b"gw.test"), (b"X-A", b"1, 2"), (b"x-a", b""), (b"X-B", b"3")];
        assert_eq!(fields, expected);
        assert_eq!(head.values("X-a").collect::<Vec<_>>(), [b"1, 2".as_slice(), b""]);
        assert_eq!(head.value_bytes(3), "3");
    }

    #[test]
    fn empty_lines_before_the_request_line_are_forgiven_up_to_a_bound() {
        let octets = b"\r\n\r\nGET / HTTP/1.1\r\nHost: gw.test\r\n\r\nrest";
        assert_eq!(accepts(octets).octets(), &octets[4..octets.len() - 4]);
        refuses(b"\r\n\r\n\r\n\r\n\r\n", EmptyLines);
        assert_eq!(accepts(b"\n\r\n\nGET / HTTP/1.1\r\nHost: gw.test\r\n\r\n").target(), b"/");
        refuses(b"\n\n\n\n\n", EmptyLines);
    }

    #[test]
    fn versions() {
        let version = |v: &str| accepts(format!("GET / {v}\r\nHost: gw.test\r\n\r\n").as_bytes()).version();
        assert_eq!(version("HTTP/1.0"), Version::HTTP_10);
        assert_eq!(version("HTTP/1.1"), Version::HTTP_11);
        assert_eq!(version("HTTP/1.2"), Version::HTTP_11);
        assert_eq!(version("HTTP/1.9"), Version::HTTP_11);
        refuses_line(b"GET / HTTP/2.0", VersionUnsupported);
        refuses_line(b"PRI * HTTP/2.0", VersionUnsupported);
        refuses_line(b"GET / HTTP/3.0", VersionUnsupported);
        for bad in ["HTTP/0.9", "HTTP/1", "HTTP/1.", "HTTP/1.10", "HTTP/01.1", "http/1.1", "HTTP/1.x", "HTTPS/1.1", ""]
        {
            refuses_line(format!("GET / {bad}").as_bytes(), BadVersion);
        }
    }

    #[test]
    fn request_lines_that_are_none() {
        refuses_line(b"GET /", BadRequestLine);
        refuses_line(b"GET", BadRequestLine);
        refuses_line(b"GET HTTP/1.1", BadRequestLine);
        refuses_line(b"GET  HTTP/1.1", BadRequestLine);
        refuses_line(b"GET  /two  HTTP/1.1", TargetForm);
        refuses_line(b"GET /a b HTTP/1.1", TargetOctet { at: 2, octet: b' ' });
        refuses_line(b"GET /a\tHTTP/1.1 HTTP/1.1", TargetOctet { at: 2, octet: b'\t' });
        refuses_line(b"GET / HTTP/1.1 ", BadVersion);
        refuses_line(b"GET / HTTP/1.1\r", BadVersion);
        refuses_line(b" GET / HTTP/1.1", BadMethod);
        refuses_line(b"GE(T / HTTP/1.1", BadMethod);
        refuses_line(b"G\0T / HTTP/1.1", BadMethod);
        refuses(b"GET /\r\n", BadRequestLine);
        refuses(b"\x16\x03\x01\x02", BadMethod);
    }

    #[test]
    fn any_token_is_a_method() {
        for method in ["get", "X-FROB", "QUERY", "!#$%&'*+-.^_`|~"] {
            let head = accepts(format!("{method} / HTTP/1.1\r\nHost: gw.test\r\n\r\n").as_bytes());
            assert_eq!(head.method().as_str(), method);
        }
    }

    #[test]
    fn line_ends_are_carriage_return_and_line_feed() {
        refuses(b"GET / HTTP/1.1\nHost: gw.test\n\n", BareLf { line: 0 });
        refuses_fields(b"Host: gw.test\n", BareLf { line: 1 });
        refuses_fields(b"Host: gw.test\r\nX-A: 1\nX-B: 2\r\n", BareLf { line: 2 });
        refuses_fields(b"Host: gw.test\r\n\n", BareLf { line: 2 });
        refuses_field(b"X-A: a\rX-B: b", FieldFault::Value(b'\r'));
        refuses_field(b"\rX-A: 1", FieldFault::Name);
        refuses_field(b"X-A: 1\r", FieldFault::Value(b'\r'));
        refuses_fields(
            b"Host: gw.test\r\n\r\r\nGET /smuggled HTTP/1.1\r\n",
            Field { line: 2, fault: FieldFault::NoColon },
        );
    }

    #[test]
    fn field_lines_that_are_none() {
        use FieldFault::*;
        refuses_field(b"Content-Length : 3", SpaceBeforeColon);
        refuses_field(b"Transfer-Encoding\t: chunked", SpaceBeforeColon);
        refuses_field(b" X-Odd: 1", Folded);
        refuses_field(b"\tcontinued", Folded);
        refuses_field(b"nonsense", NoColon);
        refuses_field(b": value", Name);
        refuses_field(b"X[a]: 1", Name);
        refuses_field(b"X A: 1", Name);
        refuses_field(b"X\xe9: 1", Name);
        refuses_field(b"X\0: 1", Name);
        refuses_field(b"Transfer-Encoding:\x0bchunked", Value(0x0b));
        refuses_field(b"X-A: a\0b", Value(0));
        refuses_field(b"X-A: a\x7fb", Value(0x7f));
        refuses_fields(b" Host: gw.test\r\n", Field { line: 1, fault: Folded });
    }

    #[test]
    fn every_octet_in_a_name_and_in_a_value_is_judged_as_the_tables_say() {
        use crate::wire::octet;
        for octet in (0..=255).filter(|&o| o != b'\n' && o != b':') {
            let name = [b"GET / HTTP/1.1\r\nHost: a\r\nX", &[octet][..], b"Y: 1\r\n\r\n"].concat();
            assert_eq!(parse(&name).is_ok(), octet::is_token(octet), "{octet:#04x} in a name");
            let value = [b"GET / HTTP/1.1\r\nHost: a\r\nX: 1", &[octet][..], b"2\r\n\r\n"].concat();
            assert_eq!(parse(&value).is_ok(), octet::is_value(octet), "{octet:#04x} in a value");
        }
    }

    #[test]
    fn octets_above_127_stay_in_values() {
        let head = accepts(b"GET / HTTP/1.1\r\nHost: gw.test\r\nX-Obs: caf\xe9 \xc3\xa5r.pdf\r\n\r\n");
        assert_eq!(head.values("x-obs").next(), Some(b"caf\xe9 \xc3\xa5r.pdf".as_slice()));
    }

    #[test]
    fn hosts() {
        for host in
            ["gw.test", "gw.test:8443", "gw.test:", "", "127.0.0.1:1", "[::1]", "[::1]:65535", "a_b.test", "%41"]
        {
            accepts(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        }
        for bad in [
            "gw.test/admin",
            "a b",
            "a@b",
            "gw.test:x",
            "gw.test:65536",
            "gw.test:+1",
            "[::1",
            "::1",
            "[::1%25lo]",
            "[v1.a]",
            "[]",
            "[::1]x",
            "a#b",
            "a?b",
            "a\\b",
            "a%4",
            "\u{e9}",
        ] {
            refuses_fields(format!("Host: {bad}\r\n").as_bytes(), HostInvalid);
        }
        refuses_fields(b"X-A: 1\r\n", HostMissing);
        refuses_fields(b"Host: gw.test\r\nhost: gw.test\r\n", HostRepeated);
        refuses(b"GET http://gw.test/ HTTP/1.1\r\n\r\n", HostMissing);
        assert_eq!(accepts(b"GET / HTTP/1.0\r\n\r\n").host(), None);
        refuses(b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", HostRepeated);
    }

    #[test]
    fn the_one_expectation() {
        accepts(b"PUT / HTTP/1.1\r\nHost: gw.test\r\nExpect: 100-Continue\r\n\r\n");
        accepts(b"PUT / HTTP/1.0\r\nExpect: a-pony\r\n\r\n");
        refuses_fields(b"Host: gw.test\r\nExpect: a-pony\r\n", Expectation);
        refuses_fields(b"Host: gw.test\r\nExpect: 100-continue\r\nExpect: a-pony\r\n", Expectation);
    }

    #[test]
    fn limits_strike_at_their_octet_and_before_the_end_of_the_line() {
        let line = |length: usize| format!("GET /{} HTTP/1.1", "a".repeat(length - "GET / HTTP/1.1".len()));
        accepts(format!("{}\r\nHost: a\r\n\r\n", line(64)).as_bytes());
        refuses(format!("{}\r\nHost: a\r\n\r\n", line(65)).as_bytes(), LineTooLong { limit: 64 });
        let endless = ["GET /", &"a".repeat(100)].concat();
        let (refused, at) = drip(endless.as_bytes());
        assert_eq!((refused.err(), at), (Some(LineTooLong { limit: 64 }), 65));

        let field = |length: usize| format!("Host: a\r\nX: {}\r\n", "b".repeat(length - "Host: a\r\nX: \r\n".len()));
        accepts(format!("GET / HTTP/1.1\r\n{}\r\n", field(128)).as_bytes());
        refuses_fields(field(129).as_bytes(), FieldsTooLarge { limit: 128 });
        let endless = format!("GET / HTTP/1.1\r\nX: {}", "b".repeat(500));
        let (refused, at) = drip(endless.as_bytes());
        assert_eq!((refused.err(), at), (Some(FieldsTooLarge { limit: 128 }), 16 + 129));
    }

    #[test]
    fn field_lines_are_counted() {
        let head = |count: usize| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: 1\r\n".repeat(count - 1));
        assert_eq!(accepts(head(5).as_bytes()).fields().len(), 5);
        refuses(head(6).as_bytes(), TooManyFields { limit: 5 });
        let usual = HeadLimits::of_size(8192);
        for (limits, most) in [(usual, 100), (HeadLimits::behind(8192), 128), (HeadLimits { count: 999, ..usual }, 128)]
        {
            let parse = |count| RequestHead::parse(head(count).as_bytes(), &limits, &Relaxed::default());
            for count in [24, 25, most - 1, most] {
                assert_eq!(parse(count).unwrap().unwrap().0.fields().len(), count);
            }
            assert_eq!(parse(most + 1).err(), Some(TooManyFields { limit: most }));
        }
    }

    #[test]
    fn refusals_have_their_statuses_and_say_where() {
        let told = |error: HeadError| (error.status().as_u16(), error.reason().name(), error.to_string());
        let field = Field { line: 3, fault: FieldFault::SpaceBeforeColon };
        assert_eq!(told(field), (400, "bad_request", "white space before the colon in field line 3".into()));
        assert_eq!(told(BareLf { line: 3 }).2, "bare LF in field line 3");
        assert_eq!(
            told(LineTooLong { limit: 8 }),
            (414, "target_too_long", "request line longer than 8 octets".into())
        );
        assert_eq!(told(TooManyFields { limit: 8 }).0, 431);
        assert_eq!(told(FieldsTooLarge { limit: 8 }).0, 431);
        assert_eq!(told(Expectation).0, 417);
        assert_eq!(told(Connect).0, 501);
        assert_eq!(told(VersionUnsupported).0, 505);
        let at = TargetOctet { at: 4, octet: 0 };
        assert_eq!(told(at), (400, "bad_request", "octet 0x00 at position 4 of the target".into()));
    }

    /// Changes octets of good heads at random (the seed is fixed): never a panic, and what is accepted means the same when written anew.
    #[test]
    fn mutated_heads_are_refused_or_mean_the_same_when_written_anew() {
        let seeds: [&[u8]; 3] = [
            b"GET /a?b=c HTTP/1.1\r\nHost: gw.test\r\nX-A: 1\r\n\r\n",
            b"POST http://gw.test:80/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
            b"OPTIONS * HTTP/1.0\r\nConnection: keep-alive\r\nX: \xff\r\n\r\n",
        ];
        let odd = b"\r\n\0 \t:;,/?#%*[]\x7f\x80HTP1.0a";
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut accepted = 0;
        for round in 0..20_000 {
            let mut octets = seeds[round % seeds.len()].to_vec();
            for _ in 0..=random.below(3) {
                let at = random.below(octets.len());
                match random.below(3) {
                    0 => octets[at] = odd[random.below(odd.len())],
                    1 => octets.insert(at, odd[random.below(odd.len())]),
                    _ => drop(octets.remove(at)),
                }
            }
            if let Ok(Some((head, used))) = parse(&octets) {
                accepted += 1;
                assert!(used <= octets.len() && octets[..used].ends_with(head.octets()));
                let anew = write_anew(&head);
                let (again, _) = parse(&anew).expect("accepted again").expect("whole");
                assert_eq!(write_anew(&again), anew);
                assert_eq!(again.fields().len(), head.fields().len());
            }
        }
        assert!(accepted > 1000, "only {accepted} were accepted: the test shows little");
    }

    fn write_anew(head: &RequestHead) -> Vec<u8> {
        let version: &[u8] = if head.version() == Version::HTTP_10 { b"HTTP/1.0" } else { b"HTTP/1.1" };
        let mut octets = [head.method().as_str().as_bytes(), b" ", head.target(), b" ", version, b"\r\n"].concat();
        for (name, value) in head.fields() {
            octets.extend_from_slice(&[name, b":", value, b"\r\n"].concat());
        }
        octets.extend_from_slice(b"\r\n");
        octets
    }
}
