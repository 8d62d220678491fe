//! What `why` takes.

use clap::Args;

use super::CompareArgs;

/// Options of `why`: those of `compare` that are about requests.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) compare: CompareArgs,
    /// Keep the client busy for so many nanoseconds before each request of the other arms (for tests).
    #[arg(long, hide = true, value_name = "NS", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(crate) inject_ns: Option<u64>,
    /// Options that were typed, with their dashes.
    #[arg(skip)]
    pub(crate) typed: Vec<String>,
}
