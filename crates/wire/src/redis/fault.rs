//! Errors for bytes that are not an answer.

use crate::WireError;

pub(super) const PROTOCOL: &str = "Redis";

/// The peer sent `found` where `expected` should be.
pub(super) fn malformed(action: &'static str, expected: &'static str, found: &[u8]) -> WireError {
    WireError::malformed(PROTOCOL, action, expected, found)
}
