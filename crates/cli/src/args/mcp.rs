//! What `mcp` takes.

use clap::Args;

/// Options of `mcp`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "It reads and answers until its input ends: an assistant starts it and talks to it. \
Passwords come from the environment that it is started with, as for the commands themselves (LOOPTAX_PASSWORD).")]
pub(crate) struct McpArgs {
    /// Keep the record of each comparison.
    ///
    /// Keep the record of each comparison and list it in the history, as `looptax compare` does. Without it a comparison
    /// writes no file.
    #[arg(long)]
    pub(crate) keep_records: bool,
}
