//! The arm `sockmap` of one target: what is spliced, and how much of it was.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use looptax_path::{OwnCgroup, Sockmap, SockmapError};

/// More messages than this, of a hundred, that went as plain TCP make it another arm.
const MOST_PLAIN_PCT: u64 = 1;

/// Splices the connections to one target's addresses.
pub(super) struct Spliced {
    sockmap: Sockmap,
    /// At the last check.
    n_checked: AtomicU64,
}

/// The arm's messages were not spliced.
#[derive(Debug, thiserror::Error)]
pub enum NotSpliced {
    /// Too few, or none.
    #[error(
        "of the messages of arm `sockmap` {n_redirected} were handed over in the kernel and {n_plain} went as plain TCP"
    )]
    Plain {
        /// Handed over.
        n_redirected: u64,
        /// Sent as usual.
        n_plain: u64,
    },
    /// The counts cannot be read.
    #[error(transparent)]
    Kernel(#[from] SockmapError),
}

impl Spliced {
    /// From now on splices what connects to these addresses.
    pub(super) fn start(
        cgroup: &OwnCgroup,
        addresses: impl Iterator<Item = SocketAddr>,
    ) -> Result<Self, SockmapError> {
        let sockmap = Sockmap::start(cgroup)?;
        for address in addresses {
            if let SocketAddr::V4(address) = address {
                sockmap.splice(address)?;
            }
        }
        Ok(Self {
            sockmap,
            n_checked: AtomicU64::new(0),
        })
    }

    /// Messages handed over so far.
    pub(super) fn n_redirected(&self) -> Result<u64, SockmapError> {
        Ok(self.sockmap.counts()?.n_redirected)
    }

    /// Whether there were some since the last check, and nearly all of them so far were handed over.
    ///
    /// # Errors
    /// [`NotSpliced`].
    pub(super) fn check(&self) -> Result<(), NotSpliced> {
        let counts = self.sockmap.counts()?;
        let (n_redirected, n_plain) = (counts.n_redirected, counts.n_plain);
        let n_before = self.n_checked.swap(n_redirected, Ordering::Relaxed);
        if n_redirected == n_before || 100 * n_plain > MOST_PLAIN_PCT * n_redirected {
            return Err(NotSpliced::Plain {
                n_redirected: n_redirected - n_before,
                n_plain,
            });
        }
        Ok(())
    }
}
