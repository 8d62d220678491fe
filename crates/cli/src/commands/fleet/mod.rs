//! `fleet`: the collector that machines report to.

mod ask;
mod init;

use looptax_model::failure::Failure;

use crate::args::{FleetArgs, FleetCommand};
use crate::failure::Exit;
use crate::terminal::Terminal;

/// Runs `fleet`.
pub(crate) fn run(args: &FleetArgs, terminal: Terminal) -> Result<Exit, Failure> {
    match &args.command {
        FleetCommand::Init(args) => init::run(args, terminal),
        FleetCommand::Report(args) => ask::report(args, terminal),
        FleetCommand::Hosts(args) => ask::hosts(args, terminal),
        FleetCommand::Host { name, list } => ask::host(name, list, terminal),
        FleetCommand::Pairs(args) => ask::pairs(args, terminal),
        FleetCommand::Movers(args) => ask::movers(args, terminal),
    }
}
