//! `fleet`: commands about the collector that receives the reports of many machines.

mod ask;
mod init;
mod place;
mod send;

use looptax_model::failure::Failure;

use crate::args::{FleetArgs, FleetCommand};
use crate::failure::Exit;
use crate::terminal::Terminal;

pub(crate) fn run(args: &FleetArgs, terminal: Terminal) -> Result<Exit, Failure> {
    match &args.command {
        FleetCommand::Send(args) => send::run(args, terminal),
        FleetCommand::Init(args) => init::run(args, terminal),
        FleetCommand::Report(args) => ask::report(args, terminal),
        FleetCommand::Hosts(args) => ask::hosts(args, terminal),
        FleetCommand::Host { name, list } => ask::host(name, list, terminal),
        FleetCommand::Programs(args) => ask::programs(args, terminal),
        FleetCommand::Changes(args) => ask::changes(args, terminal),
    }
}
