//! TLS as a client: what it trusts, what was agreed, and the records of the measured loop.
//!
//! No session is resumed: the C libraries under most programs do not either, so that each connection pays for a
//! whole handshake. [`crate::path::Link`] seals a login's bytes; under load [`Seal`] does.

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

/// How a connection is sealed: made once, used for every one.
#[derive(Debug, Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    /// The server name that [`crate::path::Link`] asks for.
    name: ServerName<'static>,
}

/// How much of a certificate is checked.
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
    /// Whether an earlier session spared part of the handshake.
    pub is_resumed: bool,
}

impl TlsClient {
    /// One that trusts servers with a certificate by this authority, in DER, made out to 127.0.0.1.
    ///
    /// # Errors
    /// If it is not a certificate.
    pub fn trusting(authority: &[u8]) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(authority.to_vec()))?;
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self::from_config(config))
    }

    /// A client that trusts any server: for servers of others, whose certificate looptax does not know, and which it
    /// reaches only on this machine.
    ///
    /// # Errors
    /// None that is known: the library's own settings fit one another.
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

    /// One for a server on another machine: its certificate has to be by one of these authorities, in DER, and, with
    /// [`Checked::AuthorityAndName`], made out to `host`, a name or an IP address. Authorities that cannot be read are
    /// passed over.
    ///
    /// # Errors
    /// A `host` that is not a name, or no authority that can be read.
    pub fn for_host(host: &str, authorities: &[Vec<u8>], checked: Checked) -> Result<Self, Error> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Error::General(format!("`{host}` is not the name of a machine")))?;
        let mut roots = RootCertStore::empty();
        let all = authorities.iter().map(|it| CertificateDer::from(&**it));
        let (n_read, _) = roots.add_parsable_certificates(all);
        if n_read == 0 {
            return Err(Error::General("no certificate authority could be read".to_owned()));
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
            // Every arm leads to this machine; the certificate is made out to its loopback address.
            name: IpAddr::from(Ipv4Addr::LOCALHOST).into(),
        }
    }

    /// Starts TLS over `stream` with the server `host`; the handshake happens with the first bytes.
    ///
    /// # Errors
    /// None that is known: the library's own settings fit one another.
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

    /// A conversation that has not begun.
    pub(crate) fn connection(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

impl TlsFacts {
    /// Of a conversation whose handshake is over.
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

/// Believes every certificate; that its owner has the key is checked all the same.
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

/// Believes every certificate by an authority that it knows, for any name.
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

/// The records of a connection under load: bytes in, bytes out, no socket.
pub struct Seal(Box<ClientConnection>);

impl Seal {
    /// Of a connection whose login is over.
    pub(crate) fn new(connection: Box<ClientConnection>) -> Self {
        Self(connection)
    }

    /// Writes `plain` as records at the end of `sealed`.
    ///
    /// # Errors
    /// None while the connection is open; the library's words otherwise.
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

    /// Reads the records in `sealed`, the last of which may go on in the next call, and writes what is in them at
    /// the end of `plain`.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] for what is not a record, or was changed on its way.
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
