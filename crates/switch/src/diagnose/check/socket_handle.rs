//! A socket's file, held open so that it is reached whatever rights a thread takes on afterwards.
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

/// A socket, held so that it is reached whatever our rights and view are later.
pub(super) enum SocketHandle {
    /// Its file, however long the path is.
    File(OwnedFd),
    /// An abstract name, which has no rights.
    Abstract(Vec<u8>),
}

impl SocketHandle {
    /// The socket at `path` as the client sees it, or as we do.
    ///
    /// # Errors
    /// If the kernel cannot open the path: its error.
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

    /// The endpoint to connect to, as long as this lives.
    pub(super) fn endpoint(&self) -> Endpoint {
        match self {
            Self::File(file) => Endpoint::Unix(place(file).into()),
            Self::Abstract(name) => Endpoint::Abstract(name.clone()),
        }
    }

    /// An error's text with the socket's path in it, instead of ours.
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

/// The name of an abstract socket, which is written with `@` in the place of the zero byte before it.
pub(super) fn abstract_name(path: &Path) -> Option<&[u8]> {
    path.as_os_str().as_bytes().strip_prefix(b"@")
}
