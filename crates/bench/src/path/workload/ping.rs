//! The question that costs a server the least.

/// Bytes that [`ping`] asks for: 120, as a point select returns.
pub(crate) const PING_BYTES: usize = 120;

/// The statement behind [`crate::path::Workload::Ping`] for SQL servers: it reads no table.
pub(crate) fn ping() -> String {
    format!("SELECT '{}'", "x".repeat(PING_BYTES))
}
