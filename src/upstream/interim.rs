//! Interim (1xx) heads at the beginning of what an upstream sends (RFC 9110 15.2): told apart from the final head, octets in, verdict out.
//!
//! ```text
//! HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\n...
//! ^ interim, 47 octets                              ^ final: the client's affair
//! ```
//!
//! They have no body, whatever length they announce. 101 answers an Upgrade, which the gateway never sends. An empty line before a head is
//! none of HTTP's (RFC 9112 2.2 lets servers skip it, before a request), and parsers that skip it would find behind it what was not looked
//! at here.

use super::error::Fault;
use super::head::{AnswerHead, is_worth_parsing, parse_answer};

/// What the unread octets begin with.
#[derive(Debug)]
pub(super) enum Beginning {
    /// Too little to tell.
    Unclear,
    /// Not with an interim head.
    Final,
    /// With an interim head of so many octets.
    Interim(usize, AnswerHead),
}

/// Tells what `octets` begin with; those up to `from` were not enough to tell.
pub(super) fn beginning(octets: &[u8], from: usize) -> Result<Beginning, Fault> {
    const FIRST: &[u8] = b"HTTP/1.? 1";
    if matches!(octets.first(), Some(b'\r' | b'\n')) {
        return Err(Fault::bad_response("an empty line before the head of the answer"));
    }
    for (at, (octet, expected)) in octets.iter().zip(FIRST).enumerate() {
        // The minor version is checked with the rest of the head.
        if octet != expected && at != 7 {
            return Ok(Beginning::Final);
        }
    }
    if octets.len() <= FIRST.len() || !is_worth_parsing(octets, from) {
        return Ok(Beginning::Unclear);
    }
    match parse_answer(octets)? {
        None => Ok(Beginning::Unclear),
        Some((_, head)) if head.status == 101 => Err(Fault::bad_response("101 without an Upgrade")),
        Some((length, head)) => Ok(Beginning::Interim(length, head)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINTS: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\nContent-Length: 30\r\n\r\n";

    #[test]
    fn an_interim_head_is_unclear_until_its_last_octet() {
        for at in 0..HINTS.len() {
            let told = beginning(&HINTS[..at], at.saturating_sub(1)).unwrap();
            assert!(matches!(told, Beginning::Unclear), "{at}: {told:?}");
        }
        let Beginning::Interim(length, head) = beginning(HINTS, 0).unwrap() else { panic!() };
        assert_eq!((length, head.status.as_u16()), (HINTS.len(), 103));
        assert_eq!(head.fields.get_all("link").iter().count(), 2);
    }

    #[test]
    fn what_follows_is_not_part_of_it() {
        let octets = [HINTS, b"HTTP/1.1 200 OK\r\n\r\n"].concat();
        assert!(matches!(beginning(&octets, 0).unwrap(), Beginning::Interim(length, _) if length == HINTS.len()));
    }

    #[test]
    fn a_final_head_is_final_from_the_first_octet_that_tells() {
        let octets = b"HTTP/1.1 200 OK\r\n";
        for at in 0..octets.len() {
            let told = beginning(&octets[..at], 0).unwrap();
            assert_eq!(matches!(told, Beginning::Unclear), at < 10, "{at}: {told:?}");
        }
        assert!(matches!(beginning(b"garbage", 0).unwrap(), Beginning::Final));
    }

    #[test]
    fn switching_protocols_and_broken_interim_heads_are_faults() {
        for octets in [
            &b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"[..],
            b"HTTP/1.1 1\x01\r\n\r\n",
            b"HTTP/1.1 103 x\r\na b: c\r\n\r\n",
            b"\r\nHTTP/1.1 103 x\r\n\r\n",
            b"\nHTTP/1.1 200 OK\r\n\r\n",
            b"\r",
        ] {
            assert!(beginning(octets, 0).is_err(), "{octets:?}");
        }
    }
}
