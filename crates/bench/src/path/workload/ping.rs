//! Questions that need nothing of ours on a server: one that costs it the least, and one row of its own tables.

use looptax_model::dsn::Protocol;

/// Bytes that [`ping`] asks for: 120, as a point select returns.
pub(crate) const PING_BYTES: usize = 120;

/// The statement behind [`crate::path::Workload::Ping`] for SQL servers: it reads no table.
pub(crate) fn ping() -> String {
    format!("SELECT '{}'", "x".repeat(PING_BYTES))
}

/// A row of a table that the server itself keeps, by its key: what [`crate::path::Workload::SystemRow`] asks for.
///
/// PostgreSQL lets every account read its types. MySQL and MariaDB keep the words of `HELP` in a table, which accounts with
/// rights on all databases may read, where it was filled.
///
/// # Source
/// PostgreSQL's manual, system catalogs, `pg_type` (25 is `text`); MySQL's, server-side help support, `help_topic`.
pub fn system_row(protocol: Protocol) -> Option<&'static str> {
    match protocol {
        Protocol::Postgres => Some("SELECT typname FROM pg_catalog.pg_type WHERE oid = 25"),
        Protocol::Mysql => Some("SELECT name FROM mysql.help_topic WHERE help_topic_id = 1"),
        _ => None,
    }
}
