//! Bodies that are counted and thrown away, by whoever reads them: the backend those of requests, the load generator those of answers.

use portcullis::wire::chunked::{ChunkDecoder, ChunkError};

/// Where a body ends.
#[derive(Debug)]
pub(crate) enum Body {
    /// After so many octets.
    Exactly(u64),
    /// Where the chunked coding says so.
    Chunked(Box<ChunkDecoder>),
    /// With the connection.
    UntilClose,
}

/// What was taken of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Octets of the input that are done with.
    pub(crate) used: usize,
    /// Octets of the body among them.
    pub(crate) octets: u64,
    /// Whether the body is through.
    pub(crate) ended: bool,
}

impl Body {
    /// As the fields of a message say; without any, `otherwise`.
    pub(crate) fn framed(headers: &[httparse::Header<'_>], otherwise: Self) -> Option<Self> {
        if field(headers, "transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return Some(Self::Chunked(Box::default()));
        }
        match field(headers, "content-length") {
            Some(length) => length.parse().ok().map(Self::Exactly),
            None => Some(otherwise),
        }
    }

    /// Takes as much of `input` as belongs to the body.
    pub(crate) fn take(&mut self, input: &[u8]) -> Result<Taken, ChunkError> {
        match self {
            Self::Exactly(left) => {
                let used = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                *left -= used as u64;
                Ok(Taken { used, octets: used as u64, ended: *left == 0 })
            }
            Self::Chunked(decoder) => take_chunks(decoder, input),
            Self::UntilClose => Ok(Taken { used: input.len(), octets: input.len() as u64, ended: false }),
        }
    }
}

fn take_chunks(decoder: &mut ChunkDecoder, input: &[u8]) -> Result<Taken, ChunkError> {
    let mut out = [0; 16 * 1024];
    let mut taken = Taken { used: 0, octets: 0, ended: false };
    loop {
        let decoded = decoder.decode(&input[taken.used..], &mut out)?;
        taken.used += decoded.used;
        taken.octets += decoded.written as u64;
        taken.ended = decoded.ended;
        if decoded.ended || decoded.used == 0 || taken.used == input.len() {
            return Ok(taken);
        }
    }
}

/// The value of the field `name`, given in lower case, as text.
pub(crate) fn field<'a>(headers: &[httparse::Header<'a>], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The octets of the body and of what follows it, with the input in pieces of `size`.
    fn count(mut body: Body, input: &[u8], size: usize) -> (u64, usize) {
        let (mut octets, mut at) = (0, 0);
        while at < input.len() {
            let end = (at + size).min(input.len());
            let taken = body.take(&input[at..end]).expect("a body");
            octets += taken.octets;
            at += taken.used;
            if taken.ended {
                break;
            }
        }
        (octets, input.len() - at)
    }

    #[test]
    fn a_body_ends_where_its_framing_says_so_however_it_arrives() {
        for size in 1..30 {
            assert_eq!(count(Body::Exactly(5), b"hellorest", size), (5, 4), "{size}");
            let chunked = Body::Chunked(Box::default());
            assert_eq!(count(chunked, b"5\r\nhello\r\n0\r\n\r\nrest", size), (5, 4), "{size}");
            assert_eq!(count(Body::UntilClose, b"hello", size), (5, 0), "{size}");
        }
    }

    #[test]
    fn the_fields_tell_the_framing() {
        let framed = |name, value: &'static str| {
            let header = httparse::Header { name, value: value.as_bytes() };
            Body::framed(&[header], Body::UntilClose).map(|body| match body {
                Body::Exactly(length) => length.to_string(),
                Body::Chunked(_) => "chunked".into(),
                Body::UntilClose => "until close".into(),
            })
        };
        assert_eq!(framed("Content-Length", "17").as_deref(), Some("17"));
        assert_eq!(framed("transfer-encoding", "Chunked").as_deref(), Some("chunked"));
        assert_eq!(framed("X", "1").as_deref(), Some("until close"));
        assert_eq!(framed("Content-Length", "many"), None);
    }
}
