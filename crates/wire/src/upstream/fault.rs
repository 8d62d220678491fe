//! The error for a malformed answer.

use crate::WireError;

const PROTOCOL: &str = "HTTP";
pub(super) const READ_REPLY: &str = "read the answer to a measured request";

pub(super) fn malformed(expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed(PROTOCOL, READ_REPLY, expected, found)
}
