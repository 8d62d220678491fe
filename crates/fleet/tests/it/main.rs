//! The data that leaves a machine or waits for a collector: rows that fit their tables with any names, lines that are
//! read as they were written, a spool that loses and doubles nothing.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "these are tests, in folders of their own")]

mod made_up;
mod overview;
mod rows;
mod spool;
