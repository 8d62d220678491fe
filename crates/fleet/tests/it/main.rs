//! Tests of the data that leaves a machine or waits for a collector: rows fit their tables whatever the names are,
//! lines are read back as they were written, and the spool neither loses nor duplicates a report.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "these are tests, in folders of their own")]

mod made_up;
mod overview;
mod rows;
mod spool;
