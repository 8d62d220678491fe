//! looptax: what does a local database lose by TCP loopback instead of a Unix socket?
//!
//! The way through: arguments (typed) → settings (meant) → command → record → report → exit code.
//! `process::exit` stands only here.

mod args;
mod commands;
mod earlier_runs;
mod failure;
mod formats;
mod outputs;
mod page;
mod record_place;
mod settings;
mod signals;
mod sys;
mod terminal;

use args::{Cli, Command};
use failure::{Exit, Failure};
use terminal::Terminal;

fn main() {
    let cli = Cli::read();
    terminal::keep_secret(sys::hide_passwords());
    let cli = cli.unwrap_or_else(|error| {
        if !terminal::usage(&error) {
            let _ = error.print();
        }
        let is_wrong = error.exit_code() != 0;
        std::process::exit(if is_wrong && args::is_run() {
            Exit::NotRun.code()
        } else {
            error.exit_code()
        })
    });
    let exit = run(cli).unwrap_or_else(|failure| {
        terminal::failure(&failure);
        failure.severity().into()
    });
    std::process::exit(exit.code());
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    let terminal = Terminal::new(&cli.global);
    // A program under `run` inherits everything as it is.
    if !matches!(cli.command, Some(Command::Run(_))) {
        signals::survive_large_files()?;
    }
    match cli.command {
        None if cli.is_bare => commands::minute::run(&cli.compare, terminal),
        None => commands::compare::run(&cli.compare, terminal),
        Some(Command::Compare(args)) => commands::compare::run(&args, terminal),
        Some(Command::Selfcheck(args)) => commands::selfcheck::run(&args, terminal),
        Some(Command::Find(args)) => commands::find::run(&args, terminal),
        Some(Command::Check(args)) => commands::check::run(&args, terminal),
        Some(Command::Dsn(args)) => commands::dsn::run(&args, terminal),
        Some(Command::Run(args)) => Ok(commands::run::run(&args, terminal)),
        Some(Command::Analyze(args)) => commands::analyze::run(&args, terminal),
        Some(Command::History(args)) => commands::history::run(&args, terminal),
        Some(Command::Diff(args)) => commands::diff::run(&args, terminal),
        Some(Command::Gate(args)) => commands::gate::run(&args, terminal),
        Some(Command::Replay(args)) => commands::replay::run(&args, terminal),
        Some(Command::Report(args)) => commands::report::run(&args, terminal),
        Some(Command::Internal(internal)) => commands::internal::run(&internal),
    }
}
