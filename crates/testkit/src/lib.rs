//! Code that only tests use: fake servers, scratch folders, a runner for the command line.
#![allow(clippy::disallowed_methods, reason = "only tests use this, in their own scratch folders")]

pub mod dice;
pub mod fake;
pub mod fake_redis;
pub mod hba;
pub mod patience;
pub mod ports;
pub mod programs;
pub mod replay;
pub mod runner;
pub mod scratch;
mod signals;
pub mod skips;
