//! Random accounts of MariaDB, MySQL and PostgreSQL. The tests of `looptax check` compare its answers with the servers'
//! own clients, and follow its advice; this oracle runs these tests with many accounts, or prints the table of the
//! docs.

use anyhow::Result;

use crate::workspace::{cargo, run_to_success};

/// The options of this oracle.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Number of accounts for each server
    #[arg(long, default_value_t = 500)]
    pairs: u64,
    /// Repeat the accounts of an earlier run; with an odd seed, MySQL has partial revokes
    #[arg(long, default_value_t = 20)]
    seed: u64,
    /// The name of the tests: `accounts_of_mariadb`, `accounts_of_mysql`, `roles_of_postgres`, `ways_to_a_socket`; or
    /// `r49_check_is_right_of_random_queues`, which stops a server and connects to it
    #[arg(long, default_value = "r20_check_is_right_of_random")]
    only: String,
    /// Print the table of the docs, with looptax's claim and the truth for each situation, and stop
    #[arg(long)]
    table: bool,
}

/// The test that makes the table.
const TABLE: &str = "r20_what_check_says_of_each_account";

/// Runs the tests. Fails if an answer is wrong, or if advice does not solve the problem that it is about; prints the
/// account.
pub(super) fn run(options: &Options) -> Result<()> {
    let only = if options.table { TABLE } else { &options.only };
    run_to_success(
        cargo()?
            .args("test --quiet --locked --package looptax --test it --".split(' '))
            .args([only, "--nocapture"])
            .env("LOOPTAX_PAIRS", options.pairs.to_string())
            .env("LOOPTAX_SEED", options.seed.to_string()),
    )
}
