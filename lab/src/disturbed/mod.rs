//! `cargo lab disturbed`: are verdicts right, and are there any, where others use the machine too?
//!
//! Simulations add arms, coins and disturbances to recorded noise; the real runs put busy loops, a CPU limit and
//! stopped servers beside looptax. The figures belong into docs/src/results.

mod load;
mod noise;
mod real;
mod regression;
mod scene;
mod simulate;

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

/// The commands for disturbed machines.
#[derive(Subcommand)]
pub(crate) enum Chore {
    /// False verdicts, power and withheld verdicts
    Simulate(simulate::Options),
    /// Doctor and a comparison of Redis under real disturbances
    Real(real::Options),
    /// The noise of records, in the form that simulations read, to stdout
    Noise {
        /// Records of an arm against itself
        #[arg(required = true)]
        records: Vec<PathBuf>,
    },
}

pub(crate) fn run(chore: &Chore) -> Result<()> {
    match chore {
        Chore::Simulate(options) => simulate::run(options),
        Chore::Real(options) => real::run(options),
        Chore::Noise { records } => noise::print(records),
    }
}
