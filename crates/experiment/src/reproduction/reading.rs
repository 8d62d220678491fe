//! The record of a step, and figures that are computed from this record.

use looptax_model::record::{Comparison, Epoch, Record, ReproductionProof};

pub struct Reading {
    pub record: Record,
    pub step_idx: u32,
}

/// Returns the epochs that compare the baseline with the arm that has this index.
pub(crate) fn epochs_of(comparison: &Comparison, arm_idx: usize) -> impl Iterator<Item = &Epoch> {
    let pair = [0, arm_idx as u32];
    comparison.raw.epochs.iter().filter(move |epoch| epoch.pair == pair)
}

/// Returns how much work was done to compare the baseline with the arm that has this index.
pub(crate) fn proof(comparison: &Comparison, arm_idx: usize) -> ReproductionProof {
    let slices = || epochs_of(comparison, arm_idx).flat_map(|epoch| &epoch.slices);
    let n_requests: u64 = slices().map(|slice| slice.requests).sum();
    let per_request = comparison.workload.stream.as_ref().map(|it| it.bytes);
    let is_command = comparison.commands.is_some();
    ReproductionProof {
        rows: comparison.workload.rows,
        // Each request of the raw data is a pipeline of this many requests.
        requests: if is_command { 0 } else { n_requests * u64::from(comparison.workload.pipeline) },
        server_count: comparison.server_count.clone(),
        streamed_bytes: per_request.map(|bytes| bytes * n_requests),
        runs: is_command.then_some(n_requests),
        pages: None,
    }
}
