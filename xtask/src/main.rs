//! The project's own chores, run as `cargo xtask …`.
//!
//! `check` is what `make test` and CI run; each of its own steps is a command too, so that a failure
//! can be repeated alone. Nothing here is shipped; `peers`, `clients` and `dialects` alone use rooms of looptax.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the terminal"
)]

mod arrows;
mod check;
mod clients;
mod crowd;
mod dialects;
mod docs;
mod history;
mod licences;
mod links;
mod long;
mod peers;
mod places;
mod results;
mod schema;
mod skips;
mod source;
mod steps;
mod tidy;
mod web;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own chores")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that has to hold before a commit; what CI runs
    Check,
    /// The rules of style that no lint knows
    Tidy,
    /// Who may depend on whom
    Arrows,
    /// Licences, bans and sources of the dependencies, as deny.toml says
    Licences,
    /// Write the list of options, the man page, the completions and the results that are data, from code and data
    Docs {
        /// Only compare, and fail when they are stale
        #[arg(long)]
        check: bool,
    },
    /// Write the JSON schemas in docs/ from the code
    Schema {
        /// Only compare, and fail when one is stale
        #[arg(long)]
        check: bool,
    },
    /// How real clients wait for answers, and whether our models agree with them
    #[command(subcommand)]
    Clients(clients::Chore),
    /// Real drivers connect with what `looptax dsn` prints, and the server says how
    Dialects(dialects::Options),
    /// looptax and other load generators on the same servers: throughput, CPU time, memory
    Peers(peers::Options),
    #[command(hide = true, subcommand)]
    RedirectPart(peers::redirect::Part),
    /// How long `looptax find` looks, and what memory it takes, with thousands of connections
    Crowd(crowd::Options),
    /// How long `looptax history` takes with thousands of runs
    History(history::Options),
    /// The report page's script and style: build them, check them, try them in a browser
    Web(web::Options),
    /// What takes too long for every commit: drivers, simulations, selfcheck series, peers
    Long,
}

fn main() -> ExitCode {
    let done = match Args::parse().chore {
        Chore::Check => check::run(),
        Chore::Tidy => tidy::run(),
        Chore::Arrows => arrows::run(),
        Chore::Licences => licences::run(),
        Chore::Docs { check } => docs::run(check),
        Chore::Schema { check } => schema::run(check),
        Chore::Clients(chore) => clients::run(&chore),
        Chore::Dialects(options) => dialects::run(&options),
        Chore::Peers(options) => peers::run(&options),
        Chore::RedirectPart(part) => part.run(),
        Chore::Crowd(options) => crowd::run(&options),
        Chore::History(options) => history::run(&options),
        Chore::Web(options) => web::run(&options),
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
