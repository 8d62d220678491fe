//! Converts this protocol's faults into a [`WireError`].
//!
//! Does no I/O; called by every file of the protocol. The peer's bytes are escaped and truncated.

use crate::WireError;
use crate::error::printable;

/// First byte of an error packet.
pub(super) const ERR: u8 = 0xff;

/// Number of bytes of a malformed packet that an error shows, counted before escaping.
const SHOWN_BYTES: usize = 60;

/// Returns the error for bytes that the protocol does not allow at this point.
#[cold]
pub(super) fn malformed(action: &'static str, expected: &'static str, found: &[u8]) -> WireError {
    let shown = &found[..found.len().min(SHOWN_BYTES)];
    WireError::Malformed { protocol: "MySQL", action, expected, found: format!("`{}`", printable(shown)) }
}

/// Returns the error in an error packet. The packet may lack the SQLSTATE: some servers omit it before the login is
/// complete.
///
/// # Source
/// dev.mysql.com/doc/dev/mysql-server: `page_protocol_basic_err_packet`.
#[cold]
pub(super) fn server_error(action: &'static str, payload: &[u8]) -> WireError {
    let [ERR, low, high, rest @ ..] = payload else {
        return malformed(action, "an error packet with its number", payload);
    };
    let message = match rest {
        [b'#', _, _, _, _, _, message @ ..] => message,
        without_state => without_state,
    };
    WireError::Server { code: u16::from_le_bytes([*low, *high]).to_string(), message: printable(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(payload: &[u8], wanted: &str) {
        assert_eq!(server_error("test", payload).to_string(), wanted);
    }

    #[test]
    fn reads_error_packets_with_and_without_state() {
        check(b"\xff\x15\x04#28000Access denied", "the server reports: Access denied (code 1045)");
        check(b"\xff\x10\x04Too many connections", "the server reports: Too many connections (code 1040)");
        check(b"\xff\x69\x04\x1b[2Jblocked", "the server reports: \\x1b[2Jblocked (code 1129)");
        check(
            b"\xff\x10",
            "not a MySQL answer (tried to test): expected an error packet with its number, found `\\xff\\x10`",
        );
    }
}
