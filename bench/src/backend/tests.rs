//! What the backend is asked, and what it answers over a real connection.

use super::serving::{Serving, body};
use super::*;
use std::net::TcpStream;

#[test]
fn the_target_says_what_is_asked() {
    let ms = |ms| Duration::from_millis(ms);
    let usual = Ask::default;
    let table = [
        ("/product/list", usual()),
        ("/product/slow", Ask { delay: Delay::Default, ..usual() }),
        ("/product/slow?ms=7", Ask { delay: Delay::Exactly(ms(7)), ..usual() }),
        ("/product/list?bytes=100&tail=20", Ask { delay: Delay::HeavyTailed(ms(20)), bytes: Some(100), ..usual() }),
        ("/product/upload", Ask { upload: true, ..usual() }),
        ("/counters", Ask { counters: true, ..usual() }),
        ("/restart?seed=7", Ask { counters: true, seed: Some(7), ..usual() }),
        ("/product/list?seed=7", usual()),
        ("/product/counters?ms=x&y", usual()),
    ];
    for (target, expected) in table {
        assert_eq!(Ask::of(target), expected, "{target}");
    }
}

#[test]
fn a_request_is_answered_however_it_arrives() {
    let backend = Serving::start();
    let list = b"GET /product/list HTTP/1.1\r\nHost: b\r\n\r\n";
    assert_eq!(backend.ask(list, list.len()), answer::PRODUCTS);
    assert_eq!(backend.ask(list, 3), answer::PRODUCTS);
    let slow = b"GET /product/slow HTTP/1.1\r\nHost: b\r\n\r\n";
    assert_eq!(backend.ask(slow, slow.len()), answer::PRODUCTS);
    assert_eq!(backend.ask(b"GET /product/list?tail=1 HTTP/1.1\r\n\r\n", 100), answer::PRODUCTS);
    assert_eq!(backend.ask(b"GET /product/list?bytes=300000 HTTP/1.1\r\n\r\n", 100).len(), 300_000);
    let upload = b"POST /product/upload HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(backend.ask(upload, 7), "{\"octets\":5}");
    let chunked = b"POST /product/upload HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(backend.ask(chunked, 5), "{\"octets\":3}");
    // The counters' own connection is one of the eight; their request is none.
    let counters = backend.ask(b"GET /counters HTTP/1.1\r\n\r\n", 100);
    assert_eq!(counters, "requests 7\nconnections 8\noctets 8\n");
}

#[test]
fn a_connection_is_used_again() {
    let backend = Serving::start();
    let mut stream = TcpStream::connect(backend.address).expect("connected");
    for _ in 0..3 {
        stream.write_all(b"GET /product/list?ms=1&bytes=9 HTTP/1.1\r\n\r\n").expect("written");
        assert_eq!(body(&mut stream), "xxxxxxxxx");
    }
    assert_eq!(backend.ask(b"GET /counters HTTP/1.1\r\n\r\n", 100), "requests 3\nconnections 2\noctets 0\n");
}

#[test]
fn heavy_tailed_delays_begin_anew_with_a_seed() {
    let mut delays = Delays { usual: Duration::ZERO, random: Random::new(1) };
    let drawn = |seed: Option<u64>| -> Vec<Duration> {
        if let Some(seed) = seed {
            assert_eq!(delays.of(&Ask::of(&format!("/restart?seed={seed}"))), Duration::ZERO);
        }
        (0..9).map(|_| delays.of(&Ask::of("/product/list?tail=20"))).collect()
    };
    let [first, later, again, other] = [None, None, Some(1), Some(2)].map(drawn);
    assert_eq!(first, again);
    assert!(first != later && first != other);
}

#[test]
fn a_backend_begins_anew_and_counts_no_request_for_it() {
    let backend = Serving::start();
    assert_eq!(backend.ask(b"GET /restart?seed=7 HTTP/1.1\r\n\r\n", 100), "requests 0\nconnections 1\noctets 0\n");
}
