//! Which octets may stand where: tables for tokens (RFC 9110 5.6.2), field values (5.5) and request targets (RFC 3986).
//!
//! Tables, since every octet of every head goes through one of them; they are made at compile time from the grammar.

const TOKEN: u8 = 1;
const VALUE: u8 = 2;
const PATH: u8 = 4;
const QUERY: u8 = 8;
const HOST: u8 = 16;

const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        table[octet] = classes_of(octet as u8);
        octet += 1;
    }
    table
}

const fn classes_of(octet: u8) -> u8 {
    let value = if octet == b'\t' || (octet >= b' ' && octet != 0x7f) { VALUE } else { 0 };
    let rest = match octet {
        // Unreserved in RFC 3986, and all of it `tchar`.
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => TOKEN | HOST | PATH | QUERY,
        // The sub-delimiters that are `tchar` too, and the percent sign of `pct-encoded`.
        b'!' | b'$' | b'&' | b'\'' | b'*' | b'+' | b'%' => TOKEN | HOST | PATH | QUERY,
        b'(' | b')' | b',' | b';' | b'=' => HOST | PATH | QUERY,
        b':' | b'@' | b'/' => PATH | QUERY,
        b'?' => QUERY,
        b'#' | b'^' | b'`' | b'|' => TOKEN,
        _ => 0,
    };
    value | rest
}

fn is(octet: u8, class: u8) -> bool {
    CLASSES[octet as usize] & class != 0
}

/// `tchar`: what method and field names are made of.
pub fn is_token(octet: u8) -> bool {
    is(octet, TOKEN)
}

/// What a field value may hold: visible octets, SP, HTAB, and those above 127.
pub fn is_value(octet: u8) -> bool {
    is(octet, VALUE)
}

/// `pchar` and the slash. A percent sign passes by itself: whether two hex digits follow is the upstream's affair.
pub fn is_path(octet: u8) -> bool {
    is(octet, PATH)
}

/// What a query may hold.
pub fn is_query(octet: u8) -> bool {
    is(octet, QUERY)
}

/// What a registered name or IPv4 address in a Host may hold.
pub fn is_host(octet: u8) -> bool {
    is(octet, HOST)
}

/// `value` without the SP and HTAB around it, and nothing else: no vertical tab, no form feed.
pub fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// The octet that the escape (`%E4`) at the beginning of `octets` stands for; `None` when there is none.
pub fn escape(octets: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = octets else { return None };
    let digit = |octet: u8| char::from(octet).to_digit(16);
    u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_what_the_rfc_lists() {
        let token = |o: u8| o.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&o);
        for octet in 0..=255 {
            assert_eq!(is_token(octet), token(octet), "{octet:#04x}");
        }
    }

    #[test]
    fn values_hold_no_control_but_the_tab() {
        for octet in 0..=255u8 {
            assert_eq!(is_value(octet), octet == 9 || !octet.is_ascii_control(), "{octet:#04x}");
        }
    }

    #[test]
    fn targets_hold_what_rfc_3986_lists() {
        let unreserved = |o: u8| o.is_ascii_alphanumeric() || b"-._~".contains(&o);
        for octet in 0..=255 {
            let pchar = unreserved(octet) || b"!$&'()*+,;=%:@".contains(&octet);
            assert_eq!(is_path(octet), pchar || octet == b'/', "{octet:#04x}");
            assert_eq!(is_query(octet), pchar || b"/?".contains(&octet), "{octet:#04x}");
            assert_eq!(is_host(octet), pchar && !b":@".contains(&octet), "{octet:#04x}");
        }
    }

    #[test]
    fn only_space_and_tab_are_trimmed() {
        assert_eq!(trim(b" \t a \x0b\t "), b"a \x0b");
        assert_eq!(trim(b" \t"), b"");
    }

    #[test]
    fn an_escape_is_a_percent_sign_and_two_digits() {
        assert_eq!([&b"%e4b"[..], b"%00", b"%Fff"].map(escape), [Some(0xe4), Some(0), Some(0xff)]);
        assert_eq!([&b""[..], b"%", b"%4", b"%4g", b"%+4", b"a%41"].map(escape), [None; 6]);
    }
}
