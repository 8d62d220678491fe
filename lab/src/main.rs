//! Compares looptax with the world, run as `cargo lab …`.
//!
//! Uses other load generators, real clients and drivers, thousands of connections and runs, and a browser. The results
//! are printed; results that are kept are in docs/src/results. Nothing in this crate is shipped.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "the lab talks to the terminal, measures, and writes what git keeps"
)]

mod attacks;
mod clients;
mod coin;
mod crowd;
mod dialects;
mod disturbed;
mod duet;
mod fleet;
mod fleet_engines;
mod history;
mod long;
mod one_core;
mod oracle;
mod peers;
mod process;
mod recorded;
mod records;
mod servers;
mod storms;
mod trials;
mod versions;
mod web;
mod why;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo lab", about = "Compares looptax with real servers, drivers and programs")]
enum Chore {
    /// An ordinary user attacks root's looptax: none of the user's programs may run as root, no other user's file may
    /// change or be read
    Attacks(attacks::Options),
    #[command(hide = true, subcommand)]
    AttacksPart(attacks::part::Part),
    /// How real clients wait for answers, and whether looptax's models agree with them
    #[command(subcommand)]
    Clients(clients::Chore),
    /// Real drivers connect with the texts of `looptax dsn`, and the server reports how
    Dialects(dialects::Options),
    /// looptax and other load generators on the same servers: throughput, CPU time, memory
    Peers(peers::Options),
    #[command(hide = true, subcommand)]
    RedirectPart(peers::redirect::Part),
    #[command(hide = true)]
    PeersAsk(peers::tools::own::Options),
    /// How long `looptax find` takes, and how much memory, with thousands of connections
    Crowd(crowd::Options),
    /// Verdicts while other programs use the machine too: simulated, and under real disturbances
    #[command(subcommand)]
    Disturbed(disturbed::Chore),
    /// Both arms at once on two cores that are swapped, or one after the other: which method measures the tax better
    Duet(duet::Options),
    /// A simulated fleet with known truth in a real collector: how fast it loads, and whether the report is right
    Fleet(fleet::Options),
    /// Random cases, judged by an independent program
    #[command(subcommand)]
    Oracle(oracle::Chore),
    /// A current ClickHouse (the Python package chdb) as a collector: the same as the tests with Debian's ClickHouse
    FleetEngines(fleet_engines::Options),
    /// How long `looptax show` takes to list thousands of runs
    History(history::Options),
    /// Records with one changed field, passed to every command that reads records: no panic, no hang
    Records(records::Options),
    /// Many connects at once with real drivers to a server that is stopped, next to looptax's own storms
    Storms(storms::Options),
    /// Series of `looptax trial` with known truth
    #[command(subcommand)]
    Trials(trials::Chore),
    /// looptax's commands with servers in widely used versions, compared with the servers' own reports
    Versions(versions::Options),
    #[command(hide = true)]
    VersionsPart(versions::Part),
    /// The report page in a browser: tests, measurements, screenshots
    #[command(subcommand)]
    Web(web::Chore),
    /// Series of `looptax why`, compared with known truth
    #[command(subcommand)]
    Why(why::Chore),
    /// The checks that take too long for every commit: drivers, simulations, doctor series, peers
    Long,
}

fn main() -> ExitCode {
    let done = match Chore::parse() {
        Chore::Attacks(options) => attacks::run(&options),
        Chore::AttacksPart(part) => part.run(),
        Chore::Clients(chore) => clients::run(&chore),
        Chore::Dialects(options) => dialects::run(&options),
        Chore::Peers(options) => peers::run(&options),
        Chore::RedirectPart(part) => part.run(),
        Chore::PeersAsk(options) => peers::tools::own::run(&options),
        Chore::Crowd(options) => crowd::run(&options),
        Chore::Fleet(options) => fleet::run(&options),
        Chore::FleetEngines(options) => fleet_engines::run(&options),
        Chore::History(options) => history::run(&options),
        Chore::Duet(options) => duet::run(&options),
        Chore::Disturbed(chore) => disturbed::run(&chore),
        Chore::Oracle(chore) => oracle::run(&chore),
        Chore::Records(options) => records::run(&options),
        Chore::Storms(options) => storms::run(&options),
        Chore::Trials(chore) => trials::run(&chore),
        Chore::Versions(options) => versions::run(&options),
        Chore::VersionsPart(part) => part.run(),
        Chore::Web(chore) => web::run(&chore),
        Chore::Why(chore) => why::run(&chore),
        Chore::Long => long::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
