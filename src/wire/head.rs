//! Request heads: octets in, a checked [`RequestHead`] out.

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
    /// Number of field lines: beyond it 431.
    pub count: usize,
}

/// A request head as it was received; what it lends are slices of the received octets.
#[derive(Clone, Debug)]
pub struct RequestHead {
    octets: Bytes,
    method: Method,
    target: Range<u32>,
    version: Version,
    fields: Vec<FieldSpan>,
}

#[derive(Clone, Copy, Debug)]
struct FieldSpan {
    name: (u32, u32),
    value: (u32, u32),
}

impl RequestHead {
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

    fn slice(&self, (start, end): (u32, u32)) -> &[u8] {
        &self.octets[start as usize..end as usize]
    }
}
