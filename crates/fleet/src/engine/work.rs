//! The operations that every engine has, and how many rows they process at once.

use looptax_model::record::CollectorTables;

use super::question::{Question, Rows};
use super::scheme::InitOptions;
use crate::FleetError;
use crate::batch::Batch;

/// Maximum number of rows in one insert. With more rows, an engine would not be faster, and after an error more rows
/// would have to be sent again.
const ROWS_AT_ONCE: usize = 10_000;

pub(super) trait Engine {
    fn init(&mut self, options: &InitOptions) -> Result<CollectorTables, FleetError>;
    fn send(&mut self, batches: &[Batch]) -> Result<(), FleetError>;
    fn ask(&mut self, question: &Question<'_>) -> Result<Rows, FleetError>;
}

/// Divides reports into groups whose rows fit into one insert.
pub(super) fn groups(batches: &[Batch]) -> impl Iterator<Item = &[Batch]> {
    let mut rest = batches;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut n_rows = 0;
        let is_within = |batch: &&Batch| {
            n_rows += batch.rows.iter().map(Vec::len).sum::<usize>();
            n_rows <= ROWS_AT_ONCE
        };
        let n = rest.iter().take_while(is_within).count().max(1);
        let (group, left) = rest.split_at(n);
        rest = left;
        Some(group)
    })
}
