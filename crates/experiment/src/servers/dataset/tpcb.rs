//! pgbench's tables, so that figures can be compared with the figures of `pgbench` and `pgbench -S`.
//!
//! # Source
//! PostgreSQL documentation, pgbench, "Initialization Options": four tables, 1 branch, 10 tellers and
//! 100,000 accounts per scale; the fillers make rows of a little over 100 bytes.

use std::fmt::Write as _;

use looptax_wire::WireError;

use super::{Filling, INSERT_BYTES};
use crate::servers::ServerError;

const TABLES: [(&str, &str); 4] = [
    ("pgbench_branches", "bid INTEGER NOT NULL, bbalance INTEGER, filler CHAR(88), PRIMARY KEY (bid)"),
    ("pgbench_tellers", "tid INTEGER NOT NULL, bid INTEGER, tbalance INTEGER, filler CHAR(84), PRIMARY KEY (tid)"),
    ("pgbench_accounts", "aid INTEGER NOT NULL, bid INTEGER, abalance INTEGER, filler CHAR(84), PRIMARY KEY (aid)"),
    ("pgbench_history", "tid INTEGER, bid INTEGER, aid INTEGER, delta INTEGER, mtime TIMESTAMP NULL, filler CHAR(22)"),
];
const TELLERS: u32 = 10;

/// Creates and fills pgbench's tables: `n_accounts` accounts over `scale` branches.
///
/// `execute` runs one statement; `schema` is the prefix of the tables' names: empty, or a schema and a dot. The tables
/// must not exist yet: this function never drops a table.
///
/// # Errors
/// [`ServerError::Fill`] with the statement that failed.
pub fn populate(
    execute: impl FnMut(&str) -> Result<u64, WireError>,
    schema: &str,
    n_accounts: u32,
    scale: u32,
) -> Result<(), ServerError> {
    let mut filling = Filling { execute, schema };
    for (name, columns) in TABLES {
        let sql = format!("CREATE TABLE {schema}{name} ({columns})");
        filling.run("create a table", &sql)?;
    }
    let scale = scale.max(1);
    filling.rows("pgbench_branches", "bid, bbalance, filler", scale, |id| format!("({id},0,'')"))?;
    filling.rows("pgbench_tellers", "tid, bid, tbalance, filler", TELLERS * scale, |id| {
        format!("({id},{},0,'')", 1 + (id - 1) / TELLERS)
    })?;
    filling.rows("pgbench_accounts", "aid, bid, abalance, filler", n_accounts, |id| {
        format!("({id},{},0,'')", 1 + (id - 1) % scale)
    })
}

/// Vacuums the tables on PostgreSQL. Autovacuum is off; without this VACUUM, the first read of each page would write to
/// the page.
///
/// # Errors
/// [`ServerError::Fill`] with the statement that failed.
pub fn vacuum(execute: impl FnMut(&str) -> Result<u64, WireError>, schema: &str) -> Result<(), ServerError> {
    let mut filling = Filling { execute, schema };
    TABLES.iter().try_for_each(|(name, _)| filling.run("vacuum a table", &format!("VACUUM (ANALYZE) {schema}{name}")))
}

impl<E: FnMut(&str) -> Result<u64, WireError>> Filling<'_, E> {
    /// Inserts the rows with the ids 1 to `n`, with as many rows per statement as fit into [`INSERT_BYTES`].
    fn rows(&mut self, table: &str, columns: &str, n: u32, row: impl Fn(u32) -> String) -> Result<(), ServerError> {
        let mut statement = String::new();
        for id in 1..=n {
            if statement.is_empty() {
                let schema = self.schema;
                write!(statement, "INSERT INTO {schema}{table} ({columns}) VALUES ")
                    .expect("writing to a String cannot fail");
            } else {
                statement.push(',');
            }
            statement.push_str(&row(id));
            if statement.len() >= INSERT_BYTES || id == n {
                self.run(&format!("insert rows up to {id} into {table}"), &statement)?;
                statement.clear();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_pgbench_s_in_number() {
        let mut statements = Vec::new();
        let execute = |sql: &str| {
            statements.push(sql.to_owned());
            Ok(0)
        };
        populate(execute, "s.", 30_000, 2).unwrap();
        let rows = |table: &str| -> usize {
            let start = format!("INSERT INTO s.{table} ");
            statements.iter().filter(|sql| sql.starts_with(&start)).map(|sql| sql.matches(",0,''").count()).sum()
        };
        assert_eq!(rows("pgbench_branches"), 2);
        assert_eq!(rows("pgbench_tellers"), 20);
        assert_eq!(rows("pgbench_accounts"), 30_000);
        assert!(statements.iter().all(|sql| sql.len() < INSERT_BYTES + 64));
    }
}
