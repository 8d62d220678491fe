//! `cargo xtask peers`: looptax and sysbench on the same private MariaDB, in rounds.
//!
//! Server and clients share one core, so that only the two load generators differ. Prints a Markdown
//! table and says whether the tools agree; fails only when something cannot be run, never because of
//! what was measured.

mod looptax;
mod one_core;
mod process;
mod round;
mod server;
mod sysbench;
mod table;

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace;
use round::Round;
use server::Server;

/// Rounds of a default run: odd, so that a median is one of them.
const PAIRS: u32 = 7;
/// Length of each measurement in seconds: as those that the reference figures come from.
const SECONDS: u32 = 3;

/// What can be chosen.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Rounds; in each, both tools measure both arms
    #[arg(long, value_name = "N", default_value_t = PAIRS, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pairs: u32,
    /// Length of each measurement in seconds
    #[arg(long, value_name = "S", default_value_t = SECONDS, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pairs: PAIRS,
            seconds: SECONDS,
        }
    }
}

/// Builds looptax, starts the server, measures, prints.
pub(crate) fn run(options: &Options) -> Result<()> {
    let sysbench = sysbench::version()?;
    let looptax = build()?;
    let core = one_core::pin_self()?;
    let server = Server::start(&looptax)?;
    let mut rounds = Vec::new();
    for idx in 0..options.pairs {
        eprintln!("round {} of {}", idx + 1, options.pairs);
        rounds.push(Round::measure(idx, &server, &looptax, options.seconds)?);
        one_core::check_server(server.pid(), core)?;
    }
    let head = format!(
        "MariaDB {}, {} rows, one connection, point select, prepared; server and clients on core {core}; \
         {} rounds of {} s per measurement\n{sysbench} (oltp_point_select) and looptax {} (client poll)",
        server.version(),
        server::ROWS,
        options.pairs,
        options.seconds,
        rounds[0].looptax.version,
    );
    server.stop()?;
    println!("{head}\n\n{}", table::of(&rounds));
    Ok(())
}

/// The release binary, which is also the reaper of the private server.
fn build() -> Result<PathBuf> {
    workspace::run_cargo(&["build", "--release", "--locked", "--package", "looptax"])?;
    let metadata = workspace::metadata()?;
    Ok(metadata
        .target_directory
        .join("release/looptax")
        .into_std_path_buf())
}
