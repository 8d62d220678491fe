//! Options of `mcp`.

use clap::Args;

/// Options of `mcp`.
#[derive(Debug, Clone, Args)]
#[command(
    after_long_help = "An assistant starts this command, writes requests to its standard input and reads the answers. \
        The command ends when its input ends. It reads passwords from its environment (LOOPTAX_PASSWORD), like the \
        other commands."
)]
pub(crate) struct McpArgs {
    /// Keep the record of each comparison.
    ///
    /// looptax also lists the record in the history, as `looptax compare` does. Without this option a comparison writes
    /// no file.
    #[arg(long)]
    pub(crate) keep_records: bool,
}
