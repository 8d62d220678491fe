//! Errors of requests to the kernel.

use std::io;

/// The kernel did not answer a request.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    #[error("cannot list the {family} sockets of this network namespace")]
    SockDiag {
        /// The kind of sockets: `TCP` or `Unix`.
        family: &'static str,
        source: io::Error,
    },
    #[error("cannot enter the network namespace of process {pid}")]
    Namespace { pid: u32, source: io::Error },
}

impl DiscoverError {
    /// Whether the process whose namespace was needed has ended in the meantime.
    pub(crate) fn is_of_ended_process(&self) -> bool {
        matches!(self, Self::Namespace { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}
