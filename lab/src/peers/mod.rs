//! `cargo lab peers`: compares looptax with other load generators on the same servers, in rounds.
//!
//! The table of cases is data in `cases`; `driver` measures a case, `figures` and `markdown` report the results. Prints
//! Markdown. Fails if something cannot be run, never because of a measured figure. A peer that is not installed, or a
//! work that looptax does not support, is reported and skipped.

mod case;
mod cases;
mod counter;
mod counts;
mod driver;
mod eyes;
mod figures;
mod looptax;
mod markdown;
mod nginx;
mod place;
mod port;
pub(crate) mod redirect;
mod report;
mod server;
mod spread;
mod tool;
pub(crate) mod tools;
mod work;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::coin::Coin;
use crate::{process, workspace};
use case::{Case, Throughput};
use cases::CASES;
use driver::Manner;
use place::Cores;
use report::Report;

/// Number of rounds by default: odd, so that the median is the result of one round, and high enough for an interval.
const ROUNDS: u32 = 7;
/// Length of each measurement in seconds, as in the runs that gave the reference figures.
const SECONDS: u32 = 3;

/// Number of connections in one measurement of `--redirect`.
const N_DIALS: u32 = 2_000;

/// The options of the comparison.
#[derive(Debug, Clone, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each of these fields is an option of the command line")]
pub(crate) struct Options {
    /// Names of cases; all if none is given
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// Print the cases and stop
    #[arg(long)]
    list: bool,
    /// Run some cases, with one round of a second each: shows that they work, and roughly their results
    #[arg(long, conflicts_with_all = ["cases", "rounds", "seconds"])]
    short: bool,
    /// Measure the cost of `looptax run` for a program, compared with TCP and the native socket
    #[arg(long, conflicts_with_all = ["cases", "short"])]
    redirect: bool,
    /// Compare the counts of `looptax watch` with the peers' own figures and the servers' counts
    #[arg(long, conflicts_with_all = ["short", "redirect"])]
    eyes: bool,
    /// Number of rounds; in each, the peer measures every arm, and looptax measures both
    #[arg(long, alias = "pairs", value_name = "N", default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
    /// Length of each measurement in seconds
    #[arg(long, value_name = "S", default_value_t = SECONDS, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: u32,
    /// Repeat the order of an earlier run
    #[arg(long, value_name = "HEX", value_parser = |hex: &str| u64::from_str_radix(hex, 16))]
    seed: Option<u64>,
    /// Measure this program instead of building one, for example an older build
    #[arg(long, value_name = "PROGRAM")]
    looptax: Option<PathBuf>,
    /// Also write the tables to this file, after each case
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl Options {
    fn looptax(&self) -> Result<PathBuf> {
        // A short run only shows that both sides work and count the same, so a slower debug build is enough.
        let build = if self.short { workspace::debug_looptax } else { workspace::looptax };
        self.looptax.clone().map_or_else(build, Ok)
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.list {
        for case in CASES.iter() {
            println!("{}", line(case));
        }
        return Ok(());
    }
    if options.redirect {
        return measure_redirect(options);
    }
    let cases = chosen(options)?;
    let mut coin = Coin::new(options.seed)?;
    let looptax = options.looptax()?;
    raise_file_limit()?;
    let (n_rounds, seconds) = if options.short { (1, 1) } else { (options.rounds, options.seconds) };
    let cores = Cores::allowed()?;
    if options.eyes {
        println!("{}; {} s each; seed {:016x}\n", looptax_version(&looptax)?, options.seconds, coin.seed);
        let how = eyes::Manner { looptax: &looptax, cores: &cores, seconds: options.seconds };
        return eyes::run(&cases, &how, &mut coin);
    }
    let how = Manner { looptax: &looptax, cores: &cores, n_rounds, seconds };
    let head = format!(
        "{}; up to {n_rounds} rounds in random order, {seconds} s per arm and measurement; seed {:016x}",
        looptax_version(&looptax)?,
        coin.seed
    );
    let mut report = Report::new(head, options.markdown.as_deref());
    for case in cases {
        report.add(case, &how, &mut coin)?;
    }
    report.finish()
}

/// Measures the cost of `looptax run`.
fn measure_redirect(options: &Options) -> Result<()> {
    let mut coin = Coin::new(options.seed)?;
    let looptax = options.looptax()?;
    println!(
        "{}; {} rounds in random order, {N_DIALS} connections each; seed {:016x}\n",
        looptax_version(&looptax)?,
        options.rounds,
        coin.seed
    );
    redirect::run(&looptax, &Cores::allowed()?, options.rounds, N_DIALS, &mut coin)
}

fn chosen(options: &Options) -> Result<Vec<&'static Case>> {
    if options.cases.is_empty() {
        let is_wanted = |case: &&Case| (case.is_short || !options.short) && (options.eyes || !case.is_for_eyes);
        let wanted = CASES.iter().filter(is_wanted);
        return Ok(wanted.collect());
    }
    let find = |name: &String| {
        let found = CASES.iter().find(|case| case.name == *name);
        found.with_context(|| format!("no case `{name}`: cargo lab peers --list"))
    };
    options.cases.iter().map(find).collect()
}

/// Returns one line about a case, with its requirements.
fn line(case: &Case) -> String {
    let wanted = &case.wanted;
    let mut words = match wanted.throughput {
        Throughput::AtLeast(least) => vec![format!("throughput ≥ {least}")],
        Throughput::Ranges => vec!["ranges of rates over 1 s".to_owned()],
        Throughput::Shown => Vec::new(),
    };
    for (name, most) in [("user CPU", wanted.user_cpu), ("memory", wanted.memory), ("median latency", wanted.p50)] {
        words.extend(most.map(|most| format!("{name} ≤ {most}")));
    }
    format!(
        "{:25} {}, {}, {} connections, {}; wanted: {}",
        case.name,
        case.tool.name,
        case.work.words(),
        case.connections,
        case.place.words(),
        words.join(", ")
    )
}

/// Raises the limit of open files, also for the peers: a thousand connections need more files than the usual limit.
fn raise_file_limit() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit on open files")
}

fn looptax_version(looptax: &Path) -> Result<String> {
    let mut command = Command::new(looptax);
    command.arg("--version");
    Ok(process::run(command)?.stdout.trim().to_owned())
}
