//! The data of a page besides the record's own fields: made from raw counts and samples by the command line.
//!
//! Plain data; the statistics behind it are the same that judged the run.

use looptax_model::record::Record;

/// A record and what was made of its raw data.
#[derive(Debug)]
pub struct Shown<'a> {
    pub record: &'a Record,
    pub name: &'a str,
    /// The details of each comparison, in their order.
    pub details: Vec<Detail>,
    /// Why there are no distributions of latency; `None` if there are some.
    pub no_samples: Option<String>,
    /// The distributions of all arms as an `HdrHistogram` interval log; empty without samples.
    pub hdr_log: String,
}

/// The details of a comparison besides its own fields.
#[derive(Debug, Default)]
pub struct Detail {
    /// Its epochs in the order of time, each with its position in the record.
    pub epochs: Vec<EpochShown>,
    /// The latency of each arm's requests, in the order of the arms; `None` without samples.
    pub distributions: Vec<Option<Distribution>>,
    /// The call chains of each pair that was sampled, in their order; or why they cannot be read.
    pub chains: Vec<Result<ChainsShown, String>>,
}

/// Call chains of two arms as one tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainsShown {
    /// The names of frames, each once.
    pub names: Vec<String>,
    /// Each frame before those that it calls, these the dearest first. The first one stands for all processes.
    pub frames: Vec<FrameShown>,
}

/// A place in the call chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameShown {
    /// How many frames called it, one after the other.
    pub depth: u32,
    pub name: u32,
    /// CPU time in itself and not in what it calls, `[baseline, other]`.
    pub ns: [u64; 2],
}

/// An epoch of a pair of arms, with its effect and what disturbed it.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochShown {
    /// Its position among all epochs of the comparison, from 0.
    pub epoch_idx: usize,
    /// The arms' indexes, `[baseline, other]`.
    pub pair: [u32; 2],
    /// Its own tax, percent; `None` for an epoch cut short.
    pub effect_pct: Option<f64>,
    /// The typical cost of a request on each arm, nanoseconds; its response time if that decides.
    pub cost_ns: [Option<f64>; 2],
    /// CPU time that the hypervisor gave to others, percent of all.
    pub steal_pct: Option<f64>,
    /// CPU time of processes that are neither ours nor the server, percent of all.
    pub foreign_pct: Option<f64>,
    /// Whether it is one of the disturbed ones that a verdict is checked without.
    pub is_noisy: bool,
}

/// How long the requests of an arm took.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    pub n: u64,
    /// In rising order.
    pub percentiles: Vec<PercentileShown>,
}

/// A percentile of an arm's latency, µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PercentileShown {
    /// Which one: 99.9.
    pub pct: f64,
    pub us: f64,
    /// The lower end of its interval, as if requests were independent.
    pub lo_us: Option<f64>,
    pub hi_us: Option<f64>,
}
