//! The rights of an account of MySQL or MariaDB: reads `SHOW GRANTS`, and compares two accounts by the rights that
//! their grants give.
//!
//! A line that is not understood counts as a right that only an identical line gives; so do all lines if the two
//! servers differ.

mod account_rights;
mod pattern;
mod place;
mod read;
mod rows;
mod taken_back;

pub use account_rights::{Lacking, Rights};
pub(super) use taken_back::{default_role, revokes};

use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Server {
    #[default]
    Mysql,
    Mariadb,
}

/// Which row applies to a schema if the patterns of several rows match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Choice {
    /// Only the most specific row.
    #[default]
    MostExact,
    /// The row for this exact name, or else the first row when the patterns are sorted by their characters: MySQL 9
    /// with a role in use (seen with 9.7).
    First,
    /// The row for this exact name, or else all matching rows together: MySQL 8 with a role in use
    /// (`Security_context::db_acl` in `sql/auth/sql_security_ctx.cc`).
    All,
}

/// Stands for all rights of a level.
const ALL: &str = "ALL";
/// The right to grant rights to others, treated as a separate right.
const GRANT_OPTION: &str = "GRANT OPTION";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// `*.*`.
    Global,
    /// `` `shop`.* ``, a pattern with `%`, `_` and `\`.
    Schema(String),
    /// `` `shop`.`orders` ``.
    Table(String, String),
    /// `PROCEDURE`, schema and name; likewise for a function or a package.
    Routine(String, String, String),
    /// Roles that the account may use, instead of a place: the rights are the roles' names.
    Roles,
    /// The role that is in use from the start of the session, in MariaDB.
    DefaultRole(String),
    /// Everything else, as written in the line: for example a proxy.
    Other(String),
}

/// A line of `SHOW GRANTS`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    /// An account or a role: the rights of a role are added to those of the account, and never hide them.
    grantee: String,
    level: Level,
    /// In capitals; [`ALL`] stands for all rights of the level.
    rights: BTreeSet<String>,
    column_rights: BTreeSet<(String, String)>,
    /// Whether it is a partial revoke of MySQL: a part that a global grant does not cover.
    is_revoke: bool,
    /// Whether it belongs to another account of the same user, whose hosts include this account's host.
    is_of_any_host: bool,
}

/// The rights on a schema and its content; a server may know fewer.
const SCHEMA_RIGHTS: [&str; 21] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EVENT",
    "TRIGGER",
    "DELETE HISTORY",
    "DELETE VERSIONING ROWS",
    "SHOW CREATE ROUTINE",
];
const TABLE_RIGHTS: [&str; 13] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE VIEW",
    "SHOW VIEW",
    "TRIGGER",
    "DELETE HISTORY",
];
const ROUTINE_RIGHTS: [&str; 3] = ["EXECUTE", "ALTER ROUTINE", "SHOW CREATE ROUTINE"];

impl Level {
    /// Whether `ALL` at this level includes that right.
    fn has(&self, right: &str) -> bool {
        match self {
            Self::Global => right != GRANT_OPTION,
            Self::Schema(_) => SCHEMA_RIGHTS.contains(&right),
            Self::Table(..) => TABLE_RIGHTS.contains(&right),
            Self::Routine(..) => ROUTINE_RIGHTS.contains(&right),
            Self::Roles | Self::DefaultRole(_) | Self::Other(_) => false,
        }
    }
}

impl Grant {
    fn gives(&self, right: &str) -> bool {
        self.rights.contains(right) || self.rights.contains(ALL) && self.level.has(right)
    }
}
