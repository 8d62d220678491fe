//! Where connections come from: a trait that the command line fulfils.

use std::error::Error;
use std::os::fd::OwnedFd;

use looptax_stats::Side;
use looptax_wire::Codec;

/// Who serves a connection inside the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Worker {
    /// The process, for its CPU clock.
    pub pid: u32,
    /// The thread (for a process per connection: the same number), for pinning.
    pub tid: u32,
}

/// A proved connection, logged in and prepared, ready for load.
pub struct Wired {
    /// The socket.
    pub fd: OwnedFd,
    /// Requests and replies.
    pub codec: Box<dyn Codec>,
    /// Who serves it, where known.
    pub worker: Option<Worker>,
    /// Whether we may pin the worker.
    pub may_pin: bool,
}

/// Opens connections for an epoch.
pub trait Connector {
    /// Opens `n` connections for each side of contrast `contrast_idx`, those of `first` before the
    /// others', and proves every one of them. `coins` are random bits of this epoch, for whatever else
    /// chance has to decide about its connections.
    ///
    /// # Errors
    /// Whatever kept a connection from being opened or proved; the run ends with it.
    fn connect(
        &mut self,
        contrast_idx: usize,
        first: Side,
        coins: u64,
        n: usize,
    ) -> Result<[Vec<Wired>; 2], Box<dyn Error + Send + Sync>>;
}
