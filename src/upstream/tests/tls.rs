//! https upstreams: names, trust, and what TLS hides from the socket (CONN-19, CONN-20).

use super::*;
use crate::cancel::Cancel;
use crate::client::BodyLength;
use crate::config::model::{Scheme, ServerAddress};
use crate::upstream::testing::backend;
use crate::upstream::{ConnectionLimit, Pace, ResolverTable, TlsContext};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{HandshakeKind, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// An authority of the tests, and one certificate by it.
struct Trust {
    roots: RootCertStore,
    config: Arc<ServerConfig>,
}

fn trust(name: &str) -> Trust {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(certificate)],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Trust { roots, config: Arc::new(config) }
}

/// A TLS origin that plays `script` on each connection and tells the SNI of each.
fn origin(
    config: Arc<ServerConfig>,
    script: impl Fn(&mut TlsStream) + Send + Sync + 'static,
) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = channel();
    let script = Arc::new(script);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (script, tell, config) = (script.clone(), tell.clone(), config.clone());
            std::thread::spawn(move || {
                let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), stream.unwrap());
                while tls.conn.is_handshaking() {
                    if tls.conn.complete_io(&mut tls.sock).is_err() {
                        return;
                    }
                }
                let _ = tell.send(tls.conn.server_name().unwrap_or_default().to_owned());
                script(&mut tls);
            });
        }
    });
    (port, told)
}

fn head(tls: &mut TlsStream) -> Option<String> {
    let (mut head, mut octet) = (String::new(), [0]);
    while !head.ends_with("\r\n\r\n") {
        match tls.read(&mut octet) {
            Ok(1) => head.push(char::from(octet[0])),
            _ => return None,
        }
    }
    Some(head)
}

fn answering(tls: &mut TlsStream) {
    while head(tls).is_some() {
        tls.write_all(OK.as_bytes()).unwrap();
    }
}

fn https(roots: RootCertStore, host: &str, port: u16, verify: bool) -> Arc<Server> {
    let loopback: IpAddr = [127, 0, 0, 1].into();
    let table = ResolverTable::with_look_up(Box::new(move |_: &str| Ok(vec![loopback])), Pace::default()).unwrap();
    let address = ServerAddress { scheme: Scheme::Https, host: host.into(), port };
    let mut backend = backend(5);
    backend.verify_tls = verify;
    Server::new(&backend, &address, ConnectionLimit::new(9), &table, &TlsContext::with_roots(roots).unwrap())
}

#[test]
fn the_configured_name_is_sent_and_verified_whatever_host_is_forwarded() {
    let trust = trust("int.test");
    let (port, names) = origin(trust.config, answering);
    let server = https(trust.roots, "int.test", port, true);
    for attempt in 0..3 {
        let answer = call(&server, request("GET", "/", &[("host", "shop.test")]), &mut TestClient::silent()).unwrap();
        assert_eq!(answer.marks.reused, attempt > 0);
        assert_eq!(whole(Ok(answer)), (200, "hello".into()));
    }
    assert_eq!(names.recv().unwrap(), "int.test");
    is_idle(&server, 1);
}

#[test]
fn a_certificate_is_refused_unless_it_is_trusted_and_names_the_server() {
    let own = trust("int.test");
    let (port, _names) = origin(own.config.clone(), answering);
    fails(get(&https(own.roots.clone(), "other.test", port, true)), Reason::ConnectFailed, "TLS");
    fails(get(&https(trust("int.test").roots, "int.test", port, true)), Reason::ConnectFailed, "TLS");
    fails(get(&https(own.roots.clone(), "127.0.0.1", port, true)), Reason::ConnectFailed, "TLS");
    fails(get(&https(own.roots, "no name", port, true)), Reason::ConnectFailed, "no");
}

#[test]
fn without_verification_every_certificate_will_do() {
    let own = trust("int.test");
    let (port, _names) = origin(own.config, answering);
    for host in ["other.test", "127.0.0.1"] {
        let server = https(RootCertStore::empty(), host, port, false);
        assert_eq!(whole(get(&server)), (200, "hello".into()), "{host}");
        is_idle(&server, 1);
    }
}

#[test]
fn a_server_that_does_not_speak_tls_is_a_failed_connect() {
    let plain = Origin::start(|_, peer| peer.send("HTTP/1.1 400 Bad\r\n\r\n"));
    let server = https(trust("int.test").roots, "int.test", plain.address.port(), true);
    fails(get(&server), Reason::ConnectFailed, "TLS");
    is_idle(&server, 0);
}

#[test]
fn the_handshake_has_the_connect_budget() {
    let silent = Origin::start(|_, peer| while peer.body(1).len() == 1 {});
    let server = https(trust("int.test").roots, "int.test", silent.address.port(), true);
    let mut limits = limits();
    limits.connect_timeout = std::time::Duration::from_millis(100);
    let outcome = get_within(&server, &limits, &Cancel::default());
    fails(outcome, Reason::ConnectTimeout, "TLS handshake");
    is_idle(&server, 0);
}

#[test]
fn session_tickets_are_no_early_answer_and_no_dirt() {
    // With TLS 1.3 the tickets come after the handshake: they make the socket readable while the client is waited for.
    let trust = trust("int.test");
    let (port, _names) = origin(trust.config, |tls| {
        while head(tls).is_some() {
            let mut body = [0; 3];
            tls.read_exact(&mut body).unwrap();
            assert_eq!(&body, b"abc");
            tls.write_all(OK.as_bytes()).unwrap();
        }
    });
    let server = https(trust.roots, "int.test", port, true);
    for attempt in 0..2 {
        let steps = [Step::Pause, Step::Data(b"a"), Step::Pause, Step::Data(b"bc")];
        let mut client = TestClient::new(BodyLength::Exactly(3), steps);
        let answer = call(&server, request("POST", "/", &[]), &mut client).unwrap();
        assert_eq!(answer.marks.reused, attempt > 0);
        assert_eq!(whole(Ok(answer)), (200, "hello".into()));
        is_idle(&server, 1);
    }
}

#[test]
fn an_early_answer_over_tls_is_delivered() {
    let trust = trust("int.test");
    let (port, _names) = origin(trust.config, |tls| {
        head(tls);
        tls.read_exact(&mut [0; 1000]).unwrap();
        tls.write_all(b"HTTP/1.1 413 Big\r\nContent-Length: 3\r\n\r\nbig").unwrap();
        while matches!(tls.read(&mut [0; 1000]), Ok(1..)) {}
    });
    let server = https(trust.roots, "int.test", port, true);
    let mut client = TestClient::new(BodyLength::Chunked, [Step::Fill(1000), Step::UntilAnswer]);
    // Tickets wake it too: as long as it is no answer, the client is asked again.
    let answer = call(&server, request("POST", "/", &[]), &mut client);
    assert_eq!(whole(answer), (413, "big".into()));
    is_idle(&server, 0);
    let mut client = TestClient::new(BodyLength::Exactly(50_000_000), [Step::Fill(50_000_000)]);
    assert_eq!(whole(call(&server, request("POST", "/", &[]), &mut client)), (413, "big".into()));
}

#[test]
fn a_body_until_close_needs_the_announcement_of_its_end() {
    for announced in [true, false] {
        let trust = trust("int.test");
        let (port, _names) = origin(trust.config, move |tls| {
            head(tls);
            tls.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
            if announced {
                tls.conn.send_close_notify();
                tls.flush().unwrap();
            }
        });
        let server = https(trust.roots, "int.test", port, true);
        let mut answer = get(&server).unwrap();
        match announced {
            true => assert_eq!(drain(&mut answer).unwrap(), "hello"),
            false => drop(fails(drain(&mut answer), Reason::UpstreamAborted, "body")),
        }
    }
}

#[test]
fn a_tls_connection_closed_while_idle_is_not_used_again() {
    let trust = trust("int.test");
    let (port, names) = origin(trust.config, |tls| {
        head(tls);
        tls.write_all(OK.as_bytes()).unwrap();
        tls.conn.send_close_notify();
        tls.flush().unwrap();
        let _ = tls.sock.shutdown(std::net::Shutdown::Write);
    });
    let server = https(trust.roots, "int.test", port, true);
    for _ in 0..3 {
        let answer = get(&server).unwrap();
        assert!(!answer.marks.reused || answer.marks.attempts == 2);
        assert_eq!(whole(Ok(answer)).1, "hello");
    }
    drop(server);
    assert_eq!(names.iter().take(3).count(), 3);
}

#[test]
fn sessions_are_resumed_by_whichever_thread_connects_next() {
    let trust = trust("int.test");
    let (tell, told) = channel();
    let tell = std::sync::Mutex::new(tell);
    let (port, _names) = origin(trust.config, move |tls| {
        head(tls);
        tell.lock().unwrap().send(tls.conn.handshake_kind()).unwrap();
        tls.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    let server = https(trust.roots, "int.test", port, true);
    for expected in [HandshakeKind::Full, HandshakeKind::Resumed] {
        let server = server.clone();
        std::thread::spawn(move || get(&server).unwrap()).join().unwrap();
        assert_eq!(told.recv().unwrap(), Some(expected));
    }
}

#[test]
fn a_large_body_passes_over_tls() {
    let trust = trust("int.test");
    let (port, _names) = origin(trust.config, |tls| {
        head(tls);
        let mut body = vec![0; 2_000_000];
        tls.read_exact(&mut body).unwrap();
        tls.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n").unwrap();
        tls.write_all(&body).unwrap();
    });
    let server = https(trust.roots, "int.test", port, true);
    let mut client = TestClient::new(BodyLength::Exactly(2_000_000), [Step::Fill(2_000_000)]);
    let answer = call(&server, request("POST", "/", &[]), &mut client);
    assert_eq!(whole(answer).1, "x".repeat(2_000_000));
}

#[test]
fn the_systems_roots_can_be_had() {
    assert!(TlsContext::new().is_ok());
}
