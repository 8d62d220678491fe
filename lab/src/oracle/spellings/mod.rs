//! `cargo lab oracle spellings`: files with random settings, read by looptax and by the driver for which they are
//! written.
//!
//! The driver reads a file and connects; listeners record where. looptax reads the same file. The transport, place and
//! port that looptax reports must be those of the driver's connection. With each text that `switch` would write
//! instead, the driver must reach the socket, and nothing else. The files are those of
//! `clients/dialects/spellings.toml`; `clients/setup.sh` installs the drivers. The oracle runs in its own network and
//! mount namespace, in which the usual ports and sockets are free.

mod claim;
mod driven;
mod dsn;
mod ears;
mod escape;
mod ground;
mod pools;
mod subject;
mod table;
mod template;
mod trial;

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::coin::Coin;
use crate::dialects::driver;
use crate::workspace;
use ground::Ground;
use table::Outcome;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Run only these: names of clients/dialects/spellings.toml, or mysql, postgres, redis, memcached
    names: Vec<String>,
    /// How many files of each spelling
    #[arg(long, default_value_t = 200)]
    draws: u32,
    /// The seed of the random numbers; random if not given
    #[arg(long)]
    seed: Option<u64>,
    /// Test the output of `looptax dsn` instead of files; the names are those of clients/dialects/drivers.toml, or
    /// kinds
    #[arg(long)]
    dsn: bool,
    /// Run only the part that CI runs: 50 files of each spelling whose driver CI installs, always the same files
    #[arg(long, conflicts_with_all = ["names", "draws", "seed", "dsn"])]
    short: bool,
    #[arg(long, hide = true)]
    inside: bool,
}

/// The spellings whose drivers the set-up of the tests installs.
const OF_SET_UP: [&str; 11] = [
    "nextcloud-mysql",
    "laravel-mysql",
    "symfony-mysql",
    "phpmyadmin",
    "joomla",
    "drupal-mysql",
    "moodle-mysql",
    "php-mysqli",
    "php-pdo-mysql",
    "laravel-redis",
    "php-session-redis",
];

/// Runs the oracle; prints a table, and each false claim with the smallest file that shows it. Fails if there is a
/// false claim.
pub(super) fn run(options: &Options) -> Result<()> {
    if options.short {
        if !rustix::process::geteuid().is_root() {
            println!("the oracle of spellings needs root for its namespace: not run");
            return Ok(());
        }
        let names = OF_SET_UP.map(str::to_owned).to_vec();
        return run(&Options { names, draws: 50, seed: Some(47), short: false, ..options.clone() });
    }
    let coin = Coin::new(options.seed)?;
    if !options.inside {
        return run_inside(options, coin.seed);
    }
    Ground::lay()?;
    let mut outcomes = Vec::new();
    if options.dsn {
        for driver in driver::drivers(&options.names)? {
            eprintln!("{}.{} …", driver.kind, driver.name);
            let name = format!("dsn {}.{}", driver.kind, driver.name);
            outcomes.push(shown(&name, dsn::run(&driver), coin.seed));
        }
    } else {
        for subject in subject::subjects(&options.names)? {
            eprintln!("{} …", subject.name);
            outcomes.push(shown(&subject.name, trial::run(&subject, options.draws, coin.seed), coin.seed));
        }
    }
    println!("{}", table::table(&outcomes, coin.seed));
    // If the user named the spellings, a skipped spelling is a failure.
    let n_skipped = outcomes.iter().filter(|it| it.is_skipped()).count();
    if n_skipped > 0 && !options.names.is_empty() {
        bail!("{n_skipped} of them could not run");
    }
    let n_faults: usize = outcomes.iter().map(Outcome::n_faults).sum();
    if n_faults > 0 {
        bail!("{n_faults} draws with a false claim or with an edit that does not lead to the socket");
    }
    Ok(())
}

/// Prints the faults of one spelling. If its driver does not start, the others are still tested.
fn shown(name: &str, outcome: Result<Outcome>, seed: u64) -> Outcome {
    let outcome = outcome.unwrap_or_else(|error| Outcome::skipped(name, &format!("{error:#}")));
    print!("{}", table::faults(&outcome, seed));
    outcome
}

/// Runs the oracle again in namespaces that end together with it.
fn run_inside(options: &Options, seed: u64) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("a namespace with the usual ports and sockets needs root");
    }
    let own = std::env::current_exe().context("the lab's own program has no path")?;
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--mount", "--"])
        .arg(own)
        .args(["oracle", "spellings", "--inside"])
        .args(["--draws", &options.draws.to_string(), "--seed", &seed.to_string()])
        .args(options.dsn.then_some("--dsn"))
        .args(&options.names);
    workspace::run_to_success(&mut command)
}
