//! Where servers are: urls of url routes, and the entries of `listOfServers`.
//!
//! Pure: text in, address or a sentence out.

use crate::config::model::{Scheme, ServerAddress};

/// A url, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) server: ServerAddress,
    /// Without a trailing slash, or empty.
    pub(super) path: String,
    /// What a url route has no use for, as a warning.
    pub(super) left_out: Option<&'static str>,
}

/// Takes an `http:` or `https:` url apart.
pub(super) fn url(text: &str) -> Result<Url, String> {
    let (scheme, rest) = scheme(text).ok_or("a url begins with http:// or https://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let (user, authority) = authority.rsplit_once('@').map_or(("", authority), |(user, host)| (user, host));
    let path_end = rest.find(['?', '#']).unwrap_or(rest.len());
    let path = rest[..path_end].trim_end_matches('/');
    if path.bytes().any(|octet| octet <= b' ' || octet >= 0x7f || b"\"<>\\^`{|}".contains(&octet)) {
        return Err("the path of a url must be percent-encoded".into());
    }
    let left_out = match (user.is_empty(), &rest[path_end..]) {
        (false, _) => Some("the user information of the url is left out"),
        (true, "") => None,
        (true, _) => Some("the query and fragment of the url are left out, as in Zuul"),
    };
    Ok(Url { server: host_and_port(authority, scheme)?, path: path.into(), left_out })
}

/// One entry of `listOfServers`: `host[:port]`, perhaps with a scheme; what follows is dropped, as Ribbon does. Without a scheme, `secure`
/// decides, and where it is unset the port (443 and 8443 are TLS).
pub(super) fn server(text: &str, secure: Option<bool>) -> Result<ServerAddress, String> {
    let (given, rest) = match scheme(text) {
        Some((scheme, rest)) => (Some(scheme), rest),
        None if text.contains("://") => return Err("only http:// and https:// can stand before a server".into()),
        None => (None, text),
    };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let assumed = match secure {
        Some(true) => Scheme::Https,
        _ => Scheme::Http,
    };
    let mut server = host_and_port(authority, given.unwrap_or(assumed))?;
    if given.is_none() && secure.is_none() && matches!(server.port, 443 | 8443) {
        server.scheme = Scheme::Https;
    }
    Ok(server)
}

fn scheme(text: &str) -> Option<(Scheme, &str)> {
    let (name, rest) = text.split_once("://")?;
    match name.to_lowercase().as_str() {
        "http" => Some((Scheme::Http, rest)),
        "https" => Some((Scheme::Https, rest)),
        _ => None,
    }
}

fn host_and_port(authority: &str, scheme: Scheme) -> Result<ServerAddress, String> {
    let default = match scheme {
        Scheme::Http => 80,
        Scheme::Https => 443,
    };
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("the bracket of an IPv6 address does not close")?;
            host.parse::<std::net::Ipv6Addr>().map_err(|_| format!("[{host}] is no IPv6 address"))?;
            (host, after)
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_name = |octet: u8| octet.is_ascii_alphanumeric() || b"-._".contains(&octet);
    if host.is_empty() {
        return Err("the host is missing".into());
    }
    if !authority.starts_with('[') && !host.bytes().all(is_name) {
        return Err(format!("{host:?} is no host name"));
    }
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => default,
        Some("") => default,
        Some(digits) => digits
            .parse()
            .ok()
            .filter(|&port: &u16| port > 0 && digits.bytes().all(|octet| octet.is_ascii_digit()))
            .ok_or_else(|| format!("{digits:?} is no port (an IPv6 address stands in brackets)"))?,
        None => return Err(format!("{port:?} can't follow an address")),
    };
    Ok(ServerAddress { scheme, host: host.to_string(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        #[track_caller]
        fn check(text: &str, server: &str, scheme: Scheme, path: &str) {
            let url = url(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(
                (url.server.authority().as_str(), url.server.scheme, url.path.as_str()),
                (server, scheme, path),
                "{text}"
            );
        }
        check("http://h", "h", Scheme::Http, "");
        check("HTTP://h:81/", "h:81", Scheme::Http, "");
        check("https://h/base/", "h", Scheme::Https, "/base");
        check("http://h/a/b%20c?x=1#y", "h", Scheme::Http, "/a/b%20c");
        check("http://[::1]:9000/x", "[::1]:9000", Scheme::Http, "/x");
        check("http://u:p@h:5/x", "h:5", Scheme::Http, "/x");
        check("http://127.0.0.1:9001", "127.0.0.1:9001", Scheme::Http, "");
        assert!(url("http://h?x").is_ok_and(|url| url.left_out.is_some_and(|text| text.contains("query"))));
        assert!(url("http://u@h").is_ok_and(|url| url.left_out.is_some_and(|text| text.contains("user"))));
        assert_eq!(url("http://h/x").map(|url| url.left_out), Ok(None));
        for wrong in [
            "h:80",
            "ftp://h",
            "http://",
            "http:///x",
            "http://h:0",
            "http://h:70000",
            "http://h:x",
            "http://a b/",
            "http://h/a b",
            "http://::1/",
            "http://[x]/",
        ] {
            assert!(url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn servers_of_a_list_have_a_scheme_and_a_port() {
        use Scheme::{Http, Https};
        let table = [
            ("h", None, Http, 80),
            ("h:9000", None, Http, 9000),
            ("h:443", None, Https, 443),
            ("h:8443", None, Https, 8443),
            ("h:8443", Some(false), Http, 8443),
            ("h:9000", Some(true), Https, 9000),
            ("h", Some(true), Https, 443),
            ("https://h", None, Https, 443),
            ("https://h:9000/path", None, Https, 9000),
            ("http://h:443", None, Http, 443),
            ("h:9000/path", None, Http, 9000),
            ("[::1]:9000", None, Http, 9000),
        ];
        for (text, secure, scheme, port) in table {
            let server = server(text, secure).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!((server.scheme, server.port), (scheme, port), "{text}");
        }
        for wrong in ["", ":80", "h:port", "::1", "lb://h"] {
            assert!(server(wrong, None).is_err(), "{wrong}");
        }
    }
}
