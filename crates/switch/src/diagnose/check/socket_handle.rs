//! A socket's file, held open so that it is reached whatever rights a thread takes on afterwards.
//!
//! Called by `logins`.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use looptax_bench::path::Endpoint;
use looptax_host::discover::process;
use looptax_host::{Links, Walk};

use super::client::Client;

/// A socket's file, held open: it leads there whatever our rights and view are later, and however long
/// its path is.
pub(super) struct SocketHandle(OwnedFd);

impl SocketHandle {
    /// The socket at `path` as the client sees it, or as we do.
    ///
    /// # Errors
    /// What the kernel says of the path.
    pub(super) fn open(path: &Path, client: Option<&Client>) -> io::Result<Self> {
        let walked = match client.and_then(|client| client.pid).and_then(process) {
            Some(process) => process.view()?.walk_to(path)?,
            None => Walk::following(Links::All).to(path)?,
        };
        let last = walked.last.ok_or(io::ErrorKind::NotFound)?;
        Ok(Self(last.fd))
    }

    /// Where to connect, for as long as this lives.
    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.place().into())
    }

    /// An error's text with the socket's path in it, instead of ours.
    pub(super) fn named(&self, text: &str, path: &Path) -> String {
        text.replace(&self.place(), &path.to_string_lossy())
    }

    fn place(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }
}
