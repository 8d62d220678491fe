//! The expressions of `\set`, `\if` and `\elif`: read once, checked, and run as steps of a stack
//! machine.
//!
//! No tree is kept: `parser` writes the steps in the order in which they run, so a run recurses
//! nowhere and allocates nothing.

mod callable;
mod function;
mod hash;
mod machine;
mod operator;
mod parser;
mod token;

pub(crate) use machine::{Code, run};
pub(crate) use parser::parse;
pub(crate) use token::Reader;
