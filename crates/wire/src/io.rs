//! The only functions with which a connection reads and writes during set-up. Each function does its whole task or
//! returns a clear error.
//!
//! This is the only file that converts an `io::Error` into a [`WireError`]: an exceeded time limit becomes `Timeout`, a
//! connection that the peer has closed becomes `Closed`. The measured loop has its own I/O and does not use this file.
//! Called by the connections of every protocol.

use std::io::{self, Read, Write};
use std::time::Duration;

use crate::WireError;

/// Fills `buf`. `limit` is the stream's own time limit, only for error messages.
pub(crate) fn read_exact(
    stream: &mut impl Read,
    buf: &mut [u8],
    action: &'static str,
    limit: Duration,
) -> Result<(), WireError> {
    stream.read_exact(buf).map_err(|source| failure(source, action, limit))
}

/// Reads available bytes into `buf`, at least one; returns their number, which is never 0.
pub(crate) fn read_some(
    stream: &mut impl Read,
    buf: &mut [u8],
    action: &'static str,
    limit: Duration,
) -> Result<usize, WireError> {
    match read_or_end(stream, buf, action, limit)? {
        0 => Err(WireError::Closed { action }),
        n_read => Ok(n_read),
    }
}

/// Reads available bytes into `buf`; returns their number, or 0 if the peer has closed the connection without an error.
pub(crate) fn read_or_end(
    stream: &mut impl Read,
    buf: &mut [u8],
    action: &'static str,
    limit: Duration,
) -> Result<usize, WireError> {
    loop {
        match stream.read(buf) {
            Ok(n_read) => return Ok(n_read),
            Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(failure(source, action, limit)),
        }
    }
}

/// Writes all of `bytes` and flushes. `limit` is as in [`read_exact`].
pub(crate) fn write_all(
    stream: &mut impl Write,
    bytes: &[u8],
    action: &'static str,
    limit: Duration,
) -> Result<(), WireError> {
    stream.write_all(bytes).and_then(|()| stream.flush()).map_err(|source| failure(source, action, limit))
}

fn failure(source: io::Error, action: &'static str, limit: Duration) -> WireError {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock, WriteZero};
    match source.kind() {
        WouldBlock | TimedOut => WireError::Timeout { action, after: limit },
        UnexpectedEof | BrokenPipe | ConnectionReset | WriteZero => WireError::Closed { action },
        _ => WireError::Io { action, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: io::ErrorKind, wanted: &str) {
        let found = failure(kind.into(), "read a test", Duration::from_secs(2));
        assert_eq!(found.to_string(), wanted);
    }

    #[test]
    fn tells_a_time_limit_from_a_closed_peer_and_from_other_faults() {
        let timeout = "no answer within 2s (tried to read a test)";
        let closed = "the server closed the connection (tried to read a test)";
        check(io::ErrorKind::WouldBlock, timeout);
        check(io::ErrorKind::TimedOut, timeout);
        check(io::ErrorKind::UnexpectedEof, closed);
        check(io::ErrorKind::BrokenPipe, closed);
        check(io::ErrorKind::ConnectionReset, closed);
        check(io::ErrorKind::PermissionDenied, "cannot read a test");
    }

    #[test]
    fn an_end_of_stream_is_never_an_empty_read() {
        let limit = Duration::from_secs(1);
        let found = read_some(&mut io::empty(), &mut [0; 8], "read a test", limit);
        assert!(matches!(found, Err(WireError::Closed { .. })), "{found:?}");
    }
}
