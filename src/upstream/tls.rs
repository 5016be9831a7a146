//! TLS towards upstreams: whom the gateway trusts, and one session over a [`Socket`].
//!
//! Upstreams are verified against the system's roots and their configured host name, which is also the SNI; only url routes can be told
//! to trust everybody. One client configuration serves all threads, so that sessions are resumed. ALPN offers HTTP/1.1 alone.

use super::tcp::{Patience, Socket};
use crate::deadline::Deadline;
use rustix::event::PollFlags;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Whom the gateway trusts, for all upstreams.
#[derive(Clone, Debug)]
pub struct TlsContext {
    verifying: Arc<ClientConfig>,
    trusting: Arc<ClientConfig>,
}

impl TlsContext {
    /// Trusts the system's roots (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others), or Mozilla's when the system has none.
    ///
    /// # Errors
    /// A message when the cryptography cannot be set up.
    pub fn new() -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        for fault in &found.errors {
            log::warn!("system roots: {fault}");
        }
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            log::info!("the system has no root certificates: trusting Mozilla's");
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        Self::with_roots(roots)
    }

    /// Trusts these roots alone.
    ///
    /// # Errors
    /// A message when the cryptography cannot be set up.
    pub fn with_roots(roots: RootCertStore) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = |provider: &Arc<CryptoProvider>| {
            ClientConfig::builder_with_provider(provider.clone())
                .with_safe_default_protocol_versions()
                .map_err(|error| format!("TLS: {error}"))
        };
        let trust_all = Arc::new(TrustAll(provider.signature_verification_algorithms));
        let mut verifying = builder(&provider)?.with_root_certificates(roots).with_no_client_auth();
        let mut trusting =
            builder(&provider)?.dangerous().with_custom_certificate_verifier(trust_all).with_no_client_auth();
        for config in [&mut verifying, &mut trusting] {
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
        }
        Ok(Self { verifying: Arc::new(verifying), trusting: Arc::new(trusting) })
    }

    /// How to speak to `host`.
    pub(super) fn peer(&self, host: &str, verify: bool) -> Result<TlsPeer, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| format!("{host} is no name for TLS"))?;
        let config = if verify { &self.verifying } else { &self.trusting };
        Ok(TlsPeer { config: config.clone(), name })
    }
}

/// Whom a session is made with.
#[derive(Clone, Debug)]
pub(super) struct TlsPeer {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// One TLS session. Its socket is lent for each call.
pub(super) struct Session(ClientConnection);

impl Session {
    /// Shakes hands.
    pub(super) fn begin(peer: &TlsPeer, socket: &Socket, by: Deadline, patience: &mut Patience) -> io::Result<Self> {
        let mut session = ClientConnection::new(peer.config.clone(), peer.name.clone()).map_err(io::Error::other)?;
        let mut pipe = Waiting { socket, by, patience };
        while session.is_handshaking() {
            if session.complete_io(&mut pipe)? == (0, 0) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(Self(session))
    }

    /// Takes octets to send, as many as it has room for; what was taken before goes out first.
    pub(super) fn send_now(&mut self, socket: &Socket, octets: &[u8]) -> io::Result<usize> {
        self.flush_now(socket)?;
        let taken = self.0.writer().write(octets)?;
        match self.flush_now(socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Sends what was taken.
    pub(super) fn flush_now(&mut self, socket: &Socket) -> io::Result<()> {
        while self.0.wants_write() {
            self.0.write_tls(&mut AtOnce(socket))?;
        }
        Ok(())
    }

    /// Receives what is there; 0 is the announced end, [`io::ErrorKind::UnexpectedEof`] one that was not announced.
    pub(super) fn receive_now(&mut self, socket: &Socket, into: &mut [u8]) -> io::Result<usize> {
        self.pull(&mut AtOnce(socket), socket, into)
    }

    /// The same, waiting until `by`.
    pub(super) fn receive(&mut self, into: &mut [u8], pipe: &mut Waiting<'_>) -> io::Result<usize> {
        let socket = pipe.socket;
        self.pull(pipe, socket, into)
    }

    /// Whether nothing came since but what TLS keeps to itself, such as tickets.
    pub(super) fn is_quiet(&mut self, socket: &Socket) -> bool {
        matches!(self.receive_now(socket, &mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    fn pull(&mut self, pipe: &mut dyn Read, socket: &Socket, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            self.0.read_tls(pipe)?;
            self.0.process_new_packets().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            // Alerts and key updates; when they do not fit now they go out with the next octets.
            let _ = self.flush_now(socket);
        }
    }
}

/// The socket as rustls reads and writes it, waiting.
pub(super) struct Waiting<'a> {
    pub(super) socket: &'a Socket,
    pub(super) by: Deadline,
    pub(super) patience: &'a mut Patience,
}

impl Read for Waiting<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.receive(into, self.by, self.patience)
    }
}

impl Write for Waiting<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        loop {
            match self.socket.send_now(octets) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.socket.wait(PollFlags::OUT, self.by)?;
                }
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The socket as rustls reads and writes it, without waiting.
struct AtOnce<'a>(&'a Socket);

impl Read for AtOnce<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.receive_now(into)
    }
}

impl Write for AtOnce<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.send_now(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Accepts every certificate, but only from who holds its key.
#[derive(Debug)]
struct TrustAll(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for TrustAll {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
