//! What leaves a machine, and what waits for a collector: rows that fit their tables whatever names say, lines that are read
//! as they were written, a spool that loses and doubles nothing.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "these are tests, in folders of their own")]

mod made_up;
mod overview;
mod rows;
mod spool;
