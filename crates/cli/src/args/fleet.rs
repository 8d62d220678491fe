//! What `fleet` takes.

use clap::{Args, Subcommand};

use super::JsonArgs;
use super::report_to::CollectorArgs;

/// Options of `fleet`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum FleetCommand {
    /// Make the collector's tables and views, or bring them to this version; again, it changes nothing.
    Init(InitArgs),
}

/// Options of `fleet init`.
#[derive(Debug, Clone, Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) collector: CollectorArgs,
    /// Print the statements, with the roles of who reports and who asks; connect to nothing.
    #[arg(long, conflicts_with = "json")]
    pub(crate) print: bool,
    /// ClickHouse: replicate and distribute the tables over this cluster.
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// After so many days rows go.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) keep: Option<u32>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
