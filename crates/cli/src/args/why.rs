//! What `why` takes.

use clap::Args;

use super::CompareArgs;

/// Options of `why`: those of `compare` that are about requests.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) compare: CompareArgs,
}
