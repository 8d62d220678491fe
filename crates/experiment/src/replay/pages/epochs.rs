//! Pages that were loaded, in the order in which they were.

use crate::servers::wordpress::Page;
use looptax_bench::Timed;

/// A page, and how long it took by looptax's clock.
pub(super) type Load = Timed<Page>;

/// The pages of one rank in an epoch, `[over, of]`: next to each other in time.
pub(super) type Pair = [Load; 2];

/// Epochs of a contrast.
pub(super) type Epochs = Vec<Vec<Pair>>;
