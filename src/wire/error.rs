//! Why a request head is refused: what is wrong, and where. Every one of these ends the connection, since nobody can know where the next
//! request begins.

use crate::reason::Reason;
use http::StatusCode;
use std::fmt::{Display, Formatter, Result};

/// A head that is not served. `line` counts field lines from 1; 0 is the request line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadError {
    /// More empty lines before the request line than are forgiven.
    EmptyLines,
    /// LF without CR (RFC 9112 2.2 allows to take it for a line end; hops that differ about it can be played against each other).
    BareLf {
        /// Where.
        line: usize,
    },
    /// The request line is longer than this: 414.
    LineTooLong {
        /// The limit in octets.
        limit: usize,
    },
    /// The field lines are longer than this together: 431.
    FieldsTooLarge {
        /// The limit in octets.
        limit: usize,
    },
    /// There are more field lines than this: 431.
    TooManyFields {
        /// The limit.
        limit: usize,
    },
    /// Not `method SP target SP version`; HTTP/0.9 sends such.
    BadRequestLine,
    /// The method is not a token.
    BadMethod,
    /// The version is no `HTTP/1.x`, and none that anybody speaks.
    BadVersion,
    /// A major version that is not spoken here: 505.
    VersionUnsupported,
    /// An octet that no URI may hold, unless it is relaxed.
    TargetOctet {
        /// Its position in the target.
        at: usize,
        /// The octet.
        octet: u8,
    },
    /// The target has none of the four forms, or one that does not go with the method (RFC 9112 3.2).
    TargetForm,
    /// The authority of an absolute target is empty, has user information or is no `uri-host [":" port]`.
    TargetAuthority,
    /// CONNECT: no tunnels are offered: 501.
    Connect,
    /// A field line that is none.
    Field {
        /// Which.
        line: usize,
        /// What is wrong with it.
        fault: FieldFault,
    },
    /// HTTP/1.1 without Host (RFC 9112 3.2).
    HostMissing,
    /// More than one Host, even if they agree.
    HostRepeated,
    /// The Host is no `uri-host [":" port]`.
    HostInvalid,
    /// The Content-Length is not a number of octets, or beyond 64 bits.
    LengthInvalid,
    /// More than one Content-Length; equal ones are refused too, as RFC 9112 6.3 allows.
    LengthRepeated,
    /// Content-Length beside Transfer-Encoding: the mark of smuggling (RFC 9112 6.1).
    LengthAndCoding,
    /// Transfer-Encoding in HTTP/1.0: faulty framing (RFC 9112 6.1).
    CodingInHttp10,
    /// Chunked is not the last coding, or not the only chunked one: the length is unknown.
    CodingNotChunked,
    /// Another coding below chunked: 501.
    CodingUnknown,
    /// An expectation that is not `100-continue`: 417.
    Expectation,
}

/// What is wrong with a field line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldFault {
    /// It begins with white space: a folded line (RFC 9112 5.2), or one made to look like it.
    Folded,
    /// It has no colon.
    NoColon,
    /// White space before the colon (RFC 9112 5.1).
    SpaceBeforeColon,
    /// The name is empty or not a token.
    Name,
    /// The value holds this control octet: NUL, a CR of its own, and the like.
    Value(u8),
}

impl HeadError {
    /// The word for it.
    pub fn reason(self) -> Reason {
        match self {
            Self::LineTooLong { .. } => Reason::TargetTooLong,
            Self::FieldsTooLarge { .. } | Self::TooManyFields { .. } => Reason::HeadTooLarge,
            _ => Reason::BadRequest,
        }
    }

    /// The status: the reason's own, or the finer one that RFC 9110 has for what this gateway does not speak (417, 501, 505).
    pub fn status(self) -> StatusCode {
        match self {
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
            Self::Connect | Self::CodingUnknown => StatusCode::NOT_IMPLEMENTED,
            Self::VersionUnsupported => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            _ => self.reason().status(),
        }
    }
}

impl std::error::Error for HeadError {}

impl Display for HeadError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::EmptyLines => f.write_str("too many empty lines before the request line"),
            Self::BareLf { line: 0 } => f.write_str("bare LF in the request line"),
            Self::BareLf { line } => write!(f, "bare LF in field line {line}"),
            Self::LineTooLong { limit } => write!(f, "request line longer than {limit} octets"),
            Self::FieldsTooLarge { limit } => write!(f, "fields longer than {limit} octets"),
            Self::TooManyFields { limit } => write!(f, "more than {limit} field lines"),
            Self::BadRequestLine => {
                f.write_str("request line is not method, target and version with one space between")
            }
            Self::BadMethod => f.write_str("method is not a token"),
            Self::BadVersion => f.write_str("no HTTP/1.x version at the end of the request line"),
            Self::VersionUnsupported => f.write_str("only HTTP/1.x is spoken here"),
            Self::TargetOctet { at, octet } => write!(f, "octet 0x{octet:02x} at position {at} of the target"),
            Self::TargetForm => f.write_str("target is neither a path nor an absolute http URI"),
            Self::TargetAuthority => f.write_str("authority of the target is no host and port"),
            Self::Connect => f.write_str("no tunnels are offered"),
            Self::Field { line, fault } => write!(f, "{fault} in field line {line}"),
            Self::HostMissing => f.write_str("Host is missing"),
            Self::HostRepeated => f.write_str("more than one Host"),
            Self::HostInvalid => f.write_str("Host is no host and port"),
            Self::LengthInvalid => f.write_str("Content-Length is no number of octets"),
            Self::LengthRepeated => f.write_str("more than one Content-Length"),
            Self::LengthAndCoding => f.write_str("Content-Length beside Transfer-Encoding"),
            Self::CodingInHttp10 => f.write_str("Transfer-Encoding in HTTP/1.0"),
            Self::CodingNotChunked => f.write_str("Transfer-Encoding does not end in one chunked"),
            Self::CodingUnknown => f.write_str("a transfer coding besides chunked"),
            Self::Expectation => f.write_str("an expectation besides 100-continue"),
        }
    }
}

impl Display for FieldFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Folded => f.write_str("leading white space"),
            Self::NoColon => f.write_str("no colon"),
            Self::SpaceBeforeColon => f.write_str("white space before the colon"),
            Self::Name => f.write_str("a name that is no token"),
            Self::Value(octet) => write!(f, "control octet 0x{octet:02x}"),
        }
    }
}
