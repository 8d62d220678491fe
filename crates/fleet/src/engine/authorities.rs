//! The trusted certificate authorities, from a given file or from the system's file.

use std::path::{Path, PathBuf};

use looptax_host::read as file;

use crate::FleetError;

/// The files in which systems keep their trusted authorities.
///
/// # Source
/// Debian, Alpine: package ca-certificates; Fedora and related systems: update-ca-trust(8); openSUSE:
/// update-ca-certificates(8).
const OF_SYSTEMS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/var/lib/ca-certificates/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Maximum size of such a file in bytes; the size of a system's file is a quarter of a megabyte.
const MOST_BYTES: u64 = 16 << 20;

/// Reads the authorities, in DER.
///
/// # Errors
/// [`FleetError::Authority`] if there is no such file, or if it contains no certificate.
pub(super) fn read(named: Option<&Path>) -> Result<Vec<Vec<u8>>, FleetError> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => of_system()?,
    };
    let failed = |what: String| FleetError::Authority { path: path.clone(), what };
    let text = file::read(&path, MOST_BYTES).map_err(|error| failed(error.to_string()))?;
    let parts = pem::parse_many(text).map_err(|error| failed(error.to_string()))?;
    let certificates = parts.into_iter().filter(|part| part.tag() == "CERTIFICATE");
    let found: Vec<Vec<u8>> = certificates.map(pem::Pem::into_contents).collect();
    if found.is_empty() {
        return Err(failed("the file contains no certificate".to_owned()));
    }
    Ok(found)
}

fn of_system() -> Result<PathBuf, FleetError> {
    let mut all = OF_SYSTEMS.iter().map(PathBuf::from);
    all.find(|it| file::is_file(it)).ok_or_else(|| FleetError::Authority {
        path: PathBuf::from(OF_SYSTEMS[0]),
        what: "the system has no list of certificate authorities in any of the usual places".to_owned(),
    })
}
