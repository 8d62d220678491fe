//! The public behaviour of the crate: whole judgements, and the promises of its intervals.
//!
//! Seeded simulations only; the long version of them is `examples/simulate.rs`.

mod judgement;
mod noise_model;
mod promises;
mod published;
mod whole_runs;
