//! Addresses, errors, records, statistics and verdicts.
//!
//! Pure: no I/O, no clock, no randomness. Each module is a room on the map in ARCHITECTURE.md.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

pub mod analysis;
pub mod dsn;
pub mod failure;
pub mod record;
pub mod stats;
