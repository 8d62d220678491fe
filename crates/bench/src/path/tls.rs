//! TLS as a client: which servers it trusts, the agreed parameters, and the records of the measured loop.
//!
//! Sessions are not resumed: the C libraries that most programs use do not resume sessions either. So each connection
//! makes a whole handshake. [`crate::path::Link`] encrypts the bytes of a login; under load [`Seal`] does this.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, StreamOwned,
};

/// The TLS settings of connections: made once, used for every connection.
#[derive(Debug, Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    /// The server name that [`crate::path::Link`] requests.
    name: ServerName<'static>,
}

/// Which parts of a certificate are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    Authority,
    /// The authority, and the name in the certificate.
    AuthorityAndName,
}

/// The parameters that the two ends agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFacts {
    /// `TLSv1.3`.
    pub version: String,
    /// `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// Whether an earlier session made part of the handshake unnecessary.
    pub is_resumed: bool,
}

impl TlsClient {
    /// Makes a client that trusts servers with a certificate for 127.0.0.1 that this authority issued. `authority` is
    /// in DER.
    ///
    /// # Errors
    /// If `authority` is not a certificate.
    pub fn trusting(authority: &[u8]) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(authority.to_vec()))?;
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self::from_config(config))
    }

    /// Makes a client that trusts any server. For other people's servers: looptax does not know their certificates, and
    /// reaches these servers only on this machine.
    ///
    /// # Errors
    /// No case is known: the library's own settings fit together.
    pub fn trusting_anybody() -> Result<Self, Error> {
        let provider = provider();
        let anybody = Anybody(provider.signature_verification_algorithms);
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(anybody))
            .with_no_client_auth();
        Ok(Self::from_config(config))
    }

    /// Makes a client for a server on another machine. One of these authorities, which are in DER, must have issued the
    /// server's certificate. With [`Checked::AuthorityAndName`] the certificate must also be for `host`, which is a
    /// name or an IP address. Authorities that cannot be read are skipped.
    ///
    /// # Errors
    /// If `host` is not a name, or if no authority can be read.
    pub fn for_host(host: &str, authorities: &[Vec<u8>], checked: Checked) -> Result<Self, Error> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Error::General(format!("`{host}` is not the name of a machine")))?;
        let mut roots = RootCertStore::empty();
        let all = authorities.iter().map(|it| CertificateDer::from(&**it));
        let (n_read, _) = roots.add_parsable_certificates(all);
        if n_read == 0 {
            return Err(Error::General("looptax could not read any certificate authority".to_owned()));
        }
        let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
        let config = match checked {
            Checked::AuthorityAndName => builder.with_root_certificates(roots),
            Checked::Authority => {
                let nameless = Nameless(roots, provider().signature_verification_algorithms);
                builder.dangerous().with_custom_certificate_verifier(Arc::new(nameless))
            }
        };
        let config = config.with_no_client_auth();
        Ok(Self { name, ..Self::from_config(config) })
    }

    fn from_config(mut config: ClientConfig) -> Self {
        config.resumption = Resumption::disabled();
        Self {
            config: Arc::new(config),
            // Every arm leads to this machine, and the certificate is issued for its loopback address.
            name: IpAddr::from(Ipv4Addr::LOCALHOST).into(),
        }
    }

    /// Starts TLS over `stream` with the server `host`; the handshake happens with the first bytes.
    ///
    /// # Errors
    /// No case is known: the library's own settings fit together.
    pub(crate) fn stream<S: Read + Write>(
        &self,
        stream: S,
        host: &str,
    ) -> Result<StreamOwned<ClientConnection, S>, Error> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.unwrap_or_else(|_| IpAddr::from(Ipv4Addr::LOCALHOST).into());
        let connection = ClientConnection::new(Arc::clone(&self.config), name)?;
        Ok(StreamOwned::new(connection, stream))
    }

    /// Makes a TLS connection whose handshake has not begun.
    pub(crate) fn connection(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

impl TlsFacts {
    /// Returns the parameters of a connection whose handshake is over.
    pub(crate) fn from_connection(connection: &ClientConnection) -> Self {
        let word = |it: Option<String>| it.unwrap_or_else(|| "unknown".to_owned());
        let version = connection.protocol_version();
        let suite = connection.negotiated_cipher_suite();
        Self {
            version: word(version.and_then(|it| Some(it.as_str()?.replace('_', ".")))),
            cipher: word(suite.and_then(|it| Some(it.suite().as_str()?.to_owned()))),
            is_resumed: connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed),
        }
    }
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Accepts every certificate, but still checks that the server has the certificate's key.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, cert, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, cert, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// Accepts every certificate issued by a known authority, for any name.
#[derive(Debug)]
struct Nameless(RootCertStore, WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Nameless {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        verify_server_cert_signed_by_trust_anchor(&certificate, &self.0, intermediates, now, self.1.all)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, cert, signed, &self.1)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, cert, signed, &self.1)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.1.supported_schemes()
    }
}

/// Encrypts and decrypts the bytes of a connection under load, without access to the socket.
pub struct Seal(Box<ClientConnection>);

impl Seal {
    /// Makes a seal from the TLS state of a connection whose login is over.
    pub(crate) fn new(connection: Box<ClientConnection>) -> Self {
        Self(connection)
    }

    /// Encrypts `plain` and appends the records to `sealed`.
    ///
    /// # Errors
    /// No error while the connection is open; after that, the library's message.
    ///
    /// # Cost
    /// The library allocates for each record.
    pub fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> io::Result<()> {
        self.0.writer().write_all(plain)?;
        while self.0.wants_write() {
            self.0.write_tls(sealed)?;
        }
        Ok(())
    }

    /// Decrypts the records in `sealed` and appends their data to `plain`. The last record may continue in the next
    /// call.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] for bytes that are not a record, or a record that was changed on its way.
    pub fn open(&mut self, mut sealed: &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
        while !sealed.is_empty() {
            self.0.read_tls(&mut sealed)?;
            let state = self.0.process_new_packets().map_err(invalid)?;
            let n_ready = state.plaintext_bytes_to_read();
            if n_ready > 0 {
                let start = plain.len();
                plain.resize(start + n_ready, 0);
                self.0.reader().read_exact(&mut plain[start..])?;
            }
        }
        Ok(())
    }
}

pub(crate) fn invalid(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
