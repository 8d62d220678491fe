//! The error for bytes that are not an answer.

use crate::WireError;

pub(super) const PROTOCOL: &str = "Redis";

/// Returns the error for a peer that sent `found` instead of `expected`.
pub(super) fn malformed(action: &'static str, expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed(PROTOCOL, action, expected, found)
}
