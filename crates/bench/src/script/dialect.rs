//! The two SQL dialects, as far as they matter for a script.

/// The database whose quotes, comments and placeholders the SQL uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Has `E''`, `$tag$`, nested comments, `::` casts and `$1`.
    Postgres,
    /// Has quotes with backslash escapes, names in backticks, `#` comments and `?`. Also used for MariaDB.
    Mysql,
}
