//! looptax measures what programs lose by talking to a local database over TCP loopback instead of a Unix socket.
//!
//! The order of work: arguments (as typed) → settings (what they mean) → command → record → report → exit code. Only
//! this file calls `process::exit`.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

mod args;
mod chains;
mod commands;
mod earlier_runs;
mod failure;
mod formats;
mod outputs;
mod page;
mod record_place;
mod results;
mod rights;
mod settings;
mod signals;
mod sys;
mod terminal;
mod watching;

use args::{Cli, Command};
use failure::{Exit, Failure};
use terminal::Terminal;

/// The exit code that the standard library uses when a panic unwinds the main thread.
#[cfg(panic = "abort")]
const PANICKED: i32 = 101;

fn main() {
    #[cfg(panic = "abort")]
    end_on_panic();
    let cli = Cli::read();
    terminal::keep_secret(sys::hide_passwords());
    let done = match cli {
        Ok(cli) => run(cli),
        Err(error) if args::asks_for_features(&error) => commands::features::run(),
        Err(error) => std::process::exit(tell(&error)),
    };
    let exit = done.unwrap_or_else(|failure| {
        terminal::failure(&failure);
        if signals::has_come() {
            return Exit::Interrupted;
        }
        failure.severity().into()
    });
    std::process::exit(exit.code());
}

/// Makes a panic print its message and then end the program with `PANICKED`. A panic must not end the program by a
/// signal: this could leave a core file, which would contain the passwords in memory. All programs that looptax started
/// end in the same way as after `kill -9` of looptax.
#[cfg(panic = "abort")]
fn end_on_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::exit(PANICKED);
    }));
}

/// Prints why the arguments could not be parsed; returns the exit code.
fn tell(error: &clap::Error) -> i32 {
    if !terminal::usage(error) {
        let _ = error.print();
    }
    let is_wrong = error.exit_code() != 0;
    if is_wrong && args::is_run() { Exit::NotRun.code() } else { error.exit_code() }
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    let terminal = Terminal::new(&cli.global);
    // `run` changes nothing that its program would inherit. The internal commands, which looptax itself starts, handle
    // signals themselves.
    if !matches!(cli.command, Some(Command::Run(_))) {
        signals::survive_large_files()?;
        if !matches!(cli.command, Some(Command::Internal(_))) {
            signals::listen()?;
        }
        earlier_runs::tell_of_another_folder(terminal);
    }
    if cli.trusts_peer() {
        looptax_bench::path::trust_peers();
    }
    match cli.command {
        None => commands::minute::run(&cli.bare, terminal),
        Some(Command::Compare(args)) => commands::compare::run(&args, terminal),
        Some(Command::Why(args)) => commands::why::run(&args, terminal),
        Some(Command::Doctor(args)) => commands::doctor::run(&args, terminal),
        Some(Command::Find(args)) => commands::find::run(&args, terminal),
        Some(Command::Watch(args)) => commands::watch::run(&args, terminal),
        Some(Command::Check(args)) => commands::check::run(&args, terminal),
        Some(Command::Dsn(args)) => commands::dsn::run(&args, terminal),
        Some(Command::Switch(args)) => commands::switch::run(&args, terminal),
        Some(Command::Trial(args)) => commands::trial::run(&args, terminal),
        Some(Command::Run(args)) => Ok(commands::run::run(&args, terminal)),
        Some(Command::Show(args)) => commands::show::run(&args, terminal),
        Some(Command::Diff(args)) => commands::diff::run(&args, terminal),
        Some(Command::Gate(args)) => commands::gate::run(&args, terminal),
        Some(Command::Reproduce(args)) => commands::reproduce::run(&args, terminal),
        Some(Command::Fleet(args)) => commands::fleet::run(&args, terminal),
        Some(Command::Mcp(args)) => commands::mcp::run(&args),
        Some(Command::Help(args)) => commands::help::run(&args),
        Some(Command::Internal(internal)) => commands::internal::run(&internal),
    }
}
