//! Requests that need no data of ours on a server: the cheapest one, and one for a row of the server's own tables.

use looptax_model::dsn::Protocol;

/// The number of bytes that [`ping`] requests: 120, as many as a point select returns.
pub(crate) const PING_BYTES: usize = 120;

/// Returns the statement of [`crate::path::Workload::Ping`] for SQL servers: it reads no table.
pub(crate) fn ping() -> String {
    format!("SELECT '{}'", "x".repeat(PING_BYTES))
}

/// Returns the statement of [`crate::path::Workload::SystemRow`]. The statement reads one row of a table that the
/// server itself keeps, and finds the row by its key.
///
/// On PostgreSQL every account may read the table of types. MySQL and MariaDB keep the texts of `HELP` in a table;
/// accounts with rights on all databases may read it, and it may be empty.
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
