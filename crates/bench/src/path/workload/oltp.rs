//! sysbench's transactions, statement by statement, so that the results can be compared with those of `sysbench
//! oltp_*`.
//!
//! # Source
//! sysbench 1.0.20's manual and its `oltp_*.lua`: 10 point selects, one range of each kind over 100
//! rows, one update of each kind, a delete and an insert of the same id.

use looptax_wire::transaction::{Draw, Expected, Step, Transaction, Value};

const N_POINT_SELECTS: usize = 10;
const RANGE_SIZE: i64 = 100;
/// Number of digit groups in the columns `c` and `pad`.
const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oltp {
    /// `oltp_read_only`.
    ReadOnly,
    /// `oltp_read_write`.
    ReadWrite,
    /// `oltp_write_only`.
    WriteOnly,
    /// `oltp_update_index`.
    UpdateIndex,
    /// `oltp_update_non_index`.
    UpdateNonIndex,
    /// `oltp_insert`.
    Insert,
    /// `oltp_delete`.
    Delete,
}

impl Oltp {
    pub const ALL: [Self; 7] = [
        Self::ReadOnly,
        Self::ReadWrite,
        Self::WriteOnly,
        Self::UpdateIndex,
        Self::UpdateNonIndex,
        Self::Insert,
        Self::Delete,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
            Self::WriteOnly => "write-only",
            Self::UpdateIndex => "update-index",
            Self::UpdateNonIndex => "update-non-index",
            Self::Insert => "insert",
            Self::Delete => "delete",
        }
    }

    pub fn writes(self) -> bool {
        self != Self::ReadOnly
    }

    /// Returns the transaction's statements on `table`.
    pub(super) fn transaction(self, table: &str) -> Transaction {
        let mut building = Building::on(table);
        let in_transaction = matches!(self, Self::ReadOnly | Self::ReadWrite | Self::WriteOnly);
        if in_transaction {
            building.plain("BEGIN");
        }
        if matches!(self, Self::ReadOnly | Self::ReadWrite) {
            building.reads();
        }
        match self {
            Self::ReadOnly => {}
            Self::ReadWrite | Self::WriteOnly => building.writes(),
            Self::UpdateIndex => building.update_index(),
            Self::UpdateNonIndex => building.update_non_index(),
            Self::Insert => building.insert_new(),
            Self::Delete => building.delete_any(),
        }
        if in_transaction {
            building.plain("COMMIT");
        }
        building.transaction
    }
}

struct Building<'a> {
    table: &'a str,
    transaction: Transaction,
}

impl<'a> Building<'a> {
    fn on(table: &'a str) -> Self {
        Self { table, transaction: Transaction { draws: Vec::new(), steps: Vec::new() } }
    }

    fn draw(&mut self, draw: Draw) -> usize {
        self.transaction.draws.push(draw);
        self.transaction.draws.len() - 1
    }

    fn key(&mut self) -> Value {
        Value::Number { draw: self.draw(Draw::Key), plus: 0 }
    }

    fn digits(&mut self, n_groups: usize) -> Value {
        Value::Digits { draw: self.draw(Draw::Bits), n_groups }
    }

    fn step(&mut self, sql: String, values: Vec<Value>, expects: Expected) {
        self.transaction.steps.push(Step { sql, values, expects });
    }

    fn plain(&mut self, sql: &str) {
        self.step(sql.to_owned(), Vec::new(), Expected::Done);
    }

    fn reads(&mut self) {
        let table = self.table;
        for _ in 0..N_POINT_SELECTS {
            let key = self.key();
            let sql = format!("SELECT c FROM {table} WHERE id=?");
            self.step(sql, vec![key], Expected::Row);
        }
        let range = "WHERE id BETWEEN ? AND ?";
        self.range(format!("SELECT c FROM {table} {range}"));
        self.range(format!("SELECT SUM(k) FROM {table} {range}"));
        self.range(format!("SELECT c FROM {table} {range} ORDER BY c"));
        self.range(format!("SELECT DISTINCT c FROM {table} {range} ORDER BY c"));
    }

    fn range(&mut self, sql: String) {
        let draw = self.draw(Draw::Key);
        let end = |plus| Value::Number { draw, plus };
        self.step(sql, vec![end(0), end(RANGE_SIZE - 1)], Expected::Row);
    }

    fn writes(&mut self) {
        self.update_index();
        self.update_non_index();
        self.delete_and_insert();
    }

    fn update_index(&mut self) {
        let key = self.key();
        let sql = format!("UPDATE {} SET k=k+1 WHERE id=?", self.table);
        self.step(sql, vec![key], Expected::Changed(1));
    }

    fn update_non_index(&mut self) {
        let c = self.digits(C_GROUPS);
        let key = self.key();
        let sql = format!("UPDATE {} SET c=? WHERE id=?", self.table);
        self.step(sql, vec![c, key], Expected::Changed(1));
    }

    /// Deletes and inserts the same id, so the table keeps its size.
    fn delete_and_insert(&mut self) {
        let table = self.table;
        let id = self.key();
        let delete = format!("DELETE FROM {table} WHERE id=?");
        self.step(delete, vec![id], Expected::Changed(1));
        let (k, c, pad) = (self.key(), self.digits(C_GROUPS), self.digits(PAD_GROUPS));
        let insert = format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)");
        self.step(insert, vec![id, k, c, pad], Expected::Changed(1));
    }

    fn insert_new(&mut self) {
        let (k, c, pad) = (self.key(), self.digits(C_GROUPS), self.digits(PAD_GROUPS));
        let sql = format!("INSERT INTO {} (k, c, pad) VALUES (?, ?, ?)", self.table);
        self.step(sql, vec![k, c, pad], Expected::Changed(1));
    }

    /// Deletes a random id, which may already be deleted, as in sysbench.
    fn delete_any(&mut self) {
        let key = self.key();
        let sql = format!("DELETE FROM {} WHERE id=?", self.table);
        self.step(sql, vec![key], Expected::Done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_have_sysbench_s_numbers_of_statements() {
        let wanted = [16, 20, 6, 1, 1, 1, 1];
        for (oltp, n_steps) in Oltp::ALL.into_iter().zip(wanted) {
            let transaction = oltp.transaction("sbtest1");
            assert_eq!(transaction.steps.len(), n_steps, "{}", oltp.name());
            for step in &transaction.steps {
                assert_eq!(step.sql.matches('?').count(), step.values.len(), "{step:?}");
            }
        }
    }

    #[test]
    fn what_is_deleted_is_inserted_again() {
        let steps = Oltp::WriteOnly.transaction("t").steps;
        assert_eq!(steps[3].sql, "DELETE FROM t WHERE id=?");
        assert_eq!(steps[4].sql, "INSERT INTO t (id, k, c, pad) VALUES (?, ?, ?, ?)");
        assert_eq!(steps[3].values[0], steps[4].values[0]);
    }
}
