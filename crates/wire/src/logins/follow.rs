//! The trait with which each protocol follows the bytes of a connection, and the function that hides a secret. Called
//! by `logins` and the protocols in it.

/// The byte that replaces each secret byte.
const HIDDEN: u8 = b'*';

/// The program that sent some bytes: the client or the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    Client,
    Server,
}

/// The error for bytes that do not belong to the protocol, or whose position in the protocol is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unknown;

/// How a connection continues after the bytes that were processed so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    Plain,
    /// With TLS or another encryption: later bytes can only be read with the connection's keys.
    Encrypted,
    /// With compression: later bytes cannot be read by looptax.
    Opaque,
}

/// Follows one connection of one protocol.
pub(super) trait Follow: Send {
    /// Hides the secrets in `bytes`, and adds the number of hidden bytes to `n_hidden`.
    fn feed(&mut self, sender: Sender, bytes: &mut [u8], n_hidden: &mut u64) -> Result<(), Unknown>;

    /// Skips bytes that were not seen; returns false if the meaning of the bytes after them is not known.
    fn skip(&mut self, sender: Sender, n: u64) -> bool;

    /// Returns whether this sender's last message has ended and its next message has not begun.
    fn is_between(&self, sender: Sender) -> bool;

    fn course(&self) -> Course;
}

/// Overwrites a secret, and adds its length to `n_hidden`.
pub(super) fn hide(bytes: &mut [u8], n_hidden: &mut u64) {
    bytes.fill(HIDDEN);
    *n_hidden += bytes.len() as u64;
}
