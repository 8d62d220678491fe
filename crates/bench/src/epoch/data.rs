//! A measured epoch as it leaves the experiment: the record's raw form, its latencies beside it.
//!
//! Plain data; filled by the epoch's coordinator, read by the command line.

use looptax_model::record::{self as record, TICK_NS, letter};
use looptax_model::stats::Side;

use crate::machine::MachineDelta;

/// An epoch and what the record does not hold of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredEpoch {
    /// The counts as they are saved; where the latencies lie is filled in by who saves them.
    pub raw: record::Epoch,
    /// Latencies in the counted windows, `[baseline, other]`, in nanoseconds; empty beyond the cap.
    pub samples: [Vec<u32>; 2],
    /// Requests that priming took, on both sides' connections together.
    pub n_primed: u64,
    /// Start of the comparison by `CLOCK_MONOTONIC`, which the slices' times count from; 0 where somebody else filled
    /// them.
    pub comparison_start_ns: u64,
}

impl MeasuredEpoch {
    /// All requests of the epoch, counted or not.
    pub fn n_requests(&self) -> u64 {
        let slices = self.raw.slices.iter();
        self.n_primed + slices.map(|slice| slice.requests).sum::<u64>()
    }
}

/// The slices of an epoch, whose sides are `sides`, and what the machine did meanwhile.
pub(crate) fn raw_epoch(
    pair: [u32; 2],
    sides: impl IntoIterator<Item = Side>,
    slices: Vec<record::Slice>,
    machine: MachineDelta,
    own_cpu_ns: Option<u64>,
) -> record::Epoch {
    let ticks = |cpu_ns: u64| cpu_ns as f64 / TICK_NS as f64;
    let server_cpu_ns: Option<u64> = slices.iter().map(|slice| slice.server_cpu_ns).sum();
    record::Epoch {
        pair,
        order: sides.into_iter().map(letter).collect(),
        slices,
        cpu_ticks: machine.ticks,
        own_ticks: own_cpu_ns.map(ticks),
        server_ticks: server_cpu_ns.map(ticks),
        cpu_pressure_us: machine.cpu_pressure_us,
        n_throttled: machine.n_throttled,
        ..record::Epoch::default()
    }
}
