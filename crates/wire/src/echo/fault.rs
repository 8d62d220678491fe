//! What an echo message that is none looks like in an error.

use crate::WireError;

const PROTOCOL: &str = "echo";

pub(super) fn malformed(action: &'static str, expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed(PROTOCOL, action, expected, found)
}
