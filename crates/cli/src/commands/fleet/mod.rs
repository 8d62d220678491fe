//! `fleet`: the collector that machines report to.

mod init;

use looptax_failure::Failure;

use crate::args::{FleetArgs, FleetCommand};
use crate::failure::Exit;
use crate::terminal::Terminal;

/// Runs `fleet`.
pub(crate) fn run(args: &FleetArgs, terminal: Terminal) -> Result<Exit, Failure> {
    match &args.command {
        FleetCommand::Init(args) => init::run(args, terminal),
    }
}
