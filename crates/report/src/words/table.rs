//! The finished cells of a group's table; each view places them itself.

use super::tone::Tone;

/// Cells of a group, and the titles above them.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) arms: Vec<String>,
    pub(crate) tax_header: String,
    pub(crate) rows: Vec<Row>,
}

/// A row: one number of connections in one placement.
#[derive(Debug)]
pub(crate) struct Row {
    /// Empty if the row belongs to the one above.
    pub(crate) connections: String,
    pub(crate) placement: String,
    /// One cell per arm of the table.
    pub(crate) arms: Vec<String>,
    /// `unix p50 9.8 µs, p99 18.0 µs; tcp …`, and the CPU time of a request; empty if it is not known, or is in the
    /// cells already.
    pub(crate) below: [String; 2],
    pub(crate) tail: Tail,
}

/// The cells to the right of the arms.
#[derive(Debug)]
pub(crate) enum Tail {
    Judged { tax: String, micros: String, verdict: String, tone: Tone },
    Open(String),
}

impl Table {
    /// Whether any row of the table has a verdict.
    pub(crate) fn has_verdict(&self) -> bool {
        let is_judged = |row: &Row| matches!(row.tail, Tail::Judged { .. });
        self.rows.iter().any(is_judged)
    }
}
