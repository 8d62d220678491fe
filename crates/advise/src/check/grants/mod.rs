//! The rights of an account of MySQL or MariaDB: reads `SHOW GRANTS`, and compares the rights that the grants of two
//! accounts give.
//!
//! A line that looptax does not understand counts as a right that only an identical line gives. If the two servers
//! differ, all lines count as such rights.

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
    /// Only the row with the most specific pattern.
    #[default]
    MostExact,
    /// The row for this exact name, or else the first row when the patterns are sorted by their characters. MySQL 9
    /// with a role in use does this (seen with 9.7).
    First,
    /// The row for this exact name, or else all matching rows together. MySQL 8 with a role in use does this
    /// (`Security_context::db_acl` in `sql/auth/sql_security_ctx.cc`).
    All,
}

/// The word for all rights of a level.
const ALL: &str = "ALL";
/// The right to grant rights to others. It is treated as a separate right.
const GRANT_OPTION: &str = "GRANT OPTION";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// `*.*`.
    Global,
    /// `` `shop`.* ``, a pattern with `%`, `_` and `\`.
    Schema(String),
    /// `` `shop`.`orders` ``.
    Table(String, String),
    /// `PROCEDURE`, the schema and the name; the same for a function or a package.
    Routine(String, String, String),
    /// Roles that the account may use. The rights are then the names of the roles.
    Roles,
    /// The role that is in use from the beginning of a session, in MariaDB.
    DefaultRole(String),
    /// Anything else, such as a proxy, as written in the line.
    Other(String),
}

/// A line of `SHOW GRANTS`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    /// An account or a role. The rights of a role are added to the rights of the account, and never hide them.
    grantee: String,
    level: Level,
    /// The rights, in capitals; [`ALL`] means all rights of the level.
    rights: BTreeSet<String>,
    column_rights: BTreeSet<(String, String)>,
    /// Whether the line is a partial revoke of MySQL: a part to which a global grant does not apply.
    is_revoke: bool,
    /// Whether the line belongs to another account of the same user, whose hosts include the host of this account.
    is_of_any_host: bool,
}

/// The rights on a schema and its content. A server may know only some of these rights.
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
    /// Whether `ALL` at this level includes a right.
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
