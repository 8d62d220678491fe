//! Tests the public behaviour of the crate: whole judgements, and the levels of its intervals.
//!
//! The simulations have fixed seeds; their long versions are `examples/simulate.rs` and `examples/simulate_fleet`.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]

mod fleet;
mod fleet_model;
mod judgement;
mod noise_model;
mod promises;
mod published;
mod whole_runs;
