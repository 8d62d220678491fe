//! Options of `fleet`.

mod send;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::JsonArgs;
pub(crate) use send::{CollectorArgs, RecordsWord, SendArgs};

/// Options of `fleet`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum FleetCommand {
    /// Report this machine's clients and records to the collector, once.
    Send(Box<SendArgs>),
    /// Create the collector's tables and views, or update them to this version.
    ///
    /// A second run changes nothing.
    Init(InitArgs),
    /// Report what all machines lose, where to begin, and whose figures are unusual or missing.
    Report(FleetReportArgs),
    /// List machines with clients over TCP; those that lose most come first.
    Hosts(FleetListArgs),
    /// Show one machine: its clients, its measurements, its reports.
    Host {
        /// Name of the machine as in the lists, or number of the machine.
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        list: AskArgs,
    },
    /// List programs and kinds of server over all machines; those that lose most come first.
    Programs(FleetListArgs),
    /// List programs that changed transport in the last week, or fell back to TCP.
    Changes(FleetListArgs),
}

impl FleetCommand {
    pub(crate) fn collector(&self) -> &CollectorArgs {
        match self {
            Self::Send(args) => &args.collector,
            Self::Init(args) => &args.collector,
            Self::Report(args) => &args.ask.collector,
            Self::Hosts(args) | Self::Programs(args) | Self::Changes(args) => &args.ask.collector,
            Self::Host { list, .. } => &list.collector,
        }
    }
}

/// Options of the commands that query a collector.
#[derive(Debug, Clone, Args)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    pub(crate) collector: CollectorArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Options of the commands that print lists.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetListArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// Print at most N rows.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) limit: u32,
}

/// Options of `fleet report`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FleetReportArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// Write the whole report as a page.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Options of `fleet init`.
#[derive(Debug, Clone, Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) collector: CollectorArgs,
    /// Print the SQL statements and exit.
    ///
    /// As comments, they include statements for a role that sends reports and a role that reads them. looptax opens no
    /// connection.
    #[arg(long, conflicts_with = "json")]
    pub(crate) print: bool,
    /// ClickHouse: replicate and distribute the tables over this cluster.
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// Delete rows after this many days.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) keep: Option<u32>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
