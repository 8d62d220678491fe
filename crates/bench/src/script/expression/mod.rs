//! The expressions of `\set`, `\if` and `\elif`: parsed once, checked, and run as steps of a stack machine.
//!
//! No syntax tree is kept: `parser` writes the steps in the order in which they run, so running them needs no recursion
//! and no allocation.

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
