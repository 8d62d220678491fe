//! A socket's file, held open so that a thread can connect to the socket after the thread has taken on another user's
//! rights.
//!
//! Called by `logins`.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use looptax_bench::path::Endpoint;
use looptax_host::discover::process;
use looptax_host::{Links, Walk};

use super::client::Client;

pub(super) enum SocketHandle {
    /// The socket's file; its path may have any length.
    File(OwnedFd),
    /// An abstract name, which has no access rights.
    Abstract(Vec<u8>),
}

impl SocketHandle {
    /// Opens the socket at `path` as the client sees it; without a client, as looptax sees it.
    ///
    /// # Errors
    /// The kernel's error if it cannot open the path.
    pub(super) fn open(path: &Path, client: Option<&Client>) -> io::Result<Self> {
        if let Some(name) = abstract_name(path) {
            return Ok(Self::Abstract(name.to_owned()));
        }
        let walked = match client.and_then(|client| client.pid).and_then(process) {
            Some(process) => process.view()?.walk_to(path)?,
            None => Walk::following(Links::All).to(path)?,
        };
        let last = walked.last.ok_or(io::ErrorKind::NotFound)?;
        Ok(Self::File(last.fd))
    }

    /// Returns the endpoint to connect to; the endpoint is valid only while this value exists.
    pub(super) fn endpoint(&self) -> Endpoint {
        match self {
            Self::File(file) => Endpoint::Unix(place(file).into()),
            Self::Abstract(name) => Endpoint::Abstract(name.clone()),
        }
    }

    /// Puts the socket's path into an error text, in place of the path `/proc/self/fd/…` that looptax used.
    pub(super) fn named(&self, text: &str, path: &Path) -> String {
        match self {
            Self::File(file) => text.replace(&place(file), &path.to_string_lossy()),
            Self::Abstract(_) => text.to_owned(),
        }
    }
}

fn place(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Returns the name of an abstract socket, without its first byte, from a path that begins with `@`. The first byte of
/// the name is zero, and people write `@` for it.
pub(super) fn abstract_name(path: &Path) -> Option<&[u8]> {
    path.as_os_str().as_bytes().strip_prefix(b"@")
}
