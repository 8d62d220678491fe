//! What a step left: its record, and the latencies beside it.

use looptax_record::{Comparison, Epoch, Record, ReplayProof, SamplesAt};
use looptax_store::SamplesReader;

/// A measured step.
pub struct Reading {
    pub record: Record,
    samples: Option<SamplesReader>,
    pub step_idx: u32,
}

impl Reading {
    pub fn new(record: Record, samples: Option<SamplesReader>, step_idx: u32) -> Self {
        Self {
            record,
            samples,
            step_idx,
        }
    }

    /// Latencies at a place; none where they cannot be read.
    pub fn latencies_ns(&self, at: &SamplesAt) -> Vec<u32> {
        let read = self.samples.as_ref().map(|reader| reader.read(at));
        read.and_then(Result::ok).unwrap_or_default()
    }
}

/// The epochs of the baseline and the other arm with this index.
pub(crate) fn epochs_of(comparison: &Comparison, arm_idx: usize) -> impl Iterator<Item = &Epoch> {
    let pair = [0, arm_idx as u32];
    comparison
        .raw
        .epochs
        .iter()
        .filter(move |epoch| epoch.pair == pair)
}

/// What was done for the pair with this other arm.
pub(crate) fn proof(comparison: &Comparison, arm_idx: usize) -> ReplayProof {
    let slices = || epochs_of(comparison, arm_idx).flat_map(|epoch| &epoch.slices);
    let n_requests: u64 = slices().map(|slice| slice.requests).sum();
    let per_request = comparison.workload.stream.as_ref().map(|it| it.bytes);
    let is_command = comparison.commands.is_some();
    ReplayProof {
        rows: comparison.workload.rows,
        // A batch holds so many.
        requests: if is_command {
            0
        } else {
            n_requests * u64::from(comparison.workload.pipeline)
        },
        server_count: comparison.server_count.clone(),
        streamed_bytes: per_request.map(|bytes| bytes * n_requests),
        runs: is_command.then_some(n_requests),
        pages: None,
    }
}
