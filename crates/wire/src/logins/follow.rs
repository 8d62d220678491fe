//! The interface of each protocol's follower, and how a secret is hidden. Called by `logins` and the protocols in it.

/// Replaces each secret byte.
const HIDDEN: u8 = b'*';

/// Which end of a connection sent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    Client,
    Server,
}

/// The bytes are not of the protocol, or in a place that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unknown;

/// How a connection goes on after what was fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    Plain,
    /// TLS, or another encryption: what follows cannot be read by anybody without its keys.
    Encrypted,
    /// Compressed: what follows cannot be read here.
    Opaque,
}

/// One protocol, one connection.
pub(super) trait Follow: Send {
    /// Hides the secrets in `bytes`; adds their number to `n_hidden`.
    fn feed(&mut self, sender: Sender, bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown>;

    /// Bytes that were not seen. False if what follows them is not known.
    fn skip(&mut self, sender: Sender, n: u64) -> bool;

    /// Whether a message of this sender has ended and none has begun.
    fn is_between(&self, sender: Sender) -> bool;

    fn course(&self) -> Course;
}

/// Overwrites a secret.
pub(super) fn hide(bytes: &mut [u8], n_hidden: &mut u64) {
    bytes.fill(HIDDEN);
    *n_hidden += bytes.len() as u64;
}
