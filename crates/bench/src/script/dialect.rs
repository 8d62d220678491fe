//! The two dialects of SQL, as far as a script shows it.

/// Whose quotes, comments and placeholders the SQL has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `E''`, `$tag$`, nested comments, `::` casts, `$1`.
    Postgres,
    /// Backslashes and backticks in quotes, `#` comments, `?`. MariaDB too.
    Mysql,
}
