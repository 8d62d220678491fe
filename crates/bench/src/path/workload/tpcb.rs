//! pgbench's built-in transaction: three updates, one select, one insert, between BEGIN and END.
//!
//! # Source
//! PostgreSQL documentation, pgbench, "What Is the 'Transaction' Actually Performed in pgbench?".

use looptax_wire::transaction::{Draw, Expected, Step, Transaction, Value};

pub const TPCB_ACCOUNTS: u32 = 100_000;
const TELLERS: i64 = 10;
/// A transaction changes a balance by at most this much.
const MOST_MOVED: i64 = 5_000;

/// Returns the transaction's statements on the tables of `schema`.
pub(super) fn transaction(schema: &str, scale: u32) -> Transaction {
    let scale = i64::from(scale.max(1));
    let draws = vec![
        Draw::Key,
        Draw::Between(1, scale),
        Draw::Between(1, TELLERS * scale),
        Draw::Between(-MOST_MOVED, MOST_MOVED),
    ];
    let number = |draw| Value::Number { draw, plus: 0 };
    let (account, branch, teller, moved) = (number(0), number(1), number(2), number(3));
    let step = |sql: &str, values: &[Value], expects| Step {
        sql: sql.replace("pgbench_", &format!("{schema}pgbench_")),
        values: values.to_vec(),
        expects,
    };
    // MySQL counts a row as unchanged if its balance changes by 0, so the number of updated rows is not checked.
    let steps = vec![
        step("BEGIN", &[], Expected::Done),
        step("UPDATE pgbench_accounts SET abalance = abalance + ? WHERE aid = ?", &[moved, account], Expected::Done),
        step("SELECT abalance FROM pgbench_accounts WHERE aid = ?", &[account], Expected::Row),
        step("UPDATE pgbench_tellers SET tbalance = tbalance + ? WHERE tid = ?", &[moved, teller], Expected::Done),
        step("UPDATE pgbench_branches SET bbalance = bbalance + ? WHERE bid = ?", &[moved, branch], Expected::Done),
        step(
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP)",
            &[teller, branch, account, moved],
            Expected::Changed(1),
        ),
        step("COMMIT", &[], Expected::Done),
    ];
    Transaction { draws, steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_the_schema_and_values_fit() {
        let transaction = transaction("s.", 2);
        assert_eq!(transaction.steps.len(), 7);
        assert!(transaction.steps[1].sql.contains("s.pgbench_accounts"));
        assert_eq!(transaction.draws[2], Draw::Between(1, 20));
        for step in &transaction.steps {
            assert_eq!(step.sql.matches('?').count(), step.values.len(), "{step:?}");
        }
    }
}
