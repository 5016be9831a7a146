//! Interim (1xx) heads at the beginning of what an upstream sends (RFC 9110 15.2): told apart from the final head, octets in, verdict out.
//!
//! ```text
//! HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\n...
//! ^ interim, 47 octets                              ^ final: ureq's affair
//! ```
//!
//! They have no body, whatever length they announce. 101 answers an Upgrade, which the gateway never sends.

use super::error::Fault;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// The most fields of an interim head.
const FIELDS: usize = 64;

/// What the unread octets begin with.
#[derive(Debug)]
pub(super) enum Beginning {
    /// Too little to tell.
    Unclear,
    /// Not with an interim head.
    Final,
    /// With this one.
    Interim {
        /// Its octets.
        length: usize,
        /// 100, 102 to 199.
        status: StatusCode,
        /// Its fields, in order.
        fields: HeaderMap,
    },
}

/// Tells what `octets` begin with.
pub(super) fn beginning(octets: &[u8]) -> Result<Beginning, Fault> {
    const FIRST: &[u8] = b"HTTP/1.? 1";
    for (at, (octet, expected)) in octets.iter().zip(FIRST).enumerate() {
        // The minor version is checked with the rest of the head.
        if octet != expected && at != 7 {
            return Ok(Beginning::Final);
        }
    }
    if octets.len() <= FIRST.len() {
        return Ok(Beginning::Unclear);
    }
    let mut lines = [httparse::EMPTY_HEADER; FIELDS];
    let mut head = httparse::Response::new(&mut lines);
    match head.parse(octets) {
        Err(error) => Err(Fault::bad_response(format!("interim head: {error}"))),
        Ok(httparse::Status::Partial) => Ok(Beginning::Unclear),
        Ok(httparse::Status::Complete(length)) => interim(length, &head),
    }
}

fn interim(length: usize, head: &httparse::Response<'_, '_>) -> Result<Beginning, Fault> {
    let code = head.code.unwrap_or_default();
    if code == 101 {
        return Err(Fault::bad_response("101 without an Upgrade"));
    }
    let bad = |_| Fault::bad_response("interim head: bad field");
    let mut fields = HeaderMap::with_capacity(head.headers.len());
    for line in head.headers.iter() {
        let name = HeaderName::from_bytes(line.name.as_bytes()).map_err(|error| bad(http::Error::from(error)))?;
        let value = HeaderValue::from_bytes(line.value).map_err(|error| bad(http::Error::from(error)))?;
        fields.append(name, value);
    }
    let status = StatusCode::from_u16(code).map_err(|error| bad(http::Error::from(error)))?;
    Ok(Beginning::Interim { length, status, fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINTS: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\nContent-Length: 30\r\n\r\n";

    #[test]
    fn an_interim_head_is_unclear_until_its_last_octet() {
        for at in 0..HINTS.len() {
            let told = beginning(&HINTS[..at]).unwrap();
            assert!(matches!(told, Beginning::Unclear), "{at}: {told:?}");
        }
        let Beginning::Interim { length, status, fields } = beginning(HINTS).unwrap() else { panic!() };
        assert_eq!((length, status.as_u16()), (HINTS.len(), 103));
        assert_eq!(fields.get_all("link").iter().count(), 2);
    }

    #[test]
    fn what_follows_is_not_part_of_it() {
        let octets = [HINTS, b"HTTP/1.1 200 OK\r\n\r\n"].concat();
        assert!(matches!(beginning(&octets).unwrap(), Beginning::Interim { length, .. } if length == HINTS.len()));
    }

    #[test]
    fn a_final_head_is_final_from_the_first_octet_that_tells() {
        let octets = b"HTTP/1.1 200 OK\r\n";
        for at in 0..octets.len() {
            let told = beginning(&octets[..at]).unwrap();
            assert_eq!(matches!(told, Beginning::Unclear), at < 10, "{at}: {told:?}");
        }
        assert!(matches!(beginning(b"garbage").unwrap(), Beginning::Final));
    }

    #[test]
    fn switching_protocols_and_broken_interim_heads_are_faults() {
        for octets in [
            &b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"[..],
            b"HTTP/1.1 1\x01\r\n\r\n",
            b"HTTP/1.1 103 x\r\na b: c\r\n\r\n",
        ] {
            assert!(beginning(octets).is_err(), "{octets:?}");
        }
    }
}
