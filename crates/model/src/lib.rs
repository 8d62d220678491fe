//! Addresses, errors, records, statistics and verdicts.
//!
//! Pure: no I/O, no clock, no randomness. The table of rooms in ARCHITECTURE.md describes each module.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

pub mod analysis;
pub mod dsn;
pub mod failure;
pub mod record;
pub mod stats;
