//! pgbench's script language: a user's own transaction, parsed, checked and run step by step.
//!
//! Turns text into steps: no I/O and no clock, and random bits only from the source that the caller provides. The text
//! is untrusted: every text gives a [`Script`] or a [`ScriptError`] with line and column, never a panic. The workload
//! `script:FILE` reads the files, makes a [`ScriptSet`] of them, and gives each connection a [`Session`].
//!
//! The language is that of the pgbench manual, with these differences, each of which is on the safe side:
//! - `\gset`, `\aset`, `\shell`, `\setshell`, `\;`, `debug()` and `permute()` are refused.
//! - `:name` inside quotes and comments stays as it is ([`ScriptSet::warnings`] reports it).
//! - Numbers count as truth values for `AND`, `OR` and `NOT` too, as the manual says.
//! - Shifts outside 0 to 63 bits and `abs` of the least integer are errors.
//! - An unset variable is an error, while pgbench would use its name.
//!
//! # Source
//! PostgreSQL 15 manual, pgbench(1), "Custom Scripts"; for cases that it does not describe, pgbench 15.18 itself
//! (tested 2026-11-21).

mod bits;
mod command;
mod dialect;
mod error;
mod expression;
mod fault;
mod parse;
mod place;
mod random;
mod session;
mod set;
mod spec;
mod sql;
mod statement;
mod symbols;
mod value;
pub mod zipfian;

pub use dialect::Dialect;
pub use error::{RunError, ScriptError, SetError};
pub use fault::{ParseFault, RunFault};
pub use parse::Script;
pub use place::Place;
pub use session::{Action, Presets, Session};
pub use set::{ScriptSet, Warning};
pub use spec::{Definition, Weighted, parse_spec};
pub use statement::Statement;
pub use zipfian::Zipfian;
