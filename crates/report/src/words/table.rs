//! The finished cells of a group's table; each view decides how to place them.

use super::tone::Tone;

/// The cells of a group, and their column titles.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) arms: Vec<String>,
    pub(crate) tax_header: String,
    pub(crate) rows: Vec<Row>,
}

/// A row: one number of connections in one placement.
#[derive(Debug)]
pub(crate) struct Row {
    /// Empty if the row belongs to the row above it.
    pub(crate) connections: String,
    pub(crate) placement: String,
    /// One cell per arm of the table.
    pub(crate) arms: Vec<String>,
    /// Lines below the row: `unix p50 9.8 µs, p99 18.0 µs; tcp …`, and the CPU time of a request. A line is empty if
    /// its figures are not known, or if the cells already show them.
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
