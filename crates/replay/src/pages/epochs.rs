//! Pages that were loaded, in the order in which they were.

use looptax_bench::Timed;
use looptax_servers::wordpress::Page;

/// A block: a page of each transport, in their order.
pub(super) type Block = Vec<Timed<Page>>;

/// Epochs of blocks.
pub(super) type Epochs = Vec<Vec<Block>>;
