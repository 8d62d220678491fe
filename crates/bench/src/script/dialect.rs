//! The two SQL dialects, as far as they matter for a script.

/// The database whose quotes, comments and placeholders the SQL uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Has `E''`, `$tag$`, nested comments, `::` casts and `$1`.
    Postgres,
    /// Has backslashes and backticks in quotes, `#` comments and `?`. Also for MariaDB.
    Mysql,
}
