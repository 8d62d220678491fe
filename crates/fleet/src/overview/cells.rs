//! Converts rows from a collector to values for the overview.

use crate::column::{Row, Value};
use crate::engine::Rows;

/// Some rows, and whether the collector may have more.
#[derive(Debug)]
pub struct Listed<T> {
    pub rows: Vec<T>,
    pub is_cut: bool,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), is_cut: false }
    }
}

/// Returns the rows that `read` can convert.
pub(super) fn listed<T>(rows: Rows, read: impl Fn(&mut Cells) -> Option<T>) -> Listed<T> {
    let read = |row| read(&mut Cells(Row::into_iter(row)));
    Listed { rows: rows.rows.into_iter().filter_map(read).collect(), is_cut: rows.is_cut }
}

/// The values of a row, returned one after the other; each has the kind of its column.
pub(super) struct Cells(std::vec::IntoIter<Value>);

impl Cells {
    pub(super) fn text(&mut self) -> Option<String> {
        match self.0.next() {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn count(&mut self) -> Option<u64> {
        match self.0.next() {
            Some(Value::Count(n)) => Some(n),
            _ => None,
        }
    }

    /// Returns the next number; `None` if it is absent.
    pub(super) fn number(&mut self) -> Option<f64> {
        match self.0.next() {
            Some(Value::Number(number)) => number,
            _ => None,
        }
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.0.next() {
            Some(Value::Flag(flag)) => Some(flag),
            _ => None,
        }
    }

    pub(super) fn seconds(&mut self) -> Option<i64> {
        match self.0.next() {
            Some(Value::Time(ms)) => Some(ms / 1000),
            _ => None,
        }
    }
}
