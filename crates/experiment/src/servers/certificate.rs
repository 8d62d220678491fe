//! A certificate authority for one run, and a server certificate signed by it; both are discarded after the run.
//!
//! The keys are P-256, which servers and clients of all kinds support. The authority's own key is never written to a
//! file.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use crate::servers::ServerError;
use crate::servers::scratch::Scratch;

/// The file with the authority's certificate, in PEM, which clients must trust.
pub(crate) const AUTHORITY: &str = "ca.pem";
pub(crate) const CERTIFICATE: &str = "server.pem";
pub(crate) const KEY: &str = "server.key";

/// The names in the certificate. The addresses are those on which arms reach the server.
const NAMES: [&str; 5] = ["localhost", "127.0.0.1", "::1", "10.77.0.2", "10.78.0.2"];

/// Writes the authority's certificate, the server's certificate and its key into the server's part of the scratch
/// folder.
///
/// Returns the authority's certificate in DER.
pub(crate) fn write(scratch: &Scratch) -> Result<Vec<u8>, ServerError> {
    let made = make().map_err(|source| ServerError::Certificate { source })?;
    scratch.write(AUTHORITY, &made.authority_pem)?;
    scratch.write(CERTIFICATE, &made.certificate_pem)?;
    scratch.write(KEY, &made.key_pem)?;
    Ok(made.authority_der)
}

struct Made {
    authority_der: Vec<u8>,
    authority_pem: String,
    certificate_pem: String,
    key_pem: String,
}

fn make() -> Result<Made, rcgen::Error> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let name = &mut authority.distinguished_name;
    name.push(DnType::CommonName, "looptax, for one run");
    let authority_key = KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority, authority_key);

    let mut server = CertificateParams::new(NAMES.map(str::to_owned))?;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let name = &mut server.distinguished_name;
    name.push(DnType::CommonName, "localhost");
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &issuer)?;
    Ok(Made {
        authority_der: authority_certificate.der().to_vec(),
        authority_pem: authority_certificate.pem(),
        certificate_pem: certificate.pem(),
        key_pem: key.serialize_pem(),
    })
}
