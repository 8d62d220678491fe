//! `cargo lab disturbed`: checks whether looptax reaches verdicts, and right ones, if other programs also use the
//! machine.
//!
//! Simulations add arms, coin flips and disturbances to recorded noise. The real runs put busy loops, a CPU limit and
//! stopped servers beside looptax. The figures belong in docs/src/results.

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
