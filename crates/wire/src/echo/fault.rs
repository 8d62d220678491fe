//! Errors for bytes that are not an echo message.

use crate::WireError;

const PROTOCOL: &str = "echo";

pub(super) fn malformed(action: &'static str, expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed(PROTOCOL, action, expected, found)
}
